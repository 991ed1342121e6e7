// Tokens a processor second when a text is continued: with keys and values kept (CausalSteps), compared with
// a stream that is read in segments of one token and keeps the inputs of layers. One thread, one text.
//
//   bench_generate SYSTEM LAYERS WIDTH HEADS INNER MEMORY PROMPT TOKENS [SPAN]
//
// SYSTEM: transformer-xl or adaptive-span, whose heads then all see SPAN tokens of MEMORY (default: all).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/inference/causal_steps.h"
#include "lib/model/network/model.h"
#include "lib/model/network/validate_config.h"

namespace bigbird {
namespace {

constexpr std::int64_t block = 64;

struct Sizes {
  std::int64_t layers, width, heads, inner, memory, prompt, tokens, span;
};

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

ModelConfig config_of(AttentionPattern system, const Sizes& of) {
  ModelConfig config;
  config.num_hidden_layers = of.layers;
  config.hidden_size = of.width;
  config.num_attention_heads = of.heads;
  config.intermediate_size = of.inner;
  config.vocab_size = 4000;
  config.max_position_embeddings = of.memory;
  config.block_size = block;
  config.head = HeadType::causal_lm;
  config.attention = system;
  config.attention_options.recurrent.memory = of.memory;
  config.attention_options.spans.max_span = of.memory;
  become_recurrent(config);
  validate(config, "bench_generate");
  return config;
}

double with_kept_keys(Model& model, const Sizes& of, const std::vector<std::int32_t>& text) {
  const std::span<const std::int32_t> all(text);
  CausalSteps steps(model,
                    {.rows = of.tokens, .asked = 1, .cached = of.memory + of.tokens, .length = of.memory});
  steps.begin();
  for (std::int64_t at = 0; at < of.prompt; ++at) {
    const std::vector<ReadText> part{{at == 0 ? -1 : 0, all.subspan(static_cast<std::size_t>(at), 1), false}};
    steps.read(part);
  }
  const double begin = processor_seconds();
  for (std::int64_t at = of.prompt; at < of.prompt + of.tokens; ++at) {
    const std::vector<ReadText> part{{0, all.subspan(static_cast<std::size_t>(at), 1)}};
    steps.read(part);
    if (steps.logits().empty()) throw_runtime("no logits of a step");
  }
  return static_cast<double>(of.tokens) / (processor_seconds() - begin);
}

double by_segments(Model& model, const Sizes& of, const std::vector<std::int32_t>& text) {
  double begin = 0.0;
  for (std::int64_t at = 0; at < of.prompt + of.tokens; ++at) {
    if (at == of.prompt) begin = processor_seconds();
    Batch batch;
    batch.append({text[static_cast<std::size_t>(at)]}, {}, model.wants_whole_blocks() ? block : 1, 0);
    batch.masked_rows = {0};
    batch.places = {{0}, {static_cast<std::uint8_t>(at == 0 ? 1 : 0)}};
    model.forward(batch, {});
    if (model.masked_logits().empty()) throw_runtime("no logits of a segment");
  }
  return static_cast<double>(of.tokens) / (processor_seconds() - begin);
}

void run(const std::string& name, const Sizes& of) {
  kernels::set_thread_count(1);
  const ModelConfig config = config_of(parse_attention_pattern(name), of);
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  BatchLimits limits;
  limits.tokens = limits.masked_tokens = limits.longest = block;
  limits.sequences = limits.streams = 1;
  Model model(*backend, config, limits, {});
  std::vector<float> parameters = initial_parameters(model.layout(), config, 3);
  if (has_spans(config)) {
    std::fill_n(parameters.begin() + model.layout().offset("bert.encoder.spans"), of.layers * of.heads,
                static_cast<float>(of.span) / static_cast<float>(of.memory));
  }
  model.set_parameters(parameters);
  CounterRng random(1, Purpose::test, 0);
  std::vector<std::int32_t> text;
  for (std::int64_t i = 0; i < of.prompt + of.tokens; ++i)
    text.push_back(static_cast<std::int32_t>(random.between(1, config.vocab_size - 1)));
  const double kept = with_kept_keys(model, of, text), segments = by_segments(model, of, text);
  std::printf("%s, memory %lld, prompt %lld: %.1f tokens/s with keys kept, %.1f by segments, ratio %.2f\n",
              name.c_str(), static_cast<long long>(of.memory), static_cast<long long>(of.prompt), kept,
              segments, kept / segments);
}

}  // namespace
}  // namespace bigbird

int main(int argc, char** argv) {
  if (argc < 9) {
    std::fprintf(stderr, "bench_generate SYSTEM LAYERS WIDTH HEADS INNER MEMORY PROMPT TOKENS [SPAN]\n");
    return 2;
  }
  std::vector<std::int64_t> of;
  for (int i = 2; i < argc; ++i) of.push_back(std::atoll(argv[i]));
  if (argc == 9) of.push_back(of[4]);
  try {
    bigbird::run(argv[1], {of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7]});
  } catch (const bigbird::Error& error) {
    std::fprintf(stderr, "bench_generate: %s\n", error.message().c_str());
    return 1;
  }
  return 0;
}
