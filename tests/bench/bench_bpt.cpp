// A layer of BP-Transformer beside one of full attention, at 512 to 8,192 tokens: CPU seconds (that it may be
// measured beside other work) of a forward pass and of a training step, in turns, and bytes that a model of
// one layer plans beside its parameters; and how these grow from length to length beside T log T. The
// published width: 512, 8 heads, 2,048 inside. bench_bpt [rounds [contextual [longest]]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/core/rng.h"
#include "lib/model/network/model.h"
#include "lib/model/network/validate_config.h"

namespace bigbird {
namespace {

// Of all threads.
double seconds(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

ModelConfig layer_of(AttentionPattern attention, std::int64_t tokens, std::int64_t contextual) {
  ModelConfig config;
  config.num_hidden_layers = 1;
  config.hidden_size = 512;
  config.num_attention_heads = 8;
  config.intermediate_size = 2048;
  config.vocab_size = 1000;
  config.max_position_embeddings = tokens;
  config.head = HeadType::masked_lm;
  config.activation = Activation::relu;
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0;
  config.attention = attention;
  if (attention == AttentionPattern::bpt) {
    become_bpt(config);
    config.attention_options.bpt.contextual = contextual;
  }
  validate(config, "bench_bpt");
  return config;
}

struct Side {
  ModelConfig config;
  Batch batch;
  std::unique_ptr<Model> inference, training;
  double bytes = 0;
  std::vector<double> forward = {}, step = {};
};

void open(Side& side, std::int64_t tokens, kernels::Backend& backend) {
  CounterRng random(1, Purpose::test, 0);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < tokens; ++i) ids.push_back(static_cast<std::int32_t>(random.between(5, 999)));
  side.batch.append(ids, {}, side.config.block_size, 0);
  for (std::int64_t i = 0; i < 64; ++i) {
    side.batch.masked_rows.push_back(static_cast<std::int32_t>(i * tokens / 64));
    side.batch.masked_labels.push_back(7);
  }
  const std::vector<float> parameters = initial_parameters(ParameterLayout(side.config), side.config, 1);
  const BatchLimits limits{.tokens = tokens, .sequences = 1, .masked_tokens = 64, .longest = tokens};
  side.inference = std::make_unique<Model>(backend, side.config, limits, ModelOptions{});
  side.training = std::make_unique<Model>(backend, side.config, limits, ModelOptions{.training = true});
  side.inference->set_parameters(parameters);
  side.training->set_parameters(parameters);
  for (const MemoryRow& row : plan_model_memory(side.config, limits, {.training = true}, backend)) {
    if (row.what != "parameters" && row.what != "gradients") side.bytes += static_cast<double>(row.bytes);
  }
}

void measure(Side& side) {
  side.forward.push_back(seconds([&] { side.inference->forward(side.batch, {}); }));
  side.step.push_back(seconds([&] {
    const ForwardResult result = side.training->forward(side.batch, {.training = true, .hidden_state = {}});
    side.training->zero_gradients();
    side.training->backward(mean_scale(result));
  }));
}

struct Row {
  double forward, step, bytes;
};

void compare(int rounds, std::int64_t contextual, std::int64_t longest) {
  const auto backend = kernels::make_cpu_backend();
  std::printf("%s; contextual %lld\n", backend->description().c_str(), static_cast<long long>(contextual));
  std::printf(
      "tokens\tforward bpt\tfull\tstep bpt\tfull\tMB bpt\tfull\tgrowth: forward, step, bytes; T log T\n");
  Row last{};
  for (std::int64_t tokens = 512; tokens <= longest; tokens *= 2) {
    Side bpt{layer_of(AttentionPattern::bpt, tokens, contextual), {}, nullptr, nullptr},
        full{layer_of(AttentionPattern::full, tokens, contextual), {}, nullptr, nullptr};
    for (Side* side : {&bpt, &full}) {
      open(*side, tokens, *backend);
      measure(*side);  // to warm up
      side->forward.clear();
      side->step.clear();
    }
    for (int round = 0; round < rounds; ++round) {
      measure(bpt);
      measure(full);
    }
    const Row now{median(bpt.forward), median(bpt.step), bpt.bytes};
    std::printf("%lld\t%.4f\t%.4f\t%.4f\t%.4f\t%.1f\t%.1f", static_cast<long long>(tokens), now.forward,
                median(full.forward), now.step, median(full.step), now.bytes / 1e6, full.bytes / 1e6);
    if (last.bytes > 0) {
      const auto log2 = [](std::int64_t n) { return std::log2(static_cast<double>(n)); };
      std::printf("\t%.2f %.2f %.2f; %.2f", now.forward / last.forward, now.step / last.step,
                  now.bytes / last.bytes, 2 * log2(tokens) / log2(tokens / 2));
    }
    std::printf("\n");
    std::fflush(stdout);
    last = now;
  }
}

}  // namespace
}  // namespace bigbird

int main(int argc, char** argv) {
  const auto number = [&](int place, int otherwise) {
    return argc > place ? std::atoi(argv[place]) : otherwise;
  };
  bigbird::compare(number(1, 5), number(2, 4), number(3, 8192));
  return 0;
}
