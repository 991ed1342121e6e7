// Which characters pass, step by step; see passing_characters.h.
#include "lib/tokenization/passing_characters.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/core/unicode.h"
#include "lib/core/unicode_bert.h"
#include "lib/core/unicode_borders.h"
#include "lib/tokenization/aligned_text.h"

namespace bigbird {
namespace {

std::optional<NormalForm> form_of(const NormalizerStep& step) {
  switch (step.kind) {
    case NormalizerStep::Kind::bert:
      return step.strips_accents ? std::optional(NormalForm::nfd) : std::nullopt;
    case NormalizerStep::Kind::nfc:
      return NormalForm::nfc;
    case NormalizerStep::Kind::nfd:
      return NormalForm::nfd;
    case NormalizerStep::Kind::nfkc:
      return NormalForm::nfkc;
    case NormalizerStep::Kind::nfkd:
      return NormalForm::nfkd;
    default:
      return std::nullopt;
  }
}

// White space of any of the rules that look for it.
bool is_space_somewhere(std::string_view character) {
  return skip_space(character, 0) > 0 || is_white_space(code_point_at(character, 0).value);
}

}  // namespace

PassingCharacters::PassingCharacters(std::vector<NormalizerStep> normalizer, std::vector<SplitStep> splits,
                                     std::vector<AddedToken> added)
    : normalizer_(std::move(normalizer)), splits_(std::move(splits)), added_(std::move(added)) {
  for (char32_t c = 0; c < ascii_.size(); ++c) ascii_[c] = look(c);
}

bool PassingCharacters::passes(char32_t c) const {
  return c < ascii_.size() ? ascii_[c] : look(c);
}

bool PassingCharacters::look(char32_t c) const {
  std::string now;
  append_utf8(now, c);
  // At every step one character, at which clusters and normalisation begin and end, and which is no space.
  const auto is_apart = [&](std::optional<NormalForm> form) {
    const CodePoint only = code_point_at(now, 0);
    return only.end == now.size() && is_plain_in_graphemes(only.value) && !is_space_somewhere(now) &&
           (!form || normalization_begins_at(only.value, *form));
  };
  for (const NormalizerStep& step : normalizer_) {
    if (!is_apart(form_of(step))) return false;
    if (step.kind == NormalizerStep::Kind::replace && step.pattern.holds(now)) return false;
    if (step.kind == NormalizerStep::Kind::prepend) continue;
    AlignedText text(now, 0);
    text.apply(step);
    now = text.text();
    if (now.empty()) return false;
  }
  if (!is_apart(std::nullopt)) return false;
  for (const SplitStep& split : splits_) {
    if (split.kind == SplitStep::Kind::pattern && split.pattern.holds(now)) return false;
    if (split.kind == SplitStep::Kind::punctuation && is_bert_punctuation(code_point_at(now, 0).value))
      return false;
    if (split.kind == SplitStep::Kind::metaspace && split.sign.find(now) != std::string::npos) return false;
  }
  return std::none_of(added_.begin(), added_.end(),
                      [&](const AddedToken& token) { return token.text.find(now) != std::string::npos; });
}

// Between the middle two of four characters that pass: the outer two keep marks and joiners from them.
std::optional<std::size_t> PassingCharacters::find_cut(std::string_view text, std::size_t from) const {
  std::size_t count = 0;
  std::size_t before = 0;  // where the last character begins
  while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80) ++from;
  for (const CodePoint& c : CodePoints(text.substr(from))) {
    count = passes(c.value) ? count + 1 : 0;
    if (count == 4) return from + before;
    before = c.begin;
  }
  return std::nullopt;
}

}  // namespace bigbird
