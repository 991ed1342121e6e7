// The training side of a data set of questions as a run needs it, whatever the data set: samples of one or
// several inputs, and for every score of the head (question_task.h) the tokens that compete and the right
// ones among them. What a sample is, what competes in its loss, and what is right:
//
//   squad     a window; its start and its end, [CLS] where it does not hold the answer
//   hotpotqa  a question; start and end compete over all tokens of its input, right is the answer in a
//             supporting sentence or title, [CLS] for yes and no; every sentence's mark is a sigmoid of its
//             own; the type
//   nq        a window of a page; four positions, each over all tokens of the input, and the type; [CLS] and
//             type null where the window does not hold the answer (the first one of the page's)
//   triviaqa  a question and document; start and end compete over the context tokens of all windows together
//             and are right wherever a name of the answer begins and ends (Clark and Gardner 2018, section 3)
//   wikihop   a question; its candidates compete, each with the sum of its marks in all inputs, as
//             Longformer's wikihop.py adds them up
//
// Of BigBird-ETC the same, but for hotpotqa, whose sigmoids are those of all global tokens; nq, where [CLS]
// and the tokens of the page compete; and wikihop, which has one input and candidates for global tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/reason_counts.h"
#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/text/qa/question_file.h"
#include "lib/text/qa/question_task.h"
#include "lib/text/qa/windows.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

inline constexpr std::size_t usual_document_windows = 4;

// What a user can say of samples, beside the length and the windows.
struct SampleChoice : QuestionReading {
  TextEncodingOptions encoding;
  // triviaqa and wikihop: how many windows of a document, or inputs of a question, are trained on, from its
  // beginning: they are one sample, and memory is planned for as many.
  std::size_t max_windows = usual_document_windows;
  // nq: the share of windows without the answer that is kept, drawn by (seed, number of the window in the
  // file).
  double keep_null = 1;
};
struct SampleOptions : SampleChoice {
  WindowOptions windows;
  std::uint64_t seed = 1;
  std::size_t globals = 0;  // most_globals(); 0: inputs have none
};

// One input: question, special pieces included (token type 0), then a stretch of a text and [SEP] (type 1).
// Texts are shared by the inputs that are of them. Of BigBird-ETC with its global tokens, which have the
// types too; without a text where it was laid out whole.
struct AnswerInput {
  std::vector<std::uint32_t> question;
  std::shared_ptr<const std::vector<std::uint32_t>> text = nullptr;
  ContextWindow window = {};
  std::optional<std::uint32_t> sep = {};
  std::shared_ptr<const GlobalLayout> globals = nullptr;

  std::size_t size() const { return question.size() + window.count + (sep ? 1 : 0); }
};

// An input that was laid out whole: types tell where its text begins.
AnswerInput split_input(const QuestionInput& input);
// [CLS] question [SEP], to share by the windows of a text.
std::vector<std::uint32_t> question_part(const std::vector<std::uint32_t>& question, std::uint32_t cls,
                                         std::uint32_t sep);

// Positions [first, first + count) of one of a sample's inputs.
struct InputRows {
  std::uint32_t input = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};
// What competes for one score of a sample, from left to right, and what is right of that: pairs of input and
// position. With parts it is sums that compete (TokenTargets of batch.h).
struct AnswerTarget {
  std::vector<InputRows> rows;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> right;
  std::int32_t parts = 1;
  bool of_globals = false;  // positions are numbers of global tokens
};

struct AnswerSample {
  std::vector<AnswerInput> inputs = {};
  std::vector<AnswerTarget> targets =
      {};                              // one for each score of a head of structured answers, or of triviaqa
  std::optional<SpanLabel> span = {};  // squad: in their place, of the one input
  std::optional<std::int32_t> type = {};  // number of the answer's type, where the head has types
};

class AnswerSamples {
 public:
  // Samples: an epoch visits each of them once. A sample is never cut between two micro-batches.
  std::size_t size() const { return samples_.size(); }
  // Inputs of all samples, and of the sample that has most of them.
  std::size_t inputs() const { return inputs_; }
  std::int64_t most_inputs() const { return most_inputs_; }
  // Tokens of the longest input, and global ones of that which has most of them.
  std::int64_t longest() const { return longest_; }
  std::int64_t most_globals() const { return most_globals_; }

  // Appends sample number `index` with what is right; `config` says how inputs are padded.
  void append(std::size_t index, const ModelConfig& config, Batch& batch) const;
  // What a user should know of the side, in the log.
  void say(const std::string& path) const;

  struct Facts {
    std::uint64_t questions = 0;
    std::uint64_t unanswerable = 0;
    std::uint64_t cut_questions = 0;
    std::size_t max_question = 0;
    ReasonCounts skipped;      // what was left out
    ReasonCounts noted;        // what was read otherwise than it stands there
    std::string more;          // said in place of "N samples of N inputs", where not empty
    std::string skipped_name;  // what was left out, in a word
    std::string warning;       // of the data set alone; empty: none
    UnknownTally unknown;
  };
  Facts& facts() { return facts_; }
  const Facts& facts() const { return facts_; }

  void add(AnswerSample sample);

 private:
  std::vector<AnswerSample> samples_;
  Facts facts_;
  std::size_t inputs_ = 0;
  std::int64_t most_inputs_ = 1;
  std::int64_t longest_ = 0;
  std::int64_t most_globals_ = 0;
};

// Reads a file of a data set to its end. Error{bad_input}: what its reader refuses, and nothing to learn
// from. Error{usage}: a length that leaves no room next to a question.
AnswerSamples read_samples(const QuestionTask& task, const std::string& path, const SampleOptions& options,
                           const Tokenizer& tokenizer);

}  // namespace bigbird
