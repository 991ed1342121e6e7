// What a model with a masked-token head puts in the place of masked tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/inference/sequence_runner.h"

namespace bigbird {

struct Guess {
  std::uint32_t id = 0;
  double probability = 0;
};

struct FilledMask {
  std::size_t token = 0;          // its index among the tokens given, without [CLS]
  double actual_probability = 0;  // of the token that stood there
  // The most probable first; equal ones by id. Rows of the vocabulary that stand for no piece take part in
  // the probabilities, as in transformers, and are no guesses.
  std::vector<Guess> guesses;
};

class MaskFiller {
 public:
  // Error{bad_input} for a model without a masked-token head. At most `top` guesses for every token.
  MaskFiller(const std::string& model_folder, std::size_t top, kernels::Backend& backend);

  const Tokenizer& tokenizer() const { return runner_.tokenizer(); }
  const ModelFolder& folder() const { return runner_.folder(); }

  // One call of the model on [CLS] tokens [SEP] with the tokens `masked` (ascending) masked all at once.
  // Error{bad_input} "WHERE: ..." when it is longer than the model takes.
  std::vector<FilledMask> fill(const std::vector<std::uint32_t>& tokens,
                               const std::vector<std::size_t>& masked, const std::string& where);
  // Every token once, but for special ones: in call k the tokens k, k + every, k + 2 every ... are masked.
  std::vector<FilledMask> fill_in_turn(const std::vector<std::uint32_t>& tokens, std::size_t every,
                                       const std::string& where);

 private:
  void start(const std::vector<std::int32_t>& ids, const std::vector<std::size_t>& masked,
             std::vector<FilledMask>& filled);

  std::size_t top_;
  SequenceRunner runner_;
};

}  // namespace bigbird
