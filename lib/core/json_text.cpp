// Words of the JSON library's errors; see json_text.h.
#include "lib/core/json_text.h"

#include <string_view>

namespace bigbird {

bool is_json_problem(const std::exception& error) {
  return std::string_view(error.what()).rfind("[json.exception", 0) == 0;
}

std::string json_problem(const std::exception& error) {
  std::string_view what = error.what();
  if (!is_json_problem(error)) return std::string(what);
  if (const std::size_t end = what.find("] "); end != std::string_view::npos) what.remove_prefix(end + 2);
  constexpr std::string_view begin = "key '", end = "' not found";
  if (what.size() > begin.size() + end.size() && what.rfind(begin, 0) == 0 &&
      what.substr(what.size() - end.size()) == end) {
    what.remove_prefix(begin.size());
    what.remove_suffix(end.size());
    return "field '" + std::string(what) + "' is missing";
  }
  return std::string(what);
}

}  // namespace bigbird
