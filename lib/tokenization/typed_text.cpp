// Typed text; see typed_text.h.
#include "lib/tokenization/typed_text.h"
#include "lib/tokenization/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "lib/core/error.h"
#include "lib/io/genome/base_letters.h"
#include "lib/tokenization/added_tokens.h"
#include "lib/tokenization/text_steps.h"

namespace bigbird {
namespace {

constexpr std::size_t least_bases = 10;
constexpr std::ptrdiff_t least_different_bases = 3;

// The special pieces by name; each takes the white space around it along.
AddedTokenFinder special_pieces(const Tokenizer& tokenizer) {
  const SpecialIds& ids = tokenizer.special();
  std::vector<AddedToken> tokens;
  for (const std::uint32_t id : {ids.pad, ids.unknown, ids.cls, ids.sep, ids.mask}) {
    if (std::any_of(tokens.begin(), tokens.end(), [&](const AddedToken& known) { return known.id == id; }))
      continue;  // [SEP] of a vocabulary without one
    AddedToken token;
    token.text = tokenizer.piece(id);
    token.id = id;
    token.strips_left = token.strips_right = true;
    tokens.push_back(std::move(token));
  }
  return AddedTokenFinder(tokens);
}

TextRange without_blanks(std::string_view text, TextRange range) {
  const std::size_t begin = std::min(skip_space(text, range.begin), range.end);
  return {begin, std::max(begin, skip_space_back(text, range.end))};
}

bool is_sequence_of_bases(std::string_view text) {
  if (text.size() < least_bases) return false;
  std::string letters(text);
  const BasesRead read = read_bases(letters);
  if (read.bad != std::string_view::npos || read.replaced > 0) return false;
  constexpr std::string_view bases = "ACGT";
  return std::count_if(bases.begin(), bases.end(), [&](char base) {
           return letters.find(base) != std::string::npos;
         }) >= least_different_bases;
}

}  // namespace

TypedDna read_typed_dna(std::string_view text, const Tokenizer& tokenizer, const std::string& where) {
  TypedDna dna;
  const auto append = [&](std::string_view piece, std::size_t origin, std::size_t step) {
    dna.text += piece;
    for (std::size_t i = 0; i < piece.size(); ++i) {
      dna.origins.push_back(static_cast<std::uint32_t>(origin + i * step));
    }
  };
  special_pieces(tokenizer).split(text, [&](TextRange range, std::optional<std::uint32_t> id) {
    if (id) {
      append(tokenizer.piece(*id), skip_space(text, range.begin), 0);
      return;
    }
    range = without_blanks(text, range);
    std::string letters(text.substr(range.begin, range.end - range.begin));
    const BasesRead read = read_bases(letters);
    if (read.bad != std::string_view::npos) {
      const std::size_t at = range.begin + read.bad;
      throw_bad_input(
          fmt::format("{}: '{}' in column {} is not a base, and the tokenizer is one of DNA", where,
                      text_for_message(text.substr(at, character_length(text, at))), at + 1),
          fmt::format("write bases, and {} where it is wanted; words need a model that reads text",
                      tokenizer.piece(tokenizer.special().mask)));
    }
    dna.replaced += read.replaced;
    append(letters, range.begin, 1);
  });
  return dna;
}

void refuse_dna(std::string_view text, const std::string& where) {
  const TextRange range = without_blanks(text, {0, text.size()});
  if (!is_sequence_of_bases(text.substr(range.begin, range.end - range.begin))) return;
  throw_bad_input(where + ": this is DNA, and the tokenizer is one of text",
                  "take a model or a tokenizer that reads DNA");
}

std::uint64_t encode_typed_text(std::string_view text, const Tokenizer& tokenizer, const std::string& where,
                                std::vector<std::uint32_t>& ids, std::vector<std::uint32_t>& byte_offsets) {
  if (!tokenizer.is_dna()) {
    std::string words;
    special_pieces(tokenizer).split(text, [&](TextRange range, std::optional<std::uint32_t> id) {
      if (!id) words += text.substr(range.begin, range.end - range.begin);
    });
    refuse_dna(words, where);
    tokenizer.encode_with_special_pieces(text, ids, &byte_offsets);
    return 0;
  }
  const TypedDna dna = read_typed_dna(text, tokenizer, where);
  const std::size_t first = byte_offsets.size();
  tokenizer.encode_with_special_pieces(dna.text, ids, &byte_offsets);
  for (std::size_t i = first; i < byte_offsets.size(); ++i) byte_offsets[i] = dna.origins[byte_offsets[i]];
  return dna.replaced;
}

}  // namespace bigbird
