// The page of the worst answers: complete by itself, texts escaped, marks where they belong.
#include <gtest/gtest.h>

#include <cmath>

#include "lib/report/text_evaluations.h"

namespace bigbird {
namespace {

bool has(const std::string& html, const std::string& part) {
  return html.find(part) != std::string::npos;
}

JudgedAnswer judged(const std::string& text) {
  JudgedAnswer answer;
  answer.id = "q<1>";
  answer.question = "Is 1 < 2 & \"so\"?";
  answer.gold = {"b c"};
  answer.prediction = "c d";
  answer.f1 = 0.5;
  answer.passages = {{"A & B", text, {{2, 5}}, {{4, 7}}}};
  return answer;
}

TEST(AnswersHtml, MarksGoldAndPredictionInTheEscapedText) {
  AnswerEvaluation evaluation;
  evaluation.metrics = {{"f1", 50.0}, {"total", 2, true}, {"odd", std::nan("")}};
  evaluation.worst = {judged("\xC3\xA9 b c d <script>")};
  const std::string html = answers_html(evaluation, "p<1>.json");
  EXPECT_TRUE(has(
      html, "<mark class=\"gold\">b </mark><mark class=\"both\">c</mark><mark class=\"predicted\"> d</mark>"))
      << html;
  EXPECT_TRUE(has(html, "\xC3\xA9 <mark"));
  EXPECT_TRUE(has(html, " &lt;script&gt;"));
  EXPECT_TRUE(has(html, "Is 1 &lt; 2 &amp; &quot;so&quot;?"));
  EXPECT_TRUE(has(html, "q&lt;1&gt;"));
  EXPECT_TRUE(has(html, "A &amp; B"));
  EXPECT_TRUE(has(html, "p&lt;1&gt;.json"));
  EXPECT_TRUE(has(html, "<td class=\"n\">50.0000</td>"));
  EXPECT_TRUE(has(html, "<td class=\"n\">2</td>"));
  EXPECT_TRUE(has(html, "<td class=\"n\">-</td>"));
  EXPECT_TRUE(has(html, "F1 0.500, not exact"));
}

TEST(AnswersHtml, NeedsNothingBesideItAndHoldsNoScript) {
  AnswerEvaluation evaluation;
  evaluation.worst = {judged("a b c d e")};
  const std::string html = answers_html(evaluation, "p.json");
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  for (const char* outside : {"<script", "src=", "href=", "@import", "url(", "http"})
    EXPECT_FALSE(has(html, outside)) << outside;
}

TEST(AnswersHtml, SaysWhereThereIsNoAnswerOrNoPrediction) {
  AnswerEvaluation evaluation;
  JudgedAnswer answer = judged("x");
  answer.gold.clear();
  answer.prediction.reset();
  answer.passages.clear();
  evaluation.worst = {answer};
  std::string html = answers_html(evaluation, "p.json");
  EXPECT_TRUE(has(html, "<td dir=\"auto\"><em>nothing</em></td>"));
  EXPECT_TRUE(has(html, "<td dir=\"auto\"><em>no answer</em></td>"));
  evaluation.worst[0].prediction = "";
  evaluation.worst[0].gold = std::vector<std::string>(15, "g");
  html = answers_html(evaluation, "p.json");
  EXPECT_FALSE(has(html, "<em>nothing</em>"));
  EXPECT_TRUE(has(html, "and 3 more"));
}

TEST(AnswersHtml, CutsLongPassagesAroundTheMarks) {
  AnswerEvaluation evaluation;
  JudgedAnswer answer = judged("");
  std::string text(1000, 'x');
  text += "gold" + std::string(1000, 'y');
  answer.passages = {{"", text, {{1000, 1004}}, {}}, {"", std::string(1000, 'z'), {}, {}}};
  evaluation.worst = {answer};
  const std::string html = answers_html(evaluation, "p.json");
  EXPECT_TRUE(has(html, "&#8230;" + std::string(240, 'x') + "<mark class=\"gold\">gold</mark>" +
                            std::string(240, 'y') + "&#8230;"));
  EXPECT_FALSE(has(html, std::string(241, 'x')));
  EXPECT_TRUE(has(html, ">" + std::string(240, 'z') + "&#8230;<")) << "the beginning of what has no mark";
}

}  // namespace
}  // namespace bigbird
