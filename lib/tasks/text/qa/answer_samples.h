// The training side of a data set of questions as a run needs it, whatever the data set: samples of one or
// several inputs, and for every score of the head (answer_heads.h) the tokens that compete and the right ones
// among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/tasks/reason_counts.h"
#include "lib/tasks/text/qa/windows.h"
#include "lib/tokenization/text_encoding.h"

namespace bigbird {

// What a run asks of a side.
class AnswerTrainingData {
 public:
  virtual ~AnswerTrainingData() = default;

  // Samples: an epoch visits each of them once. A sample is never cut between two micro-batches.
  virtual std::size_t size() const = 0;
  // Inputs of all samples, and of the sample that has most of them.
  virtual std::size_t inputs() const = 0;
  virtual std::int64_t most_inputs() const = 0;
  // Tokens of the longest input.
  virtual std::int64_t longest() const = 0;
  virtual std::uint64_t questions() const = 0;
  virtual std::uint64_t unanswerable() const = 0;

  // Appends sample number `index` with what is right; `config` says how inputs are padded.
  virtual void append(std::size_t index, const ModelConfig& config, Batch& batch) const = 0;
  // What a user should know of the side, in the log.
  virtual void say(const std::string& path) const = 0;
};

// One input: question, special pieces included (token type 0), then a stretch of a text and [SEP] (type 1).
// Texts are shared by the inputs that are of them.
struct AnswerInput {
  std::vector<std::uint32_t> question;
  std::shared_ptr<const std::vector<std::uint32_t>> text;
  ContextWindow window;
  std::uint32_t sep = 0;

  std::size_t size() const { return question.size() + window.count + 1; }
};

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
};

struct AnswerSample {
  std::vector<AnswerInput> inputs;
  std::vector<AnswerTarget> targets;  // one for each score of the head
  std::optional<std::int32_t> type;   // number of the answer's type, where the head has types
};

class AnswerSamples : public AnswerTrainingData {
 public:
  std::size_t size() const override { return samples_.size(); }
  std::size_t inputs() const override { return inputs_; }
  std::int64_t most_inputs() const override { return most_inputs_; }
  std::int64_t longest() const override { return longest_; }
  std::uint64_t questions() const override { return facts_.questions; }
  std::uint64_t unanswerable() const override { return facts_.unanswerable; }
  void append(std::size_t index, const ModelConfig& config, Batch& batch) const override;
  void say(const std::string& path) const override;

  // What say() tells beside the numbers above.
  struct Facts {
    std::uint64_t questions = 0;
    std::uint64_t unanswerable = 0;
    std::uint64_t cut_questions = 0;
    std::size_t max_question = 0;
    ReasonCounts skipped;  // what was left out
    ReasonCounts noted;    // what was read otherwise than it stands there
    UnknownTally unknown;
  };

  void add(AnswerSample sample);
  Facts& facts() { return facts_; }

 private:
  std::vector<AnswerSample> samples_;
  Facts facts_;
  std::size_t inputs_ = 0;
  std::int64_t most_inputs_ = 1;
  std::int64_t longest_ = 0;
};

}  // namespace bigbird
