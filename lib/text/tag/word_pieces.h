// The words of a sentence as pieces, and the windows that a long sentence is read in. A word's class is read
// at its first piece (Devlin et al. 2019, section 5.3); each word is encoded by itself, as transformers does
// with is_split_into_words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/text/text_settings.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

// What stands before a word when it is encoded alone, so that its pieces are those of a word among others: a
// blank, of vocabularies that put none there themselves (byte-level BPE).
std::string blank_before_words(const Tokenizer& tokenizer);

// The pieces of each word; none of a word that the tokenizer drops. Safe to call from many threads at once.
std::vector<std::vector<std::int32_t>> pieces_of_words(const Tokenizer& tokenizer, const std::string& before,
                                                       const std::vector<std::string>& words,
                                                       const TextEncodingOptions& encoding,
                                                       UnknownTally* unknown = nullptr);

// A window reads the words [begin, end) and gives classes to [first, last) of them.
struct WordWindow {
  std::size_t begin = 0, end = 0;
  std::size_t first = 0, last = 0;
  bool operator==(const WordWindow&) const = default;
};
// Windows of at most `room` pieces, each of which begins `overlap` pieces before the end of the one before,
// in whole words. Every word gets its class in one window: of two, where it has more pieces to its nearer
// side. A word of more pieces than there is room for is alone in its window.
std::vector<WordWindow> word_windows(const std::vector<std::vector<std::int32_t>>& pieces, std::size_t room,
                                     std::size_t overlap);

// A window as the model reads it: [CLS], the pieces, [SEP]; and the rows of the first pieces of its words
// [first, last), of those that have one.
struct WindowInput {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> rows;
  std::vector<std::size_t> words;  // of each row
};
WindowInput window_input(const std::vector<std::vector<std::int32_t>>& pieces, const WordWindow& window,
                         std::size_t room, const Tokenizer& tokenizer);

// Pieces of a window of `length` tokens. Error{usage} where there is room for none.
std::size_t room_of(std::int64_t length, const Tokenizer& tokenizer);
// The overlap where none is asked for: a quarter of the room.
std::size_t usual_word_overlap(std::size_t room);

}  // namespace bigbird
