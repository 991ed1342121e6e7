// See golden_call.h.
#include "tests/golden/golden_call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "lib/inference/forward_pass.h"
#include "tests/golden/huggingface_file.h"

namespace bigbird::testing {
namespace {

constexpr double output_bound = 2e-5;    // largest absolute difference
constexpr double gradient_bound = 1e-5;  // norm of the difference over the norm
// Biases that a softmax cancels (keys, question answering) have a gradient of zero: what is left is rounding.
// In the golden files zero is below this part of the largest norm, in float32 below that one.
constexpr double zero_exact = 1e-9, zero_single = 1e-6;
// Hugging Face subtracts 1e6 from the logits of a question's tokens; float32 keeps no digits behind the point
// then.
constexpr float masked_logit = -1e5f;
constexpr double masked_bound = 0.2;

// Names with this prefix -> names without it.
std::map<std::string, std::string> names_under(const SafetensorsFile& file, const std::string& prefix) {
  std::map<std::string, std::string> names;
  for (const TensorInfo& tensor : file.tensors()) {
    if (tensor.name.rfind(prefix, 0) == 0) names[tensor.name] = tensor.name.substr(prefix.size());
  }
  return names;
}

void copy_inputs(const SafetensorsFile& golden, const std::string& path) {
  std::vector<TensorToWrite> tensors;
  for (const auto& [stored, name] : names_under(golden, "in.")) {
    const TensorInfo& info = golden.info(stored);
    tensors.push_back({name, info.type, info.shape, golden.bytes(stored).data()});
  }
  write_safetensors(path, tensors);
}

// [B, T, C] -> the rows (of B * T) that the golden file holds.
std::vector<float> chosen_rows(const std::vector<float>& values, std::int64_t width,
                               const std::vector<std::int64_t>& rows) {
  std::vector<float> chosen;
  for (const std::int64_t row : rows) {
    chosen.insert(chosen.end(), values.begin() + row * width, values.begin() + (row + 1) * width);
  }
  return chosen;
}

}  // namespace

GoldenCall::GoldenCall(const std::filesystem::path& file) : golden_(file) {
  kernels::set_thread_count(1);  // matrices this small gain nothing from a second thread
}

void GoldenCall::run(const std::string& model_folder, RandomMode mode) {
  copy_inputs(golden_, folder_ / "in.safetensors");
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  ForwardPassOptions options;
  options.hidden_states = golden_.has("out.hidden_states.0");
  options.gradients = golden_.has("out.loss");
  options.random_mode = mode;
  if (const auto smoothing = golden_.metadata().find("smoothing"); smoothing != golden_.metadata().end()) {
    options.smoothing.form = parse_smoothing_form(smoothing->second);
    options.smoothing.epsilon = 0.1;
  }
  run_forward_pass(*backend, ModelFolder(model_folder), folder_ / "in.safetensors",
                   folder_ / "out.safetensors", options, {});
}

double GoldenCall::compare_outputs() const {
  const SafetensorsFile actual(folder_ / "out.safetensors");
  const std::vector<std::int64_t> rows = golden_.integers("rows");
  double largest = 0.0;
  for (const auto& [stored, name] : names_under(golden_, "out.")) {
    const std::vector<float> expected = golden_.floats(stored);
    std::vector<float> found = actual.floats(name);
    const std::vector<std::int64_t> shape = actual.info(name).shape;
    // Of what has a row for each token the file holds some; of what a decoder writes all.
    if (shape.size() == 3 && found.size() != expected.size()) found = chosen_rows(found, shape[2], rows);
    EXPECT_EQ(found.size(), expected.size()) << name;
    if (found.size() != expected.size()) continue;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double difference = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
      const bool masked = expected[i] < masked_logit;
      EXPECT_LE(difference, masked ? masked_bound : output_bound) << name << ", element " << i;
      if (!masked) largest = std::max(largest, difference);
    }
  }
  return largest;
}

double GoldenCall::compare_gradients() const {
  const SafetensorsFile actual(folder_ / "out.safetensors");
  double largest_norm = 0.0;
  for (const auto& [stored, name] : names_under(golden_, "norm.")) {
    largest_norm = std::max(largest_norm, static_cast<double>(golden_.floats(stored).at(0)));
  }
  double largest = 0.0;
  for (const auto& [stored, name] : names_under(actual, "grad.")) {
    std::vector<float> found = actual.floats(stored);
    // A parameter that Hugging Face does not use (the pooler of some heads) has none there.
    const double exact = golden_.has(stored) ? golden_.floats("norm." + name).at(0) : 0.0;
    if (exact <= zero_exact * largest_norm) {
      EXPECT_LE(norm(found), zero_single * largest_norm) << name;
      continue;
    }
    EXPECT_LE(std::abs(norm(found) - exact), gradient_bound * exact) << name;
    // Of large tensors the file holds every k-th row.
    const std::vector<float> expected = golden_.floats(stored);
    const std::vector<std::int64_t> shape = actual.info(stored).shape, kept = golden_.info(stored).shape;
    if (kept != shape) {
      const std::int64_t step = (shape.at(0) + kept.at(0) - 1) / kept.at(0);
      std::vector<std::int64_t> rows;
      for (std::int64_t row = 0; row < shape.at(0); row += step) rows.push_back(row);
      found = chosen_rows(found, shape.at(1), rows);
    }
    EXPECT_EQ(found.size(), expected.size()) << name;
    if (found.size() != expected.size()) continue;
    for (std::size_t i = 0; i < found.size(); ++i) found[i] -= expected[i];
    const double relative = norm(found) / norm(expected);
    EXPECT_LE(relative, gradient_bound) << name;
    largest = std::max(largest, relative);
  }
  for (const auto& [stored, name] : names_under(golden_, "grad.")) {
    EXPECT_TRUE(actual.has(stored)) << name << " has no gradient";
  }
  return largest;
}

std::vector<std::filesystem::path> golden_paths(const std::string& folder, const std::string& extension) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "tests/golden" / folder)) {
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace bigbird::testing
