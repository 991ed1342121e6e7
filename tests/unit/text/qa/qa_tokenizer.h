// The tokenizer of the tests of questions: tests/golden's SentencePiece model with the layout of Google's,
// words of a few English sentences, every ASCII sign, the special pieces of BigBird.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "tests/support/support.h"

namespace bigbird::testing {

class QuestionTokenizer : public ::testing::Test {
 protected:
  QuestionTokenizer() {
    const auto golden = source_dir() / "tests/golden/tokenizer_google_layout.model";
    SentencePieceModel model = parse_sentencepiece_model(read_text(golden), golden.string());
    // Names of the published vocabulary that the golden file does not have.
    model.pieces.at(36).text = "<unused_35>";
    model.pieces.at(37).text = "<unused_36>";
    model.pieces.at(63).text = "<t>";
    write_text(folder_ / "spiece.model", serialize_sentencepiece_model(model));
    tokenizer_ = load_tokenizer(folder_.path().string());
  }

  std::string write(const std::string& text, const std::string& name = "own.json") const {
    write_text(folder_ / name, text);
    return (folder_ / name).string();
  }
  // The pieces of an input, one blank between two.
  template <typename Ids>
  std::string pieces(const Ids& ids) const {
    std::string text;
    for (const auto id : ids)
      text += (text.empty() ? "" : " ") + tokenizer_->piece(static_cast<std::uint32_t>(id));
    return text;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace bigbird::testing
