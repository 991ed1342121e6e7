// NumPy's .npy files (format version 1.0), little-endian float32 in C order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bigbird {

// Writes whole or not at all. Error when the values do not fill the shape.
void write_npy(const std::string& path, std::span<const float> values,
               const std::vector<std::int64_t>& shape);

}  // namespace bigbird
