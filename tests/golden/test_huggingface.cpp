// One exact call per file of tests/golden/huggingface: hidden states, logits, losses and the gradient of
// every parameter against Hugging Face's BigBird in float64. tests/golden/README.md describes the files,
// tests/peers/make_golden.py made them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/parallel.h"
#include "lib/io/safetensors.h"
#include "lib/model/config.h"
#include "lib/model/exact_call.h"
#include "tests/golden/huggingface_file.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace testing;

constexpr double output_bound = 2e-5;    // largest absolute difference
constexpr double gradient_bound = 1e-4;  // norm of the difference over the norm
// Biases that a softmax cancels (keys, question answering) have a gradient of zero: what is left is rounding.
// In the golden files zero is below this part of the largest norm, in float32 below that one.
constexpr double zero_exact = 1e-9, zero_single = 1e-6;
// Hugging Face subtracts 1e6 from the logits of a question's tokens; float32 keeps no digits behind the point
// then.
constexpr float masked_logit = -1e5f;
constexpr double masked_bound = 0.2;

// Files of tests/golden/huggingface with this extension (folders have none), in order.
std::vector<std::filesystem::path> golden_paths(const std::string& extension) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "tests/golden/huggingface")) {
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The golden file itself, or the one of the case that a folder was written for.
std::string golden_file_of(const std::filesystem::path& path) {
  std::string name = path.stem().string();
  const std::string binary = "_bin";
  if (name.size() > binary.size() && name.rfind(binary) == name.size() - binary.size()) {
    name.resize(name.size() - binary.size());
  }
  return path.parent_path() / (name + ".safetensors");
}

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

class HuggingFace : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  HuggingFace() {
    kernels::set_thread_count(1);  // matrices this small gain nothing from a second thread
  }

  SafetensorsFile run(const std::string& model_folder) {
    copy_inputs(golden, folder / "in.safetensors");
    const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
    ExactCallOptions options;
    options.hidden_states = golden.has("out.hidden_states.0");
    options.gradients = golden.has("out.loss");
    const nlohmann::json config = nlohmann::json::parse(golden.metadata().at("config"));
    options.random_mode = parse_random_mode(config.at("bigbird").at("random_mode"));
    run_exact_call(*backend, model_folder, folder / "in.safetensors", folder / "out.safetensors", options,
                   {});
    return SafetensorsFile(folder / "out.safetensors");
  }

  // Largest absolute difference of all outputs.
  double compare_outputs(const SafetensorsFile& actual) {
    const std::vector<std::int64_t> rows = golden.integers("rows");
    double largest = 0.0;
    for (const auto& [stored, name] : names_under(golden, "out.")) {
      const std::vector<float> expected = golden.floats(stored);
      std::vector<float> found = actual.floats(name);
      const std::vector<std::int64_t> shape = actual.info(name).shape;
      if (shape.size() == 3) found = chosen_rows(found, shape[2], rows);
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

  // Largest norm of a difference over the norm, of all parameters.
  double compare_gradients(const SafetensorsFile& actual) {
    double largest_norm = 0.0;
    for (const auto& [stored, name] : names_under(golden, "norm.")) {
      largest_norm = std::max(largest_norm, static_cast<double>(golden.floats(stored).at(0)));
    }
    double largest = 0.0;
    for (const auto& [stored, name] : names_under(actual, "grad.")) {
      std::vector<float> found = actual.floats(stored);
      // A parameter that Hugging Face does not use (the pooler of some heads) has none there.
      const double exact = golden.has(stored) ? golden.floats("norm." + name).at(0) : 0.0;
      if (exact <= zero_exact * largest_norm) {
        EXPECT_LE(norm(found), zero_single * largest_norm) << name;
        continue;
      }
      EXPECT_LE(std::abs(norm(found) - exact), gradient_bound * exact) << name;
      // Of large tensors the file holds every k-th row.
      const std::vector<float> expected = golden.floats(stored);
      const std::vector<std::int64_t> shape = actual.info(stored).shape, kept = golden.info(stored).shape;
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
    for (const auto& [stored, name] : names_under(golden, "grad.")) {
      EXPECT_TRUE(actual.has(stored)) << name << " has no gradient";
    }
    return largest;
  }

  const SafetensorsFile golden{golden_file_of(GetParam())};
  const TemporaryFolder folder;
};

TEST_P(HuggingFace, OutputsAndGradientsAgree) {
  write_formula_model(folder.path(), golden.metadata().at("config"));
  const SafetensorsFile actual = run(folder.path());
  RecordProperty("largest_output_difference", std::to_string(compare_outputs(actual) * 1e6) + "e-6");
  RecordProperty("largest_gradient_difference", std::to_string(compare_gradients(actual) * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(Golden, HuggingFace, ::testing::ValuesIn(golden_paths(".safetensors")),
                         [](const auto& file) { return file.param.stem().string(); });

class HuggingFaceFolder : public HuggingFace {};

TEST_P(HuggingFaceFolder, IsReadAndAgrees) {
  const SafetensorsFile actual = run(GetParam());
  compare_outputs(actual);
  compare_gradients(actual);
}

INSTANTIATE_TEST_SUITE_P(Golden, HuggingFaceFolder, ::testing::ValuesIn(golden_paths("")),
                         [](const auto& entry) { return entry.param.filename().string(); });

}  // namespace
}  // namespace bigbird
