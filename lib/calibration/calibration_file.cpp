// Reads and writes calibration.json; see calibration_file.h.
#include "lib/calibration/calibration_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

constexpr const char* format_name = "bigbird calibration 1";

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const std::string& name, const OutputCalibration& output) {
  Json json = {{"name", name},
               {"positives", output.positives},
               {"negatives", output.negatives},
               {"shift", output.shift},
               {"platt", nullptr},
               {"isotonic", nullptr}};
  if (output.platt) json["platt"] = {{"slope", output.platt->slope}, {"offset", output.platt->offset}};
  if (output.isotonic) {
    json["isotonic"] = {{"scores", output.isotonic->scores}, {"values", output.isotonic->values}};
  }
  return json;
}

// One value of the file, which knows its place in it.
class Field {
 public:
  Field(const std::string& file, const Json& json, std::string name = {})
      : file_(file), json_(json), name_(std::move(name)) {}

  Field operator[](const char* key) const {
    if (!json_.is_object()) refuse("is not an object");
    const auto found = json_.find(key);
    const std::string name = name_.empty() ? std::string(key) : name_ + "." + key;
    if (found == json_.end()) Field(file_, json_, name).refuse("is missing");
    return {file_, *found, name};
  }
  std::vector<Field> entries() const {
    if (!json_.is_array()) refuse("is not a list");
    std::vector<Field> fields;
    for (const Json& entry : json_)
      fields.emplace_back(file_, entry, fmt::format("{}[{}]", name_, fields.size()));
    return fields;
  }
  bool is_null() const { return json_.is_null(); }

  std::string text() const {
    if (!json_.is_string()) refuse("is not text");
    return json_.get<std::string>();
  }
  double number() const {
    if (!json_.is_number()) refuse("is not a number");
    const auto value = json_.get<double>();
    if (!std::isfinite(value)) refuse("is not finite");
    return value;
  }
  std::optional<double> optional_number() const { return is_null() ? std::nullopt : std::optional(number()); }
  std::int64_t count() const {
    if (!json_.is_number_unsigned()) refuse("is not a count");
    return json_.get<std::int64_t>();
  }
  std::vector<double> numbers() const {
    std::vector<double> values;
    for (const Field& field : entries()) {
      values.push_back(field.number());
      if (values.back() < 0 || values.back() > 1) field.refuse("is not between 0 and 1");
    }
    return values;
  }
  const Json& json() const { return json_; }

  [[noreturn]] void refuse(const std::string& what) const {
    throw_bad_input(fmt::format("{}: {} {}", file_, name_.empty() ? "the file" : name_, what),
                    "write it anew with `bigbird promoter calibrate` or `bigbird chromatin calibrate`");
  }

 private:
  const std::string& file_;
  const Json& json_;
  std::string name_;
};

IsotonicCurve isotonic_of(const Field& field) {
  IsotonicCurve curve{field["scores"].numbers(), field["values"].numbers()};
  if (curve.scores.empty()) field["scores"].refuse("is empty");
  if (curve.values.size() != curve.scores.size()) {
    field["values"].refuse(
        fmt::format("has {} numbers for {} scores", curve.values.size(), curve.scores.size()));
  }
  const auto not_rising = [](double before, double next) { return !(before < next); };
  if (std::adjacent_find(curve.scores.begin(), curve.scores.end(), not_rising) != curve.scores.end()) {
    field["scores"].refuse("does not rise");
  }
  if (!std::is_sorted(curve.values.begin(), curve.values.end())) field["values"].refuse("falls");
  return curve;
}

OutputCalibration output_of(const Field& field) {
  OutputCalibration output;
  output.positives = field["positives"].count();
  output.negatives = field["negatives"].count();
  output.shift = field["shift"].number();
  const Field platt = field["platt"], isotonic = field["isotonic"];
  if (platt.is_null() != isotonic.is_null()) field.refuse("has only one of platt and isotonic");
  if (platt.is_null()) return output;
  output.platt = PlattCurve{platt["slope"].number(), platt["offset"].number()};
  output.isotonic = isotonic_of(isotonic);
  return output;
}

Calibration calibration_of(const Field& file, std::size_t outputs) {
  if (file["format"].text() != format_name) {
    file["format"].refuse(
        fmt::format("is '{}', not '{}'", text_for_message(file["format"].text()), format_name));
  }
  Calibration calibration;
  calibration.task = file["task"].text();
  calibration.weights = file["weights"].text();
  const std::string strands = file["strands"].text();
  if (strands != "both" && strands != "+" && strands != "-") {
    file["strands"].refuse("is none of both, + and -");
  }
  calibration.strands = parse_strands(strands);
  calibration.fitted_on = file["fitted_on"].text();
  calibration.windows = file["windows"].count();
  calibration.prior = file["prior"].optional_number();
  calibration.train_prior = file["train_prior"].optional_number();
  calibration.positive_weight = file["positive_weight"].optional_number();
  if (!file["provenance"].is_null()) calibration.provenance = json_text(file["provenance"].json());
  const std::vector<Field> fields = file["outputs"].entries();
  if (fields.size() != outputs) {
    file["outputs"].refuse(
        fmt::format("has {} entries, and the model has {} outputs", fields.size(), outputs));
  }
  for (const Field& field : fields) {
    calibration.names.push_back(field["name"].text());
    calibration.outputs.push_back(output_of(field));
  }
  return calibration;
}

}  // namespace

std::size_t Calibration::fitted() const {
  return static_cast<std::size_t>(std::count_if(
      outputs.begin(), outputs.end(), [](const OutputCalibration& output) { return output.fitted(); }));
}

std::string calibration_path(const std::string& model_folder) {
  return model_folder + "/" + calibration_file_name;
}

void write_calibration(const std::string& model_folder, const Calibration& calibration) {
  Json head;
  head["format"] = format_name;
  head["task"] = calibration.task;
  head["weights"] = calibration.weights;
  head["strands"] = name_of(calibration.strands);
  head["fitted_on"] = calibration.fitted_on;
  head["windows"] = calibration.windows;
  head["prior"] = or_null(calibration.prior);
  head["train_prior"] = or_null(calibration.train_prior);
  head["positive_weight"] = or_null(calibration.positive_weight);
  head["provenance"] = calibration.provenance.empty() ? Json() : Json::parse(calibration.provenance);
  // Paths may hold any bytes; what is no UTF-8 is replaced rather than refused.
  std::string text = "{\n";
  for (const auto& [key, value] : head.items()) text += fmt::format("  \"{}\": {},\n", key, json_text(value));
  text += "  \"outputs\": [\n";
  for (std::size_t i = 0; i < calibration.outputs.size(); ++i) {
    text += fmt::format("    {}{}\n", json_text(json_of(calibration.names[i], calibration.outputs[i])),
                        i + 1 < calibration.outputs.size() ? "," : "");
  }
  write_text_atomic(calibration_path(model_folder), text + "  ]\n}\n");
}

std::optional<Calibration> read_calibration(const std::string& model_folder, std::size_t outputs) {
  const std::string path = calibration_path(model_folder);
  if (!file_exists(path)) return std::nullopt;
  const Json json = Json::parse(read_file(path), nullptr, false);
  const Field file(path, json);
  if (json.is_discarded()) file.refuse("is not JSON");
  return calibration_of(file, outputs);
}

std::optional<Strands> strands_of_calibration(const std::string& model_folder) {
  const std::string path = calibration_path(model_folder);
  if (!file_exists(path)) return std::nullopt;
  const Json json = Json::parse(read_file(path), nullptr, false);
  const auto found = json.is_object() ? json.find("strands") : json.end();
  if (found == json.end() || !found->is_string()) return std::nullopt;
  for (const Strands strands : {Strands::both, Strands::forward, Strands::reverse}) {
    if (*found == name_of(strands)) return strands;
  }
  return std::nullopt;
}

}  // namespace bigbird
