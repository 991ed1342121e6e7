// Whether warpgroups may take the place of warps on this device, and whether they come to the same: see
// attention.h.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/cuda/architectures.h"
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/philox.h"

namespace bigbird::kernels::cuda {
namespace {

// A batch that meets what the kernels do: a list that is cut, short ones, one with repeats, one that is
// empty, a tile that is partly padding and one that is nothing else.
constexpr Index heads = 2, width = 64, block = 64, blocks = 20, tokens = block * blocks;
constexpr Index length = tokens - block - 27;
constexpr Index row = heads * width, stride = 3 * row;

struct Lists {
  std::vector<std::int32_t> row_offsets{0}, key_blocks, column_offsets{0}, query_blocks;
  BlockPlanView view;

  Lists() {
    for (Index head = 0; head < heads; ++head) {
      std::vector<std::vector<std::int32_t>> queries(blocks);
      for (std::int32_t i = 0; i < blocks; ++i) {
        std::vector<std::int32_t> keys;
        if (i == 0) {
          for (std::int32_t j = 0; j < blocks; ++j) keys.push_back(j);
        } else if (i == 3) {
          keys = {5, 5, 1};
        } else if (i != 4 + head) {
          keys = {0, i, i};
        }
        for (const std::int32_t key : keys) queries[static_cast<std::size_t>(key)].push_back(i);
        key_blocks.insert(key_blocks.end(), keys.begin(), keys.end());
        row_offsets.push_back(static_cast<std::int32_t>(key_blocks.size()));
      }
      for (const std::vector<std::int32_t>& of_key : queries) {
        query_blocks.insert(query_blocks.end(), of_key.begin(), of_key.end());
        column_offsets.push_back(static_cast<std::int32_t>(query_blocks.size()));
      }
    }
    view = {
        1, heads, blocks, row_offsets.data(), key_blocks.data(), column_offsets.data(), query_blocks.data()};
  }
};

std::vector<bf16> random_rows(std::uint64_t site, Index count) {
  std::vector<bf16> rows;
  for (Index i = 0; i < count; ++i) {
    const Philox4x32 random = philox4x32(site, static_cast<std::uint64_t>(i), 0);
    rows.push_back(to_bf16(static_cast<float>(random.word[0]) * 0x1p-31f - 1.0f));
  }
  return rows;
}

// Device memory with numbers of one type.
template <class T>
struct Numbers {
  DevicePiece memory;
  Index count;

  explicit Numbers(Index size) : memory(static_cast<std::size_t>(size) * sizeof(T)), count(size) {}
  T* data() const { return static_cast<T*>(memory.data()); }
  std::vector<float> download(Transfers& transfers) const {
    std::vector<T> values(static_cast<std::size_t>(count));
    transfers.download(values.data(), memory.data(), values.size() * sizeof(T));
    std::vector<float> wide;
    for (const T& value : values) wide.push_back(to_float(value));
    return wide;
  }
};

double difference(const std::vector<float>& one, const std::vector<float>& other) {
  float largest = 0, most = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (std::isinf(one[i]) && one[i] == other[i]) continue;  // rows that see nothing
    const float apart = std::fabs(one[i] - other[i]);
    if (std::isnan(apart)) return std::numeric_limits<double>::infinity();
    most = std::max(most, apart);
    largest = std::max(largest, std::fabs(one[i]));
  }
  return largest > 0 ? static_cast<double>(most / largest) : 0.0;
}

}  // namespace

std::string warpgroup_refusal(const DeviceInfo& device) {
  if (device.major != 9 || device.minor != 0) {
    return "wgmma is of compute capability 9.0, and " + device.name + " has " + std::to_string(device.major) +
           "." + std::to_string(device.minor);
  }
  if (!has_warpgroup_code(built_architectures()))
    return "this bigbird holds no machine code for compute capability 9.0";
  return {};
}

double warpgroup_difference(Stream stream) {
  const Lists lists;
  const BlockPlanView* const plan = &lists.view;
  const Index offsets[] = {0, tokens}, lengths[] = {length};
  AttentionBatch batch;
  batch.sequences = 1;
  batch.heads = heads;
  batch.head_size = width;
  batch.block_size = block;
  batch.token_offsets = offsets;
  batch.lengths = lengths;
  batch.plans = &plan;
  batch.scale = 0.125f;
  AttentionLimits limits;
  limits.sequences = 1;
  limits.tokens = limits.longest = tokens;
  limits.heads = heads;
  limits.head_size = width;
  limits.block_size = block;
  limits.training = true;

  AttentionSchedules schedules;
  const PreparedSize size = PreparedSize::of(limits);
  const DevicePiece prepared_memory(size.bytes());
  PreparedBatch prepared(prepared_memory.data(), size);
  prepared.fill(batch, schedules, stream);
  Transfers transfers(stream);
  transfers.upload(prepared_memory.data(), prepared.image().data(), prepared.image().size());
  prepared.list_work(stream);
  const AttentionWorkspace workspace(limits, true);
  const DevicePiece workspace_memory(workspace.bytes);
  const Numbers<bf16> qkv(tokens * stride), dout(tokens * row);
  const std::vector<bf16> inputs = random_rows(1, tokens * stride), gradient = random_rows(2, tokens * row);
  transfers.upload(qkv.data(), inputs.data(), inputs.size() * sizeof(bf16));
  transfers.upload(dout.data(), gradient.data(), gradient.size() * sizeof(bf16));

  std::vector<std::vector<float>> results[2];
  for (const bool warpgroups : {false, true}) {
    AttentionCall call{batch, prepared, FloatProducts::fp32, workspace, workspace_memory.data(), stream};
    call.warpgroups = warpgroups;
    const QueryKeyValue of{{qkv.data(), stride}, {qkv.data() + row, stride}, {qkv.data() + 2 * row, stride}};
    const Numbers<bf16> out(tokens * row), gradients(tokens * stride);
    const Numbers<float> sums(heads * tokens);
    attention_forward(call, of, {out.data(), row}, sums.data());
    attention_backward(
        call, of, {out.data(), row}, sums.data(), {dout.data(), row},
        {{gradients.data(), stride}, {gradients.data() + row, stride}, {gradients.data() + 2 * row, stride}},
        true);
    for (std::vector<float> values :
         {out.download(transfers), sums.download(transfers), gradients.download(transfers)}) {
      results[warpgroups ? 1 : 0].push_back(std::move(values));
    }
  }
  double most = 0;
  for (std::size_t i = 0; i < results[0].size(); ++i)
    most = std::max(most, difference(results[0][i], results[1][i]));
  return most;
}

}  // namespace bigbird::kernels::cuda
