// What streams remember between passes, of a model whose layers have a memory (attention_recurrent.h): how
// many rows each has, on the host, and the rows themselves, on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"

namespace bigbird {

class StreamMemory {
 public:
  // Of `streams` streams that remember nothing yet; 0 of models without such a memory.
  StreamMemory(kernels::Backend& backend, const ModelConfig& config, std::int64_t streams)
      : backend_(backend), config_(config), rows_(static_cast<std::size_t>(streams), 0) {}

  // Device memory [layers, streams, M, C], the caller's; null without streams.
  void place(kernels::Values remembered) { remembered_ = remembered; }

  std::int64_t streams() const { return static_cast<std::int64_t>(rows_.size()); }
  // [streams]
  const std::vector<std::int64_t>& rows() const { return rows_; }
  void set_rows(std::int64_t stream, std::int64_t rows) { rows_[static_cast<std::size_t>(stream)] = rows; }
  // Of a stream in a layer, M of them.
  kernels::Values at(std::int64_t layer, std::int64_t stream) const;

  std::size_t bytes() const;
  // [layers, rows, C] of as many rows as the stream remembers. Error{runtime} for a stream that is not there,
  // and for values of no such shape.
  std::vector<float> values(std::int64_t stream) const;
  void set_values(std::int64_t stream, const std::vector<float>& values);
  void forget() { rows_.assign(rows_.size(), 0); }

 private:
  std::int64_t most_rows() const { return remembered_rows(config_); }
  void require(std::int64_t stream) const;

  kernels::Backend& backend_;
  ModelConfig config_;
  kernels::Values remembered_;
  std::vector<std::int64_t> rows_;
};

// Of attention over what came before (attention_recurrent.h), for one sequence of a pass and a layer.
struct KeyWeights {
  std::int64_t layer = 0, sequence = 0;
  std::int64_t remembered = 0;  // rows of its stream's memory, the oldest first
  // Of these rows, then of the sequence's tokens: the mean weight over queries and heads.
  std::vector<double> rows;
};
using KeyWeightListener = std::function<void(const KeyWeights&)>;

}  // namespace bigbird
