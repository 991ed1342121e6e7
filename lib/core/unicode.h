// Text as Python's str sees it, over UTF-8: what the official scripts of the text data sets do to answers,
// and the positions that their files count in. A position is a code point (an index of a str) or a byte;
// names say which. The tables of characters are those of the ICU that the program runs with. Debian 12's has
// Unicode 15.0, Python 3.11 has 14.0: 4,388 newer letters and numbers are word characters here, lower() is
// the same for all.
//
// Texts are valid UTF-8: readers of files see to that (find_invalid_utf8). Elsewhere every byte that is part
// of no valid character counts as one code point U+FFFD; lower() keeps such bytes, nothing reads past the
// end. Surrogates and what lies above U+10FFFF are not valid.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

// White space of str.split() and str.strip(): U+0009-000D, 001C-0020, 0085, 00A0, 1680, 2000-200A, 2028,
// 2029, 202F, 205F, 3000.
bool is_white_space(char32_t c);
// The 32 signs of Python's string.punctuation.
bool is_ascii_punctuation(char32_t c);
// Categories L*, \p{L} of regular expressions.
bool is_letter(char32_t c);
// Categories N*, \p{N}.
bool is_number(char32_t c);
// \w of Python's re: a letter, a number or '_'. Combining marks are none.
bool is_word_character(char32_t c);

// One code point of a text and its bytes [begin, end).
struct CodePoint {
  char32_t value = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The code point whose first byte is text[at]; at < text.size().
CodePoint code_point_at(std::string_view text, std::size_t at);
// The code point that ends before byte `end` (0 < end <= text.size()).
CodePoint code_point_before(std::string_view text, std::size_t end);

// The code points of a text from left to right: for (const CodePoint& c : CodePoints(text)). The text must
// outlive it.
class CodePoints {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = CodePoint;
    using difference_type = std::ptrdiff_t;
    using pointer = const CodePoint*;
    using reference = const CodePoint&;

    Iterator() = default;
    Iterator(std::string_view text, std::size_t at) : text_(text) { read(at); }
    reference operator*() const { return current_; }
    pointer operator->() const { return &current_; }
    Iterator& operator++() {
      read(current_.end);
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    // Of one text.
    bool operator==(const Iterator& other) const { return current_.begin == other.current_.begin; }

   private:
    void read(std::size_t at) {
      current_ = at < text_.size() ? code_point_at(text_, at) : CodePoint{0, text_.size(), text_.size()};
    }

    std::string_view text_;
    CodePoint current_;
  };

  explicit CodePoints(std::string_view text) : text_(text) {}
  // A temporary text would be gone before the loop begins.
  template <std::same_as<std::string> Text>
  explicit CodePoints(const Text&& text) = delete;
  Iterator begin() const { return {text_, 0}; }
  Iterator end() const { return {text_, text_.size()}; }

 private:
  std::string_view text_;
};

// len(text).
std::size_t count_code_points(std::string_view text);
// A whole text at once, and back. `c` must be a code point that UTF-8 can hold.
std::u32string decode_utf8(std::string_view text);
void append_utf8(std::string& text, char32_t c);
std::string encode_utf8(std::u32string_view code_points);

// The first byte that is part of no valid character; text.size() if there is none.
std::size_t find_invalid_utf8(std::string_view text);

// str.lower(): full mappings (U+0130 becomes "i" and U+0307), and U+03A3 at the end of a word becomes U+03C2.
std::string lower(std::string_view text);

// A to Z alone, whatever the rest of the bytes is.
std::string lower_ascii(std::string_view text);

// str.split(): the stretches between white space, none of them empty. Views into `text`.
std::vector<std::string_view> split_white_space(std::string_view text);
// str.strip(), str.lstrip(): without white space at both ends, at the left end.
std::string_view strip_white_space(std::string_view text);
std::string_view strip_white_space_left(std::string_view text);

// Code points of one text and the bytes that they begin at. ASCII needs no memory, other texts 8 bytes for
// every 64 code points. A code point's byte is found in constant time, a byte's code point in O(log n). The
// text must outlive it, unchanged.
class CodePointIndex {
 public:
  CodePointIndex() = default;
  explicit CodePointIndex(std::string_view text);
  template <std::same_as<std::string> Text>
  explicit CodePointIndex(const Text&& text) = delete;

  // Code points of the text, len(text).
  std::size_t size() const { return size_; }

  // The byte that code point number `code_point` begins at; the bytes of the text for size().
  // Error{bad_input} beyond it.
  std::size_t byte_of(std::size_t code_point) const;
  // The number of the code point that holds byte `byte`; size() for the number of bytes. Error{bad_input}
  // beyond it.
  std::size_t code_point_of(std::size_t byte) const;
  // text[begin:end] of Python for 0 <= begin <= end <= size(): a view into the text.
  std::string_view slice(std::size_t begin, std::size_t end) const;

 private:
  static constexpr std::size_t step = 64;  // code points from one mark to the next

  std::string_view text_;
  std::size_t size_ = 0;
  std::vector<std::size_t> marks_;  // bytes of code points 0, step, 2 step, ...; none for ASCII
};

// Unicode's normalisation forms and grapheme clusters over UTF-8, for the steps of tokenizers that need them.
enum class NormalForm { nfc, nfd, nfkc, nfkd };

// Cuts a text where no normalisation reaches across and hands every part to part(before, after): `before` is
// a view into the text, `after` what the form makes of it.
void for_each_normalized(std::string_view text, NormalForm form,
                         const std::function<void(std::string_view before, const std::string& after)>& part);

// Hands the extended grapheme clusters of a text (UAX 29) to take() in order.
void for_each_grapheme(std::string_view text, const std::function<void(std::string_view)>& take);

}  // namespace bigbird
