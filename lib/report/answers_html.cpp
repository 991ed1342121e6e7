// A page of answers; see answers_html.h.
#include "lib/report/answers_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/core/unicode.h"
#include "lib/report/svg_text.h"

namespace bigbird {
namespace {

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
