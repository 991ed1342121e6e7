// HotpotQA through a model; see predict_hotpotqa.h.
#include "lib/tasks/text/qa/predict_hotpotqa.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "lib/core/log.h"
#include "lib/tasks/text/qa/answer_heads.h"

namespace bigbird {

HotpotPredictor::HotpotPredictor(const AnswerPredictorOptions& options, const HotpotDecoding& decoding,
                                 kernels::Backend& backend)
    : AnswerPredictor(QuestionFormat::hotpotqa, options, backend),
      decoding_(decoding),
      encoder_(tokenizer(), settings().encoding, windows().max_question) {
  check_hotpot_decoding(decoding);
}

std::map<std::string, std::string> HotpotPredictor::identity() const {
  std::map<std::string, std::string> identity = AnswerPredictor::identity();
  identity["max_answer"] = std::to_string(decoding_.max_answer);
  identity["n_best"] = std::to_string(decoding_.n_best);
  identity["support_threshold"] = fmt::format("{}", decoding_.support_threshold);
  return identity;
}

void HotpotPredictor::add(HotpotExample example,
                          std::function<void(const HotpotExample&, const DecodedHotpot&)> done) {
  struct Pending {
    HotpotExample example;
    HotpotInput input;
    std::function<void(const HotpotExample&, const DecodedHotpot&)> done;
  };
  HotpotInput encoded = encoder_.encode(example, windows().length, &unknown());
  count_question(encoded.question_was_cut);
  left_out_ += encoded.left_out;
  const auto pending =
      std::make_shared<const Pending>(Pending{std::move(example), std::move(encoded), std::move(done)});
  run(pending->input.ids, pending->input.types, [this, pending](const SequenceResult& result) {
    const auto& scores = result.token_logits;
    const HotpotLogits logits{scores.at(hotpot_start), scores.at(hotpot_end), scores.at(hotpot_support),
                              result.sequence_logits};
    pending->done(pending->example, decode_hotpot(pending->example, pending->input, logits, decoding_));
  });
}

void HotpotPredictor::say(const std::string& path) const {
  AnswerPredictor::say(path);
  if (left_out_ > 0) {
    log_warning(fmt::format("{}: {} sentences lie beyond {} tokens and were not read", path, left_out_,
                            windows().length));
  }
}

}  // namespace bigbird
