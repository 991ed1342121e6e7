// Processor seconds of a training step of Adaptive-Span over streams whose memory is full, with every span
// forced to so many tokens of max_span: the median of the steps.
//
//   bench_adaptive_span LAYERS WIDTH HEADS INNER LENGTH MAX_SPAN STREAMS THREADS STEPS SPAN...
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "lib/core/rng.h"
#include "lib/model/network/model.h"
#include "lib/model/network/validate_config.h"

namespace bigbird {
namespace {

Batch segment(const ModelConfig& config, std::int64_t length, std::int64_t streams, std::uint64_t number) {
  Batch batch;
  for (std::int64_t stream = 0; stream < streams; ++stream) {
    CounterRng random(11, Purpose::test,
                      number * static_cast<std::uint64_t>(streams) + static_cast<std::uint64_t>(stream));
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < length; ++i) {
      ids.push_back(static_cast<std::int32_t>(random.between(1, config.vocab_size - 1)));
      batch.masked_rows.push_back(static_cast<std::int32_t>(batch.tokens() + i));
      batch.masked_labels.push_back(static_cast<std::int32_t>(random.between(1, config.vocab_size - 1)));
    }
    batch.append(ids, {}, config.block_size, 0);
    batch.places.streams.push_back(static_cast<std::int32_t>(stream));
    batch.places.begins.push_back(0);
  }
  return batch;
}

double median_step(const std::vector<std::int64_t>& of, std::int64_t span) {
  kernels::set_thread_count(static_cast<int>(of[7]));
  ModelConfig config;
  config.num_hidden_layers = of[0];
  config.hidden_size = of[1];
  config.num_attention_heads = of[2];
  config.intermediate_size = of[3];
  config.vocab_size = 512;
  config.max_position_embeddings = of[4];
  config.hidden_dropout_prob = 0.1;
  config.attention_probs_dropout_prob = 0.0;
  config.attention = AttentionPattern::adaptive_span;
  config.attention_options.spans.max_span = of[5];
  config.head = HeadType::causal_lm;
  become_recurrent(config);
  validate(config, "bench_adaptive_span");
  BatchLimits limits;
  limits.tokens = limits.masked_tokens = of[4] * of[6];
  limits.sequences = limits.streams = of[6];
  limits.longest = of[4];
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  Model model(*backend, config, limits, {.training = true});
  std::vector<float> parameters = initial_parameters(model.layout(), config, 1);
  const auto spans = static_cast<std::size_t>(model.layout().offset("bert.encoder.spans"));
  for (std::int64_t i = 0; i < of[0] * of[2]; ++i) {
    parameters[spans + static_cast<std::size_t>(i)] = static_cast<float>(span) / static_cast<float>(of[5]);
  }
  model.set_parameters(parameters);
  std::vector<double> seconds;
  const std::int64_t full = (of[5] + of[4] - 1) / of[4];
  for (std::int64_t number = 0; number < full + of[8]; ++number) {
    const Batch batch = segment(config, of[4], of[6], static_cast<std::uint64_t>(number));
    ForwardOptions options;
    options.training = true;
    options.dropout_seed = static_cast<std::uint64_t>(number);
    const std::clock_t start = std::clock();
    const ForwardResult result = model.forward(batch, options);
    model.zero_gradients();
    model.backward(mean_scale(result));
    if (number < full) continue;
    seconds.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace
}  // namespace bigbird

int main(int argc, char** argv) {
  std::vector<std::int64_t> numbers;
  for (int i = 1; i < argc; ++i) numbers.push_back(std::atoll(argv[i]));
  if (numbers.size() < 10) return std::fprintf(stderr, "see the first lines of this program\n"), 2;
  for (std::size_t i = 9; i < numbers.size(); ++i) {
    const double seconds = bigbird::median_step(numbers, numbers[i]);
    std::printf("span %lld of %lld: %.4f processor seconds a step\n", static_cast<long long>(numbers[i]),
                static_cast<long long>(numbers[5]), seconds);
    std::fflush(stdout);
  }
  return 0;
}
