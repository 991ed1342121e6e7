// Private to the readers of config.json and etc_config.json: fields of an object, with errors that name the
// file and the field.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"

namespace bigbird {

[[noreturn]] inline void reject_json(std::string message) {
  throw_bad_input(std::move(message),
                  "correct the value, or take a folder as bigbird or Hugging Face wrote it");
}

// Refers to the object. What is missing or null leaves the value.
class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {}

  template <typename Number>
  void number(const char* field, Number& value, bool required = false) const {
    const auto found = object_.find(field);
    if (found == object_.end() || found->is_null()) {
      if (required)
        throw_bad_input(fmt::format("{}: field {} is missing", where_, field),
                        "is this a BigBird model folder?");
      return;
    }
    const bool whole = std::is_integral_v<Number>;
    if (whole ? !found->is_number_integer() : !found->is_number()) {
      reject_json(fmt::format("{}: field {} is not a{} number: {}", where_, field, whole ? " whole" : "",
                              json_text(*found)));
    }
    value = found->get<Number>();
  }
  void boolean(const char* field, bool& value) const {
    const auto found = object_.find(field);
    if (found == object_.end() || found->is_null()) return;
    if (!found->is_boolean()) reject_json(fmt::format("{}: field {} is not true or false", where_, field));
    value = found->get<bool>();
  }
  std::string text(const char* field, const std::string& otherwise) const {
    const auto found = object_.find(field);
    if (found == object_.end() || found->is_null()) return otherwise;
    if (!found->is_string()) reject_json(fmt::format("{}: field {} is not a text", where_, field));
    return found->get<std::string>();
  }

 private:
  const nlohmann::json& object_;
  std::string where_;
};

}  // namespace bigbird
