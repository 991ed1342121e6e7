// See bart_form.h.
#include "lib/model/folder/bart_form.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.h"
#include "lib/core/json_text.h"

namespace bigbird {
namespace {

// The first pair that `text` has at `at`, replaced; false when there is none.
bool respell(std::string& text, std::size_t at, std::span<const BartName> pairs, BartSide from, BartSide to) {
  for (const BartName& pair : pairs) {
    if (text.compare(at, (pair.*from).size(), pair.*from) != 0) continue;
    text.replace(at, (pair.*from).size(), pair.*to);
    return true;
  }
  return false;
}

}  // namespace

std::string respelt(std::string name, std::span<const BartName> outside, std::span<const BartStack> stacks,
                    BartSide from, BartSide to) {
  if (respell(name, 0, outside, from, to)) return name;
  for (const BartStack& stack : stacks) {
    if (!respell(name, 0, {&stack.layers, 1}, from, to)) continue;
    const std::size_t dot = name.find('.', (stack.layers.*to).size());
    if (dot != std::string::npos) respell(name, dot + 1, stack.parts, from, to);
    return name;
  }
  return name;
}

BartJson value_of(const BartJson& json, const BartField& field, const std::string& file) {
  for (const char* name : {field.theirs, field.also}) {
    if (name == nullptr || !json.contains(name) || json.at(name).is_null()) continue;
    const BartJson& value = json.at(name);
    if (field.whole ? !value.is_number_integer() : !value.is_number()) {
      throw_bad_input(fmt::format("{}: field {} is not a{} number: {}", file, name,
                                  field.whole ? " whole" : "", json_text(value)),
                      "correct the value, or take a folder as bigbird or Hugging Face wrote it");
    }
    return value;
  }
  if (field.whole) return static_cast<std::int64_t>(field.otherwise);
  return field.otherwise;
}

BartJson value_of(const BartJson& json, const char* name, BartJson otherwise) {
  return json.contains(name) && !json.at(name).is_null() ? json.at(name) : otherwise;
}

BartJson other_class(const BartJson& json, std::span<const std::string_view> read) {
  const BartJson classes = value_of(json, "architectures", BartJson::array());
  if (!classes.is_array() || classes.empty() || !classes[0].is_string()) return nullptr;
  const auto name = classes[0].get<std::string>();
  return std::find(read.begin(), read.end(), name) == read.end() ? classes[0] : BartJson();
}

}  // namespace bigbird
