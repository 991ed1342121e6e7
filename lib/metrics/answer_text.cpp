// Normalised answers and their overlap; see answer_text.h.
#include "lib/metrics/answer_text.h"

#include <algorithm>
#include <cstddef>

#include "lib/core/unicode.h"

namespace bigbird {
namespace {

bool is_article(std::string_view word) {
  return word == "a" || word == "an" || word == "the";
}

// re.sub(r'\b(a|an|the)\b', ' ', text): a run of word characters that is an article becomes a blank.
std::string without_articles(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  std::size_t word = 0;  // where the run of word characters before the current place begins
  const auto close_word = [&](std::size_t end) {
    const std::string_view run = text.substr(word, end - word);
    result += is_article(run) ? std::string_view(" ") : run;
  };
  for (const CodePoint& c : CodePoints(text)) {
    if (is_word_character(c.value)) continue;
    close_word(c.begin);
    result += text.substr(c.begin, c.end - c.begin);
    word = c.end;
  }
  close_word(text.size());
  return result;
}

NormalizedAnswer join_words(std::string_view text) {
  NormalizedAnswer answer;
  for (const std::string_view word : split_white_space(text)) {
    if (!answer.text.empty()) answer.text += ' ';
    answer.text += word;
    answer.words.emplace_back(word);
  }
  std::sort(answer.words.begin(), answer.words.end());
  return answer;
}

bool is_trivia_quote(char32_t c) {
  return c == 0x2018 || c == 0x2019 || c == 0xB4;
}

}  // namespace

NormalizedAnswer normalize_answer(std::string_view answer) {
  std::string text = lower(answer);
  std::erase_if(text, [](char byte) { return is_ascii_punctuation(static_cast<unsigned char>(byte)); });
  return join_words(without_articles(text));
}

NormalizedAnswer normalize_trivia_answer(std::string_view answer) {
  std::string blanks(answer);
  std::replace(blanks.begin(), blanks.end(), '_', ' ');
  const std::string small = lower(blanks);
  std::string text;
  text.reserve(small.size());
  for (const CodePoint& c : CodePoints(small)) {
    if (is_ascii_punctuation(c.value) || is_trivia_quote(c.value)) {
      text += ' ';
    } else {
      text += std::string_view(small).substr(c.begin, c.end - c.begin);
    }
  }
  return join_words(without_articles(text));
}

WordOverlap word_overlap(const NormalizedAnswer& prediction, const NormalizedAnswer& gold) {
  std::size_t shared = 0;
  for (auto p = prediction.words.begin(), g = gold.words.begin();
       p != prediction.words.end() && g != gold.words.end();) {
    const int order = p->compare(*g);
    if (order == 0) ++shared;
    if (order <= 0) ++p;
    if (order >= 0) ++g;
  }
  if (shared == 0) return {};
  WordOverlap overlap;
  overlap.precision = static_cast<double>(shared) / static_cast<double>(prediction.words.size());
  overlap.recall = static_cast<double>(shared) / static_cast<double>(gold.words.size());
  overlap.f1 = (2 * overlap.precision * overlap.recall) / (overlap.precision + overlap.recall);
  return overlap;
}

}  // namespace bigbird
