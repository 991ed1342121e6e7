// Small MATLAB files for tests, as MATLAB itself lays them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace bigbird::testing {

struct MatlabVariable {
  std::string name;
  std::vector<std::size_t> shape;   // rows first
  std::vector<std::uint8_t> bytes;  // MATLAB's order: the first axis is the fastest
};

// Version 7.3: HDF5 behind a user block of 512 bytes, axes reversed, chunks of `chunk_rows` rows, deflated.
void write_matlab73(const std::filesystem::path& path, const std::vector<MatlabVariable>& variables,
                    std::size_t chunk_rows = 7);
// Version 5, each variable compressed.
void write_matlab5(const std::filesystem::path& path, const std::vector<MatlabVariable>& variables);

}  // namespace bigbird::testing
