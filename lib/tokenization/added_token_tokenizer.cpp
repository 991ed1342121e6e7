// A tokenizer with tokens that were added to it: they are cut out of a text first, those that are not
// normalised before the others, and what is left between them is encoded by the tokenizer stretch by stretch
// (AddedVocabulary of the tokenizers package, tokenize() of transformers' classes in Python).
#include <algorithm>
#include <utility>

#include "lib/tokenization/added_tokens.h"
#include "lib/tokenization/text_steps.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"

namespace bigbird {
namespace {

PieceTable extended_table(const Tokenizer& inner, const std::vector<std::string>& pieces,
                          const std::vector<AddedToken>& added) {
  PieceTable table;
  table.texts = pieces;
  for (std::uint32_t id = 0; id < pieces.size(); ++id) {
    const bool known = id < inner.vocab_size();
    table.lengths.push_back(known ? inner.piece_length(id) : static_cast<std::uint32_t>(pieces[id].size()));
    table.special.push_back(known && inner.is_special(id) ? 1 : 0);
  }
  for (const AddedToken& token : added) {
    table.special[token.id] = token.special ? 1 : 0;
    table.lengths[token.id] = token.special ? 0 : static_cast<std::uint32_t>(token.text.size());
  }
  return table;
}

class AddedTokenTokenizer final : public Tokenizer {
 public:
  AddedTokenTokenizer(std::unique_ptr<Tokenizer> inner, const std::vector<std::string>& pieces,
                      const std::vector<AddedToken>& added, const SpecialIds& special, std::string digest)
      : Tokenizer(extended_table(*inner, pieces, added), special, std::move(digest)),
        inner_(std::move(inner)),
        literal_(tokens_looked_for(added, false)),
        normalized_(tokens_looked_for(added, true)) {}

  bool is_dna() const override { return inner_->is_dna(); }
  std::string_view word_start() const override { return inner_->word_start(); }

  void encode(std::string_view text, std::vector<std::uint32_t>& ids,
              std::vector<std::uint32_t>* byte_offsets) const override {
    if (!holds_added(text)) {
      inner_->encode(text, ids, byte_offsets);
      return;
    }
    std::vector<TextRange> ranges;
    encode_ranges(text, ids, ranges);
    if (byte_offsets == nullptr) return;
    for (const TextRange& range : ranges) byte_offsets->push_back(static_cast<std::uint32_t>(range.begin));
  }

  std::size_t encode_like(std::string_view text, const KnownEncoding& known,
                          std::vector<std::uint32_t>& ids) const override {
    if (!holds_added(text) && !holds_added(known.text)) return inner_->encode_like(text, known, ids);
    encode(text, ids, nullptr);
    return 0;
  }

  void encode_ranges(std::string_view text, std::vector<std::uint32_t>& ids,
                     std::vector<TextRange>& ranges) const override {
    for_each_piece(text, [&](std::uint32_t id, TextRange range) {
      ids.push_back(id);
      ranges.push_back(range);
      return true;
    });
  }

  void for_each_piece(std::string_view text, const TakePiece& take) const override {
    bool wanted = true;
    literal_.split(text, [&](TextRange part, std::optional<std::uint32_t> id) {
      if (id) {
        wanted = wanted && take(*id, part);
        return;
      }
      const std::string_view stretch = text.substr(part.begin, part.end - part.begin);
      normalized_.split(stretch, [&](TextRange inner, std::optional<std::uint32_t> found) {
        const std::size_t begin = part.begin + inner.begin;
        if (!wanted) return;
        if (found) {
          wanted = take(*found, {begin, part.begin + inner.end});
          return;
        }
        inner_->for_each_piece(stretch.substr(inner.begin, inner.end - inner.begin),
                               [&](std::uint32_t piece, TextRange range) {
                                 wanted = take(piece, {begin + range.begin, begin + range.end});
                                 return wanted;
                               });
      });
    });
  }

 private:
  bool holds_added(std::string_view text) const {
    bool found = false;
    const auto look = [&](TextRange, std::optional<std::uint32_t> id) { found = found || id.has_value(); };
    literal_.split(text, look);
    if (!found) normalized_.split(text, look);
    return found;
  }

  std::unique_ptr<Tokenizer> inner_;
  AddedTokenFinder literal_;
  AddedTokenFinder normalized_;
};

}  // namespace

std::unique_ptr<Tokenizer> with_added_tokens(std::unique_ptr<Tokenizer> inner,
                                             const std::vector<std::string>& pieces,
                                             const std::vector<AddedToken>& added, const SpecialIds& special,
                                             std::string digest) {
  return std::make_unique<AddedTokenTokenizer>(std::move(inner), pieces, added, special, std::move(digest));
}

}  // namespace bigbird
