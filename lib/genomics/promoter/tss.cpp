// Reading and lifting of TSS catalogues; see tss.h.
#include "lib/genomics/promoter/tss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/promoter/tss_formats.h"
#include "lib/io/genome/chain.h"

namespace bigbird {
namespace {

// "ISG15" of "ISG15_1".
std::string gene_of(const std::string& name) {
  const std::size_t bar = name.rfind('_');
  const bool numbered = bar != std::string::npos && bar > 0 && bar + 1 < name.size() &&
                        std::all_of(name.begin() + static_cast<std::ptrdiff_t>(bar) + 1, name.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
  return numbered ? name.substr(0, bar) : name;
}

// What a place is called where a name is missing or not unique.
std::string place_name(const std::string& chrom, std::int64_t tss, char strand) {
  return fmt::format("{}:{}:{}", chrom, tss, strand);
}

// A name that says its assembly, another than that of the sequences at hand, makes every position wrong.
void refuse_another_assembly(const TssReader& reader, const std::string& chrom, const ContigNames& contigs,
                             bool lifting) {
  const std::string clash = contigs.assembly_clash(chrom);
  if (clash.empty()) return;
  throw_bad_input(
      fmt::format("{}: {}", reader.where(), clash),
      lifting
          ? "the chain file lifts from another assembly than the TSS are of: give the one that fits"
          : message("the TSS and the genome are of different assemblies: lift the TSS with `chain` CHAIN"));
}

}  // namespace

TssCatalogue read_tss(const std::string& path, const std::string& chain, const ContigNames& genome) {
  const std::unique_ptr<ChainFile> lift = chain.empty() ? nullptr : std::make_unique<ChainFile>(chain);
  TssCatalogue catalogue;
  std::vector<std::string> names;  // of the sites, as the file has them
  std::set<std::string> unknown;
  std::set<std::tuple<std::string, std::size_t, std::int64_t, char>> seen;
  TssReader reader(path);
  TssRow row;
  while (reader.next(row)) {
    ++catalogue.rows;
    std::int64_t tss = row.tss;
    std::string chrom = row.chrom;
    char strand = row.strand;
    const std::string name = row.name == "." ? place_name(chrom, tss, strand) : row.name;
    refuse_another_assembly(reader, chrom, lift ? lift->from() : genome, lift != nullptr);
    const auto drop = [&](std::string reason) {
      catalogue.dropped.push_back({name, chrom, tss, strand, std::move(reason)});
    };
    if (lift) {
      const Lifted lifted = lift->lift_base(chrom, tss);
      if (!lifted.ok()) {
        drop(std::string("not lifted: ") + lift_outcome_text(lifted.outcome));
        continue;
      }
      chrom = lifted.chrom;
      tss = lifted.begin;
      if (lifted.reversed) strand = strand == '+' ? '-' : '+';
    }
    const auto contig = genome.find(chrom);
    if (!contig) {
      unknown.insert(chrom);
      drop("contig not in the genome");
    } else if (tss >= genome[*contig].length) {
      drop("beyond the end of its contig");
    } else if (!seen.insert({name, *contig, tss, strand}).second) {
      drop("repeated row");
    } else {
      catalogue.sites.push_back({name, gene_of(name), *contig, tss, strand});
      names.push_back(name);
    }
  }
  if (catalogue.rows == 0)
    throw_bad_input(path + ": no TSS in it", "give EPDnew's BED, SGA or FPS, or a BED of one-base TSS");
  if (catalogue.sites.empty()) {
    const DroppedTss& first = catalogue.dropped.front();
    throw_bad_input(
        fmt::format("{}: none of its {} TSS can be used; the first, {} at {}:{}, is dropped: {}", path,
                    catalogue.rows, first.id, first.chrom, first.tss, first.reason),
        message("check that the TSS and the genome are of the same assembly, or lift with `chain` CHAIN"));
  }
  if (!unknown.empty()) {
    log_warning(fmt::format("{}: TSS on {} contigs that the genome lacks are dropped ({} ...)", path,
                            unknown.size(), *unknown.begin()));
  }
  std::map<std::string, int> uses;
  for (const std::string& name : names) ++uses[name];
  for (TssSite& site : catalogue.sites) {
    if (uses[site.id] > 1)
      site.id = fmt::format("{}@{}", site.id, place_name(genome[site.contig].name, site.tss, site.strand));
  }
  return catalogue;
}

}  // namespace bigbird
