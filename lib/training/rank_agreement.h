// Whether all ranks of a run were started alike: the same program, options, data and kind of device. Found
// before the first update, where a difference would else show as other numbers, or as ranks that wait for
// ever.
#pragma once

#include <map>
#include <string>

#include "kernels/ranks/ranks.h"

namespace bigbird {

// `facts`: what must be the same everywhere, "learning_rate" -> "0.0001". Collective. Where a rank has other
// facts than rank 0, every rank throws the same Error{usage}: it names the first such rank, the fact and both
// values.
void require_agreement(kernels::Ranks& ranks, const std::map<std::string, std::string>& facts);

}  // namespace bigbird
