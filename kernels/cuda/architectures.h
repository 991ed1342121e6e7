// kernels/cuda holds the CUDA backend: kernels written against device.cuh alone, products by cuBLASLt where
// it is found, memory, copies, graphs. CUDA itself is spoken in three files.
//
// For which devices this program holds kernels, and whether a device can run them. Plain C++.
#pragma once

#include <string>
#include <vector>

namespace bigbird::kernels::cuda {

// As nvcc names them: "80" is compute capability 8.0, "120" is 12.0; with the letter a it is that one alone.
// Both lists are empty where the build cannot tell.
struct Architectures {
  std::vector<std::string> machine_code;  // runs on its major version, from its minor version on
  std::vector<std::string> ptx;           // is translated by the driver for everything as new or newer
};
bool operator==(const Architectures& one, const Architectures& other);

// "80-real;90-real;90-virtual", as CMake has it; without a suffix both are meant. Words that name no number
// ("native") make both lists empty.
Architectures parse_architectures(const std::string& cmake_list);
// Those of this program.
const Architectures& built_architectures();

// "8.0" of "80", "12.0a" of "120a".
std::string capability_text(const std::string& architecture);
// "machine code for 8.0 and 9.0, PTX for 9.0".
std::string architectures_text(const Architectures& built);
bool can_run(const Architectures& built, int major, int minor);
// Whether it holds machine code for 9.0a, which alone multiplies by warpgroups: the build makes that of the
// kernels that do, wherever it makes machine code for 9.0.
bool has_warpgroup_code(const Architectures& built);
// Whether this project has run on a card of that compute capability. What was compiled for others was tested
// on the emulated device alone.
bool was_run(int major, int minor);
// Of a device that can run nothing of what this program holds: "cuda:0 (NAME) has compute capability 8.0, for
// which this bigbird has no kernels: it holds machine code for 9.0".
std::string no_code_for(int index, const std::string& name, int major, int minor);

}  // namespace bigbird::kernels::cuda
