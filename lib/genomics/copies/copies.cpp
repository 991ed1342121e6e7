// Windows, their partners, and the regions that they make; see copies.h.
#include "lib/genomics/copies/copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/core/settings.h"
#include "lib/genomics/copies/free_end_alignment.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/interval_set.h"
#include "lib/io/genome/region.h"

namespace bigbird {
namespace {

constexpr const char* rest_of_genome = "rest";
constexpr std::int64_t shortest_window = 2 * word_length;
constexpr std::int64_t longest_window = 10'000;
constexpr std::int64_t windows_per_stretch = 512;
// Of a word that stands at more places of a piece the first are looked at, and of the diagonals with most
// words the first are aligned: copies of which there are hundreds have a partner among these.
constexpr std::size_t most_places = 128;
constexpr std::size_t most_alignments = 8;
constexpr std::size_t fewest_words = 2;

// Some bases of the other side, end to end.
struct CopyPiece {
  struct Part {
    std::size_t at = 0;  // in the text
    Region region;
  };
  std::vector<Part> parts;
  std::size_t size = 0;
};

// Windows of one interval of the held-out side.
struct CopyStretch {
  Region interval;
  std::int64_t first = 0;  // window of the interval
  std::int64_t count = 0;
};

struct WindowCopy {
  std::int64_t window = 0;  // of the interval
  std::size_t edits = 0;
  Region partner;
  bool reverse = false;
};

// A window's words on nearly one diagonal of the piece: where the window's begin would lie, from here to
// there.
struct Diagonal {
  bool reverse = false;
  std::int64_t from = 0, to = 0;
  std::size_t words = 0;
};

class CopySearch {
 public:
  explicit CopySearch(const CopyOptions& options)
      : options_(options), fasta_(options.fasta), names_(fasta_.contigs()) {
    check_ranges();
    const bool of_rest = options.of == rest_of_genome, in_rest = options.in == rest_of_genome;
    if (of_rest && in_rest)
      throw_usage(message("`of` and `in` are both the rest"), "give the regions of one side");
    std::vector<IntervalSet> held_out, others;
    if (!of_rest) held_out = sets(options.of, "of");
    others = in_rest ? complement(held_out) : sets(options.in, "in");
    if (of_rest) held_out = complement(others);
    check_apart(held_out, others);
    add_stretches(held_out);
    add_pieces(others);
    for (int i = 0; i < kernels::thread_count(); ++i) handles_.push_back(fasta_.clone());
  }

  CopySummary run() {
    std::size_t largest = 0;
    for (const CopyPiece& piece : pieces_) largest = std::max(largest, piece.size);
    log_info(fmt::format("{} windows of {} bases against {} bases, in pieces of {} at most: {:.0f} MB",
                         summary_.windows, summary_.bases, summary_.searched, largest,
                         1e-6 * 10.0 * static_cast<double>(largest)));
    found_.resize(stretches_.size());
    done_.resize(stretches_.size());
    for (std::size_t i = 0; i < stretches_.size(); ++i)
      done_[i].assign(static_cast<std::size_t>(stretches_[i].count), false);
    Progress progress("copies", pieces_.size() * stretches_.size(), "stretches");
    for (const CopyPiece& piece : pieces_) {
      const std::string text = text_of(piece);
      const WordIndex index(text);
      kernels::parallel_for_worker(stretches_.size(), [&](std::size_t i, int worker) {
        throw_if_cancelled();
        search_stretch(i, handles_[static_cast<std::size_t>(worker)], piece, text, index);
        progress.advance(1);
      });
    }
    join();
    for (const Contig& contig : names_.contigs()) summary_.names.push_back(contig.name);
    return std::move(summary_);
  }

 private:
  void check_ranges() const {
    if (options_.window < shortest_window || options_.window > longest_window) {
      throw_usage(message("`window` {}: not from {} to {}", options_.window, shortest_window, longest_window),
                  "100 bases find whole tRNA genes, longer windows only longer copies");
    }
    if (options_.step < 1 || options_.step > options_.window) {
      throw_usage(message("`step` {}: not from 1 to the window of {}", options_.step, options_.window),
                  "a quarter of the window is usual");
    }
    if (!(options_.identity > 0.6 && options_.identity <= 1)) {
      throw_usage(message("`identity` {}: not above 0.6, and at most 1", options_.identity),
                  "unrelated sequences come near 0.6");
    }
  }

  std::vector<IntervalSet> sets(const std::string& list, std::string_view setting) const {
    std::vector<std::vector<IntervalSet::Interval>> intervals(names_.size());
    try {
      for (const Region& region : parse_regions(list, names_))
        intervals[region.contig].push_back({region.begin, region.end});
    } catch (const Error& error) {
      throw error.with_context(setting_name(setting));
    }
    std::vector<IntervalSet> result;
    for (auto& one : intervals) result.emplace_back(std::move(one));
    return result;
  }

  std::vector<IntervalSet> complement(const std::vector<IntervalSet>& all) const {
    std::vector<IntervalSet> result;
    for (std::size_t contig = 0; contig < all.size(); ++contig) {
      std::vector<IntervalSet::Interval> rest;
      std::int64_t at = 0;
      for (const IntervalSet::Interval& interval : all[contig].intervals()) {
        rest.push_back({at, interval.begin});
        at = interval.end;
      }
      rest.push_back({at, names_[contig].length});
      result.emplace_back(std::move(rest));
    }
    return result;
  }

  void check_apart(const std::vector<IntervalSet>& held_out, const std::vector<IntervalSet>& others) const {
    for (std::size_t contig = 0; contig < names_.size(); ++contig) {
      for (const IntervalSet::Interval& one : held_out[contig].intervals()) {
        if (others[contig].overlap(one.begin, one.end) == 0) continue;
        throw_bad_input(message("`of` and `in` share bases of {}",
                                format_region(names_[contig].name, one.begin, one.end)),
                        "a base is on one side only: every region is its own copy");
      }
    }
  }

  std::int64_t length_of_window(const Region& interval) const {
    return std::min(options_.window, interval.end - interval.begin);
  }
  std::int64_t begin_of_window(const Region& interval, std::int64_t window) const {
    return std::min(interval.begin + window * options_.step, interval.end - length_of_window(interval));
  }

  void add_stretches(const std::vector<IntervalSet>& held_out) {
    for (std::size_t contig = 0; contig < names_.size(); ++contig) {
      if (held_out[contig].empty()) continue;
      summary_.contigs.push_back({names_[contig].name, held_out[contig].bases(), 0, 0});
      summary_.bases += held_out[contig].bases();
      for (const IntervalSet::Interval& one : held_out[contig].intervals()) {
        const Region interval{contig, one.begin, one.end};
        const std::int64_t behind = one.end - one.begin - length_of_window(interval);
        const std::int64_t count = (behind + options_.step - 1) / options_.step + 1;
        summary_.windows += count;
        for (std::int64_t first = 0; first < count; first += windows_per_stretch)
          stretches_.push_back({interval, first, std::min(windows_per_stretch, count - first)});
      }
    }
    if (stretches_.empty()) throw_usage(message("`of`: no base"), "give contigs or regions of the genome");
  }

  // Pieces overlap, so that no partner is cut in two.
  void add_pieces(const std::vector<IntervalSet>& others) {
    const std::int64_t overlap = 2 * options_.window;
    const auto most = static_cast<std::int64_t>(
        std::clamp(options_.piece, static_cast<std::size_t>(4 * options_.window), most_indexed_bases));
    CopyPiece piece;
    const auto close = [&] {
      if (!piece.parts.empty()) pieces_.push_back(std::move(piece));
      piece = {};
    };
    for (std::size_t contig = 0; contig < names_.size(); ++contig) {
      summary_.searched += others[contig].bases();
      for (const IntervalSet::Interval& one : others[contig].intervals()) {
        for (std::int64_t begin = one.begin; begin < one.end;) {
          std::int64_t room = most - static_cast<std::int64_t>(piece.size) - 1;
          if (room < std::min(one.end - begin, 2 * overlap)) {
            close();
            room = most - 1;
          }
          const std::int64_t end = std::min(one.end, begin + room);
          piece.parts.push_back({piece.size, {contig, begin, end}});
          piece.size += static_cast<std::size_t>(end - begin) + 1;
          begin = end < one.end ? end - overlap : end;
        }
      }
    }
    close();
    if (pieces_.empty()) throw_usage(message("`in`: no base"), message("`of` must leave some of the genome"));
  }

  std::string text_of(const CopyPiece& piece) {
    std::string text;
    text.reserve(piece.size);
    for (const CopyPiece::Part& part : piece.parts) {
      text += fasta_.fetch(part.region.contig, part.region.begin, part.region.end);
      text += 'N';
    }
    return text;
  }

  void search_stretch(std::size_t number, Fasta& fasta, const CopyPiece& piece, const std::string& text,
                      const WordIndex& index) {
    const CopyStretch& stretch = stretches_[number];
    std::vector<bool>& done = done_[number];
    const std::int64_t length = length_of_window(stretch.interval);
    const std::int64_t begin = begin_of_window(stretch.interval, stretch.first);
    const std::int64_t end = begin_of_window(stretch.interval, stretch.first + stretch.count - 1) + length;
    const std::string bases = fasta.fetch(stretch.interval.contig, begin, end);

    // The places of the word that begins at each base: places[first_of[i]] to places[first_of[i + 1]].
    std::vector<std::size_t> first_of(bases.size() + 1, 0);
    std::vector<WordPlace> places;
    WordScanner scanner;
    for (std::size_t i = 0; i < bases.size(); ++i) {
      const bool is_word = scanner.next(bases[i]);
      if (i + 1 < word_length) continue;
      const std::size_t at = i + 1 - word_length;
      first_of[at] = places.size();
      if (!is_word) continue;
      index.find(scanner.word().value, most_places, places);
      for (std::size_t p = first_of[at]; p < places.size(); ++p)
        places[p].reverse = places[p].reverse != scanner.word().reverse;
    }
    const std::size_t words = bases.size() < word_length ? 0 : bases.size() - word_length + 1;
    for (std::size_t at = words; at < first_of.size(); ++at) first_of[at] = places.size();

    std::vector<std::int64_t> keys;
    for (std::int64_t i = 0; i < stretch.count; ++i) {
      if (done[static_cast<std::size_t>(i)]) continue;
      const std::int64_t window = stretch.first + i;
      const auto from = static_cast<std::size_t>(begin_of_window(stretch.interval, window) - begin);
      const std::string_view own = std::string_view(bases).substr(from, static_cast<std::size_t>(length));
      keys.clear();
      for (std::size_t word = 0; word + word_length <= own.size(); ++word) {
        for (std::size_t p = first_of[from + word]; p < first_of[from + word + 1]; ++p)
          keys.push_back(key_of(places[p], static_cast<std::int64_t>(word), length));
      }
      if (keys.size() < fewest_words) continue;
      if (auto copy = best_copy(own, keys, piece, text)) {
        copy->window = window;
        found_[number].push_back(*copy);
        done[static_cast<std::size_t>(i)] = true;
      }
    }
  }

  // Where the window would begin in the piece, at `length` or more, and as numbers of another range where the
  // piece has its reverse complement.
  static constexpr std::int64_t reverse_keys = std::int64_t{1} << 40;
  static std::int64_t key_of(const WordPlace& place, std::int64_t word, std::int64_t length) {
    const std::int64_t begin = place.begin;
    return place.reverse ? reverse_keys + begin + word + word_length : begin - word + length;
  }

  std::vector<Diagonal> diagonals_of(std::vector<std::int64_t>& keys, std::int64_t length) const {
    std::sort(keys.begin(), keys.end());
    std::vector<Diagonal> diagonals;
    std::size_t first = 0;
    for (std::size_t i = 1; i <= keys.size(); ++i) {
      if (i < keys.size() && keys[i] - keys[i - 1] <= slack(length) && keys[i] - keys[first] <= length)
        continue;
      if (i - first >= fewest_words) {
        const bool reverse = keys[first] >= reverse_keys;
        const std::int64_t base = length + (reverse ? reverse_keys : 0);
        diagonals.push_back({reverse, keys[first] - base, keys[i - 1] - base, i - first});
      }
      first = i;
    }
    std::stable_sort(diagonals.begin(), diagonals.end(),
                     [](const Diagonal& a, const Diagonal& b) { return a.words > b.words; });
    if (diagonals.size() > most_alignments) diagonals.resize(most_alignments);
    return diagonals;
  }

  // Bases by which diagonals may differ where something is left out or put in.
  static std::int64_t slack(std::int64_t length) { return std::max<std::int64_t>(8, length / 8); }

  std::optional<WindowCopy> best_copy(std::string_view own, std::vector<std::int64_t>& keys,
                                      const CopyPiece& piece, std::string_view text) const {
    const auto length = static_cast<std::int64_t>(own.size());
    const auto most_edits =
        static_cast<std::size_t>(std::floor((1 - options_.identity) * static_cast<double>(length) + 1e-9));
    std::optional<WindowCopy> best;
    std::string reversed;
    for (const Diagonal& diagonal : diagonals_of(keys, length)) {
      if (diagonal.reverse && reversed.empty()) reversed = reverse_complement(own);
      const CopyPiece::Part& part = part_at(piece, (diagonal.from + diagonal.to + length) / 2);
      const auto part_begin = static_cast<std::int64_t>(part.at);
      const std::int64_t part_end = part_begin + part.region.end - part.region.begin;
      const std::int64_t from = std::clamp(diagonal.from - slack(length), part_begin, part_end);
      const std::int64_t to = std::clamp(diagonal.to + length + slack(length), part_begin, part_end);
      const FreeEndAlignment aligned =
          align_free_ends(diagonal.reverse ? std::string_view(reversed) : own,
                          text.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)));
      if (aligned.edits > most_edits) continue;
      const std::int64_t offset = part.region.begin - part_begin + from;
      const WindowCopy copy{0,
                            aligned.edits,
                            {part.region.contig, offset + static_cast<std::int64_t>(aligned.begin),
                             offset + static_cast<std::int64_t>(aligned.end)},
                            diagonal.reverse};
      if (!best || is_better(copy, *best)) best = copy;
    }
    return best;
  }

  static bool is_better(const WindowCopy& one, const WindowCopy& other) {
    const auto order = [](const WindowCopy& copy) {
      return std::tuple(copy.edits, copy.partner.contig, copy.partner.begin, copy.reverse);
    };
    return order(one) < order(other);
  }

  static const CopyPiece::Part& part_at(const CopyPiece& piece, std::int64_t at) {
    const auto next = std::upper_bound(piece.parts.begin(), piece.parts.end(), at,
                                       [](std::int64_t place, const CopyPiece::Part& part) {
                                         return place < static_cast<std::int64_t>(part.at);
                                       });
    return next == piece.parts.begin() ? *next : *(next - 1);
  }

  // The windows of a region that is not whole yet.
  struct OpenRegion {
    const Region* interval = nullptr;  // of the held-out side; none: no region
    std::int64_t end = 0;
    std::vector<WindowCopy> copies;
  };

  void join() {
    OpenRegion open;
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      std::vector<WindowCopy>& copies = found_[i];
      std::sort(copies.begin(), copies.end(),
                [](const WindowCopy& a, const WindowCopy& b) { return a.window < b.window; });
      summary_.copied_windows += static_cast<std::int64_t>(copies.size());
      const Region& interval = stretches_[i].interval;
      for (const WindowCopy& copy : copies) {
        const std::int64_t begin = begin_of_window(interval, copy.window);
        const bool goes_on = open.interval != nullptr && *open.interval == interval && begin <= open.end;
        if (!goes_on) close(open);
        open.interval = &interval;
        open.end = begin + length_of_window(interval);
        open.copies.push_back(copy);
      }
      copies = {};
    }
    close(open);
  }

  void close(OpenRegion& open) {
    if (open.interval == nullptr) return;
    const auto length = static_cast<double>(length_of_window(*open.interval));
    CopyRegion region;
    region.contig = open.interval->contig;
    region.begin = begin_of_window(*open.interval, open.copies.front().window);
    region.end = open.end;
    region.windows = static_cast<std::int64_t>(open.copies.size());
    std::size_t fewest = open.copies.front().edits, all = 0;
    for (const WindowCopy& copy : open.copies) {
      fewest = std::min(fewest, copy.edits);
      all += copy.edits;
    }
    region.identity = 1 - static_cast<double>(fewest) / length;
    region.mean_identity = 1 - static_cast<double>(all) / (length * static_cast<double>(open.copies.size()));
    add_partner(open, region);
    for (CopySummary::Contig& contig : summary_.contigs) {
      if (contig.name != names_[region.contig].name) continue;
      contig.copied += region.end - region.begin;
      ++contig.regions;
    }
    summary_.copied += region.end - region.begin;
    summary_.regions.push_back(region);
    open = {};
  }

  // Of an element with many copies each window has the nearest, here one and there another. The partner is
  // the diagonal that most windows have, from the first to the last of them.
  void add_partner(OpenRegion& open, CopyRegion& region) const {
    const auto place = [&](const WindowCopy& copy) {
      const std::int64_t begin = begin_of_window(*open.interval, copy.window);
      return std::tuple(copy.partner.contig, copy.reverse,
                        copy.reverse ? copy.partner.end + begin : copy.partner.begin - begin);
    };
    std::vector<WindowCopy>& copies = open.copies;
    std::stable_sort(copies.begin(), copies.end(),
                     [&](const WindowCopy& a, const WindowCopy& b) { return place(a) < place(b); });
    const std::int64_t near = slack(length_of_window(*open.interval));
    std::size_t first = 0, most = 0;
    for (std::size_t i = 1; i <= copies.size(); ++i) {
      if (i < copies.size()) {
        const auto [contig, reverse, diagonal] = place(copies[i]);
        const auto [contig_before, reverse_before, diagonal_before] = place(copies[i - 1]);
        if (contig == contig_before && reverse == reverse_before && diagonal - diagonal_before <= near)
          continue;
      }
      if (i - first > most) {
        most = i - first;
        region.partner_contig = copies[first].partner.contig;
        region.reverse = copies[first].reverse;
        region.partner_begin = copies[first].partner.begin;
        region.partner_end = copies[first].partner.end;
        for (std::size_t j = first; j < i; ++j) {
          region.partner_begin = std::min(region.partner_begin, copies[j].partner.begin);
          region.partner_end = std::max(region.partner_end, copies[j].partner.end);
        }
      }
      first = i;
    }
  }

  const CopyOptions& options_;
  Fasta fasta_;
  ContigNames names_;
  std::vector<CopyStretch> stretches_;
  std::vector<CopyPiece> pieces_;
  std::vector<Fasta> handles_;                  // one for each thread
  std::vector<std::vector<WindowCopy>> found_;  // by stretch
  std::vector<std::vector<bool>> done_;
  CopySummary summary_;
};

}  // namespace

CopySummary find_copies(const CopyOptions& options) {
  return CopySearch(options).run();
}

void write_copies(const std::string& path, const CopySummary& summary,
                  const std::vector<std::string>& comments) {
  OutputStream out(path);
  for (const std::string& line : comments) out.write("##" + line + "\n");
  out.write(
      "#chrom\tstart\tend\tpartner\tscore\tstrand\tpartner_chrom\tpartner_start\tpartner_end\t"
      "mean_identity\n");
  for (const CopyRegion& region : summary.regions) {
    const std::string& partner = summary.names[region.partner_contig];
    out.write(fmt::format(
        "{}\t{}\t{}\t{}\t{:.0f}\t{}\t{}\t{}\t{}\t{:.4f}\n", summary.names[region.contig], region.begin,
        region.end, format_region(partner, region.partner_begin, region.partner_end), 1000 * region.identity,
        region.reverse ? '-' : '+', partner, region.partner_begin, region.partner_end, region.mean_identity));
  }
  out.close();
}

std::string copies_json(const CopySummary& summary, const CopyOptions& options,
                        const std::string& provenance_json) {
  nlohmann::ordered_json json = {{"window", options.window},
                                 {"step", options.step},
                                 {"identity", options.identity},
                                 {"bases", summary.bases},
                                 {"searched", summary.searched},
                                 {"windows", summary.windows},
                                 {"copied_windows", summary.copied_windows},
                                 {"regions", summary.regions.size()},
                                 {"copied", summary.copied},
                                 {"contigs", nlohmann::ordered_json::array()}};
  for (const CopySummary::Contig& contig : summary.contigs) {
    json["contigs"].push_back({{"name", contig.name},
                               {"bases", contig.bases},
                               {"copied", contig.copied},
                               {"regions", contig.regions}});
  }
  if (!provenance_json.empty()) json["provenance"] = nlohmann::ordered_json::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
