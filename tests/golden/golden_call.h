// One golden call: a batch, and what another program made of it. tests/golden/README.md describes the files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lib/io/weights/safetensors.h"
#include "lib/model/config.h"
#include "tests/support/support.h"

namespace bigbird::testing {

class GoldenCall {
 public:
  explicit GoldenCall(const std::filesystem::path& file);

  const SafetensorsFile& golden() const { return golden_; }
  // Makes the same call with a model folder; gradients too where the file has a loss.
  void run(const std::string& model_folder, RandomMode mode);
  // Both EXPECT every difference of the last run() within its bound, and return the largest: of all outputs
  // the absolute one (bound 2e-5), of all gradients the norm of the difference over the norm (bound 1e-4).
  double compare_outputs() const;
  double compare_gradients() const;

 private:
  const SafetensorsFile golden_;
  const TemporaryFolder folder_;
};

// Entries of tests/golden/<folder> with this extension (folders have none), in order.
std::vector<std::filesystem::path> golden_paths(const std::string& folder, const std::string& extension);

}  // namespace bigbird::testing
