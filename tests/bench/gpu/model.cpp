// The whole model: a training step with the memory it takes, windows of 8 kb as variants are scored, and how
// soon a small batch is back.
#include <cmath>
#include <stdexcept>
#include <vector>

#include "lib/training/memory_plan.h"
#include "tests/bench/gpu/bench.h"
#include "tests/bench/gpu/training.h"

namespace bigbird::bench {
namespace {

// Returns the bytes of the device (planned ones where it has no memory of its own).
double one_step_size(const Options& options, Report& report, std::int64_t sequences, std::int64_t tokens,
                     double smaller_bytes, std::int64_t smaller_sequences) {
  const std::size_t free_before = free_device_memory(options);
  Bench bench(options, report);
  kernels::Backend& backend = bench.backend();
  const ModelConfig config = config_of(Shapes(options.tiny), HeadType::pretraining, tokens);
  const std::vector<Batch> batches = batches_of(config, sequences, tokens, true);
  const BatchLimits limits = limits_of(batches[0], tokens);
  ModelOptions model_options;
  model_options.training = true;
  const TrainingMemory memory = planned_as_in_a_run(config, limits, model_options, backend);
  const double planned = static_cast<double>(memory.places.front().total - backend.driver_memory().allowance);

  double bytes = 0;
  run_in_memory(backend, memory, {}, [&] {
    TrainingSteps steps(backend, config, limits, model_options, batches);
    const Timing timing = bench.waiting([&](int) {
      steps.step();
      backend.synchronize();
    });
    const std::size_t free_now = free_device_memory(options);
    bytes = free_before > 0 ? static_cast<double>(free_before) - static_cast<double>(free_now) : planned;
    std::vector<Fact> facts{
        {"sequences", static_cast<double>(sequences)},
        {"tokens", static_cast<double>(tokens)},
        {"tokens_per_second", static_cast<double>(sequences * tokens) / timing.milliseconds * 1e3},
        {"planned_bytes", planned},
        {"loss", steps.loss()}};
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
    const std::vector<Batch> batches = batches_of(config, sequences, tokens, false);
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
