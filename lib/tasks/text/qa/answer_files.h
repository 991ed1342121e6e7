// Files of answers. Those of {id: text} are as Hugging Face's run_qa writes them, and what the official
// scripts of TriviaQA and WikiHop read: one JSON object, an entry per question in the order of the input,
// four blanks of indentation, ASCII with \u escapes (Python's json.dumps(indent=4)).
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

#include "lib/tasks/text/metrics/hotpotqa.h"
#include "lib/tasks/text/metrics/natural_questions.h"
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
  // A text alone; of predictions, else Error{usage}.
  void add_text(const std::string& id, const std::string& text);
  // Closes the object; once, after the last answer.
  void finish();

 private:
  void write_entry(const std::string& id, const std::string& value);

  AnswerFile kind_;
  Sink sink_;
  bool any_ = false;
};

// HotpotQA's {"answer": {id: text}, "sp": {id: [[title, n], ...]}}. The facts wait in memory until the
// answers are written.
class HotpotFileWriter {
 public:
  using Sink = AnswerFileWriter::Sink;
  explicit HotpotFileWriter(Sink sink) : sink_(std::move(sink)) {}

  void add(const std::string& id, const std::string& text, std::span<const SupportingFact> facts);
  // Closes the object; once, after the last answer.
  void finish();

 private:
  Sink sink_;
  std::string facts_;
  bool any_ = false;
};

// Natural Questions' {"predictions": [...]}, an object a line, as nq_eval.py reads it.
class NqFileWriter {
 public:
  using Sink = AnswerFileWriter::Sink;
  explicit NqFileWriter(Sink sink) : sink_(std::move(sink)) {}

  void add(const NqPrediction& prediction);
  // Closes the list; once, after the last prediction.
  void finish();

 private:
  Sink sink_;
  bool any_ = false;
};

}  // namespace bigbird
