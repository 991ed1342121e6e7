// Answers of a file of questions; see predict.h.
#include "lib/tasks/text/qa/predict.h"

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/tasks/text/run_identity.h"

namespace bigbird {
namespace {

using Chunk = std::vector<std::shared_ptr<PendingQuestion>>;

// At most so many questions; false behind the last one.
bool read_chunk(QuestionPredictor& predictor, std::uint64_t size, Chunk& chunk) {
  chunk.clear();
  while (chunk.size() < size) {
    std::shared_ptr<PendingQuestion> question = predictor.read();
    if (question == nullptr) return false;
    chunk.push_back(std::move(question));
  }
  return true;
}

void answer_chunk(Chunk& chunk, QuestionModel& model, const std::vector<ChunkedOutput>& forms,
                  ChunkedOutputs& outputs) {
  std::vector<AnswerFile> files;
  for (std::size_t i = 0; i < forms.size(); ++i)
    files.emplace_back(forms[i].form, [&outputs, i](std::string_view text) { outputs.write(i, text); });
  for (std::shared_ptr<PendingQuestion>& given : chunk) {
    const std::shared_ptr<PendingQuestion> question = std::move(given);
    model.run(question->encode(), [question, &files](const std::vector<InputLogits>& logits) {
      const std::vector<AnswerEntry> entries = question->decode(logits);
      for (std::size_t i = 0; i < files.size(); ++i) files[i].add(entries.at(i));
    });
  }
  model.finish();
  for (AnswerFile& file : files) file.finish();
}

}  // namespace

void add_to_digest(Sha256& digest, const std::vector<std::string>& texts) {
  add_to_digest(digest, std::to_string(texts.size()));
  for (const std::string& text : texts) add_to_digest(digest, text);
}

std::uint64_t predict_questions(const QuestionTask& task, const QuestionPredictionOptions& options,
                                kernels::Backend& backend) {
  QuestionModel model(task, options, backend);
  const std::unique_ptr<QuestionPredictor> predictor = task.predictor(options, model);
  RunIdentity identity = model.identity();
  identity.merge(predictor->identity());
  const std::vector<ChunkedOutput> forms = predictor->outputs();
  ChunkedOutputs outputs(forms, identity, options.input, options.work);
  if (outputs.are_whole()) return 0;
  Chunk chunk;
  for (bool more = true; more;) {
    throw_if_cancelled();
    more = read_chunk(*predictor, outputs.chunk_size(), chunk);
    if (chunk.empty()) continue;
    Sha256 digest;
    for (const auto& question : chunk) question->add_to(digest);
    if (!outputs.begin(chunk.size(), digest.finish())) continue;
    answer_chunk(chunk, model, forms, outputs);
    outputs.end();
  }
  if (outputs.records() == 0)
    throw_bad_input(options.input + ": there are no questions", "give a file with at least one question");
  outputs.close();
  predictor->say();
  return model.questions();
}

}  // namespace bigbird
