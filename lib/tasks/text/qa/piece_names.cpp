// Pieces by name; see piece_names.h.
#include "lib/tasks/text/qa/piece_names.h"

#include <cstddef>

#include "lib/core/error.h"

namespace bigbird {

std::uint32_t piece_named(const Tokenizer& tokenizer, const std::string& name) {
  for (std::size_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const auto number = static_cast<std::uint32_t>(id);
    if (tokenizer.piece(number) == name) return number;
  }
  throw_bad_input("the vocabulary has no piece " + name + ", which marks a part of the input",
                  "take the vocabulary of a published BigBird, or one made by text vocabulary");
}

}  // namespace bigbird
