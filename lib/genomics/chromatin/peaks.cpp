// Lists of peak files and their intervals; see peaks.h.
#include "lib/genomics/chromatin/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/unicode.h"
#include "lib/genomics/chromatin/dataset.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

constexpr std::size_t most_tracks = 65535;

// The tracks that read one file: their numbers by the text of column 4, and those that take every line.
struct SourceFile {
  std::string path;
  std::unordered_map<std::string, std::size_t> by_track;
  std::vector<std::size_t> whole;
};

std::vector<SourceFile> files_of(const std::vector<PeakTrack>& tracks) {
  std::vector<SourceFile> files;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const auto [entry, is_new] = known.emplace(tracks[i].file, files.size());
    if (is_new) files.push_back({tracks[i].file, {}, {}});
    SourceFile& file = files[entry->second];
    if (tracks[i].track.empty()) {
      file.whole.push_back(i);
    } else {
      file.by_track.emplace(tracks[i].track, i);
    }
  }
  return files;
}

// Calls take(record, interval) for every line that covers a base of the genome.
template <typename Take>
void read_lines(const std::string& path, int columns, const ContigNames& names, bool clip,
                IntervalCounts& counts, const Take& take) {
  BedReader reader(path, columns);
  BedRecord record;
  std::string chrom;
  std::optional<std::size_t> contig;
  while (reader.next(record)) {
    ++counts.lines;
    if ((counts.lines & 0xffff) == 0) throw_if_cancelled();
    if (record.chrom != chrom || counts.lines == 1) {
      chrom = record.chrom;
      contig = names.find(chrom);
    }
    if (!contig) {
      ++counts.unknown_contigs[chrom];
      continue;
    }
    const std::int64_t length = names[*contig].length;
    if (record.begin > length || (record.end > length && !clip)) {
      throw_bad_input(
          fmt::format("{}: {}-{} is beyond the end of {}, which has {} bases", reader.where(), record.begin,
                      record.end, names[*contig].name, length),
          record.begin > length
              ? "the file is of another assembly than the genome"
              : message("the file is of another assembly than the genome; if not, `clip` cuts at the end"));
    }
    if (record.end > length) {
      record.end = length;
      ++counts.clipped;
    }
    if (record.begin == record.end) {
      ++counts.empty;
      continue;
    }
    take(record, GenomeInterval{static_cast<std::uint32_t>(*contig), static_cast<std::uint32_t>(record.begin),
                                static_cast<std::uint32_t>(record.end)});
  }
  if (counts.lines == 0) {
    throw_bad_input(path + ": holds no interval",
                    "remove it from the list, or check that it is the right file");
  }
}

void check_lengths(const ContigNames& names) {
  for (const Contig& contig : names.contigs()) {
    if (contig.length > std::numeric_limits<std::uint32_t>::max()) {
      throw_bad_input(fmt::format("{}: {} bases are more than the 4,294,967,295 that can be addressed",
                                  contig.name, contig.length),
                      "cut the contig in two");
    }
  }
}

void add(const IntervalCounts& from, IntervalCounts& to) {
  to.lines += from.lines;
  to.empty += from.empty;
  to.clipped += from.clipped;
  to.unlisted += from.unlisted;
  for (const auto& entry : from.unknown_contigs) to.unknown_contigs[entry.first] += entry.second;
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace

std::vector<PeakTrack> read_peak_list(const std::string& path) {
  TsvReader table(path);
  const std::size_t name = table.column("name"), group = table.column("group"), file = table.column("file");
  const bool has_track = table.has_column("track");
  const std::size_t track = has_track ? table.column("track") : 0;
  const std::string folder = path == "-" ? "." : parent_folder(path);
  std::vector<PeakTrack> tracks;
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<std::string_view> fields;
  while (table.next(fields)) {
    PeakTrack row{{std::string(fields[name]), std::string(fields[group])}, std::string(fields[file]), ""};
    if (row.profile.name.empty() || row.file.empty()) {
      throw_bad_input(table.where() + ": a row without a name or without a file",
                      "a row for each track: name, group (TF, DHS, HM, or . for none), file");
    }
    if (is_missing(row.profile.group)) row.profile.group = ".";
    row.file = find_beside(row.file, folder, table.where(),
                           "files of a list are looked for from the list's folder and the working folder");
    if (has_track && !is_missing(fields[track])) row.track = fields[track];
    if (!seen.emplace(row.file, row.track).second) {
      throw_bad_input(fmt::format("{}: {}{}{} is listed twice", table.where(), row.file,
                                  row.track.empty() ? "" : ", track ", row.track),
                      "each track has its own file, or its own name in column 4 of a file");
    }
    tracks.push_back(std::move(row));
  }
  if (tracks.empty()) throw_bad_input(path + ": lists no track", "a row for each track: name, group, file");
  if (tracks.size() > most_tracks) {
    throw_bad_input(fmt::format("{}: {} tracks; {} are possible", path, tracks.size(), most_tracks),
                    "split the list");
  }
  return tracks;
}

void merge_intervals(std::vector<GenomeInterval>& intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const GenomeInterval& a, const GenomeInterval& b) {
    return std::tie(a.contig, a.begin, a.end) < std::tie(b.contig, b.begin, b.end);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    GenomeInterval& last = intervals[kept == 0 ? 0 : kept - 1];
    if (kept > 0 && last.contig == intervals[i].contig && intervals[i].begin <= last.end) {
      last.end = std::max(last.end, intervals[i].end);
    } else {
      intervals[kept++] = intervals[i];
    }
  }
  intervals.resize(kept);
  intervals.shrink_to_fit();
}

std::vector<std::vector<GenomeInterval>> read_peaks(const std::vector<PeakTrack>& tracks,
                                                    const ContigNames& names, bool clip,
                                                    IntervalCounts& counts) {
  check_lengths(names);
  const std::vector<SourceFile> files = files_of(tracks);
  std::vector<std::vector<GenomeInterval>> peaks(tracks.size());
  std::vector<IntervalCounts> file_counts(files.size());
  // Kept apart, so that the error that is told is that of the first bad file of the list for any threads.
  std::vector<std::optional<Error>> errors(files.size());
  kernels::parallel_for(files.size(), [&](std::size_t i) {
    const SourceFile& file = files[i];
    try {
      read_lines(file.path, 4, names, clip, file_counts[i],
                 [&](const BedRecord& record, const GenomeInterval& interval) {
                   for (const std::size_t track : file.whole) peaks[track].push_back(interval);
                   if (file.by_track.empty()) return;
                   const auto found = file.by_track.find(record.name);
                   if (found != file.by_track.end()) {
                     peaks[found->second].push_back(interval);
                   } else if (file.whole.empty()) {
                     ++file_counts[i].unlisted;
                   }
                 });
      for (const std::size_t track : file.whole) merge_intervals(peaks[track]);
      for (const auto& entry : file.by_track) merge_intervals(peaks[entry.second]);
    } catch (const Error& error) {
      errors[i] = error;
    }
  });
  for (const auto& error : errors) {
    if (error) throw Error(*error);
  }
  for (const IntervalCounts& one : file_counts) add(one, counts);
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    if (!peaks[i].empty()) continue;
    log_warning(fmt::format("{}{}{}: no peak on any contig of the genome for profile {} ({})", tracks[i].file,
                            tracks[i].track.empty() ? "" : ", track ", tracks[i].track, i,
                            tracks[i].profile.name));
  }
  return peaks;
}

std::int64_t least_overlap(std::string_view share, std::int64_t bin, bool at_least) {
  const auto refuse = [&](const std::string& what) {
    throw_usage(
        message("`min_overlap` {}: {}", share, what),
        message(
            "a decimal between 0 and 1, for instance 0.5: more than half; with `at_least`, half is enough"));
  };
  // numerator / denominator = share
  std::int64_t numerator = 0, denominator = 1;
  bool after_point = false, digits = false;
  for (const char letter : share) {
    if (letter == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (letter < '0' || letter > '9') refuse("not a decimal");
    if (denominator >= 1'000'000'000 || numerator > 1'000'000'000) refuse("too many digits");
    numerator = numerator * 10 + (letter - '0');
    if (after_point) denominator *= 10;
    digits = true;
  }
  if (!digits) refuse("not a decimal");
  if (numerator > denominator) refuse("more than the whole bin");
  const std::int64_t scaled = numerator * bin;
  const std::int64_t least = at_least ? (scaled + denominator - 1) / denominator : scaled / denominator + 1;
  if (least < 1) refuse(message("every bin has that much with `at_least`"));
  if (least > bin) refuse(message("no bin has more than the whole of it; add `at_least`"));
  return least;
}

void mark_bins(std::span<const GenomeInterval> merged, const BinStretch& stretch, std::int64_t least,
               std::size_t profile, std::size_t stride, std::span<std::uint8_t> rows) {
  const std::int64_t stretch_end = stretch.begin + stretch.bins * stretch.bin;
  auto interval = std::partition_point(merged.begin(), merged.end(), [&](const GenomeInterval& one) {
    return one.contig < stretch.contig || (one.contig == stretch.contig && one.end <= stretch.begin);
  });
  const auto bit = static_cast<std::uint8_t>(1u << (profile % 8));
  std::int64_t current = -1;  // the bin that `covered` is of
  std::int64_t covered = 0;
  for (; interval != merged.end() && interval->contig == stretch.contig && interval->begin < stretch_end;
       ++interval) {
    const std::int64_t begin = std::max<std::int64_t>(interval->begin, stretch.begin);
    const std::int64_t end = std::min<std::int64_t>(interval->end, stretch_end);
    for (std::int64_t index = (begin - stretch.begin) / stretch.bin;; ++index) {
      const std::int64_t bin_begin = stretch.begin + index * stretch.bin;
      if (bin_begin >= end) break;
      if (index != current) covered = 0;
      current = index;
      covered += std::min(end, bin_begin + stretch.bin) - std::max(begin, bin_begin);
      if (covered >= least) rows[static_cast<std::size_t>(index) * stride + profile / 8] |= bit;
    }
  }
}

KeepRule::KeepRule(const std::string& text, const std::vector<Profile>& profiles) {
  if (lower_ascii(text) == "all") return;
  std::set<std::string> groups;
  for (const Profile& profile : profiles) groups.insert(profile.group);
  for (const std::string_view term : split_at(text, ',')) {
    std::vector<Condition>& conditions = terms_.emplace_back();
    for (const std::string_view part : split_at(term, '+')) {
      const std::size_t colon = part.rfind(':');
      const std::string group = lower_ascii(part.substr(0, colon));
      Condition condition{std::vector<std::uint8_t>(label_stride(profiles.size())), 1};
      bool malformed = group.empty();
      if (colon != std::string_view::npos) {
        const std::string_view number = part.substr(colon + 1);
        const auto [end, error] =
            std::from_chars(number.data(), number.data() + number.size(), condition.least);
        malformed |= error != std::errc() || end != number.data() + number.size() || condition.least < 1;
      }
      if (malformed) {
        throw_usage(
            message("`keep` {}: not a rule: {}", text, part),
            "all, any, a group such as tf, tf:2 for two labels of it, tf+dhs for both, tf,dhs for either");
      }
      int members = 0;
      for (std::size_t k = 0; k < profiles.size(); ++k) {
        if (group != "any" && lower_ascii(profiles[k].group) != group) continue;
        condition.mask[k / 8] |= static_cast<std::uint8_t>(1u << (k % 8));
        ++members;
      }
      if (members < condition.least) {
        throw_bad_input(message("`keep` {}: {} of the profiles are of group {}", text, members, group),
                        message("the groups of the list are: {}; or `keep` any", fmt::join(groups, ", ")));
      }
      conditions.push_back(std::move(condition));
    }
  }
}

bool KeepRule::keeps(std::span<const std::uint8_t> row) const {
  const auto holds = [&](const Condition& condition) {
    int labels = 0;
    for (std::size_t byte = 0; byte < row.size(); ++byte) {
      labels += std::popcount(static_cast<unsigned>(row[byte] & condition.mask[byte]));
      if (labels >= condition.least) return true;
    }
    return false;
  };
  return terms_.empty() || std::any_of(terms_.begin(), terms_.end(), [&](const auto& conditions) {
           return std::all_of(conditions.begin(), conditions.end(), holds);
         });
}

}  // namespace bigbird
