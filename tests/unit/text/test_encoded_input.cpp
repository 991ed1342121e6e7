// One text or two as a model reads them: special pieces, what is cut, token types.
#include "lib/text/text_settings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/tiny_text_data.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::first_inner;
using testing::first_word_start;
using testing::tiny_cls;
using testing::tiny_sep;

class InputOfTexts : public ::testing::Test {
 protected:
  InputOfTexts() {
    testing::write_tiny_text_tokenizer(folder_.path());
    tokenizer_ = load_tokenizer(folder_.path().string());
  }
  EncodedInput encode(const std::string& text, const std::optional<std::string>& pair, std::int64_t length,
                      bool second_type = false) const {
    TextSettings settings;
    settings.second_type = second_type;
    return encode_input(*tokenizer_, text, pair ? std::optional<std::string_view>(*pair) : std::nullopt,
                        settings, length);
  }
  testing::TemporaryFolder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(InputOfTexts, SpecialPiecesStandAroundTheTexts) {
  const std::int32_t cls = tiny_cls, sep = tiny_sep, a = first_word_start, b = first_inner + 1;
  EXPECT_EQ(encode("ab a", {}, 64).ids, (std::vector<std::int32_t>{cls, a, b, a, sep}));
  const EncodedInput pair = encode("ab", "a", 64, true);
  EXPECT_EQ(pair.ids, (std::vector<std::int32_t>{cls, a, b, sep, a, sep}));
  EXPECT_EQ(pair.types, (std::vector<std::int32_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_TRUE(encode("ab", "a", 64).types.empty());
  EXPECT_FALSE(pair.cut);
}

TEST_F(InputOfTexts, NamesOfSpecialPiecesAreText) {
  const EncodedInput input = encode("a [SEP] b", {}, 64);
  EXPECT_EQ(std::count(input.ids.begin(), input.ids.end(), static_cast<std::int32_t>(tiny_sep)), 1);
}

TEST_F(InputOfTexts, BlankTextsAreTheSpecialPiecesAlone) {
  const EncodedInput input = encode("  ", {}, 8);
  EXPECT_TRUE(input.blank);
  EXPECT_EQ(input.ids.size(), 2u);
  EXPECT_TRUE(encode("", "", 8).blank);
  EXPECT_FALSE(encode("", "a", 8).blank);
}

// Token by token off the longer text, as transformers' fast tokenizers cut: of two that have become equal off
// the one that was shorter, of two that were equal off the first.
TEST_F(InputOfTexts, PairsLoseTokensOfTheLongerText) {
  for (std::size_t first = 0; first <= 12; ++first) {
    for (std::size_t second = 0; second <= 12; ++second) {
      for (std::int64_t length = 5; length <= 20; ++length) {
        std::size_t a = first, b = second;
        while (a + b + 3 > static_cast<std::size_t>(length)) {
          if (a == b) {
            --(first > second ? b : a);
          } else {
            --(a > b ? a : b);
          }
        }
        const EncodedInput input = encode(std::string(first, 'a'), std::string(second, 'b'), length);
        const auto sep = std::find(input.ids.begin(), input.ids.end(), static_cast<std::int32_t>(tiny_sep));
        EXPECT_EQ(static_cast<std::size_t>(sep - input.ids.begin()), a + 1) << first << " " << second;
        EXPECT_EQ(input.ids.size(), a + b + 3);
        EXPECT_EQ(input.cut, a != first || b != second);
      }
    }
  }
}

TEST_F(InputOfTexts, ATextLosesItsEnd) {
  const EncodedInput input = encode("abcdef", {}, 5);
  EXPECT_TRUE(input.cut);
  EXPECT_EQ(input.ids, (std::vector<std::int32_t>{tiny_cls, first_word_start, first_inner + 1,
                                                  first_inner + 2, tiny_sep}));
  EXPECT_FALSE(encode("abc", {}, 5).cut);
}

TEST_F(InputOfTexts, ALengthWithoutRoomForATokenIsAUsageError) {
  EXPECT_NO_THROW(encode("a", {}, 3));
  EXPECT_NO_THROW(encode("a", "b", 5));
  for (const auto& pair : {std::optional<std::string>(), std::optional<std::string>("b")}) {
    const auto error = testing::error_of([&] { encode("a", pair, pair ? 4 : 2); });
    testing::expect_message(error, "`length`", "no room");
    EXPECT_EQ(error->kind(), ErrorKind::usage);
  }
}

}  // namespace
}  // namespace bigbird
