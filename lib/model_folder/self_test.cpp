// See self_test.h.
#include "lib/model_folder/self_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/model/network/batch.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model_folder/open_model.h"

namespace bigbird {
namespace {

using OrderedJson = nlohmann::basic_json<OrderedMap>;

constexpr const char* file_name = "self_test.json";
// Files that may change while the model stays the same: its description, and what is fitted to its scores.
constexpr std::array<const char*, 3> changing_files = {"README.md", "calibration.json", "extraction.json"};
constexpr std::int64_t shortest_sparse = 576;  // the published code takes full attention up to 512 tokens
constexpr std::int64_t test_places = 8;        // positions, and channels
constexpr std::int64_t sentence_tokens = 7;    // of HIBERT, with a shorter one at the end
constexpr std::int64_t most_tokens = 1 << 20;

std::int64_t input_length(const ModelConfig& config) {
  std::int64_t length = std::max((2 * config.num_random_blocks + 7) * config.block_size, shortest_sparse);
  length = std::min(length, config.max_position_embeddings);
  if (config.plan != nullptr) length = std::min(length, config.plan->blocks() * config.block_size);
  return length > 4 ? length - 3 : length;  // some padding in the last block
}

// `places` numbers spread over 0..size-1, both ends included.
std::vector<std::int64_t> spread(std::int64_t size) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < std::min(test_places, size); ++i) {
    numbers.push_back(size <= test_places ? i : i * (size - 1) / (test_places - 1));
  }
  return numbers;
}

// What the states of the test are of: tokens, or of HIBERT the sentences that they make.
std::int64_t test_states(const ModelConfig& config, std::int64_t tokens) {
  const std::int64_t sentences = (tokens + sentence_tokens - 1) / sentence_tokens;
  return config.has_documents() ? std::min(sentences, config.documents.sentences) : tokens;
}

// One sequence; of HIBERT one document.
Batch test_batch(const ModelConfig& config, const std::vector<std::int32_t>& ids) {
  const auto pad = static_cast<std::int32_t>(config.pad_token_id);
  Batch batch;
  if (!config.has_documents()) {
    batch.append(ids, {}, config.block_size, pad);
    return batch;
  }
  const auto tokens = static_cast<std::int64_t>(ids.size());
  for (std::int64_t s = 0; s < test_states(config, tokens); ++s) {
    const auto begin = ids.begin() + s * sentence_tokens;
    const auto end = ids.begin() + std::min(tokens, (s + 1) * sentence_tokens);
    batch.append({begin, end}, {}, config.block_size, pad);
  }
  return batch;
}

// Of int8 layers the parameters, not the integers: a value that two processors round to neighbouring integers
// differs by far more than the test allows.
std::vector<float> hidden_values(kernels::Backend& backend, const ModelConfig& of,
                                 const std::vector<float>& parameters, const SelfTest& test) {
  ModelConfig config = of;
  config.quantization = nullptr;
  const Batch batch = test_batch(config, test.input_ids);
  const auto limits = [&](const ModelConfig&) {
    return BatchLimits{.tokens = batch.tokens(),
                       .sequences = batch.sequences(),
                       .masked_tokens = 0,
                       .longest = batch.tokens()};
  };
  const std::unique_ptr<Model> model = open_model(config, parameters, {backend, limits});
  model->forward(batch, {});
  const std::vector<float> hidden =
      config.has_documents() ? model->sentence_states() : model->last_hidden_state();
  std::vector<float> values;
  for (const std::int64_t position : test.positions) {
    for (const std::int64_t channel : test.channels) {
      values.push_back(hidden[static_cast<std::size_t>(position * head_width(config) + channel)]);
    }
  }
  return values;
}

[[noreturn]] void refuse_test(const std::string& what) {
  throw_bad_input(what, message("bigbird check with `write_digest` writes a new one"));
}

}  // namespace

SelfTest run_self_test(kernels::Backend& backend, const ModelConfig& config,
                       const std::vector<float>& parameters) {
  SelfTest test;
  const std::int64_t length = input_length(config);
  for (std::int64_t i = 0; i < length; ++i) {
    std::int64_t id = (7919 * i + 5) % config.vocab_size;
    if (id == config.pad_token_id) id = (id + 1) % config.vocab_size;
    test.input_ids.push_back(static_cast<std::int32_t>(id));
  }
  test.positions = spread(test_states(config, length));
  test.channels = spread(head_width(config));
  test.values = hidden_values(backend, config, parameters, test);
  return test;
}

double self_test_difference(kernels::Backend& backend, const ModelConfig& config,
                            const std::vector<float>& parameters, const SelfTest& stored) {
  const auto tokens = static_cast<std::int64_t>(stored.input_ids.size());
  const auto inside = [](const auto& numbers, std::int64_t bound) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](auto number) { return number >= 0 && number < bound; });
  };
  if (tokens < 1 || tokens > config.max_position_embeddings || !inside(stored.input_ids, config.vocab_size) ||
      !inside(stored.positions, test_states(config, tokens)) ||
      !inside(stored.channels, head_width(config)) ||
      stored.values.size() != stored.positions.size() * stored.channels.size()) {
    refuse_test(fmt::format("{} belongs to another model", file_name));
  }
  const std::vector<float> values = hidden_values(backend, config, parameters, stored);
  double largest = 1.0, difference = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]) || !std::isfinite(stored.values[i]))
      return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(static_cast<double>(stored.values[i])));
    difference = std::max(difference,
                          std::abs(static_cast<double>(values[i]) - static_cast<double>(stored.values[i])));
  }
  return difference / largest;
}

void write_self_test(const std::string& folder, SelfTest test) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool changes =
        std::find(changing_files.begin(), changing_files.end(), name) != changing_files.end();
    if (name != file_name && !changes && entry.is_regular_file()) {
      test.files[name] = sha256_file(entry.path().string());
    }
  }
  OrderedJson json;
  json["about"] =
      "last hidden state of this input at these positions and channels; bigbird check MODEL compares";
  json["tolerance"] = self_test_tolerance;
  json["input_ids"] = test.input_ids;
  json["positions"] = test.positions;
  json["channels"] = test.channels;
  json["last_hidden_state"] = test.values;
  json["sha256"] = test.files;
  write_text_atomic(folder + "/" + file_name, json_text(json) + "\n");
}

std::optional<SelfTest> read_self_test(const std::string& folder) {
  const std::string path = folder + "/" + file_name;
  if (!file_exists(path)) return std::nullopt;
  SelfTest test;
  try {
    const OrderedJson json = OrderedJson::parse(read_file(path));
    json.at("input_ids").get_to(test.input_ids);
    json.at("positions").get_to(test.positions);
    json.at("channels").get_to(test.channels);
    json.at("last_hidden_state").get_to(test.values);
    json.at("sha256").get_to(test.files);
  } catch (const OrderedJson::exception& error) {
    refuse_test(fmt::format("{}: damaged ({})", path, json_problem(error)));
  }
  if (static_cast<std::int64_t>(test.input_ids.size()) > most_tokens)
    refuse_test(path + ": an input of over a million tokens");
  return test;
}

std::vector<std::string> changed_files(const std::string& folder, const SelfTest& stored) {
  std::vector<std::string> changed;
  for (const auto& [name, digest] : stored.files) {
    const bool plain = name.find('/') == std::string::npos;
    if (!plain || !file_exists(folder + "/" + name) || sha256_file(folder + "/" + name) != digest)
      changed.push_back(name);
  }
  return changed;
}

}  // namespace bigbird
