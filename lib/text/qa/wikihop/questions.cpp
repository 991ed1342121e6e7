// Questions of WikiHop, from the file to the answer; see questions.h.
#include "lib/text/qa/wikihop/questions.h"

#include <algorithm>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/text/qa/windows.h"

namespace bigbird {
namespace {

constexpr const char* answer_no_candidate = "answer is not a candidate";
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
    (*root)["answer"].fail("is not a candidate", "candidates and answer are compared in small letters");
  } else {
    noted_.add(answer_no_candidate);
  }
  return true;
}

WikiHopEncoder::WikiHopEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding)
    : tokenizer_(tokenizer),
      encoding_(encoding),
      query_opens_(piece_named(tokenizer, "<sep_0>")),
      query_closes_(piece_named(tokenizer, "<sep_1>")),
      candidate_opens_(piece_named(tokenizer, "<ans>")),
      candidate_closes_(piece_named(tokenizer, "<sep_4>")) {}

std::vector<std::uint32_t> WikiHopEncoder::ids_of(const std::string& text, UnknownTally* unknown) const {
  return encode_counted(tokenizer_, strip_white_space(text), encoding_, unknown).ids;
}

EncodedWikiHop WikiHopEncoder::encode(const WikiHopQuestion& example, std::size_t length,
                                      UnknownTally* unknown) const {
  const std::uint32_t sep = tokenizer_.special().sep;
  EncodedWikiHop inputs;
  QuestionInput head;
  const auto append = [](std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& ids) {
    to.insert(to.end(), ids.begin(), ids.end());
  };
  head.ids = {tokenizer_.special().cls, query_opens_};
  append(head.ids, ids_of(example.query, unknown));
  head.ids.push_back(query_closes_);
  for (const std::string& candidate : example.candidates) {
    inputs.candidate_marks.push_back(head.ids.size());
    head.ids.push_back(candidate_opens_);
    append(head.ids, ids_of(candidate, unknown));
    head.ids.push_back(candidate_closes_);
  }
  head.ids.push_back(sep);
  head.types.assign(head.ids.size(), 0);

  std::vector<std::uint32_t> text;
  for (const std::string& support : example.supports) {
    if (!text.empty()) text.push_back(sep);
    append(text, ids_of(support, unknown));
  }
  // One token of text at least, and the last [SEP].
  if (head.ids.size() + 2 > length) {
    throw_usage(message("{}: `length` {} leaves no room next to query and candidates, {} tokens",
                        example.where, length, head.ids.size()),
                message("a larger `length`"));
  }
  const std::size_t room = length - head.ids.size() - 1;
  for (std::size_t at = 0; at == 0 || at < text.size(); at += room) {
    QuestionInput& input = inputs.windows.emplace_back(head);
    const auto first = text.begin() + static_cast<std::ptrdiff_t>(at);
    input.ids.insert(input.ids.end(), first,
                     first + static_cast<std::ptrdiff_t>(std::min(room, text.size() - at)));
    input.ids.push_back(sep);
    input.types.resize(input.ids.size(), 1);
  }
  return inputs;
}

std::size_t decode_wikihop(std::span<const std::vector<float>> inputs, std::size_t candidates,
                           const std::string& where) {
  std::vector<double> sums(candidates, 0.0);
  for (const std::vector<float>& logits : inputs) {
    require_finite_logits({logits}, candidates, where);
    for (std::size_t i = 0; i < candidates; ++i) sums[i] += static_cast<double>(logits[i]);
  }
  return static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
}

}  // namespace bigbird
