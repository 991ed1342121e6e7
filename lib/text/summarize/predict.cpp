// Summaries of documents, and of a file of them; see predict.h.
#include "lib/text/summarize/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/io/files/sha256.h"
#include "lib/model_folder/open_model.h"
#include "lib/text/search/run_searches.h"
#include "lib/text/summarize/encoded_pair.h"
#include "lib/text/summarize/generation_defaults.h"
#include "lib/text/text_settings.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/memory_plan.h"

namespace bigbird {
namespace {

std::string summary_row(SummaryForm form, const std::string& id, const WrittenSummary& summary) {
  if (form == SummaryForm::tsv) {
    return fmt::format("{}\t{}\t{:.6g}\t{}\n", escape_controls(id), escape_controls(summary.text),
                       summary.score, summary.tokens.size());
  }
  if (form == SummaryForm::lines) {
    std::string line = summary.text;
    for (char& letter : line) letter = letter == '\n' ? ' ' : letter;
    return line + "\n";
  }
  nlohmann::ordered_json json;
  json["id"] = id;
  json["summary"] = summary.text;
  json["score"] = summary.score;
  json["tokens"] = summary.tokens.size();
  return json_text(json) + "\n";
}

std::string head_of(const SummaryPredictionOptions& options) {
  if (options.form != SummaryForm::tsv) return {};
  std::string head;
  for (const std::string& comment : options.comments) head += "##" + comment + "\n";
  return head + "id\tsummary\tscore\ttokens\n";
}

const char* kind_of(SummaryForm form) {
  return form == SummaryForm::tsv ? "tsv" : form == SummaryForm::lines ? "lines" : "jsonl";
}

void add_document(Sha256& digest, const SummaryPair& document) {
  add_to_digest(digest, document.id);
  add_to_digest(digest, document.document);
}

// All that a summary depends on beside the document and the model.
void add_run(RunIdentity& identity, const Summarizer& summarizer) {
  identity["length"] = std::to_string(summarizer.length());
  identity["line_marks"] = summarizer.line_marks() ? "true" : "false";
}

}  // namespace

Summarizer::Summarizer(const SummarizerOptions& options, kernels::Backend& backend)
    : folder_(options.model), options_(options), backend_(backend) {
  const ModelConfig& config = folder_.config();
  if (!config.has_decoder()) {
    throw_bad_input(
        fmt::format("{}: the model has no decoder, its head is {}", options.model, name_of(config.head)),
        message("take a BigBird-Pegasus or LED folder, or let bigbird convert give an encoder a `decoder`"));
  }
  folder_.require(Alphabet::text);
  const TextSettings settings = read_text_settings(options.model);
  if (settings.task && *settings.task != TextTask::summarization) {
    throw_bad_input(fmt::format("{}: text.json is of a model for {}", options.model, name_of(*settings.task)),
                    "take the folder that text summarize finetune wrote");
  }
  length_ = options.length > 0    ? options.length
            : settings.length > 0 ? settings.length
                                  : config.max_position_embeddings;
  if (length_ < 2 || length_ > config.max_position_embeddings) {
    throw_usage(message("`length` {}: {} takes 2 to {} tokens", length_, options.model,
                        config.max_position_embeddings));
  }
  encoding_ = pair_encoding(config, length_, options.line_marks.value_or(settings.line_marks.value_or(true)));
  search_ = generation_defaults(options.model, config);
}

BatchLimits Summarizer::limits(const Sizes& sizes) const {
  const std::int64_t block = folder_.config().block_size;
  const std::int64_t longest = (sizes.length + block - 1) / block * block;
  return {.tokens = sizes.documents * longest,
          .sequences = sizes.documents,
          .masked_tokens = 0,
          .longest = longest};
}

Summarizer::~Summarizer() = default;

DecoderLimits Summarizer::decoder_limits(const Sizes& sizes) const {
  return {.source_tokens = limits(sizes).tokens,
          .rows = sizes.documents * sizes.beams,
          .length = search_.max_length};
}

std::vector<MemoryRow> Summarizer::memory(const Sizes& sizes) const {
  std::vector<MemoryRow> rows = plan_model_memory(folder_.config(), limits(sizes), {}, backend_);
  for (const MemoryRow& row : plan_decoder_memory(folder_.config(), decoder_limits(sizes), backend_))
    rows.push_back(row);
  return rows;
}

void Summarizer::require_memory() const {
  const MemoryBefore before = memory_before(backend_, 0);
  const auto plan_of = [&](const Sizes& sizes) {
    return plan_inference_memory(memory(sizes), backend_, before);
  };
  const TrainingMemory plan = plan_of(sizes());
  log_memory(plan);
  SmallerRuns smaller(3);  // one option at a time
  const auto offer = [&](std::vector<SmallerRun>& group, const char* option, std::int64_t Sizes::*size,
                         std::int64_t least) {
    for (std::int64_t less = sizes().*size / 2; less >= least; less /= 2) {
      group.push_back({fmt::format("{} {}", setting_name(option), less), [&, size, less] {
                         Sizes other = sizes();
                         other.*size = less;
                         return plan_of(other);
                       }});
    }
  };
  offer(smaller[0], "batch", &Sizes::documents, 1);
  offer(smaller[1], "beams", &Sizes::beams, 1);
  offer(smaller[2], "length", &Sizes::length, 2);
  bigbird::require_memory(plan, smaller);
}

void Summarizer::prepare() {
  require_memory();
  make_token_search(search_);
  if (search_.max_length > folder_.config().decoder_positions()) {
    throw_usage(fmt::format("summaries of {} tokens: {} has {} positions for them", search_.max_length,
                            folder_.path(), folder_.config().decoder_positions()));
  }
  model_ = open_model(folder_, {backend_, [&](const ModelConfig&) { return limits(sizes()); }}).model;
  steps_ = std::make_unique<DecoderSteps>(*model_, decoder_limits(sizes()));
}

EncodedDocument Summarizer::encode(std::string_view text) const {
  return encode_document(folder_.tokenizer(), text, encoding_);
}

void Summarizer::add(EncodedDocument document, std::uint64_t index,
                     std::function<void(const WrittenSummary&)> done) {
  if (static_cast<std::int64_t>(pending_.size()) == options_.documents) run();
  pending_.push_back({std::move(document), index, std::move(done)});
}

void Summarizer::finish() {
  run();
}

WrittenSummary Summarizer::written(const FoundSequence& found) const {
  WrittenSummary summary;
  summary.tokens = found.tokens;
  summary.score = found.score;
  summary.ended = !found.tokens.empty() && search_.is_end(found.tokens.back());
  const std::string text = text_of_pieces(folder_.tokenizer(), found.tokens);
  summary.text = encoding_.line_marks ? without_line_marks(text) : text;
  return summary;
}

void Summarizer::run() {
  if (pending_.empty()) return;
  const ModelConfig& config = model_->config();
  const bool whole_blocks = model_->wants_whole_blocks();
  Batch batch;
  TokenSearches searches;
  for (const Pending& pending : pending_) {
    const auto length = static_cast<std::int64_t>(pending.document.ids.size());
    batch.append(pending.document.ids, {}, whole_blocks ? config.block_size : 1,
                 static_cast<std::int32_t>(config.pad_token_id));
    if (!whole_blocks)
      batch.plan_lengths.push_back((length + config.block_size - 1) / config.block_size * config.block_size);
    SearchOptions search = search_;
    search.sampling.index = pending.index;
    searches.push_back(make_token_search(search));
  }
  model_->forward(batch, {});
  steps_->begin();
  run_searches(searches,
               {[&](const SearchRows& rows) { steps_->step(rows.tokens, rows.parents, rows.searches); },
                [&](std::int64_t count) { return steps_->top(count); }, [&] { return steps_->logits(); },
                config.vocab_size});
  for (std::size_t s = 0; s < pending_.size(); ++s) pending_[s].done(written(searches[s]->results().front()));
  pending_.clear();
}

SummaryTally predict_summaries(const SummaryPredictionOptions& options, Summarizer& summarizer) {
  SummaryPairs pairs(options.input, options.pairs);
  RunIdentity identity = model_identity(summarizer.folder(), TextSettings(), options.precision);
  add_run(identity, summarizer);
  add_search(identity, summarizer.search());
  ChunkedOutputs outputs({{options.output, kind_of(options.form), ChunkForm::lines, head_of(options)}},
                         identity, options.input, options.work);
  SummaryTally tally;
  if (outputs.are_whole()) return tally;
  summarizer.prepare();
  Progress progress("text summarize predict", 0, "documents");
  outputs.run<SummaryPair>(
      [&](SummaryPair& pair) { return pairs.next(pair); }, add_document,
      [&](const std::vector<SummaryPair>& chunk) {
        std::uint64_t number = pairs.rows() - chunk.size();
        for (const SummaryPair& pair : chunk) {
          const std::uint64_t index = number++;
          EncodedDocument document = summarizer.encode(pair.document);
          if (document.blank) {
            const std::string what = pair.place + ": a document without a word";
            if (!options.pairs.skip_bad)
              throw_bad_input(what,
                              message("take it out, or count and pass over such records with `skip_bad`"));
            if (tally.skipped++ == 0) tally.first_skipped = what;
            continue;
          }
          ++tally.documents;
          tally.cut += document.cut ? 1 : 0;
          summarizer.add(std::move(document), index, [&, id = pair.id](const WrittenSummary& summary) {
            tally.unended += summary.ended ? 0 : 1;
            tally.tokens += static_cast<std::int64_t>(summary.tokens.size());
            outputs.write(0, summary_row(options.form, id, summary));
            progress.advance(1);
          });
        }
        summarizer.finish();
      },
      {options.input + ": there are no documents", "give one at least"});
  if (pairs.skipped() > 0) {
    tally.first_skipped = pairs.first_skipped();
    tally.skipped += pairs.skipped();
  }
  return tally;
}

}  // namespace bigbird
