// Questions of WikiHop; see read.h.
#include "lib/text/qa/wikihop/read.h"

#include <algorithm>

#include "lib/core/unicode.h"

namespace bigbird {
namespace {

constexpr const char* answer_no_candidate = "answer is no candidate";
constexpr const char* without_supports = "no supports";

std::string comparable_candidate(const std::string& text) {
  return lower(strip_white_space(text));
}

}  // namespace

bool WikiHopReader::next(WikiHopQuestion& question) {
  const auto root = next_record();
  if (!root) return false;
  question = {};
  question.id = (*root)["id"].text();
  question.where = begin_question(question.id);
  question.query = question_text((*root)["query"], "give the query a text, or leave it out");
  question.candidates = texts_of((*root)["candidates"]);
  if (question.candidates.empty()) (*root)["candidates"].fail("is empty", "there is nothing to choose from");
  question.supports = texts_of((*root)["supports"]);
  if (question.supports.empty()) noted_.add(without_supports);
  if (reading().purpose == QuestionPurpose::predict) return true;
  question.answer = (*root)["answer"].text();
  const std::string wanted = comparable_candidate(question.answer);
  const auto found =
      std::find_if(question.candidates.begin(), question.candidates.end(),
                   [&](const std::string& text) { return comparable_candidate(text) == wanted; });
  if (found != question.candidates.end()) {
    question.answer_candidate = static_cast<std::size_t>(found - question.candidates.begin());
  } else if (reading().purpose == QuestionPurpose::train) {
    (*root)["answer"].fail("is no candidate", "candidates and answer are compared in small letters");
  } else {
    noted_.add(answer_no_candidate);
  }
  return true;
}

}  // namespace bigbird
