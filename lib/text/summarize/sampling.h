// Private to the searches (token_search.h): a next token drawn at random, as generate() draws it with
// do_sample (temperature, then top-k, then top-p; Holtzman et al. 2020).
#pragma once

#include <cstdint>
#include <span>

#include "lib/text/summarize/token_search.h"

namespace bigbird {

// The token at `uniform`, in [0, 1), of the distribution that the rules leave of scores [V] (logits, minus
// infinity for what may not come), tokens in ascending order. Overwrites scores.
std::int32_t draw_token(std::span<float> scores, const Sampling& sampling, double uniform);

}  // namespace bigbird
