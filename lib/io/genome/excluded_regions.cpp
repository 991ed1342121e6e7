// Reading the regions that are left out; see excluded_regions.h.
#include "lib/io/genome/excluded_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/genome/bed.h"

namespace bigbird {
namespace {

using IntervalsByContig = std::vector<std::vector<IntervalSet::Interval>>;

void read_excluded_file(const std::string& path, const ContigNames& names, IntervalsByContig& intervals) {
  std::set<std::string> unknown;
  std::size_t known = 0, passing = 0;
  BedReader reader(path, 3);
  BedRecord record;
  while (reader.next(record)) {
    const auto contig = names.find(record.chrom);
    if (!contig) {
      unknown.insert(record.chrom);
      continue;
    }
    ++known;
    const std::int64_t length = names[*contig].length;
    if (record.begin > length) {
      throw_bad_input(fmt::format("{}: {}-{} is beyond the end of {}, which has {} bases", reader.where(),
                                  record.begin, record.end, names[*contig].name, length),
                      "the file is of another assembly than the genome");
    }
    passing += record.end > length ? 1 : 0;
    intervals[*contig].push_back({record.begin, std::min(record.end, length)});
  }
  if (passing > 0)
    log_warning(fmt::format("{}: {} regions pass the end of their contig and are cut there", path, passing));
  if (unknown.empty()) return;
  if (known == 0) {
    throw_bad_input(fmt::format("{}: no contig of it is in the genome ({} ...)", path, *unknown.begin()),
                    "give a BED for this genome");
  }
  log_warning(fmt::format("{}: regions on {} contigs that the genome lacks are passed over ({} ...)", path,
                          unknown.size(), *unknown.begin()));
}

std::vector<IntervalSet> sets_of(IntervalsByContig intervals) {
  std::vector<IntervalSet> sets;
  sets.reserve(intervals.size());
  for (auto& list : intervals) sets.emplace_back(std::move(list));
  return sets;
}

std::int64_t bases_of(const std::vector<IntervalSet>& sets) {
  std::int64_t bases = 0;
  for (const IntervalSet& set : sets) bases += set.bases();
  return bases;
}

}  // namespace

ExcludedRegions::ExcludedRegions(const std::vector<std::string>& paths, const ContigNames& genome)
    : names_(genome) {
  IntervalsByContig intervals(names_.size());
  for (const std::string& path : paths) read_excluded_file(path, names_, intervals);
  sets_ = sets_of(std::move(intervals));
  bases_ = bases_of(sets_);
}

ExcludedRegions::ExcludedRegions(const std::vector<std::string>& paths) {
  std::vector<Contig> contigs;
  std::map<std::string, std::size_t> numbers;  // of contigs, by one name for all that mean it
  IntervalsByContig intervals;
  BedRecord record;
  for (const std::string& path : paths) {
    BedReader reader(path, 3);
    while (reader.next(record)) {
      const std::string name = canonical_contig_name(record.chrom);
      // chrM and MT may be two sequences.
      const auto [entry, is_new] = numbers.emplace(name == "MT" ? record.chrom : name, contigs.size());
      if (is_new) {
        contigs.push_back({record.chrom, 0});
        intervals.emplace_back();
      }
      intervals[entry->second].push_back({record.begin, record.end});
    }
  }
  names_ = ContigNames(std::move(contigs));
  sets_ = sets_of(std::move(intervals));
  bases_ = bases_of(sets_);
}

bool ExcludedRegions::touch(std::size_t contig, std::int64_t begin, std::int64_t end) const {
  return contig < sets_.size() && sets_[contig].overlap(begin, end) > 0;
}

bool ExcludedRegions::touch(std::string_view chrom, std::int64_t begin, std::int64_t end) const {
  if (empty()) return false;
  const auto contig = names_.find(chrom);
  return contig && touch(*contig, begin, end);
}

}  // namespace bigbird
