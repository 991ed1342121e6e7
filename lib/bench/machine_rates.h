// `bigbird bench`: what this machine does in a second, by the same calls that other verbs make: products
// alone, forward passes, training steps, tokenization, scores of variants and of windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"

namespace bigbird {

// How fast something goes: work that is done again and again until a clock has seen enough of it.

// Seconds since some moment, never going back.
using SecondsClock = std::function<double()>;
// The machine's steady clock.
SecondsClock steady_seconds();

struct RateOptions {
  double seconds = 2.0;      // of timed work, at least
  std::int64_t repeats = 3;  // and so many runs of it
};

// Amounts a second. Of an even number of runs the median is the mean of the two in the middle.
struct Rate {
  double best = 0;
  double median = 0;
  double spread = 0;  // (highest - lowest) / median
  std::int64_t repeats = 0;
  double seconds = 0;  // of all runs together, without the first
};

// Runs `work` once without a look at the clock (pages are made, weights are packed), then until both of
// `options` are reached. It returns how much it did, and may do another amount each time. Error{interrupted}
// between two runs when a stop was requested; Error{runtime} for work whose runs take no time that the clock
// can see.
Rate measure_rate(const std::function<double()>& work, const RateOptions& options, const SecondsClock& clock);

// Models of random weights: small is 4 layers of width 256, base 12 of 768, both with blocks of 64.
enum class MachineSize { small, base };
MachineSize parse_machine_size(const std::string& name);  // Error{usage} listing the names
// The encoder that is measured without a folder.
ModelConfig machine_model(MachineSize size);

struct MachineRatesOptions {
  std::string model;  // folder; empty: random weights of `size`
  MachineSize size = MachineSize::small;
  RateOptions rates;
  std::uint64_t seed = 1;
  // An empty folder for what is made on the way: a genome, a vocabulary, a model with a classification head.
  // Whoever made it removes it.
  std::string scratch;
};

struct MachineRate {
  std::string what;   // "product", "forward", "training step", "tokenization", "variants", "scan"
  std::string shape;  // "12 x 768, 4096 tokens"
  std::string unit;   // "GFLOP/s", "tokens/s", "bases/s", "variants/s"
  Rate rate;
};
// What could not be measured, and why, one line.
struct SkippedRate {
  std::string what;
  std::string reason;
};

struct MachineRates {
  std::string model;  // the folder, or "small, random weights"
  std::vector<MachineRate> rates;
  std::vector<SkippedRate> skipped;
};

// The shape of the one product that is measured whatever the model: the base model's query, key and value
// over 4,096 tokens, so that any two machines have a number in common.
std::string common_product_shape();

// Measures one after the other, each in its own memory, which is planned and logged before; a measurement
// that does not fit, that the device cannot do (training in bf16 on the processor) or that the model has no
// use for (more tokens than it has positions; scores of variants by a model of text) is skipped with its
// reason. Stops between two runs: Error{interrupted}. Error{bad_input} for a folder that holds no encoder;
// Error{environment} when not even the first forward pass fits.
MachineRates measure_machine(const MachineRatesOptions& options, kernels::Backend& backend,
                             const SecondsClock& clock);

// "##" lines of `comments`, then a row for each rate:
//   what  shape  median  best  unit  repeats  spread  seconds
std::string machine_rates_tsv(const MachineRates& rates, const std::vector<std::string>& comments);

// "model name" of the first processor in /proc/cpuinfo, one line; "unknown" where it is not said.
std::string processor_name();
// Processors that this process may use.
int processor_count();

// A row of the table of benchmarks/speed.md (section "This machine"), which a test holds equal to these.
struct KnownRate {
  std::string what;  // as MachineRate has it
  std::string shape;
  std::string precision;  // "fp32", "bf16"
  double value = 0;
  std::string unit;
  std::string machine;
};
const std::vector<KnownRate>& known_rates();

// Lines for the log: for every known rate of this precision whose measurement was made here, both values and
// their ratio; and what such ratios are worth. One line that says so where there is nothing to compare.
std::vector<std::string> beside_known_machines(const MachineRates& rates, const std::string& precision);

}  // namespace bigbird
