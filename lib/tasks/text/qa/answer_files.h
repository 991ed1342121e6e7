// Files of answers, as Hugging Face's run_qa writes them: one JSON object, an entry per question in the order
// of the input, four blanks of indentation, ASCII with \u escapes (Python's json.dumps(indent=4)).
//
//   predictions   {id: text}
//   nbest         {id: [{"start_logit", "end_logit", "text", "probability", "start", "end"}]}; start and end
//                 are code points of the context and not in run_qa's files; answers of the pipeline have no
//                 logits
//   null_odds     {id: score of the empty answer minus that of the best other}
//
// Entries go out as they come, so that nothing but the answer at hand is held. What the bytes become - a file
// that appears whole or not at all - is the caller's.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "lib/tasks/text/qa/decode.h"

namespace bigbird {

enum class AnswerFile { predictions, nbest, null_odds };

class AnswerFileWriter {
 public:
  using Sink = std::function<void(std::string_view)>;
  AnswerFileWriter(AnswerFile kind, Sink sink) : kind_(kind), sink_(std::move(sink)) {}

  void add(const DecodedAnswer& answer);
  // Of the pipeline; best first, none counts as an empty text. There are no null odds: Error{usage}.
  void add(const std::string& id, std::span<const ScoredAnswer> answers);
  // Closes the object; once, after the last answer.
  void finish();

 private:
  void write_entry(const std::string& id, const std::string& value);

  AnswerFile kind_;
  Sink sink_;
  bool any_ = false;
};

}  // namespace bigbird
