// A layer of BigBird-ETC beside one of BigBird-ITC that lists about as many blocks of keys: forward pass and
// training step of one-layer models of the base size, in turns, fp32 and bf16. The random blocks of ITC are
// as many as bring its lists next to ETC's. bench_two_inputs [rounds [tokens [global tokens]]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/backend.h"
#include "lib/core/rng.h"
#include "lib/model/network/model.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/patterns.h"

namespace bigbird {
namespace {

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

ModelConfig base_layer(std::int64_t tokens) {
  ModelConfig config;
  config.num_hidden_layers = 1;
  config.vocab_size = 1000;
  config.max_position_embeddings = tokens;
  config.head = HeadType::masked_lm;
  config.random_mode = RandomMode::hf_train;
  return config;
}

// Blocks of keys in the lists of one head: of ETC in its window, between the inputs and among global tokens.
std::int64_t listed(const std::vector<std::vector<std::int32_t>>& head) {
  std::int64_t sum = 0;
  for (const auto& row : head) sum += static_cast<std::int64_t>(row.size());
  return sum;
}
std::int64_t listed_etc(const ModelConfig& config, std::int64_t tokens, std::int64_t globals) {
  const std::int64_t blocks = tokens / config.block_size,
                     second = (globals + config.block_size - 1) / config.block_size;
  return listed(own_length_rows(config, 0, blocks)[0]) + second * (2 * blocks + second);
}

struct Side {
  const char* name;
  ModelConfig config;
  Batch batch;
  std::unique_ptr<Model> inference, training;
  std::vector<double> forward = {}, step = {};
};

void open(Side& side, kernels::Backend& backend) {
  const std::vector<float> parameters = initial_parameters(ParameterLayout(side.config), side.config, 1);
  const BatchLimits limits{.tokens = side.batch.tokens(),
                           .sequences = 1,
                           .masked_tokens = static_cast<std::int64_t>(side.batch.masked_rows.size()),
                           .longest = side.batch.tokens(),
                           .globals = side.batch.globals.tokens()};
  side.inference = std::make_unique<Model>(backend, side.config, limits, ModelOptions{});
  side.training = std::make_unique<Model>(backend, side.config, limits, ModelOptions{.training = true});
  side.inference->set_parameters(parameters);
  side.training->set_parameters(parameters);
}

void measure(Side& side) {
  side.forward.push_back(seconds([&] { side.inference->forward(side.batch, {}); }));
  side.step.push_back(seconds([&] {
    const ForwardResult result =
        side.training->forward(side.batch, {.training = true, .dropout_seed = 3, .hidden_state = {}});
    side.training->zero_gradients();
    side.training->backward(mean_scale(result));
  }));
}

void compare(kernels::Precision precision, int rounds, std::int64_t tokens, std::int64_t globals) {
  const auto backend = kernels::make_cpu_backend(precision);
  Side etc{"BigBird-ETC", base_layer(tokens), {}, nullptr, nullptr},
      itc{"BigBird-ITC", base_layer(tokens), {}, nullptr, nullptr};
  etc.config.attention = AttentionPattern::etc;
  etc.config.embedding_norm = EmbeddingNorm::before_dropout;
  etc.config.position_type = PositionType::none;
  etc.config.type_vocab_size = 16;
  etc.config.num_random_blocks = 0;
  validate(etc.config, "bench_two_inputs");
  const std::int64_t wanted = listed_etc(etc.config, tokens, globals), blocks = tokens / 64;
  std::int64_t found = 0;
  for (std::int64_t r = 0; r < blocks / 2; ++r) {
    ModelConfig config = itc.config;
    config.num_random_blocks = r;
    if (!full_attention_reason(config, blocks).empty()) break;  // no plan has so many
    const std::int64_t of_r = listed(plan_rows(config, 0, blocks, false)[0]);
    if (std::abs(of_r - wanted) >= std::abs(found - wanted)) continue;
    found = of_r;
    itc.config = config;
  }
  validate(itc.config, "bench_two_inputs");
  // ITC drops no probabilities on its sparse path: ETC once more without.
  Side calm{"BigBird-ETC", etc.config, {}, nullptr, nullptr};
  calm.config.attention_probs_dropout_prob = 0.0;
  CounterRng random(1, Purpose::test, 0);
  TwoInputs inputs;
  for (std::int64_t i = 0; i < tokens; ++i) {
    inputs.ids.push_back(static_cast<std::int32_t>(random.between(5, 999)));
    inputs.links[0].push_back(static_cast<std::int32_t>(i * globals / tokens));
  }
  inputs.global_ids.assign(static_cast<std::size_t>(globals), etc_sentence_token);
  etc.batch.append(inputs, 64, 0);
  calm.batch = etc.batch;
  itc.batch.append(inputs.ids, {}, 64, 0);
  for (Side* side : {&etc, &itc, &calm}) {
    for (std::int64_t i = 0; i < 64; ++i) {
      side->batch.masked_rows.push_back(static_cast<std::int32_t>(i * tokens / 64));
      side->batch.masked_labels.push_back(7);
    }
    open(*side, *backend);
    measure(*side);  // to warm up
    side->forward.clear();
    side->step.clear();
  }
  for (int round = 0; round < rounds; ++round) {
    for (Side* side : {&etc, &itc, &calm}) measure(*side);
  }
  std::printf(
      "%s; %lld tokens and %lld global ones: %lld blocks of keys a head, ITC with %lld random ones %lld\n",
      backend->description().c_str(), static_cast<long long>(tokens), static_cast<long long>(globals),
      static_cast<long long>(wanted), static_cast<long long>(itc.config.num_random_blocks),
      static_cast<long long>(found));
  const auto print = [&](const char* name, const Side& of, std::vector<double> Side::*times) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < (of.*times).size(); ++i) ratios.push_back((of.*times)[i] / (itc.*times)[i]);
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("  %-48s ETC %.3f s, ITC %.3f s, ratio median %.2f (%.2f to %.2f); must 1.5\n", name,
                median(of.*times), median(itc.*times), median(ratios), *low, *high);
  };
  print("forward", etc, &Side::forward);
  print("step", etc, &Side::step);
  print("step, ETC without dropout of probabilities", calm, &Side::step);
}

}  // namespace
}  // namespace bigbird

int main(int argc, char** argv) {
  const auto number = [&](int place, int otherwise) {
    return argc > place ? std::atoi(argv[place]) : otherwise;
  };
  for (const auto precision : {bigbird::kernels::Precision::fp32, bigbird::kernels::Precision::bf16})
    bigbird::compare(precision, number(1, 5), number(2, 4096), number(3, 230));
  return 0;
}
