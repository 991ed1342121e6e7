// Answers of a file of questions; see predict.h.
#include "lib/text/qa/predict.h"

#include "lib/text/run_identity.h"

namespace bigbird {
namespace {

using Pending = std::shared_ptr<PendingQuestion>;

void answer_chunk(std::vector<Pending>& chunk, QuestionModel& model, const std::vector<ChunkedOutput>& forms,
                  ChunkedOutputs& outputs) {
  std::vector<AnswerFile> files;
  for (std::size_t i = 0; i < forms.size(); ++i)
    files.emplace_back(forms[i].form, [&outputs, i](std::string_view text) { outputs.write(i, text); });
  for (Pending& given : chunk) {
    const Pending question = std::move(given);
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
  outputs.run<Pending>(
      [&](Pending& question) { return (question = predictor->read()) != nullptr; },
      [](Sha256& digest, const Pending& question) { question->add_to(digest); },
      [&](std::vector<Pending>& chunk) { answer_chunk(chunk, model, forms, outputs); },
      {options.input + ": there are no questions", "give a file with at least one question"});
  predictor->say();
  return model.questions();
}

}  // namespace bigbird
