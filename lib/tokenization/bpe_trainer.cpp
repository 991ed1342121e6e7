// What the trainers share; see bpe_trainer.h.
#include "lib/tokenization/bpe_trainer.h"

#include "lib/core/error.h"

namespace bigbird {

void BpeSample::add(std::string_view sentence) {
  if (sentence.empty()) return;
  text_.append(sentence);
  text_.push_back('\n');
  ++sentence_count_;
}

std::unique_ptr<BpeTrainer> make_bpe_trainer(const std::string& name) {
  if (name == "exact") return make_exact_bpe_trainer(PairRule::adjacent);
  if (name == "apart") return make_exact_bpe_trainer(PairRule::apart);
  if (name == "sentencepiece") return make_sentencepiece_bpe_trainer();
  throw_usage(message("`trainer` ") + name + ": there is no such trainer",
              "one of: exact, apart, sentencepiece");
}

}  // namespace bigbird
