// Models that remember (attention_recurrent.h) against the reference: streams of tests, their batches, and
// what the reference says of a segment.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/recurrent.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird::testing {

// One segment of one stream or more; each token's label is the one behind it.
struct StreamSegments {
  std::vector<std::vector<std::int32_t>> ids;  // one token more than is read
  std::vector<std::int32_t> streams;           // empty: none
  std::vector<std::uint8_t> begins;
};
std::vector<std::int32_t> segment_ids(const ModelConfig& config, std::int64_t count, std::uint64_t seed);
Batch segment_batch(const ModelConfig& config, const StreamSegments& segments, std::int64_t pad_to = 0,
                    bool whole_blocks = true);
BatchLimits stream_limits(std::int64_t streams);

reference::RecurrentConfig recurrent_reference(const ModelConfig& config);
// What the reference says of a segment: its loss, a sum over its tokens, and gradients of that.
struct ExpectedSegment {
  std::vector<reference::Matrix> states;
  double loss = 0.0;
  reference::Parameters gradients;
};
ExpectedSegment expected_of_segment(const ModelConfig& config, const reference::Parameters& parameters,
                                    const std::vector<std::int32_t>& all,
                                    const reference::Memories& memories);
// The loss of tokens as a sum, and no other.
LossScale scale_of_sum();
// Of the last hidden state.
std::vector<float> state_rows(const Model& model, std::int64_t first, std::int64_t count);

}  // namespace bigbird::testing
