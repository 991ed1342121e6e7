// A layer of Performer, Reformer or Routing Transformer beside one of full attention and one of BigBird's, at
// 1,024 to 32,768 tokens: CPU seconds (that it may be measured beside other work) of a forward pass and of a
// training step, in turns, and bytes that a model of one layer plans beside its parameters; behind them the
// exponents, which are the slopes of the logarithms over that of the tokens. Performer's published width:
// 512, 8 heads, 2,048 inside. COUNT: features of performer, hashes of reformer, tokens of a cluster of
// routing, which has as many clusters as cover the tokens, and half as much again on each side in the window
// of its local heads.
//
//   bench_long_layers SYSTEM [rounds [COUNT [longest [longest of full attention [mlm or clm]]]]]
//
// As our side of tests/peers/speed/long_layer_speed.py it steps once for each line that it reads, and prints
// wall seconds, CPU seconds and bytes that it holds at most:
//
//   bench_long_layers serve SYSTEM COUNT TOKENS THREADS CAUSAL
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

ModelConfig layer_of(AttentionPattern attention, std::int64_t tokens, std::int64_t count, bool causal) {
  ModelConfig config;
  config.num_hidden_layers = 1;
  config.hidden_size = 512;
  config.num_attention_heads = 8;
  config.intermediate_size = 2048;
  config.vocab_size = 1000;
  config.max_position_embeddings = tokens;
  config.head = causal ? HeadType::causal_lm : HeadType::masked_lm;
  config.causal = causal;
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0;
  config.attention = attention;
  config.attention_options.performer.features = count;
  config.attention_options.reformer.hashes = std::min(count, ReformerOptions::most_hashes);
  config.attention_options.routing.window = count;
  config.attention_options.routing.clusters = std::max<std::int64_t>(tokens / count, 1);
  config.attention_options.routing.local_window = count + count / 2;
  become_published(config);
  validate(config, "bench_long_layers");
  return config;
}

struct Side {
  ModelConfig config;
  Batch batch = {};
  std::unique_ptr<Model> inference = nullptr, training = nullptr;
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

void step(Side& side) {
  const ForwardResult result = side.training->forward(side.batch, {.training = true, .hidden_state = {}});
  side.training->zero_gradients();
  side.training->backward(mean_scale(result));
}

// Of all threads.
double cpu_seconds(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

void measure(Side& side) {
  side.forward.push_back(cpu_seconds([&] { side.inference->forward(side.batch, {}); }));
  side.step.push_back(cpu_seconds([&] { step(side); }));
}

// The slope of log2 y over log2 x.
double exponent(const std::vector<double>& x, const std::vector<double>& y) {
  double sum_x = 0, sum_y = 0, both = 0, squares = 0;
  const auto count = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = std::log2(x[i]), b = std::log2(y[i]);
    sum_x += a;
    sum_y += b;
    both += a * b;
    squares += a * a;
  }
  return (count * both - sum_x * sum_y) / (count * squares - sum_x * sum_x);
}

struct Curve {
  AttentionPattern attention;
  std::vector<double> tokens = {}, forward = {}, step = {}, bytes = {};
};

void compare(AttentionPattern system, int rounds, std::int64_t count, std::int64_t longest,
             std::int64_t longest_full, bool causal) {
  const auto backend = kernels::make_cpu_backend();
  std::vector<Curve> curves{{system}, {AttentionPattern::full}};
  if (!causal) curves.push_back({AttentionPattern::bigbird});
  std::printf("%s; %s %lld, %s\n", backend->description().c_str(), name_of(system).c_str(),
              static_cast<long long>(count), causal ? "left to right" : "both directions");
  std::printf("attention\ttokens\tforward s\tstep s\tMB\n");
  for (std::int64_t tokens = 1024; tokens <= longest; tokens *= 2) {
    std::vector<Side> sides;
    std::vector<Curve*> of;
    for (Curve& curve : curves) {
      if (curve.attention == AttentionPattern::full && tokens > longest_full) continue;
      sides.push_back({layer_of(curve.attention, tokens, count, causal)});
      of.push_back(&curve);
    }
    for (Side& side : sides) {
      open(side, tokens, *backend);
      measure(side);  // to warm up
      side.forward.clear();
      side.step.clear();
    }
    for (int round = 0; round < rounds; ++round)
      for (Side& side : sides) measure(side);
    for (std::size_t i = 0; i < sides.size(); ++i) {
      Curve& curve = *of[i];
      curve.tokens.push_back(static_cast<double>(tokens));
      curve.forward.push_back(median(sides[i].forward));
      curve.step.push_back(median(sides[i].step));
      curve.bytes.push_back(sides[i].bytes);
      std::printf("%s\t%lld\t%.4f\t%.4f\t%.1f\n", name_of(curve.attention).c_str(),
                  static_cast<long long>(tokens), curve.forward.back(), curve.step.back(),
                  curve.bytes.back() / 1e6);
      std::fflush(stdout);
    }
  }
  std::printf("exponents: forward, step, bytes\n");
  for (const Curve& curve : curves) {
    if (curve.tokens.size() < 2) continue;
    std::printf("%s\t%.2f\t%.2f\t%.2f\n", name_of(curve.attention).c_str(),
                exponent(curve.tokens, curve.forward), exponent(curve.tokens, curve.step),
                exponent(curve.tokens, curve.bytes));
  }
}

void serve(AttentionPattern system, std::int64_t count, std::int64_t tokens, int threads, bool causal) {
  kernels::set_thread_count(threads);
  const auto backend = kernels::make_cpu_backend();
  Side side{layer_of(system, tokens, count, causal)};
  open(side, tokens, *backend);
  side.inference.reset();
  step(side);
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds([&] { step(side); });
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    std::printf("%.4f %.4f %zu\n", wall.count(), cpu, resident_memory().peak);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace bigbird

int main(int argc, char** argv) {
  const auto number = [&](int at, long otherwise) { return argc > at ? std::atol(argv[at]) : otherwise; };
  const auto count_of = [&](int at, bigbird::AttentionPattern system) {
    return number(at, system == bigbird::AttentionPattern::reformer ? 2 : 256);
  };
  if (argc < 2) {
    std::fprintf(stderr, "bench_long_layers performer, reformer or routing, or serve\n");
    return 2;
  }
  if (argc == 7 && std::string(argv[1]) == "serve") {
    const auto system = bigbird::parse_attention_pattern(argv[2]);
    bigbird::serve(system, count_of(3, system), number(4, 1024), static_cast<int>(number(5, 1)),
                   number(6, 0) != 0);
    return 0;
  }
  const auto system = bigbird::parse_attention_pattern(argv[1]);
  const bool causal = argc > 6 && std::string(argv[6]) == "clm";
  bigbird::compare(system, static_cast<int>(number(2, 3)), count_of(3, system), number(4, 32768),
                   number(5, 8192), causal);
  return 0;
}
