// Draws substitution effects; see sequence_logo.h. Letters are paths, not text: they fill their boxes in
// every viewer, whatever fonts it has.
#include "lib/report/sequence_logo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/core/progress.h"
#include "lib/genomics/variants/allele_key.h"
#include "lib/inference/model_task.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr std::string_view base_letters = "ACGT";
constexpr std::size_t bases_in_row = 100;
constexpr double left_margin = 84, right_margin = 20, header = 64;
constexpr double logo_height = 130;  // of both sides of the axis
constexpr double heat_cell = 13, gap = 10, axis_height = 34, row_gap = 16, legend_height = 62;

// In a box of 1 x 1, y downwards.
constexpr std::array<const char*, 4> base_outlines = {
    "M0 1L.37 0H.63L1 1H.78L.7 .76H.3L.22 1ZM.36 .59H.64L.5 .17Z",
    "M.98 .33C.94 .12 .76 0 .52 0C.2 0 0 .2 0 .5C0 .8 .2 1 .52 1C.76 1 .94 .88 .98 .67H.76"
    "C.72 .78 .64 .83 .52 .83C.34 .83 .22 .71 .22 .5C.22 .29 .34 .17 .52 .17C.64 .17 .72 .22 .76 .33Z",
    "M.96 .31C.92 .12 .76 0 .52 0C.2 0 0 .2 0 .5C0 .8 .2 1 .52 1C.72 1 .88 .93 .98 .8V.46H.54V.62H.78V.72"
    "C.72 .79 .63 .83 .52 .83C.34 .83 .22 .71 .22 .5C.22 .29 .34 .17 .52 .17C.63 .17 .71 .22 .75 .31Z",
    "M0 0H1V.18H.61V1H.39V.18H0Z"};
constexpr std::array<const char*, 4> base_colours = {"#2a9d3a", "#2b5fd9", "#e09b00", "#d62828"};

// White at 0, towards blue below and red above; `share` of the largest, -1 to 1.
std::string heat_colour(double share) {
  const std::array<double, 3> strong =
      share < 0 ? std::array<double, 3>{33, 102, 172} : std::array<double, 3>{178, 24, 43};
  const double weight = std::min(std::abs(share), 1.0);
  std::array<int, 3> mixed{};
  for (std::size_t i = 0; i < 3; ++i)
    mixed[i] = static_cast<int>(std::lround(255 + (strong[i] - 255) * weight));
  return fmt::format("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2]);
}

class Picture {
 public:
  explicit Picture(const SequenceLogo& logo) : logo_(logo) {
    const std::size_t length = logo.bases.size();
    longest_row_ = std::min(length, bases_in_row);
    cell_ = std::clamp(1000.0 / static_cast<double>(std::max<std::size_t>(longest_row_, 1)), 10.0, 24.0);
    for (std::size_t base = 0; base < length; ++base) {
      importance_.push_back(base_importance(logo, base));
      if (std::isfinite(importance_.back())) {
        highest_ = std::max(highest_, importance_.back());
        lowest_ = std::min(lowest_, importance_.back());
      }
    }
    for (const float effect : logo.effects) {
      if (std::isfinite(effect)) strongest_ = std::max(strongest_, std::abs(static_cast<double>(effect)));
    }
    if (highest_ == lowest_) highest_ = lowest_ + 1;  // all letters are flat
    if (strongest_ == 0) strongest_ = 1;
  }

  std::string draw() {
    const std::size_t rows = std::max<std::size_t>((logo_.bases.size() + bases_in_row - 1) / bases_in_row, 1);
    const double row_height = logo_height + gap + 4 * heat_cell + axis_height + row_gap;
    width_ = left_margin + std::max(cell_ * static_cast<double>(longest_row_), 420.0) + right_margin;
    const double height = header + row_height * static_cast<double>(rows) + legend_height;
    svg_ = svg_opening(
               width_, height, logo_.title,
               logo_.subtitle + "; letters are as high as their bases are important, cells are substitutions",
               " font-size=\"11\"") +
           "<defs>\n";
    for (std::size_t i = 0; i < base_letters.size(); ++i) {
      svg_ += fmt::format("<path id=\"{}\" d=\"{}\" fill=\"{}\" fill-rule=\"evenodd\"/>\n", base_letters[i],
                          base_outlines[i], base_colours[i]);
    }
    svg_ += "</defs>\n";
    text(left_margin, 24, 15, "start", logo_.title);
    text(left_margin, 43, 12, "start", logo_.subtitle);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t first = row * bases_in_row;
      const std::size_t last = std::min(first + bases_in_row, logo_.bases.size());
      draw_row(first, last, header + row_height * static_cast<double>(row));
    }
    draw_legend(header + row_height * static_cast<double>(rows) + 8);
    return svg_ + "</svg>\n";
  }

 private:
  void text(double x, double y, int size, const char* anchor, std::string_view content,
            const char* fill = "#222") {
    svg_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x, y,
        size, anchor, fill, svg_escaped(content));
  }

  void rectangle(double x, double y, double width, double height, std::string_view fill) {
    svg_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n",
                        x, y, width, height, fill);
  }

  void line(double x, double y, double right, double down, const char* stroke) {
    svg_ += fmt::format("<path d=\"M{:.2f} {:.2f}l{:.2f} {:.2f}\" stroke=\"{}\" fill=\"none\"/>\n", x, y,
                        right, down, stroke);
  }

  // y of a height in the logo whose top is at `top`.
  double level(double top, double value) const {
    return top + (highest_ - value) / (highest_ - lowest_) * logo_height;
  }

  void draw_row(std::size_t first, std::size_t last, double top) {
    const double row_width = cell_ * static_cast<double>(last - first);
    const double heat_top = top + logo_height + gap;
    line(left_margin - 6, top, 0, logo_height, "#555");
    for (const double tick : {highest_, 0.0, lowest_}) {
      const bool crowded = tick != 0 && std::abs(level(top, tick) - level(top, 0)) < 11;
      if (tick != 0 && crowded) continue;
      line(left_margin - 10, level(top, tick), 4, 0, "#555");
      text(left_margin - 13, level(top, tick) + 4, 11, "end", fmt::format("{:.2g}", tick));
    }
    line(left_margin - 6, level(top, 0), row_width + 6, 0, "#999");
    for (std::size_t base = first; base < last; ++base)
      draw_base(base, left_margin + cell_ * static_cast<double>(base - first), top, heat_top);
    svg_ += fmt::format(
        "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\" fill=\"#555\">importance</text>\n",
        left_margin - 66, top + logo_height / 2);
    draw_mark(first, last, top);
    for (std::size_t i = 0; i < base_letters.size(); ++i) {
      text(left_margin - 13, heat_top + heat_cell * (static_cast<double>(i) + 0.8), 11, "end",
           base_letters.substr(i, 1), base_colours[i]);
    }
    svg_ += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"none\" "
        "stroke=\"#555\"/>\n",
        left_margin, heat_top, row_width, 4 * heat_cell);
    draw_positions(first, last, heat_top + 4 * heat_cell);
  }

  // Around the bases that a variant changes, where the row has some.
  void draw_mark(std::size_t first, std::size_t last, double top) {
    const std::size_t begin = std::max(logo_.marked.first, first), end = std::min(logo_.marked.second, last);
    if (begin >= end) return;
    svg_ += fmt::format(
        "<rect class=\"variant\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"none\" "
        "stroke=\"#111\" stroke-width=\"1.6\"/>\n",
        left_margin + cell_ * static_cast<double>(begin - first), top - 3,
        cell_ * static_cast<double>(end - begin), logo_height + gap + 4 * heat_cell + 6);
  }

  void draw_base(std::size_t base, double x, double top, double heat_top) {
    const std::size_t letter = base_letters.find(logo_.bases[base]);
    const double importance = importance_[base];
    if (letter != std::string_view::npos && std::isfinite(importance)) {
      const double from = level(top, std::max(importance, 0.0));
      const double height = level(top, std::min(importance, 0.0)) - from;
      if (height >= 0.05) {
        svg_ +=
            fmt::format("<use href=\"#{}\" transform=\"translate({:.2f} {:.2f}) scale({:.2f} {:.2f})\"{}/>\n",
                        base_letters[letter], x + 0.04 * cell_, from, 0.92 * cell_, height,
                        importance < 0 ? " opacity=\"0.6\"" : "");
      }
    }
    for (std::size_t i = 0; i < base_letters.size(); ++i) {
      const double y = heat_top + heat_cell * static_cast<double>(i);
      const auto effect = static_cast<double>(logo_.effects[base * 4 + i]);
      if (!std::isfinite(effect)) {
        rectangle(x, y, cell_, heat_cell, "#d9d9d9");
      } else if (i == letter) {
        svg_ += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"1.6\" fill=\"#222\"/>\n", x + cell_ / 2,
                            y + heat_cell / 2);
      } else {
        rectangle(x, y, cell_, heat_cell, heat_colour(effect / strongest_));
      }
    }
  }

  // Every tenth position (fewer where the numbers are wide), and the first base of a row without one.
  void draw_positions(std::size_t first, std::size_t last, double y) {
    const double label_width = 7.0 * static_cast<double>(std::to_string(logo_.first_position).size());
    const std::int64_t step = 10 * static_cast<std::int64_t>(std::ceil(label_width / (10 * cell_)));
    bool any = false;
    const auto tick = [&](std::size_t base) {
      const double x = left_margin + cell_ * (static_cast<double>(base - first) + 0.5);
      line(x, y, 0, 5, "#555");
      text(x, y + 17, 11, "middle", std::to_string(logo_.first_position + static_cast<std::int64_t>(base)));
      any = true;
    };
    for (std::size_t base = first; base < last; ++base) {
      if ((logo_.first_position + static_cast<std::int64_t>(base)) % step == 0) tick(base);
    }
    if (!any) tick(first);
    text(left_margin - 13, y + 17, 11, "end", logo_.contig.substr(0, 9), "#555");
  }

  void draw_legend(double y) {
    constexpr double width = 160, parts = 40;
    for (int i = 0; i < static_cast<int>(parts); ++i) {
      rectangle(left_margin + width / parts * i, y, width / parts + 0.3, 10,
                heat_colour((i + 0.5) / parts * 2 - 1));
    }
    text(left_margin, y + 23, 11, "start", fmt::format("{:.2g}", -strongest_));
    text(left_margin + width / 2, y + 23, 11, "middle", "0");
    text(left_margin + width, y + 23, 11, "end", fmt::format("{:.2g}", strongest_));
    text(left_margin + width + 18, y + 9, 11, "start",
         "letters: minus the mean effect of their substitutions", "#555");
    text(left_margin + width + 18, y + 23, 11, "start",
         "cells: each substitution; dot: the base itself; grey: not known", "#555");
    text(left_margin, y + 41, 11, "start",
         fmt::format("one scale for all rows: letters from {:.2g} to {:.2g}, colours from {:.2g} to {:.2g}",
                     lowest_, highest_, -strongest_, strongest_),
         "#555");
  }

  const SequenceLogo& logo_;
  std::size_t longest_row_ = 0;
  double cell_ = 0;
  double width_ = 0;
  double highest_ = 0;
  double lowest_ = 0;
  double strongest_ = 0;
  std::vector<double> importance_;
  std::string svg_;
};

class AlleleLogos {
 public:
  AlleleLogos(const IsmOptions& options, bool strands_typed, kernels::Backend& backend, std::int64_t reach,
              std::size_t most)
      : options_(options),
        strands_typed_(strands_typed),
        backend_(backend),
        fasta_(options.fasta),
        contigs_(fasta_.contigs()),
        keys_(fasta_, contigs_),
        reach_(reach),
        most_(most),
        progress_("logos", 0, "sequences") {}

  ReportPicture draw(const StrongAllele& allele) {
    if (drawn_ == most_) return {};
    ++drawn_;
    // Its window stands at the first base that changes, trimmed and left-aligned.
    const auto key = keys_.of(allele.chrom, allele.position, allele.ref, allele.alt);
    const std::int64_t place =
        key ? static_cast<std::int64_t>(key->place & position_of_place) - 1 : allele.position;
    const IsmResult result = mutator_of(allele.windows).around(allele.chrom, place, reach_, progress_);
    tell_difference(allele.windows, result);
    const std::size_t profile = find_profile(result.profiles, allele.profile).value_or(0);
    const auto found = std::find(result.selected.begin(), result.selected.end(), profile);
    const auto row =
        found == result.selected.end() ? 0 : static_cast<std::size_t>(found - result.selected.begin());
    SequenceLogo logo = ism_logo(result, row, IsmValue::difference);
    mark(logo, place, allele);
    return {fmt::format("{}:{} {}>{}, {}", allele.chrom, allele.position + 1, allele.ref, allele.alt,
                        result.profiles[result.selected[row]].name),
            sequence_logo_svg(logo)};
  }

 private:
  // The bases of REF that ALT does not share at its ends; of an insertion the base that it stands before.
  static void mark(SequenceLogo& logo, std::int64_t place, const StrongAllele& allele) {
    const std::size_t shorter = std::min(allele.ref.size(), allele.alt.size());
    std::size_t common = 0;
    while (common < shorter &&
           allele.ref[allele.ref.size() - 1 - common] == allele.alt[allele.alt.size() - 1 - common])
      ++common;
    std::size_t before = 0;
    while (before + common < shorter && allele.ref[before] == allele.alt[before]) ++before;
    const std::size_t changed = std::max<std::size_t>(allele.ref.size() - common - before, 1);
    const std::int64_t begin = place + 1 - logo.first_position;
    if (begin < 0 || begin >= static_cast<std::int64_t>(logo.bases.size())) return;
    logo.marked = {static_cast<std::size_t>(begin),
                   std::min(static_cast<std::size_t>(begin) + changed, logo.bases.size())};
  }

  RegionMutator& mutator_of(const ScoredWindows& windows) {
    IsmOptions options = options_;
    if (!strands_typed_ && !windows.strands.empty()) options.strands = parse_strands(windows.strands);
    options.offset = windows.offset;
    if (!windows.passes.empty()) {  // of a language model, whose folder has no window
      options.passes = parse_name(language_passes_names, windows.passes, "way of masking");
      options.window_length = windows.length;
    }
    if (!mutator_ || options.strands != made_.strands || options.offset != made_.offset ||
        options.passes != made_.passes || options.window_length != made_.window_length) {
      mutator_.reset();  // one model in memory at a time
      mutator_ = std::make_unique<RegionMutator>(options, backend_);
      made_ = options;
    }
    return *mutator_;
  }

  static void tell_difference(const ScoredWindows& windows, const IsmResult& result) {
    const bool other_length = windows.length > 0 && windows.length != result.window_length;
    const bool other_strands = !windows.strands.empty() && parse_strands(windows.strands) != result.strands;
    if (windows.alone && !other_length && !other_strands) return;
    log_warning_once(
        fmt::format("logos are of one window of {} bp, on strands {}; scores of the table are not ({})",
                    result.window_length, name_of(result.strands),
                    !windows.alone ? "they are of a bin, or of several shifts"
                    : other_length ? fmt::format("{} bp", windows.length)
                                   : "strands " + windows.strands));
  }

  IsmOptions options_;
  bool strands_typed_;
  kernels::Backend& backend_;
  Fasta fasta_;
  ContigNames contigs_;
  AlleleKeys keys_;
  std::unique_ptr<RegionMutator> mutator_;  // null at first
  IsmOptions made_;                         // what it was made with
  std::int64_t reach_;
  std::size_t most_;
  std::size_t drawn_ = 0;
  Progress progress_;
};

}  // namespace

double base_importance(const SequenceLogo& logo, std::size_t base) {
  const std::size_t own = base_letters.find(logo.bases[base]);
  if (own == std::string_view::npos) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (std::size_t i = 0; i < base_letters.size(); ++i) {
    if (i != own) sum += static_cast<double>(logo.effects[base * 4 + i]);
  }
  return -sum / 3;
}

std::string sequence_logo_svg(const SequenceLogo& logo) {
  return Picture(logo).draw();
}

SequenceLogo ism_logo(const IsmResult& result, std::size_t selected, IsmValue value) {
  SequenceLogo logo;
  const std::size_t profile = result.selected[selected];
  const std::string& group = result.profiles[profile].group;
  const std::string strands =
      result.strands == Strands::both ? "mean of both strands" : name_of(result.strands) + " strand";
  logo.title = format_region(result.chrom, result.begin, result.end);
  if (result.is_language) {
    logo.subtitle = fmt::format("{} of each substitution, {}", result.profiles[profile].name, strands);
  } else {
    logo.subtitle = fmt::format(
        "profile {}: {}{} · {} of each substitution, {}", profile, result.profiles[profile].name,
        group == "." ? "" : " (" + group + ")",
        value == IsmValue::difference ? "difference of the prediction" : "log2 fold change of the odds",
        strands);
  }
  logo.contig = result.chrom;
  logo.first_position = result.begin + 1;
  logo.bases = result.bases;
  for (std::size_t base = 0; base < result.bases.size(); ++base) {
    const auto effects = result.at(selected, base);
    logo.effects.insert(logo.effects.end(), effects.begin(), effects.end());
  }
  return logo;
}

AllelePicture allele_logos(const IsmOptions& options, bool strands_typed, kernels::Backend& backend,
                           std::int64_t reach, std::size_t most) {
  const auto logos = std::make_shared<AlleleLogos>(options, strands_typed, backend, reach, most);
  return [logos](const StrongAllele& allele) { return logos->draw(allele); };
}

}  // namespace bigbird
