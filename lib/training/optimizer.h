// What an update does to the weights: the learning rate of each, the optimizer over the parameter arena
// (AdamW in its two published variants, LAMB, with decay groups from the layout, and Adafactor), whose state
// is on the device, and a moving average of the weights.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/ranks/slice_sums.h"
#include "lib/model/network/host_values.h"
#include "lib/model/network/layout.h"

namespace bigbird {

class LambUpdate;
class Model;

// The learning rate of every update: linear warm-up, then linear decay to zero, in the two published forms.
enum class ScheduleForm {
  // google-research/bigbird (optimization.py): decay counted from step 0, base * (1 - step / total). Where
  // warm-up ends the rate therefore jumps, from base to base * (1 - warmup / total) (docs/specification.md
  // 4.5).
  google,
  // transformers (get_linear_schedule_with_warmup): decay counted from the end of warm-up, base * (total -
  // step) / (total - warmup).
  huggingface,
  // fairseq (inverse_square_root): base * sqrt(warmup / step), without warm-up as with one of one update.
  inverse_sqrt,
};

std::string name_of(ScheduleForm form);
// Error{usage} listing the names.
ScheduleForm parse_schedule_form(const std::string& name);

struct Schedule {
  ScheduleForm form = ScheduleForm::google;
  double base = 0.0;         // the highest rate
  std::uint64_t warmup = 0;  // updates
  std::uint64_t total = 0;   // updates

  // The rate of the update after `step` updates (0 for the first). During warm-up it is base * step / warmup,
  // so the very first update moves nothing, as in both published programs. From `total` on it is 0.
  double rate(std::uint64_t step) const;
};

// min(10,000, 10 % of the steps): the paper's warm-up (appendix E.1; docs/specification.md 6.2), where the
// run is long enough for it.
std::uint64_t default_warmup(std::uint64_t steps);

enum class OptimizerVariant {
  google,  // google-research/bigbird: no bias correction, epsilon 1e-6
  torch,   // torch.optim.AdamW: bias correction, epsilon 1e-8
  // Shazeer and Stern (2018), as google-research/bigbird trains models that write: no first moment, means of
  // rows and columns in place of the second, updates relative to the size of their tensor.
  adafactor,
  // You et al. (2020), as etcmodel has it for large batches: no bias correction, epsilon 1e-6, and every
  // tensor of the decay group moves by a share of its own norm.
  lamb,
};

std::string name_of(OptimizerVariant variant);
// Error{usage} listing the names.
OptimizerVariant parse_optimizer_variant(const std::string& name);

struct OptimizerOptions {
  OptimizerVariant variant = OptimizerVariant::google;
  // Of AdamW and LAMB; Adafactor has none of the four.
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 0.0;  // 0: the variant's own
  // Decoupled; for tensors of the decay group only (TensorSpec::decay: not biases, not LayerNorm). One quirk
  // of the Google program is not repeated: its name filter misses the LayerNorm of the MLM head, which it
  // therefore decays.
  double weight_decay = 0.01;
  double clip_norm = 0.0;  // 0: no clipping (neither published program clips; etcmodel does, at 1)
  // Rates by depth, as ELECTRA and BEiT have them in fine-tuning: what follows the encoder has the whole
  // rate, each layer below `layer_decay` times that of the layer above it, the embeddings once more. 1: all
  // alike.
  double layer_decay = 1.0;
  bool freeze_positions = false;  // the tables of positions stay as they are
};

// The options that decide the updates, "learning_rate" -> text: what must not change when a run goes on.
std::map<std::string, std::string> update_identity(const Schedule& schedule, const OptimizerOptions& options);

// What an optimizer keeps of one tensor of the layout: its name in checkpoints ("exp_avg_sq.NAME"), its
// shape, and its place in the one array that the state is.
struct OptimizerState {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;
  std::int64_t count = 0;
};

// AdamW and LAMB: first moments (exp_avg), then second ones (exp_avg_sq), of every tensor. Adafactor, named
// as transformers does: means of the rows and of the columns of a matrix (exp_avg_sq_row, exp_avg_sq_col),
// squares of a vector (exp_avg_sq).
std::vector<OptimizerState> optimizer_state(const ParameterLayout& layout, OptimizerVariant variant);

// What an Optimizer takes of its backend: the numbers of its state, of a rank of `ranks`, and beside them,
// for an update, bytes.
struct OptimizerMemory {
  std::int64_t state = 0;
  std::int64_t averages = 0;  // of moving averages, what they get
  std::size_t scratch = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(state + averages) * sizeof(float) + scratch; }
};
OptimizerMemory optimizer_memory(const ParameterLayout& layout, OptimizerVariant variant,
                                 const kernels::Backend& backend, int ranks = 1);

// Owns its state (device memory, zero at first). Tensors that are moving averages (TensorSpec::moving_decay)
// are moved, by what is summed over the ranks; they have no part in the norm. Of several ranks each has the
// moments of its own slice of the parameters, updates that, and gets the others' from them (ZeRO-1,
// Rajbhandari et al. 2020, section 5.1); Adafactor, whose state is small and whose updates need whole
// tensors, runs on every rank alike.
class Optimizer {
 public:
  // `ranks`: those that share the update, referred to; null: this process alone.
  Optimizer(kernels::Backend& backend, const ParameterLayout& layout, const OptimizerOptions& options,
            kernels::Ranks* ranks = nullptr);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update in place, collective. parameters and gradients are device arenas of layout.count() floats, the
  // gradients those of this rank's part of the batch, which are summed over the ranks here: of several, what
  // they hold afterwards is of use where slices().own() says. `update` is 1 for the first update of the run.
  // Returns the norm of the summed gradients before clipping; when that is not finite, no parameter was
  // changed.
  double update(float* parameters, float* gradients, double learning_rate, std::uint64_t update_number);
  kernels::SliceSums& slices() { return slices_; }

  // The state, part by part, to read without a copy where it is in the program's memory and this process has
  // all of it. Collective; on other ranks than 0 it may be empty.
  const std::vector<OptimizerState>& state() const { return state_; }
  HostValues state_to_read();
  // And back: of a sliced state what belongs to this rank is taken.
  void upload_state(const OptimizerState& part, const std::vector<float>& values);

 private:
  // A moving average, as far as it lies in the own slice; offset of the arenas, and within averages_.
  struct MovingRun {
    std::int64_t offset = 0, count = 0, at = 0;
    float share = 0;  // of what is new
  };
  // Takes what moving averages get out of the gradients, leaving zeros; and moves them.
  float* averaged() const { return values_ + memory_.state; }
  void take_averages(float* gradients);
  void move_averages(float* parameters);

  // Whether this rank has a slice of the state, not all.
  bool sliced() const;
  // Of the own slice, which the arrays are. t: update_number.
  void step_adamw(float* parameters, const float* gradients, double learning_rate, float gradient_scale,
                  double t);
  // Numbers of each half of the moments here.
  std::int64_t half() const;

  kernels::Backend& backend_;
  OptimizerOptions options_;
  std::int64_t count_ = 0;
  kernels::SliceSums slices_;
  struct Group {
    double rate = 1.0;  // fraction of the learning rate
    std::vector<kernels::ParameterRun> runs;
  };
  std::vector<Group> groups_;                      // of AdamW
  std::vector<kernels::AdafactorTensor> tensors_;  // of Adafactor
  std::unique_ptr<LambUpdate> lamb_;               // of LAMB
  std::vector<OptimizerState> state_;
  OptimizerMemory memory_;
  bool has_averages_ = false;  // of any rank
  std::vector<MovingRun> averages_;
  float* values_ = nullptr;  // the state, what averages get, then the scratch
};

// A moving average of the weights over the updates of a run (Polyak and Juditsky 1992, as an exponential
// average): steadier than the weights themselves where the learning rate is high or the data few.
//
// After update t (1, 2, ...) average += (1 - d) (weights - average) with d = min(decay, (1 + t) / (10 + t)),
// so that the first updates do not hold on to the weights that a run began with.

// Of the weights behind update `number`.
double average_decay_at(double decay, std::uint64_t number);

// Owns the average, in fp32 in the memory of the device.
class WeightAverage {
 public:
  // decay: above 0, below 1. Begins as the model's weights.
  WeightAverage(kernels::Backend& backend, Model& model, double decay);
  ~WeightAverage();
  WeightAverage(const WeightAverage&) = delete;
  WeightAverage& operator=(const WeightAverage&) = delete;

  void update(Model& model, std::uint64_t number);

  // [parameters of the model], on the host and back.
  std::vector<float> values() const;
  void set(const std::vector<float>& values);

 private:
  kernels::Backend& backend_;
  std::int64_t count_ = 0;
  double decay_ = 0;
  float* average_ = nullptr;
};

}  // namespace bigbird
