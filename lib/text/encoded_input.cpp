// Texts as a model reads them; see encoded_input.h.
#include "lib/text/encoded_input.h"

#include <algorithm>
#include <cstddef>

#include "lib/core/error.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

EncodedInput encode_input(const Tokenizer& tokenizer, std::string_view text,
                          std::optional<std::string_view> pair, const TextSettings& settings,
                          std::int64_t length, UnknownTally* unknown) {
  const std::int64_t special = pair ? 3 : 2;
  if (length < special + (pair ? 2 : 1)) {
    throw_usage(message("`length` {}: no room for a token beside [CLS] and [SEP]", length),
                "the usual values are 128 to 4096");
  }
  const auto room = static_cast<std::size_t>(length - special);
  EncodedText first, second;
  // One more than there is room for tells that a text is cut.
  for (std::size_t least = room + 1;; least *= 4) {
    first = encode_text_begin(tokenizer, text, settings.encoding, least);
    if (pair) second = encode_text_begin(tokenizer, *pair, settings.encoding, least);
    // Which of two long texts is the longer one is known once one of them has been read to its end.
    if (!pair || first.whole || second.whole) break;
  }
  if (unknown != nullptr) {
    unknown->add(first);
    if (pair) unknown->add(second);
  }
  EncodedInput input;
  input.blank = first.ids.empty() && second.ids.empty();
  std::size_t a = first.ids.size(), b = second.ids.size();
  if (a + b > room) {
    input.cut = true;
    // The longer one down to the shorter; then to a half each, and an odd token to the longer.
    const bool first_is_longer = a > b;
    std::size_t& longer = first_is_longer ? a : b;
    std::size_t& shorter = first_is_longer ? b : a;
    shorter = std::min(shorter, room / 2);
    longer = room - shorter;
  }
  const auto append = [&](const std::vector<std::uint32_t>& ids, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) input.ids.push_back(static_cast<std::int32_t>(ids[i]));
    input.ids.push_back(static_cast<std::int32_t>(tokenizer.special().sep));
  };
  input.ids.reserve(a + b + static_cast<std::size_t>(special));
  input.ids.push_back(static_cast<std::int32_t>(tokenizer.special().cls));
  append(first.ids, a);
  if (pair) {
    const std::size_t begin = input.ids.size();
    append(second.ids, b);
    if (settings.second_type) {
      input.types.assign(input.ids.size(), 0);
      std::fill(input.types.begin() + static_cast<std::ptrdiff_t>(begin), input.types.end(), 1);
    }
  }
  return input;
}

}  // namespace bigbird
