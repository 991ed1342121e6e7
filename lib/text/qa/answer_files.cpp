// Files of answers; see answer_files.h.
#include "lib/text/qa/answer_files.h"

#include <nlohmann/json.hpp>

namespace bigbird {
namespace {

constexpr std::size_t indent = 4;

}  // namespace

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string keyed_entry(const std::string& id, std::string_view json, int depth) {
  const std::string margin(indent * static_cast<std::size_t>(depth), ' ');
  std::string entry = margin + json_string(id) + ": ";
  for (const char c : json) {
    entry += c;
    if (c == '\n') entry += margin;  // strings hold no bare line ends
  }
  return entry;
}

AnswerEntry text_entry(const std::string& id, const std::string& text) {
  return {keyed_entry(id, json_string(text))};
}

void AnswerFile::add(const AnswerEntry& entry) {
  sink_(std::string(any_ ? std::string_view(",\n") : layout_->frame.front()) + entry.front());
  for (std::size_t section = 1; section < later_.size(); ++section)
    later_[section] += (any_ ? ",\n" : "") + entry.at(section);
  any_ = true;
}

void AnswerFile::finish() {
  if (!any_) return sink_(layout_->empty);
  std::string text;
  for (std::size_t section = 1; section <= later_.size(); ++section) {
    text += '\n';
    text += layout_->frame[section];
    if (section < later_.size()) text += later_[section];
  }
  sink_(text);
}

}  // namespace bigbird
