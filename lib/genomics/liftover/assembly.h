// lib/genomics/liftover holds coordinates from one assembly to another: BED and VCF through a chain file. A
// record that cannot be lifted is written with its reason, and never moved by guess.
//
// The two sides of a lift: contig names as the input writes them, found in the chain file, and the names and
// bases of the new assembly, from the chain file or from a FASTA of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/io/genome/chain.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {

class LiftoverAssembly {
 public:
  // `fasta` (may be empty) is the new assembly's genome; its contigs may be cut short (an excerpt).
  // Error{bad_input} when one has more bases than the chain file says, or as many as in another assembly.
  LiftoverAssembly(const ChainFile& chain, const std::string& fasta);

  // A contig of the input's header with its length (0: not given). Error{bad_input} "WHERE: ..." when it is
  // of another assembly than the chain lifts from, by the same rule.
  void declare(std::string_view name, std::int64_t length, const std::string& where);
  // The chain file's contig that the input's name means; nothing when it has none. Error{bad_input} for an
  // accession of another assembly, for which `where` is called.
  template <typename Where>
  std::optional<std::size_t> from(std::string_view name, const Where& where) {
    const auto found = from_.find(std::string(name));
    return found != from_.end() ? found->second : resolve(name, where());
  }
  const Contig& from_contig(std::size_t index) const { return chain_.from()[index]; }

  // The new assembly's contigs as they are written: the FASTA's, else the chain file's.
  const std::vector<Contig>& contigs() const { return names_.contigs(); }
  // Index in contigs() of a contig of the chain file's new assembly; nothing when the FASTA lacks it.
  std::optional<std::size_t> to(const std::string& chain_name) const;

  bool has_bases() const { return genome_.has_value(); }
  // Upper case; only with a FASTA.
  std::string bases(std::size_t contig, std::int64_t begin, std::int64_t end) {
    return genome_->fetch(contig, begin, end);
  }

  const ChainFile& chain() const { return chain_; }

 private:
  std::optional<std::size_t> resolve(std::string_view name, const std::string& where);

  const ChainFile& chain_;
  std::optional<Fasta> genome_;
  ContigNames names_;
  std::unordered_map<std::string, std::optional<std::size_t>> from_;
  std::unordered_map<std::string, std::size_t> to_;
};

}  // namespace bigbird
