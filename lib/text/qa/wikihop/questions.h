// lib/text/qa/wikihop holds the questions of WikiHop: reading them, what the model reads of them, answers
// out of its logits; and training, prediction and scoring by them in task.cpp, which lib/text/qa reaches by
// its row in the registry of data sets.
//
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
// are summed over them, as wikihop.py does (Longformer's paper says averaged, which ranks them alike). What
// BigBird-ETC reads is in two_inputs.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/text/qa/question_file.h"
#include "lib/text/qa/windows.h"

namespace bigbird {

struct WikiHopQuestion {
  std::string id;
  std::string query;
  std::vector<std::string> candidates;
  std::vector<std::string> supports;
  std::string answer;  // empty for QuestionPurpose::predict
  // The first candidate that is the answer, both in small letters and stripped; for training always there.
  std::optional<std::size_t> answer_candidate;
  std::string where;
};

// Holds one record. Error{bad_input}: as QuestionFile; no candidates; for training, an answer that is no
// candidate. noted(): answers that are no candidate (evaluation), records without supports.
class WikiHopReader : public QuestionFile {
 public:
  explicit WikiHopReader(const std::string& path, const QuestionReading& reading = {})
      : QuestionFile(path, reading) {}

  bool next(WikiHopQuestion& question);
};

struct EncodedWikiHop {
  std::vector<QuestionInput> windows;  // at least one
  // Positions of the candidates' <ans>, the same in every window; of BigBird-ETC their global tokens.
  std::vector<std::size_t> candidate_marks;
};

class WikiHopEncoder {
 public:
  // The tokenizer must outlive it. Error{bad_input} where it lacks a piece.
  WikiHopEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding);

  // Inputs of at most `length` tokens; all supports are in them, each token once, one after the other: a
  // support that does not fit goes on in the next window. Error{usage} where query and candidates leave no
  // room. `unknown`, where given, counts.
  EncodedWikiHop encode(const WikiHopQuestion& example, std::size_t length,
                        UnknownTally* unknown = nullptr) const;

 private:
  std::vector<std::uint32_t> ids_of(const std::string& text, UnknownTally* unknown) const;

  const Tokenizer& tokenizer_;
  TextEncodingOptions encoding_;
  std::uint32_t query_opens_, query_closes_, candidate_opens_, candidate_closes_;
};

// The number of the candidate, the first of the highest sum: `inputs` are the logits of the candidates'
// marks, [candidates] each. Error{runtime} with `where` where one is not finite.
std::size_t decode_wikihop(std::span<const std::vector<float>> inputs, std::size_t candidates,
                           const std::string& where);

}  // namespace bigbird
