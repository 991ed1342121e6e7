// The tokenizer of text by a tokenizer.json's steps, whether they were read from one or made of a
// SentencePiece model (sentencepiece_definition.cpp) or of BERT's vocab.txt: added tokens, normalisation,
// words, then the pieces of each word by a unigram model, by merges or by WordPiece. Ids and places are those
// of the tokenizers package, but for what text never gives: names of special pieces are text where they stand
// in it.
//
// A long text goes through the steps in parts, cut between characters that pass them (passing_characters.h).
// Such a cut lies inside a word, whose encoder takes it in parts too.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/hash.h"
#include "lib/core/unicode.h"
#include "lib/core/unicode_bert.h"
#include "lib/tokenization/aligned_text.h"
#include "lib/tokenization/byte_level_bpe.h"
#include "lib/tokenization/passing_characters.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/text_vocabulary.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_json.h"
#include "lib/tokenization/tokenizer_kinds.h"
#include "lib/tokenization/unigram_encoder.h"
#include "lib/tokenization/wordpiece_encoder.h"

namespace bigbird {
namespace {

std::string byte_piece(unsigned byte) {
  return fmt::format("<0x{:02X}>", byte);
}

bool is_byte_piece(const std::string& piece) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  return piece.size() == 6 && piece.compare(0, 3, "<0x") == 0 && piece[5] == '>' &&
         digits.find(piece[3]) != std::string_view::npos && digits.find(piece[4]) != std::string_view::npos;
}

bool is_reserved_name(const std::string& text) {
  static const std::set<std::string> names = [] {
    std::set<std::string> all;
    for (const ModelPiece& piece : reserved_text_pieces()) all.insert(piece.text);
    return all;
  }();
  return names.count(text) != 0;
}

// Tokens that are looked for in the normalised text are normalised too.
std::vector<AddedToken> tokens_found_in_text(const TokenizerJson& definition, const SpecialIds& special,
                                             bool normalized) {
  std::vector<AddedToken> tokens;
  for (const AddedToken& token : definition.added) {
    if (special.holds(token.id) || is_reserved_name(token.text)) continue;
    if (token.normalized != normalized) continue;
    AlignedText text(token.text, 0);
    if (normalized) {
      for (const NormalizerStep& step : definition.normalizer) text.apply(step);
    }
    if (text.text().empty()) continue;
    tokens.push_back(token);
    tokens.back().text = text.text();
  }
  return tokens;
}

// By id: no text gives it as a piece.
std::vector<std::uint8_t> hidden_pieces(const TokenizerJson& definition, const SpecialIds& special) {
  std::vector<std::uint8_t> hidden(definition.pieces.size());
  for (const std::uint32_t id : special.all()) hidden[id] = 1;
  for (const AddedToken& token : definition.added) hidden[token.id] = 1;
  return hidden;
}

UnigramEncoder unigram_encoder(const TokenizerJson& definition, const SpecialIds& special,
                               const std::string& where) {
  const std::vector<std::uint8_t> hidden = hidden_pieces(definition, special);
  std::vector<UnigramPiece> pieces;
  double lowest = 0;
  for (std::uint32_t id = 0; id < definition.scores.size(); ++id) {
    const double score = definition.scores[id];
    if (!(std::abs(score) < 1e30)) {
      throw_bad_input(fmt::format("{}: piece {} has a score that is not a number", where, id),
                      "copy the file again");
    }
    lowest = id == 0 ? score : std::min(lowest, score);
  }
  std::set<std::string_view> texts;  // of a piece that stands twice the last one is meant
  for (auto id = static_cast<std::uint32_t>(definition.scores.size()); id-- > 0;) {
    const std::string& piece = definition.pieces[id];
    if (texts.insert(piece).second && hidden[id] == 0) pieces.push_back({piece, definition.scores[id], id});
  }
  return {pieces, special.unknown, lowest};
}

ByteLevelMerger merger_of(const TokenizerJson& definition, const SpecialIds& special) {
  const std::vector<std::uint8_t> hidden = hidden_pieces(definition, special);
  std::vector<BpeMerge> merges;
  for (const BpeMerge& merge : definition.merges) {
    if (hidden[merge.piece] == 0) merges.push_back(merge);
  }
  return {{}, merges, special.unknown};
}

// Of WordPiece a token that was added stays a piece: where it is not looked for, words may hold it.
WordPieceEncoder wordpiece_encoder(const TokenizerJson& definition, const SpecialIds& special) {
  std::vector<std::uint8_t> hidden(definition.pieces.size());
  for (const std::uint32_t id : special.all()) hidden[id] = 1;
  return {definition.pieces, hidden, definition.within_words, definition.longest_word, special.unknown};
}

class SubwordTokenizer final : public Tokenizer {
 public:
  SubwordTokenizer(const TokenizerJson& definition, const SpecialIds& special, PieceTable table,
                   std::string digest, const std::string& where, std::size_t part)
      : Tokenizer(std::move(table), special, std::move(digest)),
        normalizer_(definition.normalizer),
        splits_(definition.splits),
        added_(tokens_found_in_text(definition, special, false)),
        added_normalized_(tokens_found_in_text(definition, special, true)),
        part_(part),
        passing_(normalizer_, splits_, tokens_found_in_text(definition, special, true)),
        fuse_unknown_(definition.fuse_unknown),
        bytes_(bytes_of(definition)) {
    if (definition.model == SubwordModel::unigram) {
      unigram_.emplace(unigram_encoder(definition, special, where));
      return;
    }
    if (definition.model == SubwordModel::wordpiece) {
      within_words_ = definition.within_words;
      wordpiece_.emplace(wordpiece_encoder(definition, special));
      return;
    }
    merger_.emplace(merger_of(definition, special));
    const std::vector<std::uint8_t> hidden = hidden_pieces(definition, special);
    for (std::uint32_t id = 0; id < definition.pieces.size(); ++id) {
      const std::string& piece = definition.pieces[id];
      if (hidden[id] == 0 && character_length(piece, 0) == piece.size()) characters_.emplace(piece, id);
    }
  }

  bool is_dna() const override { return false; }
  std::string_view within_words() const override { return within_words_; }

  void encode(std::string_view text, std::vector<std::uint32_t>& ids,
              std::vector<std::uint32_t>* byte_offsets) const override {
    for_each_piece(text, [&](std::uint32_t id, TextRange range) {
      ids.push_back(id);
      if (byte_offsets != nullptr) byte_offsets->push_back(static_cast<std::uint32_t>(range.begin));
      return true;
    });
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
    Output output(take);
    added_.split(text, [&](TextRange range, std::optional<std::uint32_t> added) {
      if (added) {
        output.add(*added, range);
      } else if (output.wanted) {
        encode_between(text, range, output);
      }
    });
  }

 private:
  // Ids of the pieces of bytes; none without byte_fallback, or where one is missing.
  static std::vector<std::uint32_t> bytes_of(const TokenizerJson& definition) {
    if (!definition.byte_fallback) return {};
    std::unordered_map<std::string_view, std::uint32_t> by_text;
    for (std::uint32_t id = 0; id < definition.pieces.size(); ++id)
      by_text.emplace(definition.pieces[id], id);
    std::vector<std::uint32_t> bytes;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const auto found = by_text.find(byte_piece(byte));
      if (found == by_text.end()) return {};
      bytes.push_back(found->second);
    }
    return bytes;
  }

  struct Output {
    explicit Output(const TakePiece& take_piece) : take(take_piece) {}
    void add(std::uint32_t id, TextRange range) { wanted = wanted && take(id, range); }

    const TakePiece& take;
    bool wanted = true;
  };

  // A word that goes on in the next part of its text.
  struct OpenWord {
    explicit OpenWord(const SubwordTokenizer& tokenizer) {
      if (tokenizer.unigram_) {
        by_scores.emplace(*tokenizer.unigram_, tokenizer.part_);
      } else if (tokenizer.merger_) {
        by_merges.emplace(*tokenizer.merger_, tokenizer.part_);
      }
    }

    bool is_open = false;
    std::optional<UnigramEncoder::Growing> by_scores;
    AlignedText letters;  // what by_scores holds, with places; of WordPiece the word's beginning
    std::optional<GrowingWord> by_merges;
    std::vector<TextRange> places;  // of the symbols that by_merges holds
    // By scores: unknown characters, of which more may follow, the bytes themselves only if these are pieces.
    // Of WordPiece the place of the word so far.
    std::optional<TextRange> unknown;
    std::string unknown_bytes;
  };

  // Of a stretch between added tokens.
  void encode_between(std::string_view text, TextRange range, Output& output) const {
    bool first = range.begin == 0;
    OpenWord open(*this);
    for (std::size_t begin = range.begin; begin < range.end && output.wanted;) {
      if (begin > range.begin) throw_if_cancelled();
      const std::size_t end = part_end(text.substr(0, range.end), begin);
      AlignedText normalized(text.substr(begin, end - begin), begin);
      for (const NormalizerStep& step : normalizer_) {
        if (step.kind != NormalizerStep::Kind::prepend || begin == range.begin) normalized.apply(step);
      }
      added_normalized_.split(normalized.text(), [&](TextRange part, std::optional<std::uint32_t> id) {
        if (id) {
          output.add(*id, normalized.place(part.begin, part.end));
        } else if (output.wanted) {
          const bool goes_on = end < range.end && part.end == normalized.text().size();
          encode_words(normalized, part, first, goes_on, open, output);
        }
        first = false;
      });
      begin = end;
    }
  }

  // Where the part of a text that begins at `begin` ends.
  std::size_t part_end(std::string_view text, std::size_t begin) const {
    if (text.size() - begin <= 2 * part_) return text.size();
    return passing_.find_cut(text, begin + part_).value_or(text.size());
  }

  // Of a stretch without added tokens. `first`: it begins where the whole text does. `goes_on`: its last word
  // does, in the next part of the text.
  void encode_words(const AlignedText& normalized, TextRange part, bool first, bool goes_on, OpenWord& open,
                    Output& output) const {
    AlignedText words_text;
    const AlignedText* text = &normalized;
    std::vector<TextRange> words{part};
    for (const SplitStep& split : splits_) {
      if (split.kind == SplitStep::Kind::pattern) {
        words = split_words(text->text(), words, split);
      } else if (split.kind == SplitStep::Kind::punctuation) {
        words = words_between_punctuation(text->text(), words);
      } else if (split.kind == SplitStep::Kind::white_space) {
        words = words_between_white_space(text->text(), words);
        first = first && !words.empty() && text->place(words[0].begin, words[0].end).begin == 0;
      } else {
        words_text = text->with_word_signs(split, first, open.is_open, words);
        text = &words_text;
      }
    }
    std::vector<FoundPiece> found;
    for (std::size_t i = 0; i < words.size() && output.wanted; ++i) {
      const TextRange word = words[i];
      const bool is_open = goes_on && i + 1 == words.size();
      if (is_open || open.is_open) {
        encode_open(*text, word, is_open, open, output);
        continue;
      }
      const std::string_view letters =
          std::string_view(text->text()).substr(word.begin, word.end - word.begin);
      found.clear();
      if (unigram_) {
        encode_by_scores(letters, found);
      } else if (wordpiece_) {
        wordpiece_->encode(letters, found);
      } else {
        encode_by_merges(letters, found);
      }
      for (const FoundPiece& piece : found) {
        output.add(piece.id, text->place(word.begin + piece.begin, word.begin + piece.end));
      }
    }
  }

  void encode_open(const AlignedText& text, TextRange part, bool goes_on, OpenWord& open,
                   Output& output) const {
    if (unigram_) {
      open_by_scores(text, part, goes_on, open, output);
    } else if (wordpiece_) {
      open_by_pieces(text, part, goes_on, open, output);
    } else {
      open_by_merges(text, part, goes_on, open, output);
    }
    open.is_open = goes_on;
  }

  void open_by_scores(const AlignedText& text, TextRange part, bool goes_on, OpenWord& open,
                      Output& output) const {
    std::vector<FoundPiece> found;
    const std::size_t origin = open.by_scores->origin();
    open.letters.append(text, part);
    open.by_scores->append(std::string_view(text.text()).substr(part.begin, part.end - part.begin), found);
    const std::size_t held_from = open.by_scores->origin();
    if (!goes_on) open.by_scores->finish(found);
    for (const FoundPiece& piece : found) {
      const TextRange place = open.letters.place(piece.begin - origin, piece.end - origin);
      if (piece.id != special().unknown) {
        add_unknown(open, output);
        output.add(piece.id, place);
        continue;
      }
      if (!bytes_.empty())
        open.unknown_bytes.append(open.letters.text(), piece.begin - origin, piece.end - piece.begin);
      open.unknown = TextRange{open.unknown ? open.unknown->begin : place.begin, place.end};
    }
    if (goes_on) {
      open.letters.erase_front(held_from - origin);
    } else {
      add_unknown(open, output);
      open.letters = {};
    }
  }

  // A word that is too long is unknown whatever it holds.
  void open_by_pieces(const AlignedText& text, TextRange part, bool goes_on, OpenWord& open,
                      Output& output) const {
    const std::size_t enough = 4 * (wordpiece_->longest_word() + 1);  // bytes
    const TextRange place = text.place(part.begin, part.end);
    open.unknown = TextRange{open.unknown ? open.unknown->begin : place.begin, place.end};
    if (open.letters.text().size() < enough) open.letters.append(text, part);
    if (goes_on) return;
    std::vector<FoundPiece> found;
    wordpiece_->encode(open.letters.text(), found);
    const bool whole = found.size() == 1 && found[0].id == special().unknown;
    for (const FoundPiece& piece : found)
      output.add(piece.id, whole ? *open.unknown : open.letters.place(piece.begin, piece.end));
    open.unknown.reset();
    open.letters = {};
  }

  void add_unknown(OpenWord& open, Output& output) const {
    if (!open.unknown) return;
    if (bytes_.empty()) output.add(special().unknown, *open.unknown);
    for (const char byte : open.unknown_bytes) {  // each with the place of them all
      output.add(bytes_[static_cast<unsigned char>(byte)], *open.unknown);
    }
    open.unknown.reset();
    open.unknown_bytes.clear();
  }

  void open_by_merges(const AlignedText& text, TextRange part, bool goes_on, OpenWord& open,
                      Output& output) const {
    std::vector<ByteLevelMerger::Symbol>& symbols = open.by_merges->symbols();
    std::vector<ByteLevelMerger::Symbol> added;
    add_symbols(std::string_view(text.text()).substr(part.begin, part.end - part.begin), added);
    std::size_t begin = part.begin;
    for (const ByteLevelMerger::Symbol& symbol : added) {
      const TextRange place = text.place(begin, part.begin + symbol.end);
      begin = part.begin + symbol.end;
      if (is_fused(symbols, symbol.id)) {
        open.places.back().end = place.end;
      } else {
        symbols.push_back(symbol);
        open.places.push_back(place);
      }
    }
    std::vector<ByteLevelMerger::Symbol> pieces;
    const std::size_t count = open.by_merges->take(!goes_on, pieces);
    std::size_t first = 0;
    for (const ByteLevelMerger::Symbol& piece : pieces) {
      output.add(piece.id == ByteLevelMerger::none ? special().unknown : piece.id,
                 {open.places[first].begin, open.places[piece.end - 1].end});
      first = piece.end;
    }
    open.places.erase(open.places.begin(), open.places.begin() + static_cast<std::ptrdiff_t>(count));
  }

  // The signs are words too.
  static std::vector<TextRange> words_between_punctuation(std::string_view text,
                                                          const std::vector<TextRange>& ranges) {
    std::vector<TextRange> words;
    for (const TextRange& range : ranges) {
      std::size_t begin = range.begin;
      for (std::size_t at = range.begin; at < range.end;) {
        const CodePoint c = code_point_at(text, at);
        at = c.end;
        if (!is_bert_punctuation(c.value)) continue;
        if (begin < c.begin) words.push_back({begin, c.begin});
        words.push_back({c.begin, c.end});
        begin = c.end;
      }
      if (begin < range.end) words.push_back({begin, range.end});
    }
    return words;
  }

  static std::vector<TextRange> words_between_white_space(std::string_view text,
                                                          const std::vector<TextRange>& ranges) {
    std::vector<TextRange> words;
    for (const TextRange& range : ranges) {
      std::size_t begin = range.begin;
      for (std::size_t at = range.begin; at < range.end;) {
        const std::size_t after = std::min(skip_space(text, at), range.end);
        if (after == at) {
          at += character_length(text, at);
          continue;
        }
        if (begin < at) words.push_back({begin, at});
        begin = at = after;
      }
      if (begin < range.end) words.push_back({begin, range.end});
    }
    return words;
  }

  void encode_by_scores(std::string_view word, std::vector<FoundPiece>& found) const {
    unigram_->encode(word, found);
    if (bytes_.empty()) return;
    std::vector<FoundPiece> pieces;
    for (const FoundPiece& piece : found) {
      if (piece.id != special().unknown) {
        pieces.push_back(piece);
        continue;
      }
      for (std::size_t at = piece.begin; at < piece.end; ++at) {  // each with the place of them all
        pieces.push_back({bytes_[static_cast<unsigned char>(word[at])], piece.begin, piece.end});
      }
    }
    found = std::move(pieces);
  }

  // Whether a character is unknown and one with the unknown one before it.
  bool is_fused(const std::vector<ByteLevelMerger::Symbol>& symbols, std::uint32_t id) const {
    return fuse_unknown_ && id == ByteLevelMerger::none && !symbols.empty() && symbols.back().id == id;
  }

  void add_symbols(std::string_view word, std::vector<ByteLevelMerger::Symbol>& symbols) const {
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t length = character_length(word, at);
      const auto known = characters_.find(word.substr(at, length));
      at += length;
      if (known != characters_.end()) {
        symbols.push_back({known->second, at});
      } else if (!bytes_.empty()) {
        for (std::size_t byte = at - length; byte < at; ++byte) {
          symbols.push_back({bytes_[static_cast<unsigned char>(word[byte])], byte + 1});
        }
      } else if (is_fused(symbols, ByteLevelMerger::none)) {
        symbols.back().end = at;
      } else {
        symbols.push_back({ByteLevelMerger::none, at});
      }
    }
  }

  void encode_by_merges(std::string_view word, std::vector<FoundPiece>& found) const {
    std::vector<ByteLevelMerger::Symbol> symbols;
    add_symbols(word, symbols);
    merger_->merge(symbols);
    std::size_t begin = 0;
    for (const ByteLevelMerger::Symbol& symbol : symbols) {
      found.push_back(
          {symbol.id == ByteLevelMerger::none ? special().unknown : symbol.id, begin, symbol.end});
      begin = symbol.end;
    }
  }

  std::vector<NormalizerStep> normalizer_;
  std::vector<SplitStep> splits_;
  AddedTokenFinder added_;
  AddedTokenFinder added_normalized_;
  std::size_t part_;
  PassingCharacters passing_;
  bool fuse_unknown_;
  std::vector<std::uint32_t> bytes_;
  std::optional<UnigramEncoder> unigram_;
  std::optional<ByteLevelMerger> merger_;
  std::optional<WordPieceEncoder> wordpiece_;
  std::string within_words_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> characters_;  // of merges
};

}  // namespace

std::unique_ptr<Tokenizer> make_subword_tokenizer(const TokenizerJson& definition, const SpecialIds& special,
                                                  PieceTable table, std::string digest,
                                                  const std::string& where, std::size_t part) {
  return std::make_unique<SubwordTokenizer>(definition, special, std::move(table), std::move(digest), where,
                                            part);
}

PieceTable subword_pieces(const TokenizerJson& definition) {
  std::vector<AddedToken> added = definition.added;
  for (AddedToken& token : added) token.special = token.special || is_reserved_name(token.text);
  return table_of_pieces(definition.pieces, added, [&](const std::string& piece) {
    constexpr std::string_view mark_of_blank = "\xE2\x96\x81";
    std::size_t length = 0;  // a word sign stands for its blank
    if (definition.model == SubwordModel::wordpiece)
      return piece.size() - (piece.starts_with(definition.within_words) ? definition.within_words.size() : 0);
    for (std::size_t i = 0; i < piece.size(); ++length) {
      i += piece.compare(i, mark_of_blank.size(), mark_of_blank) == 0 ? mark_of_blank.size() : 1;
    }
    return definition.byte_fallback && is_byte_piece(piece) ? std::size_t{1} : length;
  });
}

}  // namespace bigbird
