// See int8_tensors.h.
#include "lib/model/folder/int8_tensors.h"

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "kernels/int8_weights.h"
#include "kernels/parallel.h"
#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr const char* take_it_as_written = "take the folder as `bigbird quantize` wrote it";

}  // namespace

std::string scales_name(const std::string& weight) {
  return weight + "_scale";
}

Int8Tensor int8_tensor(const float* values, const TensorSpec& spec) {
  const std::int64_t out = spec.shape[0], in = spec.shape[1];
  Int8Tensor result;
  result.integers.resize(static_cast<std::size_t>(spec.count));
  result.scales.resize(static_cast<std::size_t>(out));
  std::atomic<bool> exact{true};
  kernels::parallel_for(static_cast<std::size_t>(out), [&](std::size_t row) {
    const float* const from = values + static_cast<std::int64_t>(row) * in;
    std::int8_t* const integers = result.integers.data() + static_cast<std::int64_t>(row) * in;
    const float scale = kernels::quantize_int8_weights(from, in, integers);
    result.scales[row] = scale;
    for (std::int64_t i = 0; i < in; ++i) {
      if (scale * static_cast<float>(integers[i]) != from[i]) exact = false;
    }
  });
  if (!exact) {
    throw_bad_input(
        fmt::format("tensor {} is to be int8, but its values are no integers times a scale", spec.name),
        "make such a model with `bigbird quantize`");
  }
  return result;
}

void read_int8(const StoredTensor& integers, const StoredTensor& scales, std::span<float> out) {
  const std::string name = one_line_name(integers.name);
  if (integers.type != TensorType::i8 || !integers.is_contiguous()) {
    throw_bad_input(fmt::format("{}: config.json says that tensor {} is I8, it is {}", integers.file, name,
                                tensor_type_name(integers.type)),
                    take_it_as_written);
  }
  if (integers.shape.size() != 2 || scales.shape != std::vector<std::int64_t>{integers.shape[0]} ||
      !is_floating_point(scales.type)) {
    throw_bad_input(fmt::format("{}: tensor {} is not one number for each row of {}", scales.file,
                                one_line_name(scales.name), name),
                    take_it_as_written);
  }
  const auto rows = static_cast<std::size_t>(integers.shape[0]);
  const std::int64_t columns = integers.shape[1];
  std::vector<float> factors(rows);
  read_floats(scales, factors);
  const auto* const stored = reinterpret_cast<const std::int8_t*>(integers.first);
  std::vector<std::int8_t> again(static_cast<std::size_t>(columns));
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int8_t* const from = stored + static_cast<std::int64_t>(row) * columns;
    float* const to = out.data() + static_cast<std::int64_t>(row) * columns;
    for (std::int64_t i = 0; i < columns; ++i) to[i] = factors[row] * static_cast<float>(from[i]);
    // Backends quantize what they are given, and must come to the same.
    const bool same = kernels::quantize_int8_weights(to, columns, again.data()) == factors[row] &&
                      std::memcmp(again.data(), from, static_cast<std::size_t>(columns)) == 0;
    if (!same) {
      throw_bad_input(fmt::format("{}: row {} of tensor {} and its scale are not what quantizing gives",
                                  integers.file, row, name),
                      take_it_as_written);
    }
  }
}

}  // namespace bigbird
