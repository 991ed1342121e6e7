// Answers of a file of questions; see predict.h.
#include "lib/tasks/text/qa/predict.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/log.h"
#include "lib/tasks/text/qa/answer_files.h"
#include "lib/tasks/text/qa/question_chunks.h"
#include "lib/tasks/text/qa/squad_reader.h"
#include "lib/tasks/text/run_identity.h"

namespace bigbird {
namespace {

void add_question(Sha256& digest, const QuestionExample& question) {
  add_to_digest(digest, question.id);
  add_to_digest(digest, question.question);
  add_to_digest(digest, *question.context);
}

// The files that are wanted, and the answers of a chunk on their way to them.
struct AnswerFiles {
  explicit AnswerFiles(const QuestionPredictionOptions& options) {
    add(options.predictions, "predictions", AnswerFile::predictions);
    add(options.nbest, "nbest", AnswerFile::nbest);
    add(options.null_odds, "null odds", AnswerFile::null_odds);
  }

  void add(const std::string& path, const std::string& kind, AnswerFile file) {
    if (path.empty()) return;
    outputs.push_back({path, kind, ChunkForm::json_object});
    kinds.push_back(file);
  }

  std::vector<ChunkedOutput> outputs;
  std::vector<AnswerFile> kinds;
};

void answer_chunk(std::vector<QuestionExample>& questions, const std::vector<AnswerFile>& kinds,
                  QuestionAnswerer& answerer, ChunkedOutputs& outputs) {
  std::vector<AnswerFileWriter> writers;
  for (std::size_t file = 0; file < kinds.size(); ++file) {
    writers.emplace_back(kinds[file], [&outputs, file](std::string_view text) { outputs.write(file, text); });
  }
  for (QuestionExample& question : questions) {
    answerer.add(std::move(question), [&](const AnsweredQuestion& answer) {
      for (AnswerFileWriter& writer : writers) {
        if (answer.decoded != nullptr) {
          writer.add(*answer.decoded);
        } else {
          writer.add(answer.example.id, answer.scored);
        }
      }
    });
  }
  answerer.finish();
  for (AnswerFileWriter& writer : writers) writer.finish();
}

}  // namespace

void predict_answers(const QuestionPredictionOptions& options, QuestionAnswerer& answerer) {
  SquadReader reader(options.input, {QuestionPurpose::predict, true, options.replace_invalid});
  const AnswerFiles files(options);
  RunIdentity identity = model_identity(answerer.folder(), answerer.settings(), options.precision);
  identity.merge(answerer.identity());
  ChunkedOutputs outputs(files.outputs, identity, options.input, options.work);
  answer_in_chunks<QuestionExample>(
      options.input, outputs, [&](QuestionExample& question) { return reader.next(question); }, add_question,
      [&](std::vector<QuestionExample>& chunk) { answer_chunk(chunk, files.kinds, answerer, outputs); });
  if (!reader.noted().empty()) log_info(fmt::format("{}: {}", options.input, reader.noted().text()));
}

}  // namespace bigbird
