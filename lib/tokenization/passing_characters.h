// Characters that a tokenizer.json's normalizer and splits let pass, each by itself and as one character, and
// the places between them at which a text may be cut: what the steps do to one side of such a place does not
// depend on the other. (Words are cut there too; the encoders of words take them in parts.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/tokenization/added_tokens.h"
#include "lib/tokenization/text_steps.h"

namespace bigbird {

class PassingCharacters {
 public:
  // `added` are looked for in the normalised text.
  PassingCharacters(std::vector<NormalizerStep> normalizer, std::vector<SplitStep> splits,
                    std::vector<AddedToken> added);

  // The first such place of the text from byte `from` on (from > 0); nothing where there is none.
  std::optional<std::size_t> find_cut(std::string_view text, std::size_t from) const;
  bool passes(char32_t c) const;

 private:
  bool look(char32_t c) const;

  std::vector<NormalizerStep> normalizer_;
  std::vector<SplitStep> splits_;
  std::vector<AddedToken> added_;
  std::array<bool, 128> ascii_{};
};

}  // namespace bigbird
