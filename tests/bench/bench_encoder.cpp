// The base-size model against its own matrix products alone: forward and training step, as ratios, and the
// peak memory. The products run through oneDNN in the same process, multi-threaded, in the faster of its two
// usual forms (sgemm and the matmul primitive on plain layouts). Forward, step and products take turns, round
// by round, and ratios are formed within a round, so that a machine whose speed drifts does not bend them.
// With --head-rows 1 the same model with ModelOptions::head_rows takes its turn too. Options: see usage().
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/model/network/model.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/block_plan.h"

#if defined(BIGBIRD_HAVE_ONEDNN)
#include <dnnl.hpp>
#endif

namespace bigbird {
namespace {

struct Options {
  std::map<std::string, std::int64_t> values{
      {"layers", 12},        {"width", 768},    {"heads", 12},   {"inner", 3072}, {"length", 4096},
      {"vocabulary", 32000}, {"masked", 614},   {"block", 64},   {"random", 3},   {"rounds", 5},
      {"threads", 0},        {"checkpoint", 0}, {"head-rows", 0}};
  std::int64_t operator[](const std::string& name) const { return values.at(name); }
};

void usage(const Options& options) {
  std::printf("bench_encoder [--NAME VALUE]...\n");
  for (const auto& [name, value] : options.values)
    std::printf("  --%s %lld\n", name.c_str(), static_cast<long long>(value));
  std::printf(
      "forward at most 2x its products and a training step at most 2.5x three times those is the aim at the "
      "defaults\n");
}

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The better of two, after one run to warm up.
double best_seconds(const std::function<void()>& work) {
  work();
  const double first = seconds(work);
  return std::min(first, seconds(work));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double peak_gigabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024.0 / 1e9;
}

ModelConfig config_of(const Options& options) {
  ModelConfig config;
  config.num_hidden_layers = options["layers"];
  config.hidden_size = options["width"];
  config.num_attention_heads = options["heads"];
  config.intermediate_size = options["inner"];
  config.vocab_size = options["vocabulary"];
  config.block_size = options["block"];
  config.num_random_blocks = options["random"];
  config.max_position_embeddings = std::max(options["length"], std::int64_t{4096});
  validate(config, "bench_encoder");
  return config;
}

Batch one_sequence(const ModelConfig& config, const Options& options) {
  CounterRng rng(1, Purpose::test, 0);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < options["length"]; ++i) {
    ids.push_back(static_cast<std::int32_t>(rng.between(5, config.vocab_size - 1)));
  }
  Batch batch;
  batch.append(ids, {}, config.block_size, 0);
  const std::int64_t masked = std::min(options["masked"], options["length"]);
  for (std::int64_t i = 0; i < masked; ++i) {
    const std::int64_t row = i * options["length"] / masked;
    batch.masked_rows.push_back(static_cast<std::int32_t>(row));
    batch.masked_labels.push_back(ids[static_cast<std::size_t>(row)]);
  }
  batch.sequence_labels.push_back(0);
  return batch;
}

// y[batch][m, n] = x[batch][m, k] w[batch][n, k]^T, `count` times.
struct Product {
  const char* name;
  std::int64_t count, batch, m, n, k;
  double flops() const {
    return 2.0 * static_cast<double>(count) * static_cast<double>(batch) * static_cast<double>(m) *
           static_cast<double>(n) * static_cast<double>(k);
  }
};

std::vector<Product> linear_products(const ModelConfig& config, const Batch& batch) {
  const std::int64_t tokens = batch.tokens(), width = config.hidden_size, layers = config.num_hidden_layers;
  const std::int64_t masked = static_cast<std::int64_t>(batch.masked_rows.size());
  return {{"query, key, value", layers, 1, tokens, 3 * width, width},
          {"attention output", layers, 1, tokens, width, width},
          {"feed-forward in", layers, 1, tokens, config.intermediate_size, width},
          {"feed-forward out", layers, 1, tokens, width, config.intermediate_size},
          {"masked-token transform", 1, 1, masked, width, width},
          {"masked-token decoder", 1, 1, masked, config.vocab_size, width}};
}

// As many (query block, key block) pairs as the plans of all layers hold, in tiles of one query block by
// eight key blocks.
std::vector<Product> attention_products(const ModelConfig& config, const Batch& batch) {
  PlanCache plans(config);
  std::int64_t pairs = 0;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const kernels::BlockPlanView& view = plans.plan(layer, batch.tokens() / config.block_size).view();
    pairs += view.row_offsets[view.heads * view.blocks];
  }
  const std::int64_t tiles = pairs / 8 / config.num_hidden_layers, b = config.block_size,
                     d = config.head_size();
  return {{"attention scores", config.num_hidden_layers, tiles, b, 8 * b, d},
          {"attention values", config.num_hidden_layers, tiles, b, d, 8 * b}};
}

#if defined(BIGBIRD_HAVE_ONEDNN)
double product_seconds(const Product& of) {
  std::vector<float> x(static_cast<std::size_t>(of.batch * of.m * of.k), 0.5f);
  std::vector<float> w(static_cast<std::size_t>(of.batch * of.n * of.k), 0.25f);
  std::vector<float> y(static_cast<std::size_t>(of.batch * of.m * of.n));
  using dnnl::memory;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc x_shape({of.batch, of.m, of.k}, memory::data_type::f32, memory::format_tag::abc);
  const memory::desc w_shape({of.batch, of.k, of.n}, memory::data_type::f32, memory::format_tag::acb);
  const memory::desc y_shape({of.batch, of.m, of.n}, memory::data_type::f32, memory::format_tag::abc);
  const dnnl::matmul matmul(
      dnnl::matmul::primitive_desc(dnnl::matmul::desc(x_shape, w_shape, y_shape), engine));
  memory x_memory(x_shape, engine, x.data()), w_memory(w_shape, engine, w.data()),
      y_memory(y_shape, engine, y.data());
  double best = best_seconds([&] {
    matmul.execute(stream,
                   {{DNNL_ARG_SRC, x_memory}, {DNNL_ARG_WEIGHTS, w_memory}, {DNNL_ARG_DST, y_memory}});
    stream.wait();
  });
  if (of.batch == 1) {
    best = std::min(best, best_seconds([&] {
                      dnnl_sgemm('N', 'T', of.m, of.n, of.k, 1.0f, x.data(), of.k, w.data(), of.k, 0.0f,
                                 y.data(), of.n);
                    }));
  }
  return best * static_cast<double>(of.count);
}
#endif

struct Round {
  double forward = 0, step = 0, step_forward = 0, step_backward = 0, step_optimizer = 0;
  double some_forward = 0, some_step = 0;  // with the last layer at the rows that the head reads
  std::vector<double> linear, attention;   // seconds of each product

  double linear_sum() const { return std::accumulate(linear.begin(), linear.end(), 0.0); }
  double all_products() const { return std::accumulate(attention.begin(), attention.end(), linear_sum()); }
};

// A model in training with the moments of AdamW: what a run holds in memory.
class TrainingModel {
 public:
  TrainingModel(kernels::Backend& backend, const ModelConfig& config, const BatchLimits& limits,
                bool grad_checkpoint, bool head_rows)
      : backend_(backend),
        model_(backend, config, limits,
               {.training = true, .grad_checkpoint = grad_checkpoint, .head_rows = head_rows}) {
    model_.set_parameters(initial_parameters(model_.layout(), config, 1));
    const std::size_t bytes = static_cast<std::size_t>(model_.layout().count()) * sizeof(float);
    for (float*& moment : moments_) {
      moment = static_cast<float*>(backend.allocate(bytes));
      backend.zero(moment, bytes);
    }
  }
  ~TrainingModel() {
    for (float* moment : moments_) backend_.release(moment);
  }
  TrainingModel(const TrainingModel&) = delete;
  TrainingModel& operator=(const TrainingModel&) = delete;

  // Forward, backward and AdamW, dropout on.
  void step(const Batch& batch, std::uint64_t dropout_seed, Round& round) {
    ForwardResult result;
    round.step_forward = seconds([&] {
      result = model_.forward(batch, {.training = true, .dropout_seed = dropout_seed, .hidden_state = {}});
    });
    round.step_backward = seconds([&] {
      model_.zero_gradients();
      model_.backward({{1.0f / static_cast<float>(result[Loss::mlm].count), 1.0f}});
    });
    round.step_optimizer = seconds([&] {
      const kernels::ParameterRun all{0, model_.layout().count(), true};
      backend_.adamw({model_.parameters(), model_.gradients(), moments_[0], moments_[1]}, {&all, 1},
                     {.learning_rate = 1e-5f});
    });
    round.step = round.step_forward + round.step_backward + round.step_optimizer;
  }

 private:
  kernels::Backend& backend_;
  Model model_;
  float* moments_[2] = {nullptr, nullptr};
};

void print_products(const std::vector<Product>& products, const std::vector<Round>& rounds,
                    std::vector<double> Round::*times) {
  for (std::size_t i = 0; i < products.size(); ++i) {
    std::vector<double> all;
    for (const Round& round : rounds) {
      if (!(round.*times).empty()) all.push_back((round.*times)[i]);
    }
    const double giga = products[i].flops() / 1e9;
    if (all.empty()) {
      std::printf("  %-24s %8.1f GFLOP\n", products[i].name, giga);
    } else {
      std::printf("  %-24s %9.3f s  %8.1f GFLOP  %7.1f GFLOP/s\n", products[i].name, median(all), giga,
                  giga / median(all));
    }
  }
}

void print_rounds(const std::vector<Round>& rounds) {
  std::printf("round   forward      step  (forward backward    AdamW)  products  with attention\n");
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const Round& r = rounds[i];
    std::printf("%5zu %9.3f %9.3f %9.3f %8.3f %9.3f %9.3f %9.3f\n", i + 1, r.forward, r.step, r.step_forward,
                r.step_backward, r.step_optimizer, r.linear_sum(), r.all_products());
  }
}

void print_ratio(const char* name, const std::vector<Round>& rounds, double aim,
                 const std::function<double(const Round&)>& linear,
                 const std::function<double(const Round&)>& all) {
  std::vector<double> of_linear, of_all;
  for (const Round& round : rounds) {
    of_linear.push_back(linear(round));
    of_all.push_back(all(round));
  }
  const auto [low, high] = std::minmax_element(of_linear.begin(), of_linear.end());
  std::printf("%-32s median %.2f (%.2f to %.2f), with attention products %.2f; aim %.1f\n", name,
              median(of_linear), *low, *high, median(of_all), aim);
}

void run(const Options& options) {
  kernels::set_thread_count(static_cast<int>(options["threads"]));
  const ModelConfig config = config_of(options);
  const Batch batch = one_sequence(config, options);
  const BatchLimits limits{batch.tokens(), 1, static_cast<std::int64_t>(batch.masked_rows.size()),
                           batch.tokens()};
  const auto backend = kernels::make_cpu_backend();
  std::printf("%s\n%lld layers, width %lld, %lld tokens, vocabulary %lld, %lld masked\n",
              backend->description().c_str(), static_cast<long long>(config.num_hidden_layers),
              static_cast<long long>(config.hidden_size), static_cast<long long>(batch.tokens()),
              static_cast<long long>(config.vocab_size), static_cast<long long>(limits.masked_tokens));

  TrainingModel training(*backend, config, limits, options["checkpoint"] != 0, false);
  Round warm;
  training.step(batch, 0, warm);
  std::printf("peak memory of the process in training %.2f GB\n", peak_gigabytes());
  Model inference(*backend, config, limits, {});
  inference.set_parameters(initial_parameters(inference.layout(), config, 1));
  inference.forward(batch, {});
  std::unique_ptr<TrainingModel> some_training;
  std::unique_ptr<Model> some_inference;
  if (options["head-rows"] != 0) {
    some_training =
        std::make_unique<TrainingModel>(*backend, config, limits, options["checkpoint"] != 0, true);
    some_training->step(batch, 0, warm);
    some_inference = std::make_unique<Model>(*backend, config, limits, ModelOptions{.head_rows = true});
    some_inference->set_parameters(inference.host_parameters());
    some_inference->forward(batch, {});
  }

  const std::vector<Product> linear = linear_products(config, batch),
                             attention = attention_products(config, batch);
  std::vector<Round> rounds(static_cast<std::size_t>(std::max<std::int64_t>(options["rounds"], 1)));
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    rounds[i].forward = seconds([&] { inference.forward(batch, {}); });
    training.step(batch, i + 1, rounds[i]);
    if (some_training != nullptr) {
      rounds[i].some_forward = seconds([&] { some_inference->forward(batch, {}); });
      Round some;
      some_training->step(batch, i + 1, some);
      rounds[i].some_step = some.step;
    }
#if defined(BIGBIRD_HAVE_ONEDNN)
    for (const Product& product : linear) rounds[i].linear.push_back(product_seconds(product));
    for (const Product& product : attention) rounds[i].attention.push_back(product_seconds(product));
#endif
  }
  print_rounds(rounds);
  if (some_training != nullptr) {
    const auto print = [&](const char* name, double Round::*all, double Round::*some) {
      std::vector<double> ratios, seconds;
      for (const Round& round : rounds) {
        ratios.push_back(round.*all / round.*some);
        seconds.push_back(round.*some);
      }
      std::printf(
          "%s with the last layer at the rows of the head alone: %.3f s, all rows take %.3f times that\n",
          name, median(seconds), median(ratios));
    };
    print("forward", &Round::forward, &Round::some_forward);
    print("step", &Round::step, &Round::some_step);
  }
  std::printf("products of the linear layers, forward (medians):\n");
  print_products(linear, rounds, &Round::linear);
  std::printf("products of attention, forward (medians):\n");
  print_products(attention, rounds, &Round::attention);
#if defined(BIGBIRD_HAVE_ONEDNN)
  print_ratio(
      "forward / products", rounds, 2.0, [](const Round& r) { return r.forward / r.linear_sum(); },
      [](const Round& r) { return r.forward / r.all_products(); });
  print_ratio(
      "training step / (3 x products)", rounds, 2.5,
      [](const Round& r) { return r.step / (3 * r.linear_sum()); },
      [](const Round& r) { return r.step / (3 * r.all_products()); });
#else
  std::printf("built without oneDNN: nothing to compare with\n");
#endif
}

}  // namespace
}  // namespace bigbird

int main(int argc, char** argv) {
  bigbird::Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const auto found = name.rfind("--", 0) == 0 ? options.values.find(name.substr(2)) : options.values.end();
    if (found == options.values.end() || i + 1 == argc) {
      bigbird::usage(options);
      return 2;
    }
    found->second = std::atoll(argv[i + 1]);
  }
  try {
    bigbird::run(options);
  } catch (const bigbird::Error& error) {
    std::fprintf(stderr, "bench_encoder: %s\n", error.what());
    return 1;
  }
  return 0;
}
