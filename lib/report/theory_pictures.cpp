// See theory_pictures.h.
#include "lib/report/theory_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "lib/report/curves.h"
#include "lib/report/html_page.h"
#include "lib/report/report.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr int node_step = 38;  // from one node to the next
constexpr int node_radius = 10;
constexpr int grid_left = 120;  // room for the configurations
constexpr int grid_top = 78;    // title and two lines of legend

struct Point {
  int x = 0, y = 0;
};

Point place_of(std::int64_t time, std::int64_t place) {
  return {grid_left + node_step * static_cast<int>(place),
          grid_top + node_step * (static_cast<int>(time) + 1)};
}

std::string line_svg(const std::string& path, bool strong) {
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>\n", path,
                     strong ? "#d55e00" : "#bbb", strong ? 1.6 : 0.8);
}

// What all nodes of a column read, what first nodes read, and what compute nodes read.
std::string edges_svg(std::int64_t times) {
  std::string svg;
  for (std::int64_t time = 0; time < times; ++time) {
    const Point compute = place_of(time, time + 1);
    svg += line_svg(fmt::format("M{} {}V{}", compute.x, compute.y, place_of(times - 1, 1).y), false);
    const int left = place_of(time, std::max<std::int64_t>(time, 1)).x;
    svg += line_svg(fmt::format("M{} {}H{}", compute.x, compute.y, left), false);
    if (time + 1 == times) break;
    const Point first = place_of(time + 1, 1);
    svg += line_svg(fmt::format("M{} {}Q{} {} {} {}", first.x, first.y, first.x, compute.y + node_step / 2,
                                compute.x, compute.y),
                    false);
  }
  return svg;
}

// From the compute node that asks for a symbol, to the right of the diagonal, to the one that wrote it.
std::string source_svg(std::int64_t time, std::int64_t source) {
  const Point from = place_of(time, time + 1), to = place_of(source, source + 1);
  const int bend = 14 + (from.y - to.y) / 4;
  return line_svg(fmt::format("M{} {}C{} {} {} {} {} {}", from.x + node_radius, from.y, from.x + bend,
                              from.y - bend, to.x + 2 * bend, to.y, to.x + node_radius, to.y),
                  true);
}

std::string node_svg(const DecoderNode& node) {
  const Point at = place_of(node.time, node.place);
  return fmt::format(
      "<g><title>node {}: reads {} and {}, takes {}: the record of time {}</title><circle cx=\"{}\" cy=\"{}\" "
      "r=\"{}\" fill=\"{}\" stroke=\"#333\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"9\" "
      "fill=\"{}\">{}</text></g>\n",
      node.number, node.first, node.second, node.took_second ? node.second : node.first, node.record, at.x,
      at.y, node_radius,
      node.computes()    ? "#0072b2"
      : node.took_second ? "#fff"
                         : "#f3c9a5",
      at.x, at.y + 3, node.computes() ? "#fff" : "#333", node.number);
}

std::string text_svg(int x, int y, int size, const std::string& text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"#333\">{}</text>\n", x, y, size,
                     svg_escaped(text));
}

std::string source_text(std::int64_t source) {
  if (source == from_word) return "the word";
  return source == from_nowhere ? "nowhere" : fmt::format("time {}", source);
}

std::string configuration_text(const Configuration& at) {
  return fmt::format("{}, {} on cell {}", at.state, at.symbol, at.cell);
}

}  // namespace

std::string furthest_vector_svg(std::int64_t tokens, const std::vector<WindowLayers>& windows) {
  PlotPanel panel;
  panel.title = fmt::format("{} tokens", tokens);
  panel.x_label = "layers, as a fraction of ceil((n - 1) / w)";
  panel.y_label = "tokens that hold their furthest vector, fraction";
  for (const WindowLayers& of : windows) {
    PlotLine line;
    line.legend = fmt::format("window {}: {} layers", of.window, of.layers.right.size());
    line.colour = panel.lines.size();
    line.points.emplace_back(0, 0);
    for (std::size_t layer = 0; layer < of.layers.right.size(); ++layer)
      line.points.emplace_back(static_cast<double>(layer + 1) / static_cast<double>(of.layers.right.size()),
                               of.layers.right[layer]);
    panel.lines.push_back(std::move(line));
  }
  return curves_svg("Furthest vector by sparse layers", {panel});
}

std::string turing_svg(const std::string& title, const DecoderRun& run) {
  const auto all = static_cast<std::int64_t>(run.configurations.size());
  const std::int64_t times = std::min(all, most_drawn_times);
  const Point last = place_of(times - 1, times);
  std::string svg = svg_opening(std::max(last.x + node_step, 740), last.y + node_step, title,
                                "a row for each time of the machine; each node reads two nodes");
  svg += text_svg(20, 26, 15, title);
  svg += text_svg(
      20, 46, 11,
      "A row is a time of the machine. A node reads the blue compute node of its column, and itself; "
      "a filled one takes the former.");
  svg += text_svg(
      20, 62, 11,
      "First nodes read the end of the row before, compute nodes their left. Curves: who wrote the next "
      "symbol." +
          (times < all ? fmt::format(" Times 0 to {} of {}.", times - 1, all - 1) : std::string()));
  svg += edges_svg(times);
  for (std::int64_t time = 0; time < times; ++time) {
    const std::int64_t source = run.sources[static_cast<std::size_t>(time)];
    if (source >= 0 && source < time) svg += source_svg(time, source);
    svg += text_svg(
        8, place_of(time, 1).y + 4, 10,
        fmt::format("{}: {}", time, configuration_text(run.configurations[static_cast<std::size_t>(time)])));
  }
  for (const DecoderNode& node : run.nodes) {
    if (node.time < times) svg += node_svg(node);
  }
  return svg + "</svg>\n";
}

std::string turing_page(const TuringMachine& machine, const std::string& word, const MachineRun& plain,
                        const DecoderRun& run, const std::vector<std::string>& provenance) {
  const std::string title = fmt::format("{}{} by a decoder with sparse attention", machine.where,
                                        word.empty() ? "" : " on " + word);
  HtmlPage page(title);
  page.key_figures({{"machine steps", std::to_string(run.configurations.size() - 1)},
                    {"decoder steps", std::to_string(run.nodes.size())},
                    {"inner products", std::to_string(run.products), "two a decoder step"}});
  const std::int64_t wrong = first_difference(plain, run, word);
  if (wrong >= 0) page.warnings({fmt::format("not as a plain simulator has it, from time {} on", wrong)});
  page.paragraph(
      "The decoder has no tape. Each time of the machine is a row of nodes that looks for the last visit to "
      "the head's next cell: node after node, the record of one more time is compared with the best so far. "
      "The last node of the row takes the symbol from there.");
  page.figures({image_of("which node reads which", turing_svg(title, run))});
  ReportTable table;
  table.caption =
      "Every time, as the decoder has it" + std::string(wrong < 0 ? ", and as a plain simulator has it" : "");
  table.columns = {"time", "state", "symbol", "cell", "writes", "next symbol from", "tape"};
  const std::vector<Tape> tapes = decoder_tapes(run, word);
  for (std::size_t time = 0; time < run.configurations.size(); ++time) {
    const Configuration& now = run.configurations[time];
    table.rows.push_back({std::to_string(time), now.state, std::string(1, now.symbol),
                          std::to_string(now.cell), std::string(1, run.records[time].written),
                          source_text(run.sources[time]), tape_text(tapes[time])});
  }
  page.table(table);
  for (const std::string& line : provenance) page.paragraph(line);
  return page.text();
}

}  // namespace bigbird
