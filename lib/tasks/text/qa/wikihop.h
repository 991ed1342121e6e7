// WikiHop and MedHop: a query, candidates of which one is the answer, and supporting texts.
//
//   [{"id", "query", "answer", "candidates": [...], "supports": [...]}]
//
// An input is, after Longformer's wikihop.py with pieces that the published vocabulary has,
//
//   [CLS] <sep_0> query <sep_1> <ans> candidate <sep_4> <ans> candidate <sep_4> ...
//   [SEP] support [SEP] support [SEP]
//
// with types 0 up to and with the first [SEP], then 1. A candidate's score is read at its <ans>. Supports
// that do not fit go on in further inputs, each with the query and all candidates; the scores of a candidate
// are summed over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/tasks/reason_counts.h"
#include "lib/tasks/text/qa/example.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

struct WikiHopExample {
  std::string id;
  std::string query;
  std::vector<std::string> candidates;
  std::vector<std::string> supports;
  std::string answer;  // empty for QuestionPurpose::predict
  // The first candidate that is the answer, both in small letters and stripped; for training always there.
  std::optional<std::size_t> answer_candidate;
  std::string where;
};

// Holds one record. Error{bad_input}: what JsonRecords refuses; fields that are missing, null or of another
// type; an id that was there before; an empty query; no candidates; for training, an answer that is no
// candidate.
class WikiHopReader {
 public:
  explicit WikiHopReader(const std::string& path, QuestionPurpose purpose = QuestionPurpose::train,
                         bool replace_invalid = false);
  ~WikiHopReader();
  WikiHopReader(WikiHopReader&&) noexcept;
  WikiHopReader& operator=(WikiHopReader&&) noexcept;

  bool next(WikiHopExample& example);
  // Answers that are no candidate (evaluation), records without supports.
  const ReasonCounts& noted() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct WikiHopInput {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> types;
};
struct WikiHopInputs {
  std::vector<WikiHopInput> windows;         // at least one
  std::vector<std::size_t> candidate_marks;  // positions of the candidates' <ans>, the same in every window
};

class WikiHopEncoder {
 public:
  // The tokenizer must outlive it. Error{bad_input} where it lacks a piece.
  WikiHopEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding);

  // Inputs of at most `length` tokens; all supports are in them, each token once, one after the other: a
  // support that does not fit goes on in the next window. Error{usage} where query and candidates leave no
  // room. `unknown`, where given, counts.
  WikiHopInputs encode(const WikiHopExample& example, std::size_t length,
                       UnknownTally* unknown = nullptr) const;

 private:
  std::vector<std::uint32_t> ids_of(const std::string& text, UnknownTally* unknown) const;

  const Tokenizer& tokenizer_;
  TextEncodingOptions encoding_;
  std::uint32_t query_opens_, query_closes_, candidate_opens_, candidate_closes_;
};

}  // namespace bigbird
