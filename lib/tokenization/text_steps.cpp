// Normalisation and splitting of texts, and a walk over a table of characters; see text_steps.h.
#include "lib/tokenization/text_steps.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr std::string_view base64_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::uint32_t unit_at(std::string_view bytes, std::size_t at) {
  std::uint32_t unit = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    unit |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return unit;
}

// darts-clone's fields of a unit.
bool has_leaf(std::uint32_t unit) {
  return ((unit >> 8) & 1) == 1;
}
std::uint32_t leaf_value(std::uint32_t unit) {
  return unit & 0x7fffffffu;
}
std::uint32_t label_of(std::uint32_t unit) {
  return unit & 0x800000ffu;
}
std::uint32_t offset_of(std::uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200u) >> 6);
}

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

// The code point of the character of `length` bytes at `at`; a byte that is no UTF-8 is U+FFFD.
std::uint32_t code_point(std::string_view text, std::size_t at, std::size_t length) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (length == 1) return byte(0) < 0x80 ? byte(0) : 0xfffd;
  std::uint32_t point = byte(0) & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) point = point << 6 | (byte(i) & 0x3fu);
  return point;
}

// Unicode's White_Space property, first and last.
constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 10> white_space_ranges{{{0x09, 0x0d},
                                                                                      {0x20, 0x20},
                                                                                      {0x85, 0x85},
                                                                                      {0xa0, 0xa0},
                                                                                      {0x1680, 0x1680},
                                                                                      {0x2000, 0x200a},
                                                                                      {0x2028, 0x2029},
                                                                                      {0x202f, 0x202f},
                                                                                      {0x205f, 0x205f},
                                                                                      {0x3000, 0x3000}}};

bool is_among(std::uint32_t point, std::span<const std::pair<std::uint32_t, std::uint32_t>> ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const auto& range) { return point >= range.first && point <= range.second; });
}

bool is_space(std::uint32_t point) {
  return is_among(point, white_space_ranges);
}

bool is_ascii(char byte) {
  return static_cast<unsigned char>(byte) < 0x80;
}

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

}  // namespace

CharacterMap::CharacterMap(std::string_view bytes, const std::string& where) : bytes_(bytes) {
  const std::size_t size = bytes_.size() < 4 ? 0 : unit_at(bytes_, 0);
  if (size == 0 || size % 4 != 0 || size > bytes_.size() - 4) {
    throw_bad_input(where + ": its table of characters is damaged", "copy the file again");
  }
  for (std::size_t at = 4; at < size + 4; at += 4) units_.push_back(unit_at(bytes_, at));
  texts_ = std::string_view(bytes_).substr(size + 4);
}

std::optional<std::string_view> CharacterMap::find(std::string_view text) const {
  std::uint32_t node = offset_of(units_[0]);
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte == 0) return std::nullopt;
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) return std::nullopt;
    const std::uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) return std::nullopt;
    const std::uint32_t begin = leaf_value(units_[node]);
    if (begin >= texts_.size()) return std::nullopt;
    return texts_.substr(begin, texts_.find('\0', begin) - begin);
  }
  return std::nullopt;
}

std::optional<std::string> decode_base64(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (const char letter : text) {
    const std::size_t value = base64_letters.find(letter);
    if (value == std::string_view::npos) return std::nullopt;
    held = (held << 6 | static_cast<std::uint32_t>(value)) & 0xffffffu;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 0xff);
  }
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t held = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    for (std::size_t i = 0; i < 3; ++i) {
      held = held << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= count ? base64_letters[held >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

// Reads the regular expressions of text_steps.h; every step returns false at what it does not know.
class RunParser {
 public:
  explicit RunParser(std::string_view expression) : rest_(expression) {}

  bool parse(TextPattern& pattern) {
    pattern.at_begin_ = take_word("\\A");
    if (!parse_set(pattern) || !parse_count(pattern.least_, pattern.most_)) return false;
    pattern.at_end_ = take_word("\\z");
    return rest_.empty();
  }

 private:
  bool take_word(std::string_view wanted) {
    if (rest_.substr(0, wanted.size()) != wanted) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }
  bool take(char wanted) { return take_word(std::string_view(&wanted, 1)); }

  // A character; those of `special` only behind a backslash, which may stand before punctuation only, because
  // \d and \w are classes.
  bool take_character(std::string_view special, std::uint32_t& character) {
    const bool escaped = take('\\');
    if (rest_.empty()) return false;
    const std::size_t length = character_length(rest_, 0);
    character = code_point(rest_, 0, length);
    const char first = rest_[0];
    rest_.remove_prefix(length);
    if (!is_ascii(first)) return !escaped && length > 1;
    constexpr std::string_view letters = "ntr", controls = "\n\t\r";
    if (const std::size_t control = letters.find(first); escaped && control != std::string_view::npos) {
      character = static_cast<unsigned char>(controls[control]);
      return true;
    }
    if (!escaped) return special.find(first) == std::string_view::npos;
    const bool word = is_digit(first) || ((first | 0x20) >= 'a' && (first | 0x20) <= 'z');
    return !word;
  }

  static void add(TextPattern& pattern, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t c = first; c <= std::min<std::uint32_t>(last, 0x7f); ++c) pattern.set_[c] = true;
    if (last > 0x7f) pattern.ranges_.emplace_back(std::max<std::uint32_t>(first, 0x80), last);
  }

  bool parse_set(TextPattern& pattern) {
    std::uint32_t first = 0;
    if (take_word("\\s")) {
      for (const auto& [begin, end] : white_space_ranges) add(pattern, begin, end);
      return true;
    }
    if (!take('[')) {
      if (!take_character(".^$*+?()[]{}|", first)) return false;
      add(pattern, first, first);
      return true;
    }
    pattern.negated_ = take('^');
    do {
      if (!take_character("[]^-&", first)) return false;
      std::uint32_t last = first;
      if (take('-') && !take_character("[]^-&", last)) return false;
      if (first > last) return false;
      add(pattern, first, last);
    } while (!take(']'));
    if (pattern.negated_) {
      for (bool& member : pattern.set_) member = !member;
    }
    return true;
  }

  bool take_number(std::size_t& number) {
    if (rest_.empty() || !is_digit(rest_[0])) return false;
    number = 0;
    while (!rest_.empty() && is_digit(rest_[0])) {
      number = number * 10 + static_cast<std::size_t>(rest_[0] - '0');
      if (number > 1'000'000) return false;
      rest_.remove_prefix(1);
    }
    return true;
  }

  bool parse_count(std::size_t& least, std::size_t& most) {
    if (take('+')) {
      most = unlimited;
      return true;
    }
    if (!take('{')) return true;
    if (!take_number(least) || least == 0) return false;
    most = least;
    if (take(',') && !take_number(most)) most = unlimited;
    return take('}') && most >= least;
  }

  std::string_view rest_;
};

std::size_t character_length(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t length = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
  if (length > text.size() - at) return 1;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return 1;
  }
  return length;
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const std::size_t length = character_length(text, at);
    if (!is_space(code_point(text, at, length))) break;
    at += length;
  }
  return at;
}

std::size_t skip_space_back(std::string_view text, std::size_t at) {
  while (at > 0) {
    std::size_t begin = at - 1;
    while (begin > 0 && at - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    if (character_length(text, begin) != at - begin || !is_space(code_point(text, begin, at - begin))) break;
    at = begin;
  }
  return at;
}

TextPattern TextPattern::literal(std::string text) {
  TextPattern pattern;
  pattern.literal_ = std::move(text);
  return pattern;
}

std::optional<TextPattern> TextPattern::regular_expression(std::string_view expression) {
  TextPattern pattern;
  if (!RunParser(expression).parse(pattern)) return {};
  pattern.expression_ = expression;
  return pattern;
}

bool TextPattern::matches_character(std::string_view text, std::size_t at, std::size_t length) const {
  if (length == 1 && is_ascii(text[at])) return set_[static_cast<unsigned char>(text[at])];
  return is_among(code_point(text, at, length), ranges_) != negated_;
}

bool TextPattern::holds(std::string_view character) const {
  if (!literal_.empty()) return literal_.find(character) != std::string::npos;
  return matches_character(character, 0, character.size());
}

bool TextPattern::occurs_among(std::string_view characters) const {
  if (!literal_.empty()) return literal_.find_first_not_of(characters) == std::string::npos;
  return std::any_of(characters.begin(), characters.end(),
                     [&](char character) { return set_[static_cast<unsigned char>(character)]; });
}

std::optional<TextRange> TextPattern::find(std::string_view text, std::size_t from) const {
  if (!literal_.empty()) {
    const std::size_t found = text.find(literal_, from);
    if (found == std::string_view::npos) return {};
    return TextRange{found, found + literal_.size()};
  }
  while (from < text.size()) {
    if (at_begin_ && from > 0) return {};
    std::size_t end = from;
    std::size_t count = 0;
    while (end < text.size() && count < most_) {
      const std::size_t length = character_length(text, end);
      if (!matches_character(text, end, length)) break;
      end += length;
      ++count;
    }
    if (count >= least_) {
      if (!at_end_ || end == text.size()) return TextRange{from, end};
      // A run that goes on to the end may be longer than what is looked for: then its last characters are it.
      if (count == most_) {
        from += character_length(text, from);
        continue;
      }
    }
    if (at_begin_) return {};
    // No match can begin inside a run that is too short, nor at the character that ended it.
    from = end < text.size() ? end + character_length(text, end) : end;
  }
  return {};
}

TracedText::TracedText(std::string_view text, std::size_t origin)
    : text_(text), stretches_{{0, origin, true}} {}

std::size_t TracedText::origin(std::size_t at, std::size_t& cursor) const {
  while (cursor + 1 < stretches_.size() && stretches_[cursor + 1].begin <= at) ++cursor;
  const Stretch& stretch = stretches_[cursor];
  return stretch.copied ? stretch.origin + (at - stretch.begin) : stretch.origin;
}

void TracedText::append(const TracedText& from, TextRange range) {
  if (range.begin == range.end) return;
  const auto after = std::upper_bound(from.stretches_.begin(), from.stretches_.end(), range.begin,
                                      [](std::size_t at, const Stretch& next) { return at < next.begin; });
  for (auto stretch = after - 1; stretch != from.stretches_.end() && stretch->begin < range.end; ++stretch) {
    const std::size_t begin = std::max(stretch->begin, range.begin);
    const std::size_t skipped = stretch->copied ? begin - stretch->begin : 0;
    stretches_.push_back({text_.size() + begin - range.begin, stretch->origin + skipped, stretch->copied});
  }
  text_.append(from.text_, range.begin, range.end - range.begin);
}

void TracedText::strip(bool left, bool right) {
  const std::size_t begin = left ? skip_space(text_, 0) : 0;
  const std::size_t end = right ? std::max(begin, skip_space_back(text_, text_.size())) : text_.size();
  if (begin == 0 && end == text_.size()) return;
  TracedText stripped;
  stripped.append(*this, {begin, end});
  *this = std::move(stripped);
}

void TracedText::replace(const TextPattern& pattern, const std::string& content) {
  auto match = pattern.find(text_, 0);
  if (!match) return;
  TracedText replaced;
  std::size_t done = 0;
  std::size_t cursor = 0;
  for (; match; match = pattern.find(text_, done)) {
    replaced.append(*this, {done, match->begin});
    if (!content.empty()) {
      replaced.stretches_.push_back({replaced.text_.size(), origin(match->begin, cursor), false});
      replaced.text_ += content;
    }
    done = match->end;
  }
  replaced.append(*this, {done, text_.size()});
  *this = std::move(replaced);
}

std::vector<TextRange> split_words(std::string_view text, const std::vector<TextRange>& words,
                                   const SplitStep& step) {
  std::vector<TextRange> cut;
  const auto add = [&](std::size_t begin, std::size_t end) {
    if (begin < end) cut.push_back({begin, end});
  };
  for (const TextRange& word : words) {
    const std::string_view up_to_end = text.substr(0, word.end);
    std::size_t done = word.begin;
    for (auto match = step.pattern.find(up_to_end, done); match; match = step.pattern.find(up_to_end, done)) {
      add(done, match->begin);
      if (step.keep_matches) add(match->begin, match->end);
      done = match->end;
    }
    add(done, word.end);
  }
  return cut;
}

}  // namespace bigbird
