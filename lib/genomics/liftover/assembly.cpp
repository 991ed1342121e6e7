// Names and bases of the two assemblies of a lift; see assembly.h.
#include "lib/genomics/liftover/assembly.h"

#include <fmt/format.h>

#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr int mitochondrion = 25;
constexpr const char* chain_hint = "give the chain file that lifts from the input's assembly";

// An excerpt of a contig begins at its first base and is shorter; the length of another assembly, or more
// bases than there are, says that it is another sequence.
bool is_another_sequence(std::string_view name, std::int64_t length, std::int64_t expected) {
  if (length == expected) return false;
  return length > expected || !assembly_of_length(chromosome_number(name), length).empty();
}

// Mitochondria of different length are different sequences: their names match only with their lengths.
std::optional<std::size_t> find_contig(const ContigNames& names, const Contig& contig) {
  return chromosome_number(contig.name) == mitochondrion ? names.find(contig.name, contig.length)
                                                         : names.find(contig.name);
}

}  // namespace

LiftoverAssembly::LiftoverAssembly(const ChainFile& chain, const std::string& fasta) : chain_(chain) {
  if (!fasta.empty()) genome_.emplace(fasta);
  names_ = genome_ ? ContigNames(genome_->contigs()) : chain.to();
  for (const Contig& contig : chain.to().contigs()) {
    const auto found = find_contig(names_, contig);
    if (!found) continue;
    if (is_another_sequence(contig.name, names_[*found].length, contig.length)) {
      throw_bad_input(fmt::format("{}: {} has {} bases, but the chain file lifts to a {} of {}", fasta,
                                  names_[*found].name, names_[*found].length, contig.name, contig.length),
                      "give the genome that the chain file lifts to");
    }
    to_.emplace(contig.name, *found);
  }
  if (to_.empty()) {
    throw_bad_input(fmt::format("{}: holds none of the contigs that the chain file lifts to", fasta),
                    "give the genome that the chain file lifts to");
  }
}

void LiftoverAssembly::declare(std::string_view name, std::int64_t length, const std::string& where) {
  const auto found =
      length == 0 ? chain_.from().find(name) : find_contig(chain_.from(), {std::string(name), length});
  if (found && length != 0 && is_another_sequence(name, length, chain_.from()[*found].length)) {
    throw_bad_input(fmt::format("{}: {} has {} bases, but the chain file lifts from a {} of {}", where, name,
                                length, chain_.from()[*found].name, chain_.from()[*found].length),
                    chain_hint);
  }
  if (found || (length != 0 && chromosome_number(name) == mitochondrion)) {
    from_.insert_or_assign(std::string(name), found);
  } else {
    resolve(name, where);
  }
}

std::optional<std::size_t> LiftoverAssembly::resolve(std::string_view name, const std::string& where) {
  const std::string clash = chain_.from().assembly_clash(name);
  if (!clash.empty()) throw_bad_input(fmt::format("{}: {}", where, clash), chain_hint);
  return from_.emplace(name, chain_.from().find(name)).first->second;
}

std::optional<std::size_t> LiftoverAssembly::to(const std::string& chain_name) const {
  const auto found = to_.find(chain_name);
  return found == to_.end() ? std::nullopt : std::optional<std::size_t>(found->second);
}

}  // namespace bigbird
