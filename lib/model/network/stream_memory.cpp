// See stream_memory.h.
#include "lib/model/network/stream_memory.h"

#include <fmt/format.h>

#include "lib/core/error.h"

namespace bigbird {

kernels::Values StreamMemory::at(std::int64_t layer, std::int64_t stream) const {
  return remembered_ + (layer * streams() + stream) * most_rows() * config_.hidden_size;
}

std::size_t StreamMemory::bytes() const {
  if (remembered_ == nullptr) return 0;
  const std::int64_t rows = config_.num_hidden_layers * streams() * most_rows();
  return static_cast<std::size_t>(rows * config_.hidden_size) * kernels::size_of(remembered_.type());
}

void StreamMemory::require(std::int64_t stream) const {
  if (stream < 0 || stream >= streams() || remembered_ == nullptr)
    throw_runtime(fmt::format("the memory of stream {}, of {}", stream, streams()));
}

std::vector<float> StreamMemory::values(std::int64_t stream) const {
  require(stream);
  const std::int64_t count = rows_[static_cast<std::size_t>(stream)] * config_.hidden_size;
  std::vector<float> all(static_cast<std::size_t>(config_.num_hidden_layers * count));
  for (std::int64_t layer = 0; count > 0 && layer < config_.num_hidden_layers; ++layer)
    backend_.download_values(all.data() + layer * count, at(layer, stream), count);
  return all;
}

void StreamMemory::set_values(std::int64_t stream, const std::vector<float>& values) {
  require(stream);
  const auto given = static_cast<std::int64_t>(values.size());
  const std::int64_t layers = config_.num_hidden_layers, width = config_.hidden_size;
  const std::int64_t rows = given / (layers * width);
  if (rows * layers * width != given || rows > most_rows()) {
    throw_runtime(fmt::format("{} values for a memory of {} layers of width {} and at most {} rows", given,
                              layers, width, most_rows()));
  }
  for (std::int64_t layer = 0; rows > 0 && layer < layers; ++layer)
    backend_.upload_values(at(layer, stream), values.data() + layer * rows * width, rows * width);
  set_rows(stream, rows);
}

}  // namespace bigbird
