// Steps over texts with places; see aligned_text.h. Each does to places what the step of the same name of the
// tokenizers package (0.22) does to its alignments.
#include "lib/tokenization/aligned_text.h"

#include <algorithm>
#include <utility>

#include "lib/core/unicode.h"
#include "lib/core/unicode_bert.h"
#include "lib/tokenization/text_steps.h"

namespace bigbird {

AlignedText::AlignedText(std::string_view text, std::size_t origin) : text_(text) {
  places_.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text, at);
    const Place place{static_cast<std::uint32_t>(origin + at),
                      static_cast<std::uint32_t>(origin + at + length)};
    places_.insert(places_.end(), length, place);
    at += length;
  }
}

void AlignedText::append(const AlignedText& from, TextRange range) {
  text_.append(from.text_, range.begin, range.end - range.begin);
  places_.insert(places_.end(), from.places_.begin() + static_cast<std::ptrdiff_t>(range.begin),
                 from.places_.begin() + static_cast<std::ptrdiff_t>(range.end));
}

void AlignedText::erase_front(std::size_t bytes) {
  text_.erase(0, bytes);
  places_.erase(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(bytes));
}

void AlignedText::append(std::string_view content, Place place) {
  text_ += content;
  places_.insert(places_.end(), content.size(), place);
}

void AlignedText::apply(const NormalizerStep& step) {
  switch (step.kind) {
    case NormalizerStep::Kind::strip:
      return strip(step.strip_left, step.strip_right);
    case NormalizerStep::Kind::replace:
      return replace(step.pattern, step.content);
    case NormalizerStep::Kind::prepend:
      return prepend(step.content);
    case NormalizerStep::Kind::character_map:
      return map_characters(*step.map);
    case NormalizerStep::Kind::lower:
      return lower();
    case NormalizerStep::Kind::bert:
      return apply_bert(step);
    case NormalizerStep::Kind::nfc:
    case NormalizerStep::Kind::nfd:
    case NormalizerStep::Kind::nfkc:
    case NormalizerStep::Kind::nfkd:
      return normalize(step.kind);
  }
}

void AlignedText::strip(bool left, bool right) {
  const std::size_t begin = left ? skip_space(text_, 0) : 0;
  const std::size_t end = right ? std::max(begin, skip_space_back(text_, text_.size())) : text_.size();
  text_.erase(end);
  places_.resize(end);
  erase_front(begin);
}

void AlignedText::replace(const TextPattern& pattern, const std::string& content) {
  auto match = pattern.find(text_, 0);
  if (!match) return;
  AlignedText replaced;
  std::size_t done = 0;
  for (; match; match = pattern.find(text_, done)) {
    replaced.append(*this, {done, match->begin});
    replaced.append(content, places_[match->end - 1]);
    done = match->end;
  }
  replaced.append(*this, {done, text_.size()});
  *this = std::move(replaced);
}

void AlignedText::prepend(const std::string& content) {
  if (text_.empty()) return;
  const Place first = places_[0];
  text_.insert(0, content);
  places_.insert(places_.begin(), content.size(), first);
}

void AlignedText::transform(const std::vector<Change>& changes) {
  AlignedText changed;
  if (text_.empty()) return;
  std::size_t at = 0;  // in the old text
  for (const Change& change : changes) {
    Place place{};
    if (change.change > 0) {
      if (at > 0) place = places_[at - 1];
    } else {
      place = places_[std::min(at, places_.size() - 1)];
      for (int i = 0; i <= -change.change && at < text_.size(); ++i) at += character_length(text_, at);
    }
    std::string character;
    append_utf8(character, change.character);
    changed.append(character, place);
  }
  *this = std::move(changed);
}

// More characters than before are new ones at the end, fewer are taken by the last.
void AlignedText::add_part(std::string_view before, std::string_view after, std::vector<Change>& changes) {
  const auto old_count = static_cast<std::ptrdiff_t>(count_code_points(before));
  const auto count = static_cast<std::ptrdiff_t>(count_code_points(after));
  std::ptrdiff_t number = 0;
  for (const CodePoint& c : CodePoints(after)) {
    const bool last = ++number == count;
    changes.push_back({c.value, number > old_count          ? 1
                                : last && old_count > count ? static_cast<int>(count - old_count)
                                                            : 0});
  }
  // What becomes nothing is taken by the character before it.
  if (count == 0 && !changes.empty()) changes.back().change -= static_cast<int>(old_count);
}

void AlignedText::map_characters(const CharacterMap& map) {
  constexpr std::size_t longest_cluster = 6;  // bytes; longer ones are looked up by character
  std::vector<Change> changes;
  bool modified = false;
  std::size_t dropped_first = 0;
  for_each_grapheme(text_, [&](std::string_view cluster) {
    const auto take = [&](std::string_view part) {
      const auto found = map.find(part);
      if (!found) return false;
      modified = true;
      if (found->empty() && changes.empty()) dropped_first += part.size();
      add_part(part, *found, changes);
      return true;
    };
    if (cluster.size() < longest_cluster && take(cluster)) return;
    for (const CodePoint& c : CodePoints(cluster)) {
      if (!take(cluster.substr(c.begin, c.end - c.begin))) changes.push_back({c.value, 0});
    }
  });
  if (!modified) return;
  erase_front(dropped_first);
  transform(changes);
}

void AlignedText::normalize(NormalizerStep::Kind form) {
  const NormalForm wanted = form == NormalizerStep::Kind::nfc    ? NormalForm::nfc
                            : form == NormalizerStep::Kind::nfd  ? NormalForm::nfd
                            : form == NormalizerStep::Kind::nfkc ? NormalForm::nfkc
                                                                 : NormalForm::nfkd;
  std::vector<Change> changes;
  for_each_normalized(text_, wanted, [&](std::string_view before, const std::string& after) {
    const std::size_t first = changes.size();
    add_part(before, after, changes);
    // Marks are composed with the first character, which takes their places.
    if (changes.size() > first + 1 && changes.back().change < 0) {
      std::swap(changes[first].change, changes.back().change);
    }
  });
  transform(changes);
}

template <typename ChangeOf>
void AlignedText::change_each(const ChangeOf& change_of) {
  std::vector<Change> changes;
  std::size_t dropped_first = 0;
  for (const CodePoint& c : CodePoints(text_)) {
    const std::size_t before = changes.size();
    change_of(c.value, changes);
    if (changes.size() > before) continue;
    if (before == 0) {
      dropped_first = c.end;
    } else {
      --changes.back().change;
    }
  }
  erase_front(dropped_first);
  transform(changes);
}

void AlignedText::apply_bert(const NormalizerStep& step) {
  if (step.cleans) {
    change_each([](char32_t c, std::vector<Change>& changes) {
      if (is_bert_control(c)) return;
      changes.push_back({is_white_space(c) ? U' ' : c, 0});
    });
  }
  if (step.parts_ideographs) {
    change_each([](char32_t c, std::vector<Change>& changes) {
      if (!is_bert_ideograph(c)) return changes.push_back({c, 0});
      changes.insert(changes.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
    });
  }
  if (step.strips_accents) {
    normalize(NormalizerStep::Kind::nfd);
    change_each([](char32_t c, std::vector<Change>& changes) {
      if (!is_bert_accent(c)) changes.push_back({c, 0});
    });
  }
  if (step.lowers) lower();
}

// By character, without a look at its neighbours.
void AlignedText::lower() {
  std::vector<Change> changes;
  for (const CodePoint& c : CodePoints(text_)) {
    add_part(std::string_view(text_).substr(c.begin, c.end - c.begin),
             bigbird::lower(std::string_view(text_).substr(c.begin, c.end - c.begin)), changes);
  }
  transform(changes);
}

AlignedText AlignedText::with_word_signs(const SplitStep& step, bool first, bool goes_on,
                                         std::vector<TextRange>& words) const {
  AlignedText signs;
  std::vector<TextRange> cut;
  for (const TextRange& word : words) {
    const std::size_t begin = signs.text_.size();
    const std::string_view text = std::string_view(text_).substr(word.begin, word.end - word.begin);
    const bool opens = text[0] == ' ' || text.substr(0, step.sign.size()) == step.sign;
    const bool is_first = &word == words.data();
    const bool put =
        !(is_first && goes_on) && (step.prepend == SplitStep::Prepend::always ||
                                   (step.prepend == SplitStep::Prepend::first && is_first && first));
    if (put && !opens) signs.append(step.sign, places_[word.begin]);
    std::size_t done = word.begin;
    for (std::size_t at = word.begin; at < word.end; ++at) {
      if (text_[at] != ' ') continue;
      signs.append(*this, {done, at});
      signs.append(step.sign, places_[at]);
      done = at + 1;
    }
    signs.append(*this, {done, word.end});
    std::size_t from = begin;
    if (step.cuts) {
      for (std::size_t at = signs.text_.find(step.sign, begin + 1); at != std::string::npos;
           at = signs.text_.find(step.sign, at + 1)) {
        cut.push_back({from, at});
        from = at;
      }
    }
    cut.push_back({from, signs.text_.size()});
  }
  words = std::move(cut);
  return signs;
}

}  // namespace bigbird
