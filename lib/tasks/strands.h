// Which strands of DNA windows a model reads: one set of words for every verb.
#pragma once

#include <string>

namespace bigbird {

// forward: the window as it is given; reverse: its reverse complement; both: one and the other. automatic:
// forward for models of promoters, whose windows have a direction, else both.
enum class Strands { automatic, both, forward, reverse };

// "auto", "both", "+" or "forward", "-" or "reverse". Error{usage} for anything else.
Strands parse_strands(const std::string& word);
// "auto", "both", "+", "-".
std::string name_of(Strands strands);

}  // namespace bigbird
