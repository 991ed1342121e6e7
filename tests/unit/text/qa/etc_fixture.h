// What the checks of BigBird-ETC's questions share: the tokenizer of qa_tokenizer.h with the pieces that
// etcmodel names, and inputs as texts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/text/qa/two_inputs.h"
#include "tests/unit/text/qa/qa_tokenizer.h"

namespace bigbird::testing {

using Numbers = std::vector<std::int32_t>;

class Etc : public QuestionTokenizer {
 protected:
  Etc() { rename({{40, "<unused_39>"}, {41, "<unused_40>"}, {42, "<unused_41>"}, {43, "<unused_42>"}}); }

  // Another vocabulary: pieces by id.
  void rename(const std::map<std::size_t, std::string>& names) {
    const auto path = folder_ / "spiece.model";
    SentencePieceModel model = parse_sentencepiece_model(read_text(path), path.string());
    for (const auto& [id, name] : names) model.pieces.at(id).text = name;
    write_text(path, serialize_sentencepiece_model(model));
    tokenizer_ = load_tokenizer(folder_.path().string());
  }
  static TwoInputs laid_out(const QuestionInput& input) {
    return two_inputs({input.ids.begin(), input.ids.end()}, *input.globals);
  }
  // The pieces with the sign of a word's beginning as '_'.
  std::string words(const Numbers& ids) const {
    std::string text = pieces(ids);
    const std::string sign = "\xE2\x96\x81";
    for (std::size_t at = text.find(sign); at != std::string::npos; at = text.find(sign))
      text.replace(at, sign.size(), "_");
    return text;
  }
  static const Numbers& links(const TwoInputs& inputs, GlobalLink link) {
    return inputs.links[static_cast<std::size_t>(link)];
  }
};

}  // namespace bigbird::testing
