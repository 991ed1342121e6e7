// Draws curves; see curves_svg.h.
#include "lib/report/curves_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr int panel_side = 320;  // of a panel's square
constexpr int panel_left = 64;   // room for the y axis
constexpr int narrow_gap = 40;   // to the next panel, at least
constexpr int panel_top = 76;    // titles
constexpr int panel_axis = 52;   // room for the x axis
constexpr int legend_line = 18;  // a line of the legend
constexpr int curves_margin = 20;

// Told apart by people who see colours differently (Okabe and Ito).
constexpr std::array<const char*, 8> line_colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#000000", "#8c6d31"};
constexpr std::array<const char*, 4> dashes = {"", "6 3", "2 2", "8 3 2 3"};

class Drawing {
 public:
  std::string draw(const std::string& title, const std::vector<PlotPanel>& panels) {
    std::size_t entries = 0;
    std::size_t letters = 0;
    for (const PlotPanel& panel : panels) {
      entries = std::max(entries, legend_entries(panel));
      for (const PlotLine& line : panel.lines) letters = std::max(letters, line.legend.size());
    }
    // A legend that is wider than its panel pushes the next one away; 6.2 units hold a letter of its size.
    const int gap = std::max(
        narrow_gap, static_cast<int>(6.2 * static_cast<double>(letters)) - panel_side - panel_left + 30);
    const int count = static_cast<int>(panels.size());
    const int width = curves_margin + count * (panel_left + panel_side) + count * gap;
    const int height =
        panel_top + panel_side + panel_axis + static_cast<int>(entries) * legend_line + curves_margin;
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"{0}\" height=\"{1}\" "
        "fill=\"white\"/>\n<text x=\"{2}\" y=\"28\" font-size=\"15\">{3}</text>\n",
        width, height, curves_margin, svg_escaped(title));
    int x = curves_margin + panel_left;
    for (const PlotPanel& panel : panels) {
      draw_panel(panel, x);
      x += panel_side + gap + panel_left;
    }
    return svg_ + "</svg>\n";
  }

 private:
  static std::size_t legend_entries(const PlotPanel& panel) {
    return static_cast<std::size_t>(std::count_if(panel.lines.begin(), panel.lines.end(),
                                                  [](const PlotLine& line) { return !line.legend.empty(); }));
  }

  void text(double x, double y, const char* anchor, int size, const std::string& what) {
    svg_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" fill=\"#333\">{}</text>\n", x, y,
        anchor, size, svg_escaped(what));
  }

  void draw_panel(const PlotPanel& panel, int x) {
    text(x + panel_side / 2.0, panel_top - 14, "middle", 13, panel.title);
    for (int tick = 0; tick <= 5; ++tick) {
      const double at = panel_side * tick / 5.0;
      const std::string label = fmt::format("{:.1f}", tick / 5.0);
      svg_ +=
          fmt::format("<path d=\"M{0:.1f} {1} v{2} M{3} {4:.1f} h{2}\" stroke=\"#e4e4e4\" fill=\"none\"/>\n",
                      x + at, panel_top, panel_side, x, panel_top + at);
      svg_ += fmt::format("<path d=\"M{0:.1f} {1} v5 M{2} {3:.1f} h-5\" stroke=\"#333\" fill=\"none\"/>\n",
                          x + at, panel_top + panel_side, x, panel_top + at);
      text(x + at, panel_top + panel_side + 18, "middle", 11, label);
      text(x - 9, panel_top + panel_side - at + 4, "end", 11, label);
    }
    if (panel.diagonal) {
      svg_ +=
          fmt::format("<path d=\"M{} {} l{} {}\" stroke=\"#999\" stroke-dasharray=\"4 4\" fill=\"none\"/>\n",
                      x, panel_top + panel_side, panel_side, -panel_side);
    }
    for (const bool faint : {true, false}) {
      for (const PlotLine& line : panel.lines) {
        if (line.faint == faint) draw_line(line, x);
      }
    }
    svg_ +=
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#333\"/>\n", x,
                    panel_top, panel_side, panel_side);
    text(x + panel_side / 2.0, panel_top + panel_side + 38, "middle", 12, panel.x_label);
    svg_ += fmt::format(
        "<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\" font-size=\"12\" "
        "fill=\"#333\">{}</text>\n",
        x - 42, panel_top + panel_side / 2, svg_escaped(panel.y_label));
    draw_legend(panel, x);
  }

  static std::string style(const PlotLine& line) {
    if (line.faint) return "stroke=\"#b8b8b8\" stroke-width=\"0.6\" stroke-opacity=\"0.5\"";
    const char* dash = dashes[line.dash % dashes.size()];
    return fmt::format("stroke=\"{}\" stroke-width=\"1.8\"{}",
                       line_colours[line.colour % line_colours.size()],
                       *dash == '\0' ? std::string() : fmt::format(" stroke-dasharray=\"{}\"", dash));
  }

  void draw_line(const PlotLine& line, int x) {
    if (line.points.empty()) return;
    std::string path;
    for (std::size_t i = 0; i < line.points.size(); ++i) {
      const double px = x + panel_side * line.points[i].first;
      const double py = panel_top + panel_side * (1 - line.points[i].second);
      if (i == 0 && line.steps) {
        path = fmt::format("M{} {:.1f} H{:.1f}", x, py, px);
      } else if (i == 0) {
        path = fmt::format("M{:.1f} {:.1f}", px, py);
      } else if (line.steps) {
        path += fmt::format(" V{:.1f} H{:.1f}", py, px);
      } else {
        path += fmt::format(" L{:.1f} {:.1f}", px, py);
      }
    }
    svg_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>\n", path, style(line));
  }

  void draw_legend(const PlotPanel& panel, int x) {
    int y = panel_top + panel_side + panel_axis + 10;
    for (const PlotLine& line : panel.lines) {
      if (line.legend.empty()) continue;
      svg_ += fmt::format("<path d=\"M{} {} h26\" fill=\"none\" {}/>\n", x - 30, y - 4, style(line));
      text(x + 4, y, "start", 11, line.legend);
      y += legend_line;
    }
  }

  std::string svg_;
};

}  // namespace

std::string curves_svg(const std::string& title, const std::vector<PlotPanel>& panels) {
  return Drawing().draw(title, panels);
}

}  // namespace bigbird
