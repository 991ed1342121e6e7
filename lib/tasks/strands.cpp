// Words for strands; see strands.h.
#include "lib/tasks/strands.h"

#include "lib/core/error.h"

namespace bigbird {

Strands parse_strands(const std::string& word) {
  if (word == "auto") return Strands::automatic;
  if (word == "both") return Strands::both;
  if (word == "+" || word == "forward") return Strands::forward;
  if (word == "-" || word == "reverse") return Strands::reverse;
  throw_usage("`strands` " + word + ": there is no such choice", "one of: auto, both, +, -");
}

std::string name_of(Strands strands) {
  switch (strands) {
    case Strands::automatic:
      return "auto";
    case Strands::both:
      return "both";
    case Strands::forward:
      return "+";
    case Strands::reverse:
      break;
  }
  return "-";
}

}  // namespace bigbird
