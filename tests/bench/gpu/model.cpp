// The whole model: a training step with the memory it takes, windows of 8 kb as variants are scored, and how
// soon a small batch is back.
#include <fmt/core.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "kernels/errors.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/model/network/model.h"
#include "lib/model/network/validate_config.h"
#include "lib/training/memory_plan.h"
#include "lib/training/optimizer.h"
#include "tests/bench/gpu/bench.h"

namespace bigbird::bench {
namespace {

ModelConfig config_of(const Shapes& shapes, HeadType head, std::int64_t longest) {
  ModelConfig config;
  config.num_hidden_layers = shapes.layers;
  config.hidden_size = shapes.width;
  config.intermediate_size = shapes.inner;
  config.num_attention_heads = shapes.heads;
  config.vocab_size = shapes.vocabulary;
  config.block_size = shapes.block;
  config.max_position_embeddings = longest;
  config.head = head;
  validate(config, "bench_gpu");
  return config;
}

// Random tokens; 15 % of them to be predicted when `with_targets`.
Batch batch_of(const ModelConfig& config, std::int64_t sequences, std::int64_t tokens, bool with_targets,
               std::uint64_t seed) {
  CounterRng rng(seed, Purpose::test, 0);
  Batch batch;
  for (std::int64_t s = 0; s < sequences; ++s) {
    const std::int64_t first = batch.tokens();
    std::vector<std::int32_t> ids;
    for (std::int64_t t = 0; t < tokens; ++t)
      ids.push_back(static_cast<std::int32_t>(rng.between(100, config.vocab_size - 1)));
    batch.append(ids, {}, config.block_size, 0);
    if (!with_targets) continue;
    const std::int64_t masked = tokens * 15 / 100;
    for (std::int64_t i = 0; i < masked; ++i) {
      const std::int64_t row = i * tokens / masked;
      batch.masked_rows.push_back(static_cast<std::int32_t>(first + row));
      batch.masked_labels.push_back(ids[static_cast<std::size_t>(row)]);
    }
    batch.sequence_labels.push_back(static_cast<std::int32_t>(s % 2));
  }
  return batch;
}

BatchLimits limits_of(const Batch& batch, std::int64_t longest) {
  BatchLimits limits;
  limits.tokens = batch.tokens();
  limits.sequences = batch.sequences();
  limits.masked_tokens = static_cast<std::int64_t>(batch.masked_rows.size());
  limits.longest = longest;
  return limits;
}

void set_initial(Model& model) {
  model.set_parameters(initial_parameters(model.layout(), model.config(), 1));
}

// Returns the bytes of the device (planned ones where it has no memory of its own).
double one_step_size(const Options& options, Report& report, std::int64_t sequences, std::int64_t tokens,
                     double smaller_bytes, std::int64_t smaller_sequences) {
  const std::size_t free_before = free_device_memory(options);
  Bench bench(options, report);
  kernels::Backend& backend = bench.backend();
  const ModelConfig config = config_of(Shapes(options.tiny), HeadType::pretraining, tokens);
  std::vector<Batch> batches;
  for (std::uint64_t i = 0; i < 4; ++i) batches.push_back(batch_of(config, sequences, tokens, true, i + 1));
  const BatchLimits limits = limits_of(batches[0], tokens);
  ModelOptions model_options;
  model_options.training = true;
  model_options.keep_activated = true;
  const MemoryBefore before = memory_before(backend, 0);
  TrainingMemory memory = plan_training_memory(config, limits, model_options, backend, before);
  if (!memory.places.front().fits()) {  // as in a run
    model_options.keep_activated = false;
    memory = plan_training_memory(config, limits, model_options, backend, before);
  }
  const double planned = static_cast<double>(memory.places.front().total - backend.driver_memory().allowance);

  double bytes = 0;
  run_in_memory(backend, memory, {}, [&] {
    Model model(backend, config, limits, model_options);
    set_initial(model);
    OptimizerOptions optimizer_options;
    Optimizer optimizer(backend, model.layout(), optimizer_options);
    for (Batch& batch : batches) model.make_ready(batch);  // as a run does ahead of a step
    std::uint64_t number = 0;
    double loss = 0;
    const auto step = [&](int i) {
      const Batch& batch = batches[static_cast<std::size_t>(i) % batches.size()];
      const LossScale scale = scale_of_means(label_counts(batch, config));
      ForwardOptions forward;
      forward.training = true;
      forward.dropout_seed = ++number;
      forward.scale = scale;
      model.zero_gradients();
      const ForwardResult result = model.forward_backward(batch, forward);
      optimizer.update(model.parameters(), model.gradients(), 1e-4, number);
      loss = scaled_loss(result, scale);
    };
    const Timing timing = bench.waiting([&](int i) {
      step(i);
      backend.synchronize();
    });
    if (!std::isfinite(loss)) throw std::runtime_error("the loss is not finite");

    const std::size_t free_now = free_device_memory(options);
    bytes = free_before > 0 ? static_cast<double>(free_before) - static_cast<double>(free_now) : planned;
    std::vector<Fact> facts{
        {"sequences", static_cast<double>(sequences)},
        {"tokens", static_cast<double>(tokens)},
        {"tokens_per_second", static_cast<double>(sequences * tokens) / timing.milliseconds * 1e3},
        {"planned_bytes", planned},
        {"loss", loss}};
    if (free_before > 0) facts.emplace_back("used_bytes", bytes);
    if (smaller_sequences > 0)
      facts.emplace_back("bytes_per_sequence",
                         (bytes - smaller_bytes) / static_cast<double>(sequences - smaller_sequences));
    bench.add("training_step", "bigbird", timing, 0, 0, std::move(facts));
  });
  return bytes;
}

}  // namespace

void bench_step(const Options& options, Report& report) {
  const std::int64_t tokens = options.tiny ? 256 : 4096;
  std::int64_t smaller_sequences = 0;
  double smaller_bytes = 0;
  for (const std::int64_t sequences :
       options.tiny ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{8, 16, 32}) {
    const double bytes = one_step_size(options, report, sequences, tokens, smaller_bytes, smaller_sequences);
    if (smaller_sequences == 0) {
      smaller_sequences = sequences;
      smaller_bytes = bytes;
    }
  }
}

// REF and ALT of a variant are two windows; one strand.
void bench_windows(const Options& options, Report& report) {
  const std::int64_t tokens = options.tiny ? 240 : 960;
  for (const std::int64_t sequences :
       options.tiny ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{16, 64, 128}) {
    Bench bench(options, report);
    const ModelConfig config = config_of(Shapes(options.tiny), HeadType::classification, 4096);
    std::vector<Batch> batches;
    for (std::uint64_t i = 0; i < 4; ++i)
      batches.push_back(batch_of(config, sequences, tokens, false, i + 1));
    Model model(bench.backend(), config, limits_of(batches[0], tokens), {});
    set_initial(model);
    double sum = 0;
    const Timing timing = bench.waiting([&](int i) {
      model.forward(batches[static_cast<std::size_t>(i) % batches.size()], {});
      sum += static_cast<double>(model.sequence_logits().front());
    });
    if (!std::isfinite(sum)) throw std::runtime_error("a logit is not finite");
    bench.add("windows", "bigbird", timing, 0, 0,
              {{"sequences", static_cast<double>(sequences)},
               {"tokens", static_cast<double>(tokens)},
               {"pairs_per_second", static_cast<double>(sequences) / 2.0 / timing.milliseconds * 1e3}});
  }
}

// From token ids on the host to a logit on the host, one sequence: while its shape is new, and once the
// device plays what it has recorded.
void bench_latency(const Options& options, Report& report) {
  for (const std::int64_t tokens :
       options.tiny ? std::vector<std::int64_t>{128} : std::vector<std::int64_t>{512, 960, 4096}) {
    Bench bench(options, report);
    const ModelConfig config = config_of(Shapes(options.tiny), HeadType::classification, 4096);
    const Batch batch = batch_of(config, 1, tokens, false, 1);
    Model model(bench.backend(), config, limits_of(batch, tokens), {});
    set_initial(model);
    float logit = 0;
    // Reading the hidden states keeps a call from being recorded; an empty reader costs their copies to the
    // host.
    const auto run = [&](bool recorded) {
      ForwardOptions forward;
      if (!recorded) forward.hidden_state = [](std::int64_t, const std::vector<float>&) {};
      model.forward(batch, forward);
      logit = model.sequence_logits().front();
    };
    for (const bool recorded : {false, true}) {
      const Timing timing = bench.waiting([&](int) { run(recorded); });
      if (!std::isfinite(logit)) throw std::runtime_error("a logit is not finite");
      bench.add(recorded ? "latency, recorded" : "latency, with hidden states read", "bigbird", timing, 0, 0,
                {{"sequences", 1.0}, {"tokens", static_cast<double>(tokens)}});
    }
  }
}

}  // namespace bigbird::bench
