// Occurrences of an answer's names; see aliases.h.
#include "lib/text/qa/triviaqa/aliases.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "lib/core/unicode.h"

namespace bigbird {
namespace {

// What TriviaQA's evaluation makes a blank: '_', Python's string.punctuation, and four quotation marks
// (U+2018, U+2019, U+00B4, U+0060).
bool separates_words(char32_t c) {
  return is_white_space(c) || is_ascii_punctuation(c) || c == 0x2018 || c == 0x2019 || c == 0xB4;
}

bool is_trivia_article(std::string_view word) {
  return word == "a" || word == "an" || word == "the";
}

// Small letters, whatever follows in the text: the two small sigmas are one here, because a word that is cut
// out has another end than in its sentence.
std::string comparable(std::string_view word) {
  constexpr std::string_view final_sigma = "\xCF\x82";
  constexpr std::string_view small_sigma = "\xCF\x83";
  std::string small = lower(word);
  for (std::size_t at = small.find(final_sigma); at != std::string::npos; at = small.find(final_sigma, at)) {
    small[at + 1] = small_sigma[1];
  }
  return small;
}

// Collects the words of a text code point by code point.
class WordCollector {
 public:
  explicit WordCollector(std::string_view text) : text_(text) {}

  // An article goes even where a sign stands next to it ("the\u2013a"): regular expressions end a word there.
  void take(const CodePoint& c, std::size_t number) {
    const bool inside = is_word_character(c.value);
    if (separates_words(c.value)) {
      end_stretch(c.begin, number);
      end_word();
      return;
    }
    if (stretch_is_word_ != inside) end_stretch(c.begin, number);
    if (stretch_begin_ == none) {
      stretch_begin_ = c.begin;
      stretch_number_ = number;
      stretch_is_word_ = inside;
    }
  }
  std::vector<NormalizedWord> finish(std::size_t code_points) {
    end_stretch(text_.size(), code_points);
    end_word();
    return std::move(words_);
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  void end_stretch(std::size_t byte, std::size_t number) {
    if (stretch_begin_ == none) return;
    const std::string_view stretch = text_.substr(stretch_begin_, byte - stretch_begin_);
    if (stretch_is_word_ && is_trivia_article(lower(stretch))) {
      end_word();
    } else {
      if (word_begin_ == none) {
        word_begin_ = stretch_begin_;
        span_.begin = stretch_number_;
      }
      word_end_ = byte;
      span_.end = number;
    }
    stretch_begin_ = none;
  }

  void end_word() {
    if (word_begin_ == none) return;
    words_.push_back({comparable(text_.substr(word_begin_, word_end_ - word_begin_)), span_});
    word_begin_ = none;
  }

  std::string_view text_;
  std::vector<NormalizedWord> words_;
  // The word that is being read, and in it the stretch of letters and digits, or of other signs.
  std::size_t word_begin_ = none;
  std::size_t word_end_ = 0;
  TextSpan span_;
  std::size_t stretch_begin_ = none;
  std::size_t stretch_number_ = 0;
  bool stretch_is_word_ = false;
};

}  // namespace

std::vector<NormalizedWord> normalized_words(std::string_view text) {
  WordCollector collector(text);
  std::size_t number = 0;
  for (const CodePoint& c : CodePoints(text)) collector.take(c, number++);
  return collector.finish(number);
}

std::vector<TextSpan> AliasFinder::find(std::span<const std::string> aliases, std::size_t most) const {
  // Names by their first word.
  std::unordered_map<std::string, std::vector<std::vector<NormalizedWord>>> names;
  for (const std::string& alias : aliases) {
    std::vector<NormalizedWord> words = normalized_words(alias);
    if (!words.empty()) names[words.front().text].push_back(std::move(words));
  }
  std::vector<TextSpan> found;
  const auto same = [](const NormalizedWord& a, const NormalizedWord& b) { return a.text == b.text; };
  for (std::size_t at = 0; at < words_.size(); ++at) {
    const auto candidates = names.find(words_[at].text);
    if (candidates == names.end()) continue;
    for (const auto& name : candidates->second) {
      if (name.size() > words_.size() - at) continue;
      const auto first = words_.begin() + static_cast<std::ptrdiff_t>(at);
      if (!std::equal(name.begin(), name.end(), first, same)) continue;
      found.push_back({words_[at].span.begin, words_[at + name.size() - 1].span.end});
    }
  }
  std::sort(found.begin(), found.end(), [](const TextSpan& a, const TextSpan& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() > most) found.resize(most);
  return found;
}

PositionSets position_sets(const ContextTokens& context, const ContextWindow& window,
                           std::size_t question_tokens, std::span<const TextSpan> answers) {
  PositionSets sets;
  for (const TextSpan& answer : answers) {
    const SpanLabel label = span_label(context, window, question_tokens, answer);
    if (label.start == 0) continue;
    sets.starts.push_back(label.start);
    sets.ends.push_back(label.end);
  }
  for (std::vector<std::size_t>* side : {&sets.starts, &sets.ends}) {
    std::sort(side->begin(), side->end());
    side->erase(std::unique(side->begin(), side->end()), side->end());
  }
  return sets;
}

}  // namespace bigbird
