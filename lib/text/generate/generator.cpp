// See generator.h.
#include "lib/text/generate/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/genome/base_letters.h"
#include "lib/model_folder/open_model.h"
#include "lib/text/search/run_searches.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/memory_plan.h"

namespace bigbird {
namespace {

constexpr std::int64_t usual_tokens = 64;
// Tokens of prompts that are read in one call: enough for quick products, few enough to plan memory for.
constexpr std::int64_t tokens_read_at_once = 256;
// Numbers of prompts, below which those of samples stand in the index of a draw.
constexpr int prompt_bits = 40;

// What pretraining never has for a label: pieces that are special, but for the end of a text, and rows of the
// table without a piece.
std::vector<std::int32_t> tokens_that_never_come(const Tokenizer& tokenizer, const ModelConfig& config) {
  std::vector<std::int32_t> never;
  for (std::int64_t id = 0; id < config.vocab_size; ++id) {
    const auto piece = static_cast<std::uint32_t>(id);
    const bool ends = piece == tokenizer.special().sep && !tokenizer.is_dna();
    const bool is_piece = piece < tokenizer.vocab_size();
    if (!ends && (!is_piece || tokenizer.is_special(piece))) never.push_back(static_cast<std::int32_t>(id));
  }
  return never;
}

}  // namespace

Generator::Generator(const GeneratorOptions& options, kernels::Backend& backend)
    : folder_(options.model), options_(options), backend_(backend) {
  folder_.require_next_token_head();
  const ModelConfig& config = folder_.config();
  if (options_.samples < 1)
    throw_usage(message("`continuations` is below 1"), "each prompt has one at least");
  const Tokenizer& tokenizer = folder_.tokenizer();
  search_.decoding = Decoding::greedy;
  search_.max_length = 1 + usual_tokens;
  search_.end = static_cast<std::int32_t>(tokenizer.special().sep);
  search_.never = tokens_that_never_come(tokenizer, config);
  search_.sampling.purpose = Purpose::text_sampling;
}

Generator::~Generator() = default;

Generator::Sizes Generator::sizes() const {
  return {options_.prompts, std::max(search_.beams, options_.samples)};
}

CausalLimits Generator::limits(const Sizes& sizes) const {
  const ModelConfig& config = folder_.config();
  const std::int64_t positions = config.max_position_embeddings;
  const std::int64_t asked = sizes.prompts * sizes.rows;
  if (!keeps_keys(config)) {
    return {.rows = std::max(asked, tokens_read_at_once), .asked = asked, .cached = 0, .length = positions};
  }
  if (is_recurrent(config)) {
    const std::int64_t memory = remembered_rows(config), rows = std::max(asked, tokens_read_at_once);
    const std::int64_t of_row = std::min(search_.max_length, memory);
    return {.rows = rows,
            .asked = asked,
            .cached = sizes.prompts * (memory + sizes.rows * of_row) + rows,
            .length = positions};
  }
  const std::int64_t written = std::min(search_.max_length, positions);
  return {.rows = std::max(asked, std::min(tokens_read_at_once, sizes.prompts * positions)),
          .asked = asked,
          .cached = sizes.prompts * (positions + sizes.rows * written),
          .length = positions};
}

std::vector<MemoryRow> Generator::memory(const Sizes& sizes) const {
  const CausalLimits up_to = limits(sizes);
  std::vector<MemoryRow> rows =
      plan_model_memory(folder_.config(), limits_of_steps(folder_.config(), up_to), {}, backend_);
  for (const MemoryRow& row : plan_step_memory(folder_.config(), up_to, backend_)) rows.push_back(row);
  return rows;
}

void Generator::require_memory() const {
  const MemoryBefore before = memory_before(backend_, 0);
  const auto plan_of = [&](const Sizes& of) { return plan_inference_memory(memory(of), backend_, before); };
  const TrainingMemory plan = plan_of(sizes());
  log_memory(plan);
  SmallerRuns smaller(2);  // one option at a time
  const auto offer = [&](std::vector<SmallerRun>& group, const char* option, std::int64_t Sizes::*size) {
    for (std::int64_t less = sizes().*size / 2; less >= 1; less /= 2) {
      group.push_back({fmt::format("{} {}", setting_name(option), less), [&, size, less] {
                         Sizes other = sizes();
                         other.*size = less;
                         return plan_of(other);
                       }});
    }
  };
  offer(smaller[0], "batch", &Sizes::prompts);
  if (search_.beams == 1) offer(smaller[1], "samples", &Sizes::rows);
  if (options_.samples == 1) offer(smaller[1], "beams", &Sizes::rows);
  bigbird::require_memory(plan, smaller);
}

void Generator::prepare() {
  if (options_.samples > 1 && search_.decoding != Decoding::sample && options_.samples > search_.beams) {
    throw_usage(message("`continuations` {} of a search with {} beams", options_.samples, search_.beams),
                message("draw them (`top_k`, `top_p` or `temperature`), or take as many `beams`"));
  }
  make_token_search(search_);
  require_memory();
  const CausalLimits up_to = limits(sizes());
  model_ = open_model(folder_,
                      {backend_, [&](const ModelConfig& config) { return limits_of_steps(config, up_to); }})
               .model;
  steps_ = make_text_steps(*model_, up_to);
}

std::vector<std::int32_t> Generator::encode(std::string_view text, const std::string& where) const {
  const Tokenizer& tokenizer = folder_.tokenizer();
  std::vector<std::int32_t> prompt{static_cast<std::int32_t>(tokenizer.special().cls)};
  std::vector<std::uint32_t> ids;
  if (tokenizer.is_dna()) {
    std::string bases(text);
    const BasesRead read = read_bases(bases);
    if (read.bad != std::string::npos || bases.find('N') != std::string::npos) {
      const std::size_t at = std::min(read.bad, bases.find('N'));
      throw_bad_input(fmt::format("{}: letter {} of the sequence is {}, not A, C, G or T", where, at + 1,
                                  text_for_message(text.substr(at, 1))),
                      "a sequence goes on from bases that are known: take a part that has no other letter");
    }
    tokenizer.encode(bases, ids);
  } else {
    ids = encode_ids(tokenizer, text, {}).ids;
  }
  for (const std::uint32_t id : ids) prompt.push_back(static_cast<std::int32_t>(id));
  const std::int64_t positions = folder_.config().max_position_embeddings;
  if (!is_recurrent(folder_.config()) && static_cast<std::int64_t>(prompt.size()) > positions) {
    throw_bad_input(fmt::format("{}: {} tokens with [CLS]; {} has {} positions", where, prompt.size(),
                                folder_.path(), positions),
                    "shorten the prompt, or take a model with more positions");
  }
  return prompt;
}

void Generator::add(std::vector<std::int32_t> prompt, std::uint64_t index, Done done) {
  if (static_cast<std::int64_t>(pending_.size()) == options_.prompts) run();
  pending_.push_back({std::move(prompt), index, std::move(done)});
}

void Generator::finish() {
  run();
}

SearchOptions Generator::search_of(const Pending& pending, std::int64_t sample) const {
  SearchOptions search = search_;
  search.start = pending.prompt.back();
  search.before.assign(pending.prompt.begin(), pending.prompt.end() - 1);
  const auto length = static_cast<std::int64_t>(pending.prompt.size());
  if (!is_recurrent(folder_.config()))  // the last token is never read
    search.max_length = std::min(search.max_length, folder_.config().max_position_embeddings - length + 2);
  search.min_length = std::min(search.min_length, search.max_length);
  search.sampling.index = pending.index | static_cast<std::uint64_t>(sample) << prompt_bits;
  if (search.decoding != Decoding::sample) search.sequences = options_.samples;
  return search;
}

// All prompts but for their last tokens, with which the searches begin.
void Generator::read_prompts() {
  std::vector<std::size_t> read(pending_.size(), 0);
  for (bool begun = false, more = true; more; begun = true) {
    more = false;
    auto room = static_cast<std::size_t>(limits(sizes()).rows);
    std::vector<ReadText> texts;
    for (std::size_t p = 0; p < pending_.size(); ++p) {
      const std::span<const std::int32_t> prompt = pending_[p].prompt;
      const std::size_t count = std::min(prompt.size() - 1 - read[p], room);
      texts.push_back({begun ? static_cast<std::int32_t>(p) : -1, prompt.subspan(read[p], count), false});
      read[p] += count;
      room -= count;
      more = more || read[p] + 1 < prompt.size();
    }
    steps_->read(texts);
  }
}

Continuation Generator::continuation(const Pending& pending, const SearchOptions& search,
                                     const FoundSequence& found) const {
  Continuation result;
  result.tokens = found.tokens;
  result.score = found.score;
  result.ended = !found.tokens.empty() && search.is_end(found.tokens.back());
  result.at_limit = !result.ended && search.max_length < search_.max_length;
  // Pieces of two texts may not be those of one, in how they begin: what stands behind the prompt's.
  std::vector<std::int32_t> all = pending.prompt;
  all.insert(all.end(), found.tokens.begin(), found.tokens.end());
  const std::string whole = text_of_pieces(folder_.tokenizer(), all);
  const std::string before = text_of_pieces(folder_.tokenizer(), pending.prompt);
  result.text = whole.compare(0, before.size(), before) == 0
                    ? whole.substr(before.size())
                    : text_of_pieces(folder_.tokenizer(), found.tokens);
  return result;
}

void Generator::run() {
  if (pending_.empty()) return;
  steps_->begin();
  read_prompts();
  const std::int64_t searches_of_prompt = search_.decoding == Decoding::sample ? options_.samples : 1;
  TokenSearches searches;
  std::vector<SearchOptions> options;
  std::vector<std::int32_t> prompt_of;
  for (std::size_t p = 0; p < pending_.size(); ++p) {
    for (std::int64_t sample = 0; sample < searches_of_prompt; ++sample) {
      options.push_back(search_of(pending_[p], sample));
      searches.push_back(make_token_search(options.back()));
      prompt_of.push_back(static_cast<std::int32_t>(p));
    }
  }
  bool first = true;
  const auto read = [&](const SearchRows& rows) {
    std::vector<ReadText> texts;
    for (std::size_t row = 0; row < rows.tokens.size(); ++row) {
      const std::int32_t parent =
          first ? prompt_of[static_cast<std::size_t>(rows.searches[row])] : rows.parents[row];
      texts.push_back({parent, std::span(rows.tokens).subspan(row, 1), true});
    }
    first = false;
    steps_->read(texts);
  };
  run_searches(searches, {read, [&](std::int64_t count) { return steps_->top(count); },
                          [&] { return steps_->logits(); }, folder_.config().vocab_size});
  for (std::size_t p = 0, s = 0; p < pending_.size(); ++p) {
    std::vector<Continuation> found;
    for (std::int64_t sample = 0; sample < searches_of_prompt; ++sample, ++s) {
      for (const FoundSequence& sequence : searches[s]->results())
        found.push_back(continuation(pending_[p], options[s], sequence));
    }
    pending_[p].done(found);
  }
  pending_.clear();
}

}  // namespace bigbird
