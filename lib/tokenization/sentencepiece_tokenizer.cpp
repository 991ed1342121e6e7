// The tokenizer for every SentencePiece model that is not our DNA BPE: the library itself. Its segmentation
// rests on details (tie-breaking, normalisation) that are not worth a second implementation. It is given the
// model with reserved user-defined pieces as control pieces, because their names are text
// (sentencepiece_model.h).
//
// The library takes some 200 bytes of memory a byte of text, and puts a run of unknown characters together in
// the square of its length. So it gets a long text in parts, cut where its answer is certain to be the same:
// 1. Between two characters that no piece of the vocabulary has side by side: no merge goes over them.
// 2. In a stretch without such a place, before a piece that stays whatever follows. Let the stretch be
//    [a, b), and p the begin of one of its pieces. What merges do to the left and to the right of a place that
//    no piece goes over does not depend on the other side. Behind b the text goes on in an unknown way, but the
//    last border of its pieces up to b lies less than the longest piece before b. If, for each such border i,
//    the letters [p, i) alone begin with the same piece as behind p in [a, b), then p is a border for all of
//    them: neighbouring pieces that stand side by side in one encoding do so wherever the pieces before and
//    behind them are encodings too.
#include <sentencepiece_processor.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/files/sha256.h"
#include "lib/tokenization/neighbour_pairs.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/text_steps.h"
#include "lib/tokenization/text_vocabulary.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"

namespace bigbird {
namespace {

constexpr char32_t sign_of_words = 0x2581;

bool begins_character(std::string_view text, std::size_t at) {
  return (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
}

struct LibraryPiece {
  std::uint32_t id = 0;
  TextRange range;
};

// Hands out pieces; unknown ones that two parts of a text hold side by side are one, as within a part.
class JoinedPieces {
 public:
  // `unknown`: none where unknown characters become bytes.
  JoinedPieces(std::optional<std::uint32_t> unknown, const TakePiece& take)
      : unknown_(unknown), take_(take) {}

  // False: no more are wanted.
  bool add(const LibraryPiece& piece) {
    if (held_ && unknown_ && last_.id == *unknown_ && piece.id == *unknown_) {
      last_.range.end = piece.range.end;
      return true;
    }
    const bool wanted = finish();
    last_ = piece;
    held_ = true;
    return wanted;
  }
  bool finish() {
    const bool wanted = !held_ || take_(last_.id, last_.range);
    held_ = false;
    return wanted;
  }

 private:
  std::optional<std::uint32_t> unknown_;
  const TakePiece& take_;
  LibraryPiece last_;
  bool held_ = false;
};

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(const SentencePieceModel& model, const SpecialIds& special, const std::string& bytes,
                         const std::string& where, std::size_t part)
      : Tokenizer(piece_table(model), special, sha256_bytes(bytes)),
        part_(part),
        model_type_(model.type),
        can_cut_(can_cut(model, special)) {
    const std::string literal = literal_model(bytes, special.all());
    const auto status = processor_.LoadFromSerializedProto(literal);
    if (!status.ok()) {
      throw_bad_input(where + ": SentencePiece cannot load the model (" + status.message() + ")",
                      "copy the file again, or train it anew with bigbird train-bpe");
    }
    if (!model.byte_fallback) joined_ = static_cast<std::uint32_t>(processor_.unk_id());
    if (!can_cut_) return;
    for (const ModelPiece& piece : model.pieces) {
      if (piece.type != PieceType::normal) continue;
      longest_ = std::max(longest_, count_code_points(piece.text));
      if (model.type == ModelType::bpe) pairs_.add(piece.text);
    }
    within_ = std::make_unique<Within>();
    within_->model = model_within_text(literal);
  }

  bool is_dna() const override { return false; }

  void encode(std::string_view text, std::vector<std::uint32_t>& ids,
              std::vector<std::uint32_t>* byte_offsets) const override {
    if (byte_offsets == nullptr && !is_long(text)) {
      std::vector<int> found;
      check(processor_.Encode(text, &found));
      for (const int id : found) ids.push_back(static_cast<std::uint32_t>(id));
      return;
    }
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
    JoinedPieces pieces(joined_, take);
    bool wanted = true;
    for (std::size_t begin = 0; begin < text.size() && wanted;) {
      if (begin > 0) throw_if_cancelled();
      Part part = next_part(text, begin);
      if (part.pieces.empty()) part.pieces = encode_part(text, begin, part.end);
      for (std::size_t i = 0; i < part.pieces.size() && wanted; ++i) wanted = pieces.add(part.pieces[i]);
      begin = part.end;
    }
    if (wanted) pieces.finish();
  }

 private:
  // A beginning of what is left of a text, with its pieces where they are known already.
  struct Part {
    std::size_t end = 0;
    std::vector<LibraryPiece> pieces;
  };
  // The library for stretches inside a text: loaded for the first long one.
  struct Within {
    std::string model;
    std::once_flag loaded;
    sentencepiece::SentencePieceProcessor processor;
    bool usable = false;
  };

  // A blank before a word is the sign in front of it, normalisation touches blanks alone, and no piece
  // depends on what lies beyond its neighbours: not so with pieces that a user defined, which are looked for
  // from the left, and with unused ones, which are taken apart as the last of their kind was put together.
  static bool can_cut(const SentencePieceModel& model, const SpecialIds& special) {
    if (model.type == ModelType::unigram || model.has_character_map || model.space_is_suffix) return false;
    if (!model.add_dummy_prefix || !model.remove_extra_whitespaces || !model.escape_whitespaces) return false;
    std::string word_sign;
    append_utf8(word_sign, sign_of_words);
    bool knows_sign = false;
    for (std::uint32_t id = 0; id < model.pieces.size(); ++id) {
      const ModelPiece& piece = model.pieces[id];
      const bool literal = is_reserved_text(piece.text) || special.holds(id);
      if (piece.type == PieceType::unused || (piece.type == PieceType::user_defined && !literal))
        return false;
      knows_sign = knows_sign || (piece.type == PieceType::normal && piece.text == word_sign);
    }
    // A sign in bytes would have its place in several pieces.
    return !model.byte_fallback || (knows_sign && model.type != ModelType::word);
  }

  bool is_long(std::string_view text) const {
    if (!can_cut_ || text.size() <= 2 * part_) return false;
    std::call_once(within_->loaded, [&] {
      within_->usable = within_->processor.LoadFromSerializedProto(within_->model).ok();
      within_->model = {};
    });
    return within_->usable;
  }

  // Whether no piece goes over byte `at`, where a character begins, nor blanks around it become one sign.
  bool is_border(std::string_view text, std::size_t at) const {
    const char32_t left = code_point_before(text, at).value;
    if (left == U' ' || left == sign_of_words) return false;
    const std::size_t word = text.find_first_not_of(' ', at);
    if (word == std::string_view::npos) return false;
    const char32_t right = code_point_at(text, word).value;
    if (right == sign_of_words) return false;
    if (word > at) return !pairs_.has(left, sign_of_words);
    return model_type_ != ModelType::word && !pairs_.has(left, right);
  }

  // The first border from `from` on and before `to`.
  std::optional<std::size_t> find_border(std::string_view text, std::size_t from, std::size_t to) const {
    std::size_t at = from;
    while (at < text.size() && !begins_character(text, at)) ++at;
    for (; at < std::min(to, text.size()); at += character_length(text, at)) {
      if (is_border(text, at)) return at;
    }
    return std::nullopt;
  }

  Part next_part(std::string_view text, std::size_t begin) const {
    if (!is_long(text.substr(begin))) return {text.size(), {}};
    const bool by_words = model_type_ == ModelType::word;
    const std::size_t far = by_words ? text.size() : begin + 2 * part_;
    if (const auto border = find_border(text, begin + part_, far)) return {*border, {}};
    return by_words ? Part{text.size(), {}} : settled_part(text, begin);
  }

  // The second way of the top of this file; the rest of the text as a whole where no piece is certain.
  Part settled_part(std::string_view text, std::size_t begin) const {
    constexpr std::size_t most_bytes = 4;  // of a character
    std::size_t size = std::max(4 * part_, longest_ * longest_ / 2);
    for (; begin + size < text.size(); size *= 2) {
      throw_if_cancelled();
      std::size_t end = begin + size;
      while (end > begin + 1 && !begins_character(text, end)) --end;
      const std::vector<std::size_t> ends = last_borders(text.substr(0, end));
      if (ends.empty()) continue;
      std::vector<LibraryPiece> pieces = encode_part(text, begin, end);
      for (std::size_t margin = 4 * most_bytes * longest_; margin < size / 2; margin *= 4) {
        const std::size_t limit = ends.back() - std::min(ends.back(), margin);
        const auto after = std::upper_bound(
            pieces.begin(), pieces.end(), limit,
            [](std::size_t at, const LibraryPiece& piece) { return at < piece.range.begin; });
        if (after == pieces.begin() || after == pieces.begin() + 1) break;
        const auto piece = after - 1;
        if (!stays(text, *piece, ends)) continue;
        const std::size_t cut = piece->range.begin;
        pieces.erase(piece, pieces.end());
        return {cut, std::move(pieces)};
      }
    }
    return {text.size(), {}};
  }

  // The ends of prefixes that are shorter than `text` by less than the longest piece, the shortest last; none
  // where blanks are among their last characters.
  std::vector<std::size_t> last_borders(std::string_view text) const {
    std::vector<std::size_t> ends;
    for (std::size_t at = text.size(); at > 0 && ends.size() < longest_;) {
      const CodePoint c = code_point_before(text, at);
      if (c.value == U' ' || c.value == sign_of_words) return {};
      if (at < text.size()) ends.push_back(at);
      at = c.begin;
    }
    return ends;
  }

  bool stays(std::string_view text, const LibraryPiece& piece, const std::vector<std::size_t>& ends) const {
    const std::size_t begin = piece.range.begin;
    const char32_t left = code_point_before(text, begin).value;
    const char32_t right = code_point_at(text, begin).value;
    for (const char32_t c : {left, right}) {
      if (c == U' ' || c == sign_of_words) return false;
    }
    return std::all_of(ends.begin(), ends.end(), [&](std::size_t end) {
      const std::vector<LibraryPiece> alone = pieces_of(within_->processor, text.substr(begin, end - begin));
      return !alone.empty() && alone[0].id == piece.id && begin + alone[0].range.end == piece.range.end;
    });
  }

  // Of [begin, end) of a text, which borders end. A part that begins inside a word has no sign in front.
  std::vector<LibraryPiece> encode_part(std::string_view text, std::size_t begin, std::size_t end) const {
    if (begin > 0 && text[begin] != ' ') {
      return shifted(pieces_of(within_->processor, text.substr(begin, end - begin)), begin);
    }
    // Of blanks before a word the library sees the last one, and the sign stands for the first.
    const std::size_t blank = begin == 0 ? 0 : text.find_first_not_of(' ', begin) - 1;
    std::vector<LibraryPiece> pieces = shifted(pieces_of(processor_, text.substr(blank, end - blank)), blank);
    if (begin > 0 && !pieces.empty()) pieces[0].range.begin = begin;
    return pieces;
  }

  static std::vector<LibraryPiece> shifted(std::vector<LibraryPiece> pieces, std::size_t by) {
    for (LibraryPiece& piece : pieces) {
      piece.range.begin += by;
      piece.range.end += by;
    }
    return pieces;
  }

  static std::vector<LibraryPiece> pieces_of(const sentencepiece::SentencePieceProcessor& processor,
                                             std::string_view text) {
    sentencepiece::ImmutableSentencePieceText found;
    check(processor.Encode(text, found.mutable_proto()));
    std::vector<LibraryPiece> pieces(found.pieces_size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const auto piece = found.pieces(static_cast<int>(i));
      pieces[i] = {piece.id(), {piece.begin(), piece.end()}};
    }
    return pieces;
  }

  static void check(const sentencepiece::util::Status& status) {
    if (!status.ok())
      throw_runtime(std::string("SentencePiece could not encode a text: ") + status.message());
  }

  sentencepiece::SentencePieceProcessor processor_;
  std::size_t part_;
  ModelType model_type_;
  bool can_cut_;
  std::optional<std::uint32_t> joined_;  // the unknown piece, of which neighbours are one
  NeighbourPairs pairs_;
  std::size_t longest_ = 1;  // code points of a piece
  std::unique_ptr<Within> within_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceModel& model,
                                                        const SpecialIds& special, const std::string& bytes,
                                                        const std::string& where, std::size_t part) {
  return std::make_unique<SentencePieceTokenizer>(model, special, bytes, where, part);
}

}  // namespace bigbird
