// Contig names under the conventions in use (chr1, 1, NC_000001.10, CM000663.1), reconciled so that a BED in
// one naming can be used with a FASTA in another. Human assemblies; other names match only as they are
// written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bigbird {

// One sequence of a genome; its index in the list is how the code names it.
struct Contig {
  std::string name;
  std::int64_t length = 0;  // bp
};

// What a name says: chromosome 1..22, 23 = X, 24 = Y, 25 = mitochondrion; 0 when it names none of them.
int chromosome_number(std::string_view name);
// The name without its convention, to key random draws with: "1" for chr1, 1 and NC_000001.10, "X", "Y",
// "MT"; the name itself when it names none of these.
std::string canonical_contig_name(std::string_view name);
// "GRCh37" or "GRCh38" for a chromosome 1-22, X, Y whose name (an accession with its version) or length says
// it; empty for any other.
std::string assembly_of(const Contig& contig);

// "GRCh37" or "GRCh38" when chromosome 1..22, 23 = X, 24 = Y has exactly this length there; else empty.
std::string assembly_of_length(int chromosome, std::int64_t length);

class ContigNames {
 public:
  ContigNames() = default;
  explicit ContigNames(std::vector<Contig> contigs);

  const std::vector<Contig>& contigs() const { return contigs_; }
  const Contig& operator[](std::size_t index) const { return contigs_[index]; }
  std::size_t size() const { return contigs_.size(); }

  // The index of the contig that `name` means, or nothing. A name as written wins; else an alias is tried,
  // which must agree with `length` where that is given and, for an accession, must not have the length of
  // another assembly (the accession's version says its own; one of a version not known here is no chromosome
  // of GRCh37 or GRCh38). An alias is said once (log_info_once). Mitochondria: an alias needs a length that
  // agrees, because chrM (hg19, 16,571 bp) and MT (16,569 bp) are different sequences; and even the same name
  // does not match when a given length differs.
  std::optional<std::size_t> find(std::string_view name,
                                  std::optional<std::int64_t> length = std::nullopt) const;
  // find, or Error{bad_input} "WHERE: unknown contig NAME" with a hint that names some of the contigs that
  // exist.
  std::size_t require(std::string_view name, const std::string& where,
                      std::optional<std::int64_t> length = std::nullopt) const;
  // For an accession of a chromosome that is here, but of another assembly: "NC_000001.11 is chromosome 1 of
  // GRCh38, but chr1 here has 249250621 bases, as in GRCh37". Empty for any other name.
  std::string assembly_clash(std::string_view name) const;
  // Those of chromosomes 1-22, X, Y that are present under any naming, in this order.
  std::vector<std::size_t> default_chromosomes() const;

 private:
  std::vector<Contig> contigs_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::unordered_map<int, std::size_t> by_chromosome_;  // the first contig for each chromosome_number
};

}  // namespace bigbird
