// Text from a file in a message to the user.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bigbird {

// A stretch of a file as an error message may show it: one line, at most `code_points` of it, control
// characters as '?'.
std::string text_for_message(std::string_view text, std::size_t code_points = 60);

}  // namespace bigbird
