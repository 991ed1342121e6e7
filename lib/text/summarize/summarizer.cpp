// See summarizer.h.
#include "lib/text/summarize/summarizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/model/folder/open_model.h"
#include "lib/text/summarize/generation_defaults.h"
#include "lib/text/summarize/line_marks.h"
#include "lib/text/text_settings.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/training/memory_plan.h"

namespace bigbird {
namespace {

using Searches = std::vector<std::unique_ptr<TokenSearch>>;

// The rows that all searches ask for now, and where each search's begin.
struct AskedRows {
  std::vector<std::int32_t> tokens, parents, sources;
  std::vector<std::size_t> first;  // [searches + 1]
};

AskedRows asked_rows(const Searches& searches, const AskedRows& before) {
  AskedRows rows;
  for (std::size_t s = 0; s < searches.size(); ++s) {
    rows.first.push_back(rows.tokens.size());
    if (searches[s]->done()) continue;
    const auto offset = before.first.empty() ? 0 : static_cast<std::int32_t>(before.first[s]);
    const auto tokens = searches[s]->tokens();
    rows.tokens.insert(rows.tokens.end(), tokens.begin(), tokens.end());
    for (const std::int32_t parent : searches[s]->parents()) rows.parents.push_back(offset + parent);
    rows.sources.resize(rows.tokens.size(), static_cast<std::int32_t>(s));
  }
  rows.first.push_back(rows.tokens.size());
  return rows;
}

// What the searches that go on need to know (TokenSearch::wanted()): each by itself, so that no summary
// depends on what is written beside it.
struct Wanted {
  std::int64_t tokens = 0;  // the most that one of them wants
  bool logits = false;      // whether one of them wants all

  explicit Wanted(const Searches& searches) {
    for (const auto& search : searches) {
      if (search->done()) continue;
      const std::int64_t of_search = search->wanted();
      tokens = std::max(tokens, of_search);
      logits = logits || of_search == 0;
    }
  }
};

}  // namespace

Summarizer::Summarizer(const SummarizerOptions& options, kernels::Backend& backend)
    : folder_(options.model), options_(options), backend_(backend) {
  const ModelConfig& config = folder_.config();
  if (!config.has_decoder()) {
    throw_bad_input(
        fmt::format("{}: the model has no decoder, its head is {}", options.model, name_of(config.head)),
        message("take a BigBird-Pegasus folder, or let bigbird convert give an encoder a `decoder`"));
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
  for (const MemoryPlan& place : plan.places) {
    for (const std::string& line : memory_table(place)) log_info(line);
  }
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
  offer(smaller[0], "documents", &Sizes::documents, 1);
  offer(smaller[1], "beams", &Sizes::beams, 1);
  offer(smaller[2], "length", &Sizes::length, 2);
  bigbird::require_memory(plan, smaller);
}

void Summarizer::prepare() {
  require_memory();
  make_token_search(search_);
  if (search_.max_length > folder_.config().max_position_embeddings) {
    throw_usage(fmt::format("summaries of {} tokens: {} has {} positions", search_.max_length, folder_.path(),
                            folder_.config().max_position_embeddings));
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
  Searches searches;
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
  const auto vocabulary = static_cast<std::size_t>(config.vocab_size);
  for (AskedRows rows = asked_rows(searches, {}); !rows.tokens.empty(); rows = asked_rows(searches, rows)) {
    throw_if_cancelled();
    steps_->step(rows.tokens, rows.parents, rows.sources);
    const Wanted wanted(searches);
    const TopTokens top =
        wanted.tokens > 0 ? steps_->top(std::min(wanted.tokens, config.vocab_size)) : TopTokens{};
    const std::span<const float> logits = wanted.logits ? steps_->logits() : std::span<const float>();
    kernels::parallel_for(searches.size(), [&](std::size_t s) {
      const std::size_t first = rows.first[s], count = rows.first[s + 1] - first;
      if (count == 0) return;
      if (searches[s]->wanted() > 0) {
        searches[s]->advance(top.rows(first, count));
      } else {
        searches[s]->advance(logits.subspan(first * vocabulary, count * vocabulary));
      }
    });
  }
  for (std::size_t s = 0; s < pending_.size(); ++s) pending_[s].done(written(searches[s]->results().front()));
  pending_.clear();
}

}  // namespace bigbird
