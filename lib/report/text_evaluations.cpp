// Draws a confusion table, and writes a page of answers; see text_evaluations.h.
#include "lib/report/text_evaluations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

constexpr std::size_t most_confused_classes = 100;
constexpr std::size_t most_class_letters = 24;  // of a class's name
constexpr int confusion_cell = 44;
constexpr int confusion_title_room = 72;
constexpr int class_letter = 7;  // width of one, at the size that is used

constexpr std::size_t around_marks = 240;  // code points that are shown on either side of a mark
constexpr std::size_t most_gold = 12;      // answers that are listed

constexpr std::string_view answers_style =
    "body{font:16px/1.5 Helvetica,Arial,sans-serif;color:#222;max-width:56rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.3rem}table{border-collapse:collapse;margin:1rem 0}td,th{padding:.15rem .8rem .15rem 0;"
    "text-align:left;font-weight:normal}td.n{text-align:right;font-variant-numeric:tabular-nums}"
    "article{border-top:1px solid #ccc;padding:1rem 0}h2{font-size:1.05rem;margin:0 0 .3rem}"
    ".id,.score,h3{color:#666;font-size:.85rem;font-weight:normal;margin:.2rem 0}.passage{background:#f7f7f7;"
    "padding:.6rem .8rem;white-space:pre-wrap;overflow-wrap:anywhere}mark{padding:0 .1rem;color:inherit}"
    "mark.gold{background:#b7e4c7}mark.predicted{background:#f8c9a0}"
    "mark.both{background:#b7e4c7;border-bottom:3px solid #d55e00}";

// What a code point is marked as: the sum.
enum Mark : std::uint8_t { unmarked = 0, gold_mark = 1, predicted_mark = 2 };

const char* class_of_mark(int mark) {
  return mark == gold_mark ? "gold" : mark == predicted_mark ? "predicted" : "both";
}

std::vector<std::uint8_t> marks_of(const MarkedPassage& passage, std::size_t size) {
  std::vector<std::uint8_t> marks(size, unmarked);
  const auto put = [&](const std::vector<TextSpan>& spans, std::uint8_t mark) {
    for (const TextSpan& span : spans) {
      for (std::size_t i = span.begin; i < std::min(span.end, size); ++i)
        marks[i] = static_cast<std::uint8_t>(marks[i] | mark);
    }
  };
  put(passage.gold, gold_mark);
  put(passage.predicted, predicted_mark);
  return marks;
}

// Which code points are shown: those around marks; of a passage without any, its beginning.
std::vector<std::uint8_t> shown_of(const MarkedPassage& passage, std::size_t size) {
  std::vector<std::uint8_t> shown(size, 0);
  const auto show = [&](std::size_t begin, std::size_t end) {
    const std::size_t first = begin > around_marks ? begin - around_marks : 0;
    std::fill(shown.begin() + static_cast<std::ptrdiff_t>(std::min(first, size)),
              shown.begin() + static_cast<std::ptrdiff_t>(std::min(end + around_marks, size)),
              std::uint8_t{1});
  };
  for (const TextSpan& span : passage.gold) show(span.begin, span.end);
  for (const TextSpan& span : passage.predicted) show(span.begin, span.end);
  if (passage.gold.empty() && passage.predicted.empty()) show(0, 0);
  return shown;
}

std::string passage_html(const MarkedPassage& passage) {
  const CodePointIndex index(passage.text);
  const std::vector<std::uint8_t> marks = marks_of(passage, index.size());
  const std::vector<std::uint8_t> shown = shown_of(passage, index.size());
  std::string html;
  if (!passage.title.empty()) html += fmt::format("<h3 dir=\"auto\">{}</h3>\n", svg_escaped(passage.title));
  html += "<p class=\"passage\" dir=\"auto\">";
  for (std::size_t begin = 0; begin < index.size();) {
    std::size_t end = begin + 1;
    while (end < index.size() && marks[end] == marks[begin] && shown[end] == shown[begin]) ++end;
    if (shown[begin] == 0) {
      html += "&#8230;";
    } else if (marks[begin] == unmarked) {
      html += svg_escaped(index.slice(begin, end));
    } else {
      html += fmt::format("<mark class=\"{}\">{}</mark>", class_of_mark(marks[begin]),
                          svg_escaped(index.slice(begin, end)));
    }
    begin = end;
  }
  return html + "</p>\n";
}

std::string answer_html(const JudgedAnswer& answer) {
  std::string gold;
  for (std::size_t i = 0; i < std::min(answer.gold.size(), most_gold); ++i)
    gold += fmt::format("{}<mark class=\"gold\">{}</mark>", i == 0 ? "" : " ", svg_escaped(answer.gold[i]));
  if (answer.gold.size() > most_gold) gold += fmt::format(" and {} more", answer.gold.size() - most_gold);
  if (answer.gold.empty()) gold = "<em>no answer</em>";
  std::string predicted = "<em>nothing</em>";
  if (answer.prediction) {
    predicted = answer.prediction->empty()
                    ? "<em>no answer</em>"
                    : fmt::format("<mark class=\"predicted\">{}</mark>", svg_escaped(*answer.prediction));
  }
  std::string html = fmt::format(
      "<article>\n<h2 dir=\"auto\">{}</h2>\n<p class=\"id\">{}</p>\n<table>\n"
      "<tr><th>predicted</th><td dir=\"auto\">{}</td></tr>\n<tr><th>gold</th><td dir=\"auto\">{}</td></tr>\n"
      "</table>\n<p class=\"score\">F1 {:.3f}, {}</p>\n",
      svg_escaped(answer.question), svg_escaped(answer.id), predicted, gold, answer.f1,
      answer.exact ? "exact" : "not exact");
  for (const MarkedPassage& passage : answer.passages) html += passage_html(passage);
  return html + "</article>\n";
}

}  // namespace

std::string confusion_svg(const ScoredTexts& scored) {
  if (scored.problem != ProblemType::single_label || scored.classes.size() > most_confused_classes) {
    throw_bad_input(fmt::format("a confusion table is drawn of one class each, of at most {} classes",
                                most_confused_classes),
                    "leave the picture away");
  }
  const ClassMetrics metrics = class_metrics(scored.labels, scored.predicted, scored.classes.size());
  std::vector<std::string> names;
  std::size_t longest = 1;
  for (const std::string& name : scored.classes.names()) {
    names.push_back(svg_shortened(name, most_class_letters));
    longest = std::max(longest, count_code_points(names.back()));
  }
  const int classes = static_cast<int>(names.size());
  const int label_room = 24 + class_letter * static_cast<int>(longest);
  const int width = label_room + confusion_cell * classes + 24,
            height = confusion_title_room + confusion_cell * classes + label_room;
  const std::string title = fmt::format("{} texts, accuracy {:.4f}", metrics.examples, metrics.accuracy);
  const char* description = "rows: gold class; columns: predicted; shade: share of the row";
  std::string svg = svg_opening(width, height, title, description, " font-size=\"12\"") +
                    fmt::format(
                        "<text x=\"16\" y=\"26\" font-size=\"15\">{}</text>\n"
                        "<text x=\"16\" y=\"46\" fill=\"#555\">{}</text>\n",
                        title, description);
  for (std::size_t row = 0; row < metrics.classes; ++row) {
    const int y = confusion_title_room + confusion_cell * static_cast<int>(row);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", label_room - 8,
                       y + confusion_cell / 2 + 4, svg_escaped(names[row]));
    std::int64_t support = 0;
    for (std::size_t column = 0; column < metrics.classes; ++column)
      support += metrics.confusion[row * metrics.classes + column];
    for (std::size_t column = 0; column < metrics.classes; ++column) {
      const std::int64_t count = metrics.confusion[row * metrics.classes + column];
      const double share = support == 0 ? 0 : static_cast<double>(count) / static_cast<double>(support);
      const int x = label_room + confusion_cell * static_cast<int>(column);
      svg += fmt::format(
          "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{2}\" fill=\"#0072b2\" fill-opacity=\"{3:.3f}\" "
          "stroke=\"#ccc\"/>\n",
          x, y, confusion_cell, share);
      if (count > 0) {
        svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{}\">{}</text>\n",
                           x + confusion_cell / 2, y + confusion_cell / 2 + 4,
                           share > 0.55 ? "white" : "#222", count);
      }
    }
  }
  const int below = confusion_title_room + confusion_cell * classes + 12;
  for (std::size_t column = 0; column < metrics.classes; ++column) {
    const int x = label_room + confusion_cell * static_cast<int>(column) + confusion_cell / 2 + 4;
    svg += fmt::format("<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"end\">{}</text>\n", x,
                       below, svg_escaped(names[column]));
  }
  return svg + "</svg>\n";
}

std::string answers_html(const AnswerEvaluation& evaluation, const std::string& title) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Worst answers: {0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<h1>Worst answers of {0} ({2})</h1>\n"
      "<p>The {3} answers of lowest F1. <mark class=\"gold\">Gold</mark>, <mark "
      "class=\"predicted\">predicted</mark>, <mark class=\"both\">both</mark>.</p>\n<table>\n",
      svg_escaped(title), answers_style, evaluation.format, evaluation.worst.size());
  for (const Metric& metric : evaluation.metrics) {
    const std::string value = !std::isfinite(metric.value) ? "-"
                              : metric.count               ? fmt::format("{:.0f}", metric.value)
                                                           : fmt::format("{:.4f}", metric.value);
    html += fmt::format("<tr><th>{}</th><td class=\"n\">{}</td></tr>\n", svg_escaped(metric.name), value);
  }
  html += "</table>\n";
  for (const JudgedAnswer& answer : evaluation.worst) html += answer_html(answer);
  return html + "</body>\n</html>\n";
}

}  // namespace bigbird
