// A file of questions in, files of their answers out, in the order of the file: what `text qa predict` does
// with every data set, in chunks (lib/parts/chunked_outputs.h). And the fine-tuned model that answers: the
// folder and its head, inputs as they were in training, runs, and what a user should know in the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "lib/inference/sequence_runner.h"
#include "lib/io/files/sha256.h"
#include "lib/model_folder/model_folder.h"
#include "lib/parts/chunked_outputs.h"
#include "lib/parts/side_file.h"
#include "lib/text/qa/answer_files.h"
#include "lib/text/qa/question_file.h"
#include "lib/text/qa/question_task.h"
#include "lib/text/qa/two_inputs.h"
#include "lib/text/qa/windows.h"
#include "lib/text/text_settings.h"
#include "lib/tokenization/text_encoding.h"

namespace bigbird {

struct QuestionModelOptions {
  std::string model;        // folder with the head of the data set and a tokenizer of text
  std::int64_t length = 0;  // most tokens of an input; 0: prediction_length()
  WindowChoice windows;     // the rest as in training: prediction_windows()
  BatchSize batch;
};

// A question as inputs of the model.
struct QuestionInputs {
  std::vector<QuestionInput> inputs;  // at least one; all with global tokens, or none
  bool question_was_cut = false;
};

// What comes out of a question is a function of the question, its texts and the model alone: not of batch,
// threads or neighbours.
class QuestionModel {
 public:
  // Error{bad_input}: as ModelFolder, for a model of DNA or without the head, for text.json of another task.
  // Error{usage}: settings that contradict each other, a length that the model does not take.
  QuestionModel(const QuestionTask& task, const QuestionModelOptions& options, kernels::Backend& backend);

  const ModelFolder& folder() const { return folder_; }
  const Tokenizer& tokenizer() const { return folder_.tokenizer(); }
  const TextSettings& settings() const { return settings_; }
  const WindowOptions& windows() const { return windows_; }
  std::size_t globals() const { return globals_.most; }
  const WindowGlobals& window_globals() const { return globals_; }
  // Pieces that the vocabulary lacks; encoders count them.
  UnknownTally* unknown() { return &unknown_; }

  // What a run over a file depends on: the model, and how inputs are cut.
  RunIdentity identity() const;

  // The inputs of one question. `done` is called once, in the order of the calls of run, now or later, with
  // the logits of each; it is held until then. At most a batch of inputs waits, and those of the question at
  // hand.
  void run(const QuestionInputs& question, std::function<void(const std::vector<InputLogits>&)> done);
  // Runs what is left.
  void finish() { runner_->finish(); }

  std::uint64_t questions() const { return questions_; }
  // Inputs that were run.
  std::uint64_t inputs() const { return inputs_; }
  // In the log, of the questions of `path`: those that were cut, and unknown pieces.
  void say(const std::string& path) const;

 private:
  std::string name_;
  ModelFolder folder_;
  TextSettings settings_;
  WindowOptions windows_;
  WindowGlobals globals_;
  kernels::Precision precision_;
  std::unique_ptr<SequenceRunner> runner_;
  UnknownTally unknown_;
  std::uint64_t questions_ = 0;
  std::uint64_t cut_questions_ = 0;
  std::uint64_t inputs_ = 0;
};

// A question about one text as the windows of its context.
struct QuestionWindows {
  EncodedQuestion question;
  std::vector<ContextWindow> windows;
};
// Encodes and cuts it as the model takes it, and appends the inputs.
QuestionWindows encode_windows(const QuestionExample& question, QuestionEncoder& encoder,
                               QuestionModel& model, QuestionInputs& inputs);

// Whose rules choose the answers: of squad run_qa's and the pipeline's (squad/questions.h); nq has rules of
// its own, and etcmodel's (natural_questions/two_inputs.h).
enum class AnswerDecoding { run_qa, pipeline, etcmodel };

// Settings that a data set does not take (QuestionTask::settings) are without effect.
struct QuestionPredictionOptions : QuestionModelOptions, QuestionReading {
  QuestionPredictionOptions() { purpose = QuestionPurpose::predict; }

  std::string input;
  std::string output = "-";  // predictions; - is stdout
  ChunkedWork work;
  std::optional<std::size_t> max_answer;  // tokens, of nq and triviaqa words
  std::optional<std::size_t> n_best;
  AnswerDecoding decoding = AnswerDecoding::run_qa;
  // Of squad: version_2 of QuestionReading says that there may be no answer.
  double null_threshold = 0;
  std::string nbest;                        // empty: not wanted
  std::string null_odds;                    // the same
  std::optional<double> support_threshold;  // hotpotqa
};

// A question on its way through the model.
class PendingQuestion {
 public:
  virtual ~PendingQuestion() = default;
  // All that its answer depends on, beside the model.
  virtual void add_to(Sha256& digest) const = 0;
  // Once; what only encoding needs is let go of.
  virtual QuestionInputs encode() = 0;
  // From the logits of its inputs: what it adds to each of QuestionPredictor::outputs().
  virtual std::vector<AnswerEntry> decode(const std::vector<InputLogits>& logits) const = 0;
};

// One data set in one run. Errors of the settings and of the file are those of its folder.
class QuestionPredictor {
 public:
  virtual ~QuestionPredictor() = default;
  // The files that are wanted.
  virtual std::vector<ChunkedOutput> outputs() const = 0;
  // What answers depend on beside QuestionModel::identity(), by the names of the settings.
  virtual RunIdentity identity() const = 0;
  // The next question of the file, which the predictor must outlive; nothing behind the last one.
  virtual std::unique_ptr<PendingQuestion> read() = 0;
  // What a user should know in the end, in the log.
  virtual void say() const = 0;
};

// The predictor of a data set by its own types: what a folder writes. One file of predictions, unless it says
// otherwise.
template <typename Question, typename Encoded>
class PredictorOf : public QuestionPredictor {
 public:
  std::vector<ChunkedOutput> outputs() const override { return {{options_.output, "predictions", form_}}; }
  RunIdentity identity() const override { return {}; }
  void say() const override { model_.say(options_.input); }
  std::unique_ptr<PendingQuestion> read() final {
    auto pending = std::make_unique<Pending>(*this);
    if (!next(pending->question)) return nullptr;
    return pending;
  }

 protected:
  PredictorOf(const QuestionPredictionOptions& options, QuestionModel& model, ChunkForm form)
      : options_(options), model_(model), form_(form) {}

  virtual bool next(Question& question) = 0;
  virtual void add_to(Sha256& digest, const Question& question) const = 0;
  // Fills `encoded`; `question` may lose what decoding does not need.
  virtual QuestionInputs encode(Question& question, Encoded& encoded) = 0;
  virtual std::vector<AnswerEntry> decode(const Question& question, const Encoded& encoded,
                                          const std::vector<InputLogits>& logits) const = 0;

  const QuestionPredictionOptions options_;
  QuestionModel& model_;

 private:
  struct Pending : PendingQuestion {
    explicit Pending(PredictorOf& its_predictor) : predictor(its_predictor) {}
    void add_to(Sha256& digest) const override { predictor.add_to(digest, question); }
    QuestionInputs encode() override { return predictor.encode(question, encoded); }
    std::vector<AnswerEntry> decode(const std::vector<InputLogits>& logits) const override {
      return predictor.decode(question, encoded, logits);
    }
    PredictorOf& predictor;
    Question question;
    Encoded encoded;
  };

  ChunkForm form_;
};

// Of a row of the registry.
template <typename Predictor>
std::unique_ptr<QuestionPredictor> make_predictor(const QuestionPredictionOptions& options,
                                                  QuestionModel& model) {
  return std::make_unique<Predictor>(options, model);
}

// Answers the questions that are neither another shard's nor were finished before; how many they are.
// Error{bad_input} for a file without questions; errors as QuestionModel, the predictor and ChunkedOutputs.
std::uint64_t predict_questions(const QuestionTask& task, const QuestionPredictionOptions& options,
                                kernels::Backend& backend);

}  // namespace bigbird
