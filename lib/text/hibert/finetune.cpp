// See finetune.h.
#include "lib/text/hibert/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/core/log.h"
#include "lib/model_folder/model_folder.h"
#include "lib/text/hibert/documents.h"
#include "lib/text/hibert/extracts.h"
#include "lib/training/rank_team.h"
#include "lib/training/training_run.h"

namespace bigbird {
namespace {

void append_labelled(Batch& batch, const ModelConfig& config, const SentenceDocuments& documents,
                     std::size_t document) {
  append_document(batch, config, documents.documents[document]);
  const std::vector<std::int32_t>& labels = documents.labels[document];
  batch.sequence_labels.insert(batch.sequence_labels.end(), labels.begin(), labels.end());
}

void choose_extract_size(const HibertFinetuneOptions& options, kernels::Backend& backend) {
  const std::string folder = options.run + "/final";
  Extractor extractor({.model = folder}, backend);
  extractor.prepare();
  const ExtractScores scores =
      evaluate_extracts({.data = options.valid, .pairs = options.pairs}, extractor, true);
  for (const std::string& line : extract_score_lines(scores)) log_info(options.valid + ": " + line);
  write_extract_size(folder, scores.sentences, std::filesystem::path(options.valid).filename().string());
}

}  // namespace

RunOptions hibert_finetuning_defaults() {
  RunOptions options = finetuning_defaults();
  options.batch = 16;
  options.epochs = 3;
  options.learning_rate = 1e-4;
  options.rate_by_width = false;
  return options;
}

TrainingSummary hibert_finetune(const HibertFinetuneOptions& asked, kernels::Backend& backend) {
  HibertFinetuneOptions options = asked;
  check_run(options);
  const ModelFolder init(options.init);
  require_hibert(init.config(), options.init);
  init.require(Alphabet::text);
  ModelConfig reading = init.config();
  set_sentence_length(reading, options.length);
  options.pairs.parts = SummaryParts::both;
  const auto read = [&](const std::string& path) {
    return read_sentence_documents(path, options.pairs, init.tokenizer(), reading, LongDocuments::cut);
  };
  const SentenceDocuments train = read(options.train);
  const SentenceDocuments valid = options.valid.empty() ? SentenceDocuments() : read(options.valid);
  LoadedModel loaded = init.load(HeadType::sentence_labels, options.seed);
  loaded.config.documents = reading.documents;
  const ModelConfig& config = loaded.config;
  log_info(fmt::format("{} documents of {} sentences to train on, {} to validate on", train.documents.size(),
                       train.sentences, valid.documents.size()));
  TaskDescription task = describe_finetuning(options, loaded);
  const auto most = [&](std::size_t SentenceDocuments::*of) {
    return static_cast<std::int64_t>(std::max(train.*of, valid.*of));
  };
  const std::int64_t block = config.block_size;
  task.length = (most(&SentenceDocuments::longest) + block - 1) / block * block;
  task.limits = [&](std::int64_t documents, std::int64_t) {
    BatchLimits limits;
    limits.tokens = documents * most(&SentenceDocuments::most_tokens);
    limits.sequences = documents * most(&SentenceDocuments::most_sentences);
    limits.longest = task.length;
    return limits;
  };
  task.name = "text hibert finetune";
  task.columns.sequence = "sentence";
  task.samples = train.documents.size();
  task.validates = !valid.documents.empty();
  task.identity["data (training documents)"] = identity_of(train);
  choose_batch(options, task, backend);
  ModelCard card = finetune_card(options, config, schedule_of(options, task.samples), backend,
                                 "HIBERT that extracts, fine-tuned by bigbird", {"summarization"},
                                 {{"documents with summaries", std::to_string(train.documents.size())},
                                  {"labels", "greedy ROUGE-1 and ROUGE-2"}});
  card.use = "Use: `bigbird text hibert predict -m FOLDER documents.jsonl`.\n";
  task.extras.model_card = model_card(card);
  const SampleTask batches = task_of_samples(
      options, train.documents.size(),
      [&](const Draw& draw, Batch& batch) {
        append_labelled(batch, config, train, static_cast<std::size_t>(draw.sample));
      },
      valid.documents.size(), [&](std::size_t i, Batch& batch) { append_labelled(batch, config, valid, i); });
  const TrainingSummary summary = run_training(batches, task, options, backend);
  if (!options.valid.empty() && ranks_of(options.team).rank() == 0) choose_extract_size(options, backend);
  return summary;
}

}  // namespace bigbird
