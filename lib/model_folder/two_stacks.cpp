// See two_stacks.h.
#include "lib/model_folder/two_stacks.h"

namespace bigbird {
namespace {

// The first pair that `text` has at `at`, replaced; false when there is none.
bool respell(std::string& text, std::size_t at, std::span<const BartName> pairs, BartSide from, BartSide to) {
  for (const BartName& pair : pairs) {
    if (text.compare(at, (pair.*from).size(), pair.*from) != 0) continue;
    text.replace(at, (pair.*from).size(), pair.*to);
    return true;
  }
  return false;
}

}  // namespace

std::string respelt(std::string name, std::span<const BartName> outside, std::span<const BartStack> stacks,
                    BartSide from, BartSide to) {
  if (respell(name, 0, outside, from, to)) return name;
  for (const BartStack& stack : stacks) {
    if (!respell(name, 0, {&stack.layers, 1}, from, to)) continue;
    const std::size_t dot = name.find('.', (stack.layers.*to).size());
    if (dot != std::string::npos) respell(name, dot + 1, stack.parts, from, to);
    return name;
  }
  return name;
}

}  // namespace bigbird
