// Questions of HotpotQA; see read.h.
#include "lib/text/qa/hotpotqa/read.h"

#include <algorithm>

namespace bigbird {
namespace {

constexpr const char* answer_not_in_evidence = "answer is in no supporting title or sentence";
constexpr const char* fact_not_there = "supporting fact that is not in the context";

bool fact_is_there(const HotpotQuestion& example, const SupportingFact& fact) {
  return std::any_of(example.paragraphs.begin(), example.paragraphs.end(),
                     [&](const HotpotParagraph& paragraph) {
                       return paragraph.title == fact.first && fact.second >= 0 &&
                              static_cast<std::size_t>(fact.second) < paragraph.sentences.size();
                     });
}

bool answer_is_in_evidence(const HotpotQuestion& example) {
  const auto holds = [&](const std::string& text) { return text.find(example.answer) != std::string::npos; };
  for (const HotpotParagraph& paragraph : example.paragraphs) {
    if (supports(example, paragraph, std::nullopt) && holds(paragraph.title)) return true;
    for (std::size_t n = 0; n < paragraph.sentences.size(); ++n) {
      if (supports(example, paragraph, n) && holds(paragraph.sentences[n])) return true;
    }
  }
  return false;
}

void read_context(const RecordField& context, HotpotQuestion& example) {
  for (std::size_t i = 0; i < context.size(); ++i) {
    const RecordField pair = context.at(i);
    if (pair.size() != 2) pair.fail("is no pair of title and sentences", "[title, [sentence, ...]]");
    HotpotParagraph& paragraph = example.paragraphs.emplace_back();
    paragraph.title = pair.at(0).text();
    for (std::size_t n = 0; n < pair.at(1).size(); ++n)
      paragraph.sentences.push_back(pair.at(1).at(n).text());
  }
  if (example.paragraphs.empty()) context.fail("is empty", "a question needs paragraphs");
}

}  // namespace

HotpotAnswerType answer_type(const std::string& answer) {
  if (answer == "yes") return HotpotAnswerType::yes;
  return answer == "no" ? HotpotAnswerType::no : HotpotAnswerType::span;
}

bool supports(const HotpotQuestion& example, const HotpotParagraph& paragraph,
              std::optional<std::size_t> sentence) {
  return std::any_of(example.supporting_facts.begin(), example.supporting_facts.end(),
                     [&](const SupportingFact& fact) {
                       return fact.first == paragraph.title &&
                              (!sentence || fact.second == static_cast<std::int64_t>(*sentence));
                     });
}

void HotpotReader::read_answer(const RecordField& root, HotpotQuestion& example) {
  example.answer = root["answer"].text();
  const RecordField facts = root["supporting_facts"];
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (facts.at(i).size() != 2)
      facts.at(i).fail("is no pair of title and number", "[title, number of the sentence]");
    const SupportingFact fact{facts.at(i).at(0).text(), facts.at(i).at(1).integer()};
    if (!fact_is_there(example, fact)) noted_.add(fact_not_there);
    example.supporting_facts.push_back(fact);
  }
}

bool HotpotReader::next(HotpotQuestion& question) {
  while (const auto root = next_record()) {
    question = {};
    question.id = (*root)["_id"].text();
    question.where = begin_question(question.id);
    question.question = question_text((*root)["question"]);
    read_context((*root)["context"], question);
    if (reading().purpose == QuestionPurpose::predict) return true;
    read_answer(*root, question);
    if (reading().purpose == QuestionPurpose::evaluate ||
        answer_type(question.answer) != HotpotAnswerType::span || answer_is_in_evidence(question)) {
      return true;
    }
    skipped_.add(answer_not_in_evidence);
  }
  return false;
}

}  // namespace bigbird
