// What a model's config may say: ranges, and fields that must agree.
#pragma once

#include <string>

#include "lib/model/config.h"

namespace bigbird {

// What to do about a value that a folder has wrong; errors of attention have hints of their own.
inline constexpr const char* wrong_field_hint =
    "correct the value, or take a folder as bigbird or Hugging Face wrote it";

// Throws Error{bad_input} naming the field when a value is absurd or two fields contradict each other.
// `where` is the file or option group for the message.
void validate(const ModelConfig& config, const std::string& where);

}  // namespace bigbird
