// Whether an exception is one of the JSON library, for those who have not got it.
#pragma once

#include <exception>

namespace bigbird {

// json_problem() of json_text.h says it in words.
bool is_json_problem(const std::exception& error);

}  // namespace bigbird
