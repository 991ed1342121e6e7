// Words for strands; see strands.h.
#include "lib/tasks/strands.h"

#include <array>
#include <utility>

#include "lib/core/names.h"

namespace bigbird {
namespace {
// The first name of each is the one that is written.
constexpr std::array<std::pair<Strands, const char*>, 6> strand_names{{{Strands::automatic, "auto"},
                                                                       {Strands::both, "both"},
                                                                       {Strands::forward, "+"},
                                                                       {Strands::forward, "forward"},
                                                                       {Strands::reverse, "-"},
                                                                       {Strands::reverse, "reverse"}}};
}  // namespace

Strands parse_strands(const std::string& word) {
  return parse_name(strand_names, word, "choice of `strands`");
}

std::string name_of(Strands strands) {
  return find_name(strand_names, strands);
}

}  // namespace bigbird
