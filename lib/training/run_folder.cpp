// The folder of a training run; see run_folder.h.
#include "lib/training/run_folder.h"
#include "lib/model/network/model.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/training/stream_states.h"

namespace bigbird {
namespace {

const std::string checkpoint_prefix = "checkpoint-";
const std::string lease_name = "run.lease";
const std::string rate_prefix = "lr-";
const std::string trained_prefix = "trained.";  // of a run whose model is an average

// The step in "checkpoint-<step>"; nothing for any other name, such as a temporary one.
std::optional<std::uint64_t> step_of(const std::string& name) {
  if (name.rfind(checkpoint_prefix, 0) != 0) return std::nullopt;
  const char* begin = name.data() + checkpoint_prefix.size();
  const char* end = name.data() + name.size();
  std::uint64_t step = 0;
  const auto parsed = std::from_chars(begin, end, step);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return step;
}

// Names that a run, or a killed one, leaves in its folder.
bool is_leftover(const std::string& name) {
  const bool ours = name.rfind(checkpoint_prefix, 0) == 0 || name.rfind("final", 0) == 0 ||
                    name.rfind("metrics.tsv", 0) == 0 || name.rfind("valid.tsv", 0) == 0 ||
                    name.rfind("config.toml", 0) == 0 || name.rfind("rates.tsv", 0) == 0 ||
                    name.rfind("memory.tsv", 0) == 0 || name.rfind("provenance.json", 0) == 0;
  return ours && (name.find(".tmp") != std::string::npos || name.find(".removed") != std::string::npos ||
                  name.find(".old") != std::string::npos);
}

bool belongs_to_run(const std::string& name) {
  return step_of(name) || name == lease_name || is_leftover(name) || name == "final" ||
         name == "metrics.tsv" || name == "valid.tsv" || name == "memory.tsv" || name == "config.toml" ||
         name == "rates.tsv" || name == "provenance.json" || name.rfind(rate_prefix, 0) == 0;
}

// The field that an earlier version wrote as it is typed: "--weight-decay" -> "weight_decay", "--train
// (documents)" -> "train (documents)"; other names as they are.
std::string field_name(const std::string& name) {
  if (name == "--lr") return "learning_rate";
  if (name.rfind("--", 0) != 0) return name;
  std::string field = name.substr(2);
  const std::size_t end = std::min(field.find(' '), field.size());
  std::replace(field.begin(), field.begin() + static_cast<std::ptrdiff_t>(end), '-', '_');
  return field;
}

}  // namespace

std::string in_words(const std::string& name) {
  if (name.rfind("model.", 0) == 0) return name;
  const std::size_t end = std::min(name.find(' '), name.size());
  return setting_name(name.substr(0, end)) + name.substr(end);
}

void RunFolder::check(const std::string& path, RunStart start) {
  if (start != RunStart::fresh || !folder_exists(path)) return;
  for (const std::string& name : names_in(path)) {
    if (belongs_to_run(name)) {
      throw_bad_input(path + ": holds a run already",
                      message("go on with it by `resume`, replace it by `force`, or choose another folder"));
    }
    throw_bad_input(fmt::format("{}: not empty ({})", path, name), "choose another folder");
  }
}

namespace {

Lease lease_of(const std::string& run) {
  const std::string path = run + "/" + lease_name;
  try {
    return Lease(path, LeaseBusy::refuse);
  } catch (const Error& held) {
    if (held.kind() != ErrorKind::runtime || !file_exists(path)) throw;
    throw_runtime(held.message(), "wait for it, or stop it");
  }
}

}  // namespace

RunFolder::RunFolder(std::string path, RunStart start) : path_(std::move(path)) {
  check(path_, start);
  make_folders(path_);
  lease_.emplace(lease_of(path_));
  std::vector<Lease> rates;  // of RUN/lr-<rate>, which may be trained by a process of its own
  for (const std::string& name : names_in(path_)) {
    if (start == RunStart::overwrite && name.rfind(rate_prefix, 0) == 0 && folder_exists(file(name)))
      rates.push_back(lease_of(file(name)));
  }
  for (const std::string& name : names_in(path_)) {
    if (name != lease_name && (is_leftover(name) || (start == RunStart::overwrite && belongs_to_run(name))))
      remove_folder(file(name));
  }
}

void RunFolder::check_still_ours() const {
  if (lease_) lease_->check();
}

std::string RunFolder::checkpoint(std::uint64_t step) const {
  return file(checkpoint_prefix + std::to_string(step));
}

std::vector<std::uint64_t> RunFolder::checkpoints() const {
  std::vector<std::uint64_t> steps;
  for (const std::string& name : names_in(path_)) {
    if (const auto step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

void RunFolder::remove_checkpoint(std::uint64_t step) const {
  const std::string doomed = fmt::format("{}.removed-{}", checkpoint(step), ::getpid());
  std::filesystem::rename(checkpoint(step), doomed);
  remove_folder(doomed);
}

std::vector<ValidatedCheckpoint> RunFolder::validated() const {
  std::vector<ValidatedCheckpoint> all;
  for (const std::uint64_t step : checkpoints()) {
    const std::optional<double> loss = read_train_state(checkpoint(step)).valid_loss;
    if (loss && std::isfinite(*loss)) all.push_back({step, *loss});
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.loss < b.loss; });
  return all;
}

ValidatedCheckpoint RunFolder::best() const {
  const std::vector<ValidatedCheckpoint> all = validated();
  return all.empty() ? ValidatedCheckpoint{} : all.front();
}

void RunFolder::retain(std::uint64_t keep_last, std::uint64_t keep_best) const {
  const std::vector<std::uint64_t> steps = checkpoints();
  if (keep_last == 0 || steps.size() <= keep_last) return;
  std::vector<ValidatedCheckpoint> best;
  if (keep_best > 0) best = validated();
  if (best.size() > keep_best) best.resize(static_cast<std::size_t>(keep_best));
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep_last) < steps.size(); ++i) {
    const bool kept =
        std::any_of(best.begin(), best.end(), [&](const auto& b) { return b.step == steps[i]; });
    if (!kept) remove_checkpoint(steps[i]);
  }
}

namespace {

void write_model_folder(const AtomicFolder& folder, const Model& model, const FolderExtras& extras) {
  WriteOptions write;
  write.tokenizer = extras.tokenizer;
  write_model_files(folder.path(), model.config(), model.layout(), model.parameters_to_read().values(),
                    extras.tokenizer_folder, extras.model_card, write);
  for (const auto& [name, text] : extras.files) write_text_atomic(folder.file(name), text);
}

}  // namespace

void save_checkpoint(const std::string& folder, const Model& model, Optimizer& optimizer,
                     const TrainState& state, const FolderExtras& extras, const std::vector<float>* trained,
                     const std::vector<std::vector<float>>& streams) {
  AtomicFolder atomic(folder, true);
  write_model_folder(atomic, model, extras);
  {
    const HostValues state_values = optimizer.state_to_read();
    std::vector<TensorToWrite> tensors;
    for (const OptimizerState& part : optimizer.state()) {
      tensors.push_back({part.name, TensorType::f32, part.shape, state_values.values().data() + part.offset});
    }
    for (const TensorSpec& tensor : model.layout().tensors()) {
      if (trained == nullptr) break;
      tensors.push_back(
          {trained_prefix + tensor.name, TensorType::f32, tensor.shape, trained->data() + tensor.offset});
    }
    write_safetensors(atomic.file("optimizer.safetensors"), tensors);
  }
  if (!streams.empty()) write_streams(atomic.file(streams_file), streams);
  nlohmann::ordered_json json;
  json["global_step"] = state.step;
  json["tokens"] = state.tokens;
  json["seconds"] = state.seconds;
  json["valid_loss"] =
      state.valid_loss ? nlohmann::ordered_json(*state.valid_loss) : nlohmann::ordered_json(nullptr);
  json["device"] = state.device;
  json["precision"] = state.precision;
  if (!state.product_table.empty()) json["product_table"] = state.product_table;
  if (state.keeps_activated) json["keeps_activated"] = true;
  json["arithmetic"] = state.arithmetic;
  json["options"] = state.options;
  write_text_atomic(atomic.file("trainer_state.json"), json_text(json, 2) + "\n");
  atomic.commit();
}

void save_final(const std::string& folder, const Model& model, const FolderExtras& extras) {
  AtomicFolder atomic(folder, true);
  write_model_folder(atomic, model, extras);
  atomic.commit();
}

TrainState read_train_state(const std::string& checkpoint) {
  const std::string path = checkpoint + "/trainer_state.json";
  try {
    const auto json = nlohmann::json::parse(read_file(path));
    TrainState state;
    state.step = json.at("global_step").get<std::uint64_t>();
    state.tokens = json.at("tokens").get<std::uint64_t>();
    state.seconds = json.at("seconds").get<double>();
    if (!json.at("valid_loss").is_null()) state.valid_loss = json.at("valid_loss").get<double>();
    for (const auto& [name, value] : json.at("options").get<std::map<std::string, std::string>>()) {
      state.options[field_name(name)] = value;
    }
    state.device = json.value("device", "");
    state.precision = json.value("precision", "");
    state.product_table = json.value("product_table", "");
    state.keeps_activated = json.value("keeps_activated", false);
    state.arithmetic = json.value("arithmetic", "");
    return state;
  } catch (const nlohmann::json::exception& error) {
    throw_bad_input(path + ": " + json_problem(error),
                    message("remove this checkpoint; `resume` then takes the one before"));
  }
}

void load_weights(const std::string& checkpoint, Model& model) {
  LoadOptions options;
  options.head = model.config().head;
  options.num_labels = model.config().num_labels;
  options.memory = [&](const ModelConfig&) { return model.parameters_on_host(); };
  const LoadedModel loaded = load_model(checkpoint, options);
  if (!loaded.parameters.empty()) model.set_parameters(loaded.parameters);
}

void load_training_state(const std::string& checkpoint, Model& model, Optimizer& optimizer, bool averages) {
  const SafetensorsFile file(checkpoint + "/optimizer.safetensors");
  const auto values_of = [&](const std::string& name, std::int64_t count) {
    std::vector<float> values = file.floats(name);
    if (static_cast<std::int64_t>(values.size()) != count) {
      throw_bad_input(
          fmt::format("{}: {} has {} values, the model has {}", file.path(), name, values.size(), count),
          "the checkpoint belongs to another model");
    }
    return values;
  };
  for (const OptimizerState& part : optimizer.state())
    optimizer.upload_state(part, values_of(part.name, part.count));
  if (!averages) return;
  std::vector<float> trained(static_cast<std::size_t>(model.layout().count()));
  for (const TensorSpec& tensor : model.layout().tensors()) {
    const std::vector<float> values = values_of(trained_prefix + tensor.name, tensor.count);
    std::copy(values.begin(), values.end(), trained.begin() + static_cast<std::ptrdiff_t>(tensor.offset));
  }
  model.set_parameters(trained);
}

void say_other_device(const TrainState& before, const kernels::Backend& now) {
  const std::string device = now.name(), precision = name_of(now.precision());
  if (!before.device.empty() && before.device != device) {
    log_info(fmt::format("the run was on {} so far and goes on on {}", before.device, device));
  }
  if (!before.precision.empty() && before.precision != precision) {
    log_warning(fmt::format(
        "the run was in {} so far and goes on in {}: its numbers differ from a run in one precision",
        before.precision, precision));
  }
  if (before.device == device && before.product_table != now.product_table()) {
    const auto text = [](const std::string& table) {
      return table.empty() ? "as cuBLASLt chooses" : "by the table " + table;
    };
    log_warning(fmt::format(
        "products were computed {} so far and go on {}: the numbers differ from a run with one choice of algorithms",
        text(before.product_table), text(now.product_table())));
  } else if (before.device == device && before.precision == precision && !before.arithmetic.empty() &&
             before.arithmetic != now.arithmetic()) {
    log_warning(fmt::format(
        "the run was computed by {} so far and goes on by {}: its numbers differ from a run on one of them",
        before.arithmetic, now.arithmetic()));
  }
}

void require_same_options(const std::string& checkpoint, const std::map<std::string, std::string>& before,
                          const std::map<std::string, std::string>& now) {
  std::string differences;
  const auto note = [&](const std::string& name, const std::string& was, const std::string& is) {
    differences +=
        fmt::format("{}{} was {}, is {}", differences.empty() ? "" : "; ", in_words(name), was, is);
  };
  for (const auto& [name, value] : now) {
    const auto found = before.find(name);
    if (found == before.end()) {
      note(name, "not set", value);
    } else if (found->second != value) {
      note(name, found->second, value);
    }
  }
  for (const auto& [name, value] : before) {
    if (now.find(name) == now.end()) note(name, value, "not set");
  }
  if (differences.empty()) return;
  throw_usage(
      fmt::format("{}: cannot go on with other options: {}", checkpoint, differences),
      message(
          "use the options of the first part, or begin another run in another folder (`init` takes its weights)"));
}

Resumption resumption(const RunFolder& run, const std::map<std::string, std::string>& options,
                      const kernels::Backend& backend) {
  const std::vector<std::uint64_t> checkpoints = run.checkpoints();
  if (checkpoints.empty()) return {};
  Resumption from;
  from.checkpoint = run.checkpoint(checkpoints.back());
  from.state = read_train_state(from.checkpoint);
  require_same_options(from.checkpoint, from.state.options, options);
  say_other_device(from.state, backend);
  return from;
}

}  // namespace bigbird
