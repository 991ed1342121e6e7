// What the tests of attention's forward and backward on the device share: problems, an oracle in double, and
// a batch brought to the device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cuda/attention/attention.h"
#include "kernels/philox.h"
#include "reference/attention.h"
#include "tests/cuda/cuda_test.h"

namespace bigbird::kernels::cuda::testing {

// A plan in both forms: lists for the oracle, offsets for the kernels.
struct PlanLists {
  reference::AttentionPlan lists;
  std::vector<std::int32_t> row_offsets, key_blocks, column_offsets, query_blocks;
  BlockPlanView view;

  explicit PlanLists(reference::AttentionPlan plan) : lists(std::move(plan)) {
    static std::atomic<std::uint64_t> made{0};
    const std::size_t blocks = lists[0].size();
    row_offsets.push_back(0);
    column_offsets.push_back(0);
    for (const auto& head : lists) {
      std::vector<std::vector<std::int32_t>> columns(blocks);
      for (std::size_t query = 0; query < blocks; ++query) {
        for (const std::size_t key : head[query]) {
          key_blocks.push_back(static_cast<std::int32_t>(key));
          columns[key].push_back(static_cast<std::int32_t>(query));
        }
        row_offsets.push_back(static_cast<std::int32_t>(key_blocks.size()));
      }
      for (const auto& column : columns) {
        query_blocks.insert(query_blocks.end(), column.begin(), column.end());
        column_offsets.push_back(static_cast<std::int32_t>(query_blocks.size()));
      }
    }
    view = {++made,
            static_cast<Index>(lists.size()),
            static_cast<Index>(blocks),
            row_offsets.data(),
            key_blocks.data(),
            column_offsets.data(),
            query_blocks.data()};
  }
  PlanLists(const PlanLists&) = delete;
};

// BigBird-ITC whose random blocks all lie in the first `candidates` blocks, so that repeats of every kind
// happen and some key blocks have many queries, as in the published plans.
inline reference::AttentionPlan random_plan(Index heads, Index blocks, std::uint32_t seed,
                                            Index candidates = 0, Index random = 3) {
  std::mt19937 generator(seed);
  const auto choices = static_cast<std::uint32_t>(candidates > 0 ? candidates : blocks);
  reference::AttentionPlan rows(static_cast<std::size_t>(heads));
  for (auto& head : rows) {
    head.resize(static_cast<std::size_t>(blocks - 2));
    for (auto& row : head) {
      for (Index i = 0; i < random; ++i) row.push_back(generator() % choices);
    }
  }
  return reference::itc_plan(static_cast<std::size_t>(blocks), rows);
}

inline reference::AttentionPlan every_block(Index heads, Index blocks) {
  return reference::full_plan(static_cast<std::size_t>(heads), static_cast<std::size_t>(blocks));
}

// A ragged batch on the host. Plans are shared, so that a sequence can be in several batches.
struct AttentionProblem {
  struct Sequence {
    std::shared_ptr<PlanLists> plan;
    Index length;
    Index query_length;
  };
  Index heads, head_size, block_size;
  std::vector<Sequence> sequences;
  float drop_probability = 0.0f;
  std::uint64_t dropout_seed = 0x123456789abcdef0ull;
  std::uint64_t dropout_site = 0xfedcba9876543210ull;

  void add(reference::AttentionPlan plan, Index length, Index query_length = 0) {
    sequences.push_back(
        {std::make_shared<PlanLists>(std::move(plan)), length, std::max(length, query_length)});
  }
  Index rows_of(std::size_t s) const { return sequences[s].plan->view.blocks * block_size; }
  std::vector<Index> offsets() const {
    std::vector<Index> result{0};
    for (std::size_t s = 0; s < sequences.size(); ++s) result.push_back(result.back() + rows_of(s));
    return result;
  }
  Index tokens() const { return offsets().back(); }
  Index width() const { return heads * head_size; }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(head_size)); }
  reference::AttentionShape reference_shape(std::size_t s) const {
    return {static_cast<std::size_t>(heads),
            static_cast<std::size_t>(sequences[s].plan->view.blocks),
            static_cast<std::size_t>(block_size),
            static_cast<std::size_t>(head_size),
            static_cast<std::size_t>(sequences[s].length),
            static_cast<std::size_t>(sequences[s].query_length)};
  }

  // Columns first .. first + C of (T, stride) rows -> (H, L, D) of one sequence, as the oracles want it.
  reference::Vector of_sequence(const std::vector<double>& rows, Index stride, Index first,
                                std::size_t s) const {
    reference::Vector result;
    const Index start = offsets()[s];
    for (Index h = 0; h < heads; ++h) {
      for (Index t = start; t < start + rows_of(s); ++t) {
        for (Index d = 0; d < head_size; ++d) {
          result.push_back(rows[static_cast<std::size_t>(t * stride + first + h * head_size + d)]);
        }
      }
    }
    return result;
  }
  // The way back, into (T, C).
  void put_sequence(const reference::Vector& from, std::vector<double>& rows, std::size_t s) const {
    std::size_t at = 0;
    const Index start = offsets()[s];
    for (Index h = 0; h < heads; ++h) {
      for (Index t = start; t < start + rows_of(s); ++t) {
        for (Index d = 0; d < head_size; ++d) {
          rows[static_cast<std::size_t>(t * width() + h * head_size + d)] = from[at++];
        }
      }
    }
  }
};

// Row numbers [T] of padding that asks nothing.
inline std::vector<bool> padded_queries(const AttentionProblem& p) {
  std::vector<bool> padded;
  for (std::size_t s = 0; s < p.sequences.size(); ++s) {
    for (Index t = 0; t < p.rows_of(s); ++t) padded.push_back(t >= p.sequences[s].query_length);
  }
  return padded;
}

// BIGBIRD_ATTENTION=wgmma runs every test of attention by warpgroups, where they serve.
inline bool warpgroups_asked() {
  const char* const asked = std::getenv("BIGBIRD_ATTENTION");
  return asked != nullptr && std::string_view(asked) == "wgmma";
}

// A problem as the kernels are given it: host arrays behind the batch, what is prepared of it, a workspace of
// exactly the bytes that its limits ask for.
class DeviceAttention {
 public:
  DeviceAttention(const AttentionProblem& problem, Stream stream, bool training, bool deterministic = true)
      : offsets_(problem.offsets()),
        seed_(std::vector<std::uint64_t>{problem.dropout_seed}, stream),
        limits_(limits_of(problem, training)),
        workspace_(limits_, deterministic),
        workspace_memory_(static_cast<Index>(workspace_.bytes), stream),
        prepared_memory_(static_cast<Index>(PreparedSize::of(limits_).bytes()), stream),
        prepared_(prepared_memory_.data(), PreparedSize::of(limits_)),
        stream_(stream) {
    for (const AttentionProblem::Sequence& sequence : problem.sequences) {
      lengths_.push_back(sequence.length);
      query_lengths_.push_back(sequence.query_length);
      plans_.push_back(&sequence.plan->view);
    }
    batch_.sequences = limits_.sequences;
    batch_.heads = problem.heads;
    batch_.head_size = problem.head_size;
    batch_.block_size = problem.block_size;
    batch_.token_offsets = offsets_.data();
    batch_.lengths = lengths_.data();
    batch_.query_lengths = query_lengths_.data();
    batch_.plans = plans_.data();
    batch_.scale = problem.scale();
    batch_.drop_probability = problem.drop_probability;
    batch_.dropout_seed = seed_.data();
    batch_.dropout_site = problem.dropout_site;
    prepare();
  }
  // The same plans with other lengths, which are query lengths too.
  void change_lengths(const std::vector<Index>& lengths) {
    std::copy(lengths.begin(), lengths.end(), lengths_.begin());
    std::copy(lengths.begin(), lengths.end(), query_lengths_.begin());
    prepare();
  }

  // AttentionCall::warpgroups
  void use_warpgroups(bool use) { warpgroups_ = use; }
  // AttentionBatch::wanted_blocks
  void want(Index blocks) { batch_.wanted_blocks = blocks; }

  AttentionCall call(FloatProducts products) const {
    AttentionCall made{batch_, prepared_, products, workspace_, workspace_memory_.data(), stream_};
    made.warpgroups = warpgroups_;
    return made;
  }
  const AttentionBatch& batch() const { return batch_; }
  const PreparedBatch& prepared() const { return prepared_; }
  const AttentionWorkspace& workspace() const { return workspace_; }
  const AttentionLimits& limits() const { return limits_; }

 private:
  void prepare() {
    prepared_.fill(batch_, schedules_, stream_);
    prepared_memory_.upload_first(prepared_.image());
    prepared_.list_work(stream_);
  }
  static AttentionLimits limits_of(const AttentionProblem& problem, bool training) {
    AttentionLimits limits;
    limits.sequences = static_cast<Index>(problem.sequences.size());
    limits.tokens = problem.tokens();
    for (std::size_t s = 0; s < problem.sequences.size(); ++s) {
      limits.longest = std::max(limits.longest, problem.rows_of(s));
    }
    limits.heads = problem.heads;
    limits.head_size = problem.head_size;
    limits.block_size = problem.block_size;
    limits.training = training;
    return limits;
  }

  std::vector<Index> offsets_, lengths_, query_lengths_;
  std::vector<const BlockPlanView*> plans_;
  DeviceBuffer<std::uint64_t> seed_;
  AttentionLimits limits_;
  AttentionWorkspace workspace_;
  DeviceBuffer<std::byte> workspace_memory_, prepared_memory_;
  AttentionSchedules schedules_;
  PreparedBatch prepared_;
  AttentionBatch batch_;
  bool warpgroups_ = warpgroups_asked();
  Stream stream_;
};

}  // namespace bigbird::kernels::cuda::testing
