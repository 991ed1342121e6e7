// See word_pieces.h.
#include "lib/text/tag/word_pieces.h"

#include <algorithm>
#include <span>

#include "lib/core/error.h"

namespace bigbird {

std::string blank_before_words(const Tokenizer& tokenizer) {
  if (!tokenizer.within_words().empty()) return {};
  for (const char* before : {"", " "}) {
    std::vector<std::uint32_t> ids;
    tokenizer.encode(std::string(before) + "a", ids);
    if (!ids.empty() && tokenizer.piece(ids.front()).starts_with(tokenizer.word_start())) return before;
  }
  return {};
}

std::vector<std::vector<std::int32_t>> pieces_of_words(const Tokenizer& tokenizer, const std::string& before,
                                                       const std::vector<std::string>& words,
                                                       const TextEncodingOptions& encoding,
                                                       UnknownTally* unknown) {
  std::vector<std::vector<std::int32_t>> pieces;
  for (const std::string& word : words) {
    EncodedText encoded;
    if (!word.empty()) encoded = encode_text(tokenizer, before + word, encoding);
    if (unknown != nullptr) unknown->add(encoded);
    pieces.emplace_back(encoded.ids.begin(), encoded.ids.end());
  }
  return pieces;
}

std::vector<WordWindow> word_windows(const std::vector<std::vector<std::int32_t>>& pieces, std::size_t room,
                                     std::size_t overlap) {
  std::vector<std::size_t> ends;  // pieces up to the end of each word
  for (const std::vector<std::int32_t>& word : pieces)
    ends.push_back(std::min(word.size(), room) + (ends.empty() ? 0 : ends.back()));
  const auto before = [&](std::size_t word) { return word == 0 ? 0 : ends[word - 1]; };
  std::vector<WordWindow> windows;
  for (std::size_t begin = 0; begin < pieces.size();) {
    std::size_t end = begin + 1;
    while (end < pieces.size() && ends[end] - before(begin) <= room) ++end;
    WordWindow window{begin, end, begin, end};
    if (!windows.empty()) {
      // Words that both read: those nearer to the new window's begin stay with the old one.
      WordWindow& last = windows.back();
      std::size_t border = begin;
      while (border < last.end && before(border) - before(begin) < ends[last.end - 1] - ends[border])
        ++border;
      last.last = window.first = border;
    }
    windows.push_back(window);
    if (end == pieces.size()) break;
    std::size_t next = end;
    // The word that did not fit is in the next window.
    const auto shares = [&](std::size_t word) {
      return ends[end - 1] - before(word) <= overlap && ends[end] - before(word) <= room;
    };
    while (next > begin + 1 && shares(next - 1)) --next;
    begin = next;
  }
  return windows;
}

WindowInput window_input(const std::vector<std::vector<std::int32_t>>& pieces, const WordWindow& window,
                         std::size_t room, const Tokenizer& tokenizer) {
  WindowInput input;
  std::vector<std::int32_t> all;
  for (std::size_t word = window.begin; word < window.end; ++word) {
    const std::vector<std::int32_t>& of = pieces[word];
    if (!of.empty() && word >= window.first && word < window.last) {
      input.rows.push_back(static_cast<std::int32_t>(all.size()) + 1);
      input.words.push_back(word);
    }
    all.insert(all.end(), of.begin(), of.begin() + static_cast<std::ptrdiff_t>(std::min(of.size(), room)));
  }
  input.ids = between_special_pieces(std::span<const std::int32_t>(all), tokenizer.special());
  return input;
}

std::size_t room_of(std::int64_t length, const Tokenizer& tokenizer) {
  const auto around = static_cast<std::int64_t>(tokenizer.special().around());
  if (length <= around) {
    throw_usage(message("`length` {}: no room for a token next to [CLS] and [SEP]", length),
                "the usual values are 128 to 4096");
  }
  return static_cast<std::size_t>(length - around);
}

std::size_t usual_word_overlap(std::size_t room) {
  return room / 4;
}

}  // namespace bigbird
