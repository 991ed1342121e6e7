// Questions of HotpotQA through a fine-tuned model, streamed in order.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "lib/tasks/text/qa/decode_hotpotqa.h"
#include "lib/tasks/text/qa/predictor.h"

namespace bigbird {

class HotpotPredictor : public AnswerPredictor {
 public:
  HotpotPredictor(const AnswerPredictorOptions& options, const HotpotDecoding& decoding,
                  kernels::Backend& backend);

  std::map<std::string, std::string> identity() const override;
  // `done` is called once for the question, in the order of the calls of add, now or later.
  void add(HotpotExample example, std::function<void(const HotpotExample&, const DecodedHotpot&)> done);
  void say(const std::string& path) const override;

 private:
  HotpotDecoding decoding_;
  HotpotEncoder encoder_;
  std::uint64_t left_out_ = 0;  // sentences
};

}  // namespace bigbird
