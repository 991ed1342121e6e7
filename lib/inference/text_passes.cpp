// See text_passes.h.
#include "lib/inference/text_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/inference/step_rows.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/model.h"

namespace bigbird {
namespace {

bool remembers(const ModelConfig& config) {
  return is_recurrent(config) && remembered_rows(config) > 0;
}

// Texts share what they remember: nothing of it changes.
using Remembered = std::shared_ptr<const std::vector<float>>;

struct PassedText {
  std::vector<std::int32_t> tokens;  // of the segment that is not full yet; without a memory all of them
  Remembered remembered;             // of the segments before it; null: none
};

StepRowMemory plan_logits(Arena& arena, const ModelConfig& config, const CausalLimits& limits) {
  return plan_step_rows(arena, config, 0, limits.asked);
}

std::size_t logit_bytes(const kernels::Backend& backend, const ModelConfig& config,
                        const CausalLimits& limits) {
  Arena arena(nullptr, backend);
  plan_logits(arena, config, limits);
  return arena.used();
}

}  // namespace

struct TextPasses::Impl {
  Impl(Model& of, const CausalLimits& up_to)
      : model(of),
        limits(up_to),
        config(of.config()),
        memory(model.backend(), logit_bytes(model.backend(), config, limits)),
        step(model.backend(), config, held) {
    Arena arena(memory.bytes(), model.backend());
    held = plan_logits(arena, config, limits);
  }

  // Passes over the text's segment, perhaps for the logits of its last token, which are put behind `all`.
  void pass(PassedText& text, bool asked, std::vector<float>& all) {
    throw_if_cancelled_anywhere();
    Batch batch;
    if (asked) batch.masked_rows.push_back(static_cast<std::int32_t>(text.tokens.size()) - 1);
    if (asked) batch.masked_labels.push_back(0);  // any: nobody reads the loss
    batch.append(text.tokens, {}, model.wants_whole_blocks() ? config.block_size : 1,
                 static_cast<std::int32_t>(config.pad_token_id));
    if (remembers(config)) {
      batch.places = {{0}, {text.remembered == nullptr ? std::uint8_t{1} : std::uint8_t{0}}};
      if (text.remembered != nullptr) model.set_stream_memory(0, *text.remembered);
    }
    model.forward(batch, {});
    if (asked) {
      const std::vector<float> logits = model.masked_logits();
      all.insert(all.end(), logits.begin(), logits.end());
    }
    if (!is_recurrent(config) || static_cast<std::int64_t>(text.tokens.size()) < limits.length) return;
    if (remembers(config)) text.remembered = std::make_shared<std::vector<float>>(model.stream_memory(0));
    text.tokens.clear();
  }

  Model& model;
  const CausalLimits limits;
  const ModelConfig config;
  DeviceMemory memory;
  StepRowMemory held;
  StepRows step;
  std::vector<PassedText> texts;  // of the last call
};

BatchLimits limits_of_passes(const ModelConfig& config, const CausalLimits& limits) {
  const std::int64_t block = config.block_size, rows = (limits.length + block - 1) / block * block;
  return {.tokens = rows,
          .sequences = 1,
          .masked_tokens = 1,
          .longest = rows,
          .streams = remembers(config) ? 1 : 0};
}

std::vector<MemoryRow> plan_pass_memory(const ModelConfig& config, const CausalLimits& limits,
                                        const kernels::Backend& backend) {
  Arena arena(nullptr, backend);
  plan_logits(arena, config, limits);
  return arena.rows();
}

TextPasses::TextPasses(Model& model, const CausalLimits& limits) {
  if (!model.config().predicts_next()) throw_runtime("a model that predicts no next token writes nothing");
  impl_ = std::make_unique<Impl>(model, limits);
}
TextPasses::~TextPasses() = default;

void TextPasses::begin() {
  impl_->texts.clear();
}

void TextPasses::read(std::span<const ReadText> texts) {
  Impl& of = *impl_;
  std::vector<PassedText> next;
  std::vector<float> logits;
  std::int64_t asked = 0;
  for (const ReadText& text : texts) {
    PassedText& to = next.emplace_back(text.parent < 0 ? PassedText()
                                                       : of.texts.at(static_cast<std::size_t>(text.parent)));
    for (std::size_t i = 0; i < text.tokens.size(); ++i) {
      const bool last = i + 1 == text.tokens.size();
      to.tokens.push_back(text.tokens[i]);
      const auto length = static_cast<std::int64_t>(to.tokens.size());
      if (length > of.limits.length)
        throw_runtime(fmt::format("a text of {} tokens: passes are made for {}", length, of.limits.length));
      const bool tells = last && text.asked, whole = is_recurrent(of.config) && length == of.limits.length;
      if (tells && ++asked > of.limits.asked)
        throw_runtime(fmt::format("{} texts asked of: passes are made for {}", asked, of.limits.asked));
      if (tells || whole) of.pass(to, tells, logits);
    }
  }
  of.texts = std::move(next);
  of.step.take_logits(logits, asked);
}

std::span<const float> TextPasses::logits() {
  return impl_->step.logits();
}

TopTokens TextPasses::top(std::int64_t count) {
  return impl_->step.top(count);
}

}  // namespace bigbird
