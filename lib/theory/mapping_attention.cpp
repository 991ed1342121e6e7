// See mapping_attention.h.
#include "lib/theory/mapping_attention.h"

#include <cstddef>

#include "lib/model/plans/block_plan.h"

namespace bigbird {
namespace {

// Values of a backend's memory, one call long.
class DeviceFloats {
 public:
  DeviceFloats(kernels::Backend& backend, std::size_t count)
      : backend_(backend), count_(count), data_(backend.allocate(count * sizeof(float))) {}
  ~DeviceFloats() { backend_.release(data_); }
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;
  float* data() const { return static_cast<float*>(data_); }
  void upload(const std::vector<float>& values) const {
    backend_.upload(data_, values.data(), count_ * sizeof(float));
  }
  std::vector<float> download() const {
    std::vector<float> values(count_);
    backend_.download(values.data(), data_, count_ * sizeof(float));
    return values;
  }

 private:
  kernels::Backend& backend_;
  std::size_t count_;
  void* data_;
};

}  // namespace

std::int64_t ids_by_attention(const ContextualMapping& mapping, kernels::Backend& backend) {
  constexpr std::size_t heads = 2;
  constexpr float largest = 1e36f;  // of which a Natural can be made
  const std::size_t nodes = mapping.graph.size(), rows = mapping.inputs.size() * nodes;
  const BlockPlan plan(std::vector<GraphRows>(heads, mapping.graph));
  const std::vector<const kernels::BlockPlanView*> plans(mapping.inputs.size(), &plan.view());
  std::vector<kernels::Index> offsets{0};
  const std::vector<kernels::Index> lengths(mapping.inputs.size(), static_cast<kernels::Index>(nodes));
  for (const kernels::Index length : lengths) offsets.push_back(offsets.back() + length);
  kernels::AttentionLimits limits;
  limits.sequences = static_cast<kernels::Index>(mapping.inputs.size());
  limits.tokens = static_cast<kernels::Index>(rows);
  limits.longest = static_cast<kernels::Index>(nodes);
  limits.heads = static_cast<kernels::Index>(heads);
  limits.head_size = 1;
  limits.block_size = 1;
  kernels::AttentionBatch batch;
  batch.slot = backend.reserve_scratch(limits);
  batch.sequences = limits.sequences;
  batch.heads = limits.heads;
  batch.head_size = 1;
  batch.block_size = 1;
  batch.token_offsets = offsets.data();
  batch.lengths = lengths.data();
  batch.plans = plans.data();
  backend.prepare_attention(batch);

  std::vector<float> state;
  for (const std::vector<Natural>& input : mapping.inputs) {
    for (const Natural f : input) state.push_back(static_cast<float>(f));
  }
  std::vector<float> query(heads * rows), both(heads * rows);
  const DeviceFloats q(backend, heads * rows), k(backend, heads * rows), out(backend, heads * rows),
      sums(backend, heads * rows);
  for (const SelectiveShift& shift : mapping.layers) {
    const float low = shift.low == 0 ? -0.5f : static_cast<float>(shift.low) / 2;
    const float high = static_cast<float>(shift.high) / 2;
    for (std::size_t i = 0; i < rows; ++i) {
      query[heads * i] = hardmax_scale * (state[i] - low);
      query[heads * i + 1] = hardmax_scale * (state[i] - high);
      both[heads * i] = both[heads * i + 1] = state[i];
    }
    q.upload(query);
    k.upload(both);
    const auto stride = static_cast<kernels::Index>(heads);
    backend.attention_forward(batch, {{q.data(), stride}, {k.data(), stride}, {k.data(), stride}},
                              {out.data(), stride}, sums.data());
    const std::vector<float> seen = out.download();
    for (std::size_t i = 0; i < rows; ++i)
      state[i] += static_cast<float>(shift.factor) * (seen[heads * i] - seen[heads * i + 1]);
  }
  backend.release_slots(batch.slot, limits.slots);
  std::int64_t right = 0;
  for (std::size_t input = 0; input < mapping.inputs.size(); ++input) {
    for (std::size_t i = 1; i < nodes; ++i) {
      const float id = state[input * nodes + i];
      if (id >= 0 && id < largest && static_cast<Natural>(id) == mapping.columns[input][i - 1]) ++right;
    }
  }
  return right;
}

}  // namespace bigbird
