// Names and bases of the two assemblies of a lift; see liftover_assembly.h.
#include "lib/tasks/genomics/liftover_assembly.h"

#include <fmt/format.h>

#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr const char* chain_hint = "give the chain file that lifts from the input's assembly";

}  // namespace

LiftoverAssembly::LiftoverAssembly(const ChainFile& chain, const std::string& fasta) : chain_(chain) {
  if (!fasta.empty()) genome_.emplace(fasta);
  names_ = genome_ ? ContigNames(genome_->contigs()) : chain.to();
  for (const Contig& contig : chain.to().contigs()) {
    const auto found = names_.find(contig.name, contig.length);
    const auto by_name = found ? found : names_.find(contig.name);
    if (by_name && names_[*by_name].length != contig.length) {
      throw_bad_input(fmt::format("{}: {} has {} bases, but the chain file lifts to a {} of {}", fasta,
                                  names_[*by_name].name, names_[*by_name].length, contig.name, contig.length),
                      "give the genome that the chain file lifts to");
    }
    if (found) to_.emplace(contig.name, *found);
  }
  if (to_.empty()) {
    throw_bad_input(fmt::format("{}: holds none of the contigs that the chain file lifts to", fasta),
                    "give the genome that the chain file lifts to");
  }
}

void LiftoverAssembly::declare(std::string_view name, std::int64_t length, const std::string& where) {
  const auto known = length == 0 ? std::optional<std::int64_t>() : std::optional<std::int64_t>(length);
  const auto found = chain_.from().find(name, known);
  if (found && length != 0 && chain_.from()[*found].length != length) {
    throw_bad_input(fmt::format("{}: {} has {} bases, but the chain file lifts from a {} of {}", where, name,
                                length, chain_.from()[*found].name, chain_.from()[*found].length),
                    chain_hint);
  }
  if (found) {
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
