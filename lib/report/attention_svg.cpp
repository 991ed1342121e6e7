// Draws a block plan; see attention_svg.h.
#include "lib/report/attention_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr double widest_svg = 1280;  // as a screen shows it

enum class Kind { global, window, random };

// Colours of the paper's figure: orange random, blue window, green global.
const char* colour(Kind kind) {
  switch (kind) {
    case Kind::global:
      return "#7fbf7b";
    case Kind::window:
      return "#6aa5d8";
    case Kind::random:
      break;
  }
  return "#f0a35e";
}

// What a listed block is there for. In a plan with global blocks, the first and last block are global; a
// listed block next to the row is its window; the rest was drawn at random. Of the star block 0 is global; of
// the Sparse Transformer what is outside of the chunk; of BlockBERT the part that is not the row's own is
// another.
Kind kind_of(const AttentionPicture& picture, std::int64_t row, std::int64_t key) {
  const AttentionPattern pattern = picture.pattern;
  const auto blocks = static_cast<std::int64_t>(picture.rows.size());
  if (pattern == AttentionPattern::star) return row == 0 || key == 0 ? Kind::global : Kind::window;
  if (pattern == AttentionPattern::sparse_fixed) {
    const std::int64_t chunk = std::max<std::int64_t>(picture.chunk_blocks, 1);
    return row / chunk == key / chunk ? Kind::window : Kind::global;
  }
  if (pattern == AttentionPattern::blockbert) {
    const auto& keys = picture.rows[static_cast<std::size_t>(row)];
    return std::find(keys.begin(), keys.end(), row) != keys.end() ? Kind::window : Kind::random;
  }
  const bool has_global = pattern == AttentionPattern::bigbird || pattern == AttentionPattern::full;
  const auto at_end = [&](std::int64_t block) { return block == 0 || block == blocks - 1; };
  if (has_global && (at_end(row) || at_end(key))) return Kind::global;
  if (key >= row - 1 && key <= row + 1) return Kind::window;
  return pattern == AttentionPattern::full ? Kind::global : Kind::random;
}

struct Panel {
  const char* caption;
  std::vector<Kind> kinds;
};

std::vector<Panel> panels_of(AttentionPattern pattern) {
  switch (pattern) {
    case AttentionPattern::star:
      return {{"(a) itself", {Kind::window}},
              {"(b) block 0", {Kind::global}},
              {"(c) together", {Kind::window, Kind::global}}};
    case AttentionPattern::sparse_fixed:
      return {{"(a) chunk", {Kind::window}},
              {"(b) summary", {Kind::global}},
              {"(c) together", {Kind::window, Kind::global}}};
    case AttentionPattern::blockbert:
      return {{"its part", {Kind::window, Kind::random}}};
    case AttentionPattern::bigbird:
    case AttentionPattern::full:
    case AttentionPattern::window:
    case AttentionPattern::random:
    case AttentionPattern::window_random:
      break;
    case AttentionPattern::sparse_strided:
      return {{"(a) band", {Kind::window}},
              {"(b) stride", {Kind::global}},
              {"(c) together", {Kind::window, Kind::global}}};
    case AttentionPattern::bpt:
      return {{"(a) tokens", {Kind::window}},
              {"(b) spans", {Kind::global}},
              {"(c) together", {Kind::window, Kind::global}}};
    case AttentionPattern::transformer_xl:
    case AttentionPattern::adaptive_span:
    case AttentionPattern::compressive:
      return {{"the segment", {Kind::window}}};
    case AttentionPattern::performer:
    case AttentionPattern::reformer:
    case AttentionPattern::routing:
      return {{"every token", {Kind::window, Kind::global, Kind::random}}};
    case AttentionPattern::longformer:
    case AttentionPattern::etc:
      return {{"(a) window", {Kind::window}},
              {"(b) global tokens", {Kind::global}},
              {"(c) together", {Kind::window, Kind::global}}};
  }
  return {{"(a) random", {Kind::random}},
          {"(b) window", {Kind::window}},
          {"(c) global", {Kind::global}},
          {"(d) together", {Kind::global, Kind::window, Kind::random}}};
}

// Of a share of what a cell stands for, as an attribute; whole cells need none.
std::string opacity(double share) {
  const double shown = 0.15 + 0.85 * share;
  return shown > 0.995 ? "" : fmt::format(" opacity=\"{:.2f}\"", shown);
}

class Panels {
 public:
  explicit Panels(const AttentionPicture& picture)
      : picture_(picture),
        blocks_(static_cast<std::int64_t>(std::max(picture.rows.size(), picture.cells.size()))),
        cell_(std::clamp<std::int64_t>(320 / std::max<std::int64_t>(blocks_, 1), 3, 24)),
        side_(cell_ * blocks_) {}

  std::string draw() {
    constexpr std::int64_t margin = 20, gap = 28, header = 44;
    const std::vector<Panel> panels = panels_of(picture_.pattern);
    const auto count = static_cast<std::int64_t>(panels.size());
    const std::int64_t width = std::max<std::int64_t>(2 * margin + count * side_ + (count - 1) * gap, 460);
    const std::int64_t height = header + side_ + 64;
    std::string description = fmt::format("Attention over {} blocks, a panel for each part:", blocks_);
    for (const Panel& panel : panels) description += fmt::format(" {}", panel.caption);
    svg_ = svg_opening(static_cast<double>(width), static_cast<double>(height), picture_.title,
                       description + "; rows are query blocks, columns key blocks", {}, widest_svg) +
           fmt::format("<text x=\"{}\" y=\"24\" font-size=\"14\">{}</text>\n", margin,
                       svg_escaped(picture_.title));
    std::int64_t x = margin;
    for (const Panel& panel : panels) {
      draw_panel(x, header, panel.kinds);
      svg_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"13\" text-anchor=\"middle\">{}</text>\n",
                          x + side_ / 2, header + side_ + 22, panel.caption);
      x += side_ + gap;
    }
    svg_ += fmt::format(
        "<text x=\"{}\" y=\"{}\" font-size=\"11\" fill=\"#555\">rows: query blocks, columns: key blocks; "
        "{}</text>\n</svg>\n",
        margin, header + side_ + 46,
        picture_.cells.empty() ? "darker: listed more than once"
                               : "fainter: fewer of its pairs of tokens meet");
    return svg_;
  }

 private:
  void draw_panel(std::int64_t x, std::int64_t y, const std::vector<Kind>& kinds) {
    for (std::int64_t row = 0; row < blocks_; ++row) {
      if (!picture_.cells.empty()) {
        draw_partial(x, y, row, kinds);
        continue;
      }
      std::vector<std::int32_t> keys = picture_.rows[static_cast<std::size_t>(row)];
      std::sort(keys.begin(), keys.end());
      for (std::size_t i = 0; i < keys.size();) {
        const std::int32_t key = keys[i];
        std::size_t repeats = 0;
        while (i < keys.size() && keys[i] == key) ++i, ++repeats;
        const Kind kind = kind_of(picture_, row, key);
        if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) continue;
        draw_cell(x + key * cell_, y + row * cell_, colour(kind));
        if (repeats > 1) draw_cell(x + key * cell_, y + row * cell_, "#00000055");
      }
    }
    svg_ +=
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#333\"/>\n", x,
                    y, side_, side_);
    draw_rules(x, y);
  }

  void draw_partial(std::int64_t x, std::int64_t y, std::int64_t row, const std::vector<Kind>& kinds) {
    for (const PartialCell& cell : picture_.cells[static_cast<std::size_t>(row)]) {
      const Kind kind = cell.in_window ? Kind::window : Kind::global;
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) continue;
      draw_cell(x + cell.key_block * cell_, y + row * cell_, colour(kind), cell.share);
    }
  }

  void draw_cell(std::int64_t x, std::int64_t y, const char* fill, double share = 1) {
    svg_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}/>\n", x, y, cell_,
                        cell_, fill, opacity(share));
  }

  // Block borders, and the tokens inside a block (Fig. 3) where they can be told apart.
  void draw_rules(std::int64_t x, std::int64_t y) {
    const std::int64_t per_block = cell_ / picture_.block_size >= 4 ? picture_.block_size : 1;
    for (std::int64_t line = 1; line < blocks_ * per_block; ++line) {
      const double at = static_cast<double>(line * cell_) / static_cast<double>(per_block);
      const char* stroke = line % per_block == 0 ? "#bbb" : "#e4e4e4";
      svg_ += fmt::format(
          "<path d=\"M{0:.1f} {1} v{3} M{2} {4:.1f} h{3}\" stroke=\"{5}\" stroke-width=\"0.5\" "
          "fill=\"none\"/>\n",
          static_cast<double>(x) + at, y, x, side_, static_cast<double>(y) + at, stroke);
    }
  }

  const AttentionPicture& picture_;
  std::int64_t blocks_;
  std::int64_t cell_;
  std::int64_t side_;
  std::string svg_;
};

// In units of a block, neighbours of one shade as one rectangle.
std::string layer_cells(const LayerPicture& layer) {
  std::string cells;
  for (std::size_t row = 0; row < layer.shares.size(); ++row) {
    const std::vector<double>& shares = layer.shares[row];
    for (std::size_t begin = 0, end = 0; begin < shares.size(); begin = end) {
      const std::string shade = opacity(shares[begin]);
      while (end < shares.size() && (shares[end] > 0) == (shares[begin] > 0) && opacity(shares[end]) == shade)
        ++end;
      if (shares[begin] > 0) {
        cells += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"1\"{}/>\n", begin, row,
                             end - begin, shade);
      }
    }
  }
  return cells;
}

}  // namespace

std::string comparison_svg(const std::string& title, const std::vector<LayerPicture>& layers) {
  constexpr std::size_t columns = 4, side = 160, gap = 24, margin = 20, header = 44, lines = 40;
  const std::size_t count = layers.size(), across = std::min(count, columns);
  const std::size_t down = (count + columns - 1) / columns;
  const std::size_t width = std::max<std::size_t>(2 * margin + across * side + (across - 1) * gap, 460);
  const std::size_t height = header + down * (side + lines + gap);
  std::string svg =
      svg_opening(
          static_cast<double>(width), static_cast<double>(height), title,
          fmt::format("{} plans of attention side by side: the darker a block, the more of its pairs meet",
                      count),
          {}, widest_svg) +
      fmt::format("<text x=\"{}\" y=\"24\" font-size=\"14\">{}</text>\n", margin, svg_escaped(title));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t x = margin + i % columns * (side + gap);
    const std::size_t y = header + i / columns * (side + lines + gap);
    const double scale = static_cast<double>(side) / static_cast<double>(layers[i].shares.size());
    svg += fmt::format(
        "<g transform=\"translate({0} {1}) scale({2:.4f})\" fill=\"#6aa5d8\">\n{3}</g>\n"
        "<rect x=\"{0}\" y=\"{1}\" width=\"{4}\" height=\"{4}\" fill=\"none\" stroke=\"#333\"/>\n"
        "<text x=\"{0}\" y=\"{5}\" font-size=\"13\">{6}</text>\n"
        "<text x=\"{0}\" y=\"{7}\" font-size=\"11\" fill=\"#555\">{8}</text>\n",
        x, y, scale, layer_cells(layers[i]), side, y + side + 17, svg_escaped(layers[i].caption),
        y + side + 33, svg_escaped(layers[i].second_line));
  }
  return svg + "</svg>\n";
}

std::string attention_svg(const AttentionPicture& picture) {
  return Panels(picture).draw();
}

}  // namespace bigbird
