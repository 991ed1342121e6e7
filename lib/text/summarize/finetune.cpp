// See finetune.h.
#include "lib/text/summarize/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/sha256.h"
#include "lib/model_folder/model_folder.h"
#include "lib/text/summarize/generation_defaults.h"
#include "lib/text/text_settings.h"
#include "lib/training/training_run.h"

namespace bigbird {
namespace {

// One pair as a model learns it.
struct EncodedPair {
  std::vector<std::int32_t> document, summary;
};

struct EncodedPairs {
  std::vector<EncodedPair> pairs;
  std::int64_t longest_document = 0, longest_summary = 0;
};

// The pairs of a file, what was cut and passed over said.
EncodedPairs read_pairs(const std::string& path, const SummaryPairOptions& options,
                        const Tokenizer& tokenizer, const PairEncoding& encoding) {
  SummaryPairs rows(path, options);
  EncodedPairs encoded;
  std::int64_t cut_documents = 0, cut_summaries = 0, passed = 0;
  std::string first_passed;
  for (SummaryPair row; rows.next(row);) {
    throw_if_cancelled();
    EncodedDocument document = encode_document(tokenizer, row.document, encoding);
    EncodedDocument summary = encode_summary(tokenizer, row.summaries.front(), encoding);
    std::string what, hint;
    if (document.blank || summary.blank) {
      what = fmt::format("{}: a {} without a word", row.place, document.blank ? "document" : "summary");
      hint = message("take it out, or count and pass over such records with `skip_bad`");
    } else if (row.summaries.front().size() > row.document.size()) {
      what = row.place + ": the summary is longer than its document";
      hint = message(
          "are `document_field` and `summary_field` exchanged? Else take it out, or pass over such records "
          "with `skip_bad`");
    }
    if (!what.empty()) {
      if (!options.skip_bad) throw_bad_input(what, hint);
      if (passed++ == 0) first_passed = what;
      continue;
    }
    cut_documents += document.cut ? 1 : 0;
    cut_summaries += summary.cut ? 1 : 0;
    encoded.longest_document =
        std::max(encoded.longest_document, static_cast<std::int64_t>(document.ids.size()));
    encoded.longest_summary =
        std::max(encoded.longest_summary, static_cast<std::int64_t>(summary.ids.size()));
    encoded.pairs.push_back({std::move(document.ids), std::move(summary.ids)});
  }
  if (encoded.pairs.empty())
    throw_bad_input(path + ": there are no pairs", "give a document with its summary");
  const auto say_passed = [&](std::int64_t count, const char* why, const std::string& first) {
    if (count > 0)
      log_warning(fmt::format("{} records {} are passed over; the first: {}", count, why, first));
  };
  say_passed(static_cast<std::int64_t>(rows.skipped()), "that cannot be read", rows.first_skipped());
  say_passed(passed, "that cannot be learned from", first_passed);
  const auto say_cut = [&](std::int64_t count, const char* what, std::int64_t length) {
    if (count > 0) {
      log_warning(fmt::format("{}: {} of {} {} are longer than {} tokens and were cut", path, count,
                              encoded.pairs.size(), what, length));
    }
  };
  say_cut(cut_documents, "documents", encoding.length);
  say_cut(cut_summaries, "summaries", encoding.target_length);
  return encoded;
}

void append_pair(Batch& batch, const ModelConfig& config, const EncodedPair& pair) {
  const auto pad = static_cast<std::int32_t>(config.pad_token_id);
  batch.append(pair.document, {}, config.block_size, pad);
  std::vector<std::int32_t> read = pair.summary;
  read.insert(read.begin(), static_cast<std::int32_t>(config.decoder.start_token_id));
  read.pop_back();
  batch.targets.append(read, pair.summary, config.block_size, pad);
}

// Number and digest of the encoded pairs.
std::string identity_of(const std::vector<EncodedPair>& pairs) {
  Sha256 digest;
  for (const EncodedPair& pair : pairs) {
    for (const std::vector<std::int32_t>* ids : {&pair.document, &pair.summary}) {
      const std::uint64_t size = ids->size();
      digest.update(&size, sizeof size);
      digest.update(ids->data(), ids->size() * sizeof(std::int32_t));
    }
  }
  return fmt::format("{}, sha256 {}", pairs.size(), digest.finish());
}

ModelCard describe_summarizer(const SummaryFinetuneOptions& options, const ModelConfig& config,
                              const Schedule& schedule, const EncodedPairs& train,
                              const PairEncoding& encoding, const kernels::Backend& backend) {
  ModelCard card = finetune_card(options, config, schedule, backend,
                                 computes_as_led(config) ? "LED, fine-tuned by bigbird"
                                 : is_huggingface_architecture(config)
                                     ? "BigBird-Pegasus, fine-tuned by bigbird"
                                     : "BigBird encoder and decoder, fine-tuned by bigbird",
                                 {"summarization"},
                                 {{"documents with summaries", std::to_string(train.pairs.size())},
                                  {"most tokens of a document, of a summary",
                                   fmt::format("{}, {}", encoding.length, encoding.target_length)},
                                  {"newlines", encoding.line_marks ? "\"<n>\""
                                               : encoding.begin    ? "as they are"
                                                                   : "blanks"}});
  card.use = fmt::format("Use: `bigbird text summarize predict -m FOLDER documents.jsonl`{}.\n",
                         is_huggingface_architecture(config) ? ", or transformers' generate()" : "");
  return card;
}

}  // namespace

RunOptions summarization_defaults(Recipe recipe) {
  RunOptions options = finetuning_defaults(recipe);
  options.batch = 16;
  options.epochs = 3;
  options.learning_rate = 5e-5;
  return options;
}

TrainingSummary summary_finetune(const SummaryFinetuneOptions& asked, kernels::Backend& backend) {
  SummaryFinetuneOptions options = asked;
  check_run(options);
  const ModelFolder init(options.init);
  init.require(Alphabet::text);
  const ModelConfig& stored = init.config();
  if (!stored.has_decoder()) {
    throw_bad_input(
        fmt::format("{}: the model has no decoder, its head is {}", options.init, name_of(stored.head)),
        message("take a BigBird-Pegasus or LED folder, or let bigbird convert give an encoder a `decoder`"));
  }
  const std::int64_t most = stored.max_position_embeddings;
  if (options.length != 0 && (options.length < 2 || options.length > most))
    throw_usage(message("`length` {}: must be between 2 and the model's {} positions", options.length, most));
  if (options.target_length < 2)
    throw_usage(message("`target_length` {}: must be at least 2", options.target_length));
  if (!(options.smoothing.epsilon >= 0.0 && options.smoothing.epsilon < 1.0))
    throw_usage(message("`label_smoothing` {}: must be at least 0 and below 1", options.smoothing.epsilon),
                "the usual value is 0.1");
  if (!(options.layer_drop < 1.0))
    throw_usage(message("`layer_drop` {}: must be below 1", options.layer_drop), "0.1 is usual");
  PairEncoding encoding =
      pair_encoding(stored, options.length != 0 ? options.length : most, options.line_marks);
  encoding.target_length = std::min(options.target_length, stored.decoder_positions());

  const EncodedPairs train = read_pairs(options.train, options.pairs, init.tokenizer(), encoding);
  EncodedPairs valid;
  if (!options.valid.empty()) valid = read_pairs(options.valid, options.pairs, init.tokenizer(), encoding);
  LoadedModel loaded = init.load(HeadType::generation, options.seed);
  loaded.config.input_length = 0;
  if (options.layer_drop >= 0.0)
    loaded.config.decoder.encoder_layer_drop = loaded.config.decoder.layer_drop = options.layer_drop;

  const std::int64_t longest = std::max(train.longest_document, valid.longest_document);
  const std::int64_t longest_summary = std::max(train.longest_summary, valid.longest_summary);
  log_info(
      fmt::format("{} training and {} validation documents of at most {} tokens, summaries of at most {}",
                  train.pairs.size(), valid.pairs.size(), longest, longest_summary));
  TaskDescription task = describe_finetuning(options, loaded);
  describe_ragged_inputs(task, loaded.config, longest);
  const std::int64_t block = loaded.config.block_size;
  const std::int64_t targets = (longest_summary + block - 1) / block * block;
  task.limits = [ragged = task.limits, targets](std::int64_t sequences, std::int64_t length) {
    BatchLimits limits = ragged(sequences, length);
    limits.target_tokens = sequences * targets;
    return limits;
  };
  task.name = "text summarize finetune";
  task.columns.sequence = "token";
  task.samples = train.pairs.size();
  task.validates = !valid.pairs.empty();
  task.identity["data (training documents)"] = identity_of(train.pairs);
  task.identity["length"] = std::to_string(encoding.length);
  task.identity["target_length"] = std::to_string(encoding.target_length);
  task.identity["line_marks"] = encoding.line_marks ? "true" : "false";
  task.smoothing = options.smoothing;
  if (options.smoothing.epsilon > 0.0) {
    task.identity["label_smoothing"] =
        fmt::format("{} ({})", options.smoothing.epsilon, name_of(options.smoothing.form));
  }
  choose_batch(options, task, backend);
  task.extras.model_card = model_card(describe_summarizer(
      options, loaded.config, schedule_of(options, task.samples), train, encoding, backend));
  TextSettings settings;
  settings.task = TextTask::summarization;
  settings.length = encoding.length;
  settings.line_marks = encoding.line_marks;
  task.extras.files = text_settings_files(settings);
  if (const std::string search = generation_config_text(options.init); !search.empty())
    task.extras.files["generation_config.json"] = search;
  const auto append = [&](Batch& batch, const EncodedPair& pair) { append_pair(batch, loaded.config, pair); };
  const SampleTask batches = task_of_samples(
      options, train.pairs.size(),
      [&](const Draw& draw, Batch& batch) {
        append(batch, train.pairs[static_cast<std::size_t>(draw.sample)]);
      },
      valid.pairs.size(), [&](std::size_t i, Batch& batch) { append(batch, valid.pairs[i]); });
  return run_training(batches, task, options, backend);
}

}  // namespace bigbird
