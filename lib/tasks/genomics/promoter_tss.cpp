// Reading and lifting of TSS catalogues; see promoter_tss.h.
#include "lib/tasks/genomics/promoter_tss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/bed.h"
#include "lib/io/chain.h"

namespace bigbird {
namespace {

constexpr const char* bed_hint = "give a BED of one-base TSS with 6 columns, or EPDnew's BED with 8";

std::int64_t tss_of(const BedRecord& record, const std::string& where) {
  if (record.columns < 6) {
    throw_bad_input(fmt::format("{}: {} columns, but the strand is in column 6", where, record.columns),
                    bed_hint);
  }
  if (record.strand != '+' && record.strand != '-')
    throw_bad_input(where + ": a TSS needs a strand, + or -", bed_hint);
  if (record.end - record.begin == 1) return record.begin;
  if (record.columns >= 8 && record.thick_begin < record.thick_end) {
    return record.strand == '+' ? record.thick_begin : record.thick_end - 1;
  }
  throw_bad_input(fmt::format("{}: {} bases wide without a thick range: which base is the TSS is not known",
                              where, record.end - record.begin),
                  bed_hint);
}

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

}  // namespace

TssCatalogue read_tss(const std::string& path, const std::string& chain, const ContigNames& genome) {
  const std::unique_ptr<ChainFile> lift = chain.empty() ? nullptr : std::make_unique<ChainFile>(chain);
  TssCatalogue catalogue;
  std::vector<std::string> names;  // of the sites, as the file has them
  std::set<std::string> unknown;
  std::set<std::tuple<std::string, std::size_t, std::int64_t, char>> seen;
  BedReader reader(path);
  BedRecord record;
  while (reader.next(record)) {
    ++catalogue.rows;
    std::int64_t tss = tss_of(record, reader.where());
    std::string chrom = record.chrom;
    char strand = record.strand;
    const std::string name = record.name == "." ? place_name(chrom, tss, strand) : record.name;
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
  if (catalogue.rows == 0) throw_bad_input(path + ": no TSS in it", bed_hint);
  if (catalogue.sites.empty()) {
    const DroppedTss& first = catalogue.dropped.front();
    throw_bad_input(fmt::format("{}: none of its {} TSS can be used; the first, {} at {}:{}, is dropped: {}",
                                path, catalogue.rows, first.id, first.chrom, first.tss, first.reason),
                    "check that the TSS and the genome are of the same assembly, or lift with --lift CHAIN");
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
