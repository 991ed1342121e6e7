// Draws a block plan; see attention_svg.h.
#include "lib/report/attention_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

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
// listed block next to the row is its window; the rest was drawn at random.
Kind kind_of(AttentionPattern pattern, std::int64_t blocks, std::int64_t row, std::int64_t key) {
  const bool has_global = pattern == AttentionPattern::bigbird || pattern == AttentionPattern::full;
  const auto at_end = [&](std::int64_t block) { return block == 0 || block == blocks - 1; };
  if (has_global && (at_end(row) || at_end(key))) return Kind::global;
  if (key >= row - 1 && key <= row + 1) return Kind::window;
  return pattern == AttentionPattern::full ? Kind::global : Kind::random;
}

class Panels {
 public:
  explicit Panels(const AttentionPicture& picture)
      : picture_(picture),
        blocks_(static_cast<std::int64_t>(picture.rows.size())),
        cell_(std::clamp<std::int64_t>(320 / std::max<std::int64_t>(blocks_, 1), 3, 24)),
        side_(cell_ * blocks_) {}

  std::string draw() {
    constexpr std::int64_t margin = 20, gap = 28, header = 44;
    const std::int64_t width = 2 * margin + 4 * side_ + 3 * gap;
    const std::int64_t height = header + side_ + 64;
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
        "<text x=\"{2}\" y=\"24\" font-size=\"14\">{3}</text>\n",
        width, height, margin, svg_escaped(picture_.title));
    struct Panel {
      const char* caption;
      std::vector<Kind> kinds;
    };
    const std::vector<Panel> panels = {{"(a) random", {Kind::random}},
                                       {"(b) window", {Kind::window}},
                                       {"(c) global", {Kind::global}},
                                       {"(d) together", {Kind::global, Kind::window, Kind::random}}};
    std::int64_t x = margin;
    for (const Panel& panel : panels) {
      draw_panel(x, header, panel.kinds);
      svg_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"13\" text-anchor=\"middle\">{}</text>\n",
                          x + side_ / 2, header + side_ + 22, panel.caption);
      x += side_ + gap;
    }
    svg_ += fmt::format(
        "<text x=\"{}\" y=\"{}\" font-size=\"11\" fill=\"#555\">rows: query blocks, columns: key blocks; "
        "darker: listed more than once</text>\n</svg>\n",
        margin, header + side_ + 46);
    return svg_;
  }

 private:
  void draw_panel(std::int64_t x, std::int64_t y, const std::vector<Kind>& kinds) {
    for (std::int64_t row = 0; row < blocks_; ++row) {
      std::vector<std::int32_t> keys = picture_.rows[static_cast<std::size_t>(row)];
      std::sort(keys.begin(), keys.end());
      for (std::size_t i = 0; i < keys.size();) {
        const std::int32_t key = keys[i];
        std::size_t repeats = 0;
        while (i < keys.size() && keys[i] == key) ++i, ++repeats;
        const Kind kind = kind_of(picture_.pattern, blocks_, row, key);
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

  void draw_cell(std::int64_t x, std::int64_t y, const char* fill) {
    svg_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", x, y, cell_,
                        cell_, fill);
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

}  // namespace

std::string attention_svg(const AttentionPicture& picture) {
  return Panels(picture).draw();
}

}  // namespace bigbird
