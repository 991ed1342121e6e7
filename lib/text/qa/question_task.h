// The data sets of questions: one interface, and the registry of those that there are. Training, prediction
// and scoring (finetune.h, predict.h, evaluate.h) know data sets by it alone.
//
// A data set is a folder beside this file and a row of the registry. Each folder has the same files:
//
//   questions.h   a question, and the reader of its files (a QuestionFile); its inputs to the model, and the
//                 labels that are trained on; from the logits of its inputs to its answer
//   two_inputs.h  the same of BigBird-ETC, where it is another (two_inputs.h beside this file has the rest)
//   task.cpp      samples to train on, the predictor, the scorer, and the row that names them
//
// A sixth data set is one folder, and one row of question_tasks() with its declaration below. The row says
// what it is called, which head answers it, which settings it takes beside those of all, with what it is
// trained, and who reads, predicts and scores it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/config.h"
#include "lib/model_folder/model_folder.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

class AnswerSamples;
struct SampleOptions;
class QuestionModel;
class QuestionPredictor;
struct QuestionPredictionOptions;
class AnswerScorer;
struct AnswerEvaluationOptions;

// The head that answers the questions of a data set: which scores its tokens have, and which types an answer
// is of.
struct AnswerHead {
  HeadType type = HeadType::question_answering;  // start and end
  std::vector<TokenScore> scores = {};           // of structured_answers
  std::vector<std::string> types = {};           // of structured_answers; may be none
};

struct QuestionTask {
  std::string name = {};  // "squad": of the command line and of text.json
  AnswerHead head = {};
  // Names of the settings that it takes, of those that are not for every data set ("overlap", "evidence").
  std::vector<std::string_view> settings = {};
  // Of training, where nobody says; and what its loss is called in the columns of a run.
  std::uint64_t batch = 32;
  double epochs = 3;
  double learning_rate = 3e-5;
  std::string loss = "answer";
  // Questions of a chunk of prediction, which is held in memory.
  std::uint64_t chunk = 256;

  AnswerSamples (*samples)(const std::string& path, const SampleOptions&, const Tokenizer&) = nullptr;
  std::unique_ptr<QuestionPredictor> (*predictor)(const QuestionPredictionOptions&, QuestionModel&) = nullptr;
  std::unique_ptr<AnswerScorer> (*scorer)(const AnswerEvaluationOptions&) = nullptr;

  bool takes(std::string_view setting) const;
  // Whether long contexts are cut into windows that overlap (windows.h).
  bool has_overlapping_windows() const { return takes("overlap"); }
};

const QuestionTask& squad_task();
const QuestionTask& hotpotqa_task();
const QuestionTask& nq_task();
const QuestionTask& triviaqa_task();
const QuestionTask& wikihop_task();

// The registry, in the order in which users are told of it.
std::span<const QuestionTask* const> question_tasks();
// Error{usage} for a name that is none, listing them.
const QuestionTask& question_task(std::string_view name);

// The folder's weights with the head of the data set; values of one that is not stored are drawn from the
// seed.
LoadedModel load_with_head(const ModelFolder& folder, const QuestionTask& task, std::uint64_t seed);
// Error{bad_input} naming the head that is there and the one that the data set needs.
void require_answer_head(const ModelFolder& folder, const QuestionTask& task);

}  // namespace bigbird
