// Our side of tests/peers/speed/transformer_xl_speed.py: training steps of Transformer-XL small over streams
// whose memory is full. Every line on stdin is a step, answered by its seconds, those of all threads'
// processors, and the peak of memory in bytes since the first step.
//
//   bench_transformer_xl LAYERS WIDTH HEADS INNER LENGTH MEMORY STREAMS VOCABULARY THREADS
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "lib/core/process_memory.h"
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

void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;
}

int run(const std::array<std::int64_t, 9>& of) {
  const std::int64_t length = of[4], memory = of[5], streams = of[6];
  kernels::set_thread_count(static_cast<int>(of[8]));
  ModelConfig config;
  config.num_hidden_layers = of[0];
  config.hidden_size = of[1];
  config.num_attention_heads = of[2];
  config.intermediate_size = of[3];
  config.vocab_size = of[7];
  config.max_position_embeddings = length;
  config.hidden_dropout_prob = 0.1;
  config.attention_probs_dropout_prob = 0.0;
  config.attention = AttentionPattern::transformer_xl;
  config.attention_options.recurrent.memory = memory;
  config.head = HeadType::causal_lm;
  become_recurrent(config);
  validate(config, "bench_transformer_xl");
  BatchLimits limits;
  limits.tokens = limits.masked_tokens = length * streams;
  limits.sequences = limits.streams = streams;
  limits.longest = length;
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  Model model(*backend, config, limits, {.training = true});
  model.set_parameters(initial_parameters(model.layout(), config, 1));
  const std::int64_t count = model.layout().count();
  std::vector<float> first(static_cast<std::size_t>(count)), second(first);
  std::uint64_t number = 0;
  const auto step = [&] {
    const Batch batch = segment(config, length, streams, number);
    const auto start = std::chrono::steady_clock::now();
    ForwardOptions options;
    options.training = true;
    options.dropout_seed = ++number;
    const ForwardResult result = model.forward(batch, options);
    model.zero_gradients();
    model.backward(mean_scale(result));
    const kernels::ParameterRun all{0, count, false};
    backend->adamw({model.parameters(), model.gradients(), first.data(), second.data()}, {&all, 1},
                   {.learning_rate = 1e-4f});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (std::int64_t read = 0; read <= memory; read += length) step();
  reset_peak();
  for (std::string line; std::getline(std::cin, line);) {
    const std::clock_t before = std::clock();
    const double seconds = step();
    const double of_processors = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    std::printf("%.4f %.4f %zu\n", seconds, of_processors, resident_memory().peak);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace bigbird

int main(int argc, char** argv) {
  std::array<std::int64_t, 9> numbers{};
  if (argc != 10) return std::fprintf(stderr, "see the first lines of this program\n"), 2;
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::atoll(argv[i + 1]);
  return bigbird::run(numbers);
}
