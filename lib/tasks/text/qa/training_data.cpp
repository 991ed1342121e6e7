// Training data by data set; see training_data.h.
#include "lib/tasks/text/qa/training_data.h"

#include <utility>

#include "lib/core/error.h"
#include "lib/tasks/text/qa/training_questions.h"

namespace bigbird {
namespace {

std::unique_ptr<AnswerTrainingData> samples_of(AnswerSamples (*read)(const std::string&, const AnswerReading&,
                                                                     const Tokenizer&),
                                               const std::string& path, const AnswerReading& reading,
                                               const Tokenizer& tokenizer) {
  auto samples = std::make_unique<AnswerSamples>(read(path, reading, tokenizer));
  if (samples->size() == 0) {
    const ReasonCounts& skipped = samples->facts().skipped;
    throw_bad_input(
        path + ": there are no questions to learn from",
        skipped.empty() ? "give a file with at least one question" : "left out: " + skipped.text());
  }
  return samples;
}

}  // namespace

std::unique_ptr<AnswerTrainingData> read_training_data(const std::string& path, const AnswerReading& reading,
                                                       const Tokenizer& tokenizer) {
  switch (reading.format) {
    case QuestionFormat::hotpotqa:
      return samples_of(read_hotpot_samples, path, reading, tokenizer);
    case QuestionFormat::natural_questions:
      return samples_of(read_page_samples, path, reading, tokenizer);
    case QuestionFormat::triviaqa:
      return samples_of(read_trivia_samples, path, reading, tokenizer);
    case QuestionFormat::wikihop:
      return samples_of(read_wikihop_samples, path, reading, tokenizer);
    default:
      return std::make_unique<TrainingQuestions>(
          read_training_questions(path, {QuestionPurpose::train, reading.version_2, reading.replace_invalid},
                                  tokenizer, reading.encoding, reading.windows));
  }
}

}  // namespace bigbird
