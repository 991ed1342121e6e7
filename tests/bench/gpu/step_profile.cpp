// Where a training step goes: every operation between two marks in the device's queue, without a graph; then
// the same step as a graph, and what of it no operation accounts for.
#include <algorithm>
#include <string>
#include <vector>

#include "lib/training/memory_plan.h"
#include "tests/bench/gpu/bench.h"
#include "tests/bench/gpu/timed_backend.h"
#include "tests/bench/gpu/training.h"

namespace bigbird::bench {
namespace {

using kernels::bench::Profile;
using kernels::bench::TimedBackend;

// On the device, between the end of the work before and its own; the median of the rounds.
double of_a_graph(TimedBackend& backend, TrainingSteps& steps, int rounds) {
  for (int i = 0; i < 3; ++i) steps.step();  // runs, is recorded, runs as recorded
  const std::unique_ptr<kernels::TimeMarks> marks = backend.make_time_marks();
  backend.synchronize();
  marks->add();
  for (int i = 0; i < rounds; ++i) {
    steps.step();
    marks->add();
  }
  std::vector<double> times = marks->take_milliseconds();
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void add_rows(Report& report, const Profile& profile, double rounds, double graph) {
  std::vector<std::pair<std::string, Profile::Operation>> operations(profile.operations.begin(),
                                                                     profile.operations.end());
  std::stable_sort(operations.begin(), operations.end(), [](const auto& one, const auto& other) {
    return one.second.milliseconds > other.second.milliseconds;
  });
  const auto add = [&](const std::string& name, double milliseconds, double count) {
    std::vector<Fact> facts{{"milliseconds", milliseconds}, {"fraction", milliseconds / graph}};
    if (count > 0) facts.emplace_back("count", count);
    report.add("step_profile: " + name, "bigbird", facts);
  };
  double calls = 0;
  for (const auto& [name, operation] : operations) {
    const double count = static_cast<double>(operation.count) / rounds;
    calls += count;
    add(name, operation.milliseconds / rounds, count);
  }
  const double all = profile.milliseconds() / rounds;
  add("all operations", all, calls);
  add("between operations, without a graph", profile.between / rounds, 0);
  add("the step as a graph", graph, 0);
  add("not accounted for", graph - all, 0);
}

}  // namespace

void bench_step_profile(const Options& options, Report& report) {
  const std::int64_t sequences = options.tiny ? 2 : 8, tokens = options.tiny ? 256 : 4096;
  Bench bench(options, report);
  TimedBackend backend(bench.backend());
  const ModelConfig config = config_of(Shapes(options.tiny), HeadType::pretraining, tokens);
  const std::vector<Batch> batches = batches_of(config, sequences, tokens, true);
  const BatchLimits limits = limits_of(batches[0], tokens);
  ModelOptions model_options;
  model_options.training = true;
  const TrainingMemory memory = planned_as_in_a_run(config, limits, model_options, backend);
  run_in_memory(backend, memory, {}, [&] {
    TrainingSteps steps(backend, config, limits, model_options, batches);
    for (int i = 0; i < 2; ++i) steps.step();
    backend.begin_profile();
    for (int i = 0; i < options.rounds; ++i) steps.step();
    const Profile profile = backend.end_profile();
    add_rows(report, profile, options.rounds, of_a_graph(backend, steps, options.rounds));
    steps.loss();
  });
}

}  // namespace bigbird::bench
