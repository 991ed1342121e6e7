// The self-test of a model folder, in self_test.json: digests of its files, and hidden states of one fixed
// input that whoever runs the model must reproduce. Values are stored, not a hash of them: processors of
// different levels agree to rounding only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"

namespace bigbird {

struct SelfTest {
  std::vector<std::int32_t> input_ids;       // one sequence
  std::vector<std::int64_t> positions;       // of the values, in the sequence
  std::vector<std::int64_t> channels;        // of the values, in the last hidden state
  std::vector<float> values;                 // [positions, channels]
  std::map<std::string, std::string> files;  // name in the folder -> sha256
};

// Largest difference that rounding explains: this times the largest stored value, or times 1.
inline constexpr double self_test_tolerance = 1e-4;

// Runs the model on a sequence of ids that follow from the configuration alone, long enough that attention is
// sparse where the model allows it; fp32, no dropout, int8 layers by the numbers that their integers stand
// for.
SelfTest run_self_test(kernels::Backend& backend, const ModelConfig& config,
                       const std::vector<float>& parameters);
// The same input and places as in `stored`: the largest difference, divided by the largest stored value (1
// when smaller). Infinity when a value is not finite. Error{bad_input} when it cannot be run on this model.
double self_test_difference(kernels::Backend& backend, const ModelConfig& config,
                            const std::vector<float>& parameters, const SelfTest& stored);

// FOLDER/self_test.json with the digests of the files that are in the folder (config.json, weights, plan,
// tokenizer). To be called when all of them are written.
void write_self_test(const std::string& folder, SelfTest test);
// Nothing when the folder has none. Error{bad_input} naming the file when it is damaged.
std::optional<SelfTest> read_self_test(const std::string& folder);
// Names of files whose digest is another one now, or that are gone.
std::vector<std::string> changed_files(const std::string& folder, const SelfTest& stored);

}  // namespace bigbird
