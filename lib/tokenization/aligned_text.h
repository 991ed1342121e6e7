// A text on its way through the steps of a tokenizer.json, with the place of every byte in the text that was
// given, as the tokenizers package keeps it (NormalizedString): what is put in the place of something has the
// place of its last character, what is put in front that of the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tokenization/text_steps.h"

namespace bigbird {

class AlignedText {
 public:
  AlignedText() = default;
  // The text itself, from byte `origin` of a longer one on; below 4 GB.
  AlignedText(std::string_view text, std::size_t origin);

  const std::string& text() const { return text_; }
  // The place of bytes [begin, end), which are not empty.
  TextRange place(std::size_t begin, std::size_t end) const {
    return {places_[begin].begin, places_[end - 1].end};
  }

  void append(const AlignedText& from, TextRange range);
  // Takes the first bytes away.
  void erase_front(std::size_t bytes);
  void apply(const NormalizerStep& step);
  // What a Metaspace makes of words, ranges that ascend: a text of the words end to end; `words` become their
  // ranges in it. `first`: the first word begins where the whole text does. `goes_on`: it is the rest of one.
  AlignedText with_word_signs(const SplitStep& step, bool first, bool goes_on,
                              std::vector<TextRange>& words) const;

 private:
  struct Place {
    std::uint32_t begin;
    std::uint32_t end;
  };
  // A character and what it is: > 0 a new one, 0 in the place of the next old one, < 0 in the place of that
  // and of so many more behind it.
  struct Change {
    char32_t character;
    int change;
  };

  void strip(bool left, bool right);
  void replace(const TextPattern& pattern, const std::string& content);
  void prepend(const std::string& content);
  void map_characters(const CharacterMap& map);
  void normalize(NormalizerStep::Kind form);
  void apply_bert(const NormalizerStep& step);
  // Each character by what change_of(c, changes) adds for it; nothing: it is taken by the one before it.
  template <typename ChangeOf>
  void change_each(const ChangeOf& change_of);
  void lower();
  void transform(const std::vector<Change>& changes);
  static void add_part(std::string_view before, std::string_view after, std::vector<Change>& changes);

  void append(std::string_view content, Place place);

  std::string text_;
  std::vector<Place> places_;  // by byte of text_
};

}  // namespace bigbird
