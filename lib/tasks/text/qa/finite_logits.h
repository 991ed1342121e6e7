// What decoding begins with: logits that are numbers, as many as the input has tokens.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

namespace bigbird {

// Error{runtime} opening with `where`, the question: a span that has not `size` values, a NaN or an infinity.
void require_finite_logits(std::initializer_list<std::span<const float>> logits, std::size_t size,
                           const std::string& where);

}  // namespace bigbird
