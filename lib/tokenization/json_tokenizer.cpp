// The tokenizer of a tokenizer.json: added tokens, normalisation, splits, then BPE by the file's merges.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "lib/io/files/sha256.h"
#include "lib/tokenization/bpe_encoder.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_json.h"
#include "lib/tokenization/tokenizer_kinds.h"

namespace bigbird {
namespace {

constexpr std::uint32_t no_id = 0xffffffffu;

// What the encoder works on: the letters that take part in merges, then the pieces in the order in which the
// merges make them. Merges of pieces that no text leads to are left out.
struct Vocabulary {
  std::vector<std::uint32_t> ids;  // by the encoder's number
  std::vector<std::string> pieces;
  std::vector<BpeMerge> merges;  // of the encoder's numbers

  explicit Vocabulary(const TokenizerJson& definition) {
    std::vector<std::uint32_t> numbers(definition.pieces.size(), no_id);
    const auto add = [&](std::uint32_t id) {
      if (numbers[id] != no_id) return;
      numbers[id] = static_cast<std::uint32_t>(ids.size());
      ids.push_back(id);
      pieces.push_back(definition.pieces[id]);
    };
    const auto length = [&](std::uint32_t id) { return definition.pieces[id].size(); };
    std::vector<std::size_t> order(definition.merges.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return length(definition.merges[a].piece) < length(definition.merges[b].piece);
    });
    std::vector<std::uint8_t> reachable(definition.pieces.size());
    for (const std::size_t i : order) {
      const BpeMerge& merge = definition.merges[i];
      for (const std::uint32_t part : {merge.left, merge.right}) {
        if (length(part) == 1) reachable[part] = 1;
      }
      if (reachable[merge.left] != 0 && reachable[merge.right] != 0) reachable[merge.piece] = 1;
    }
    for (std::uint32_t id = 0; id < reachable.size(); ++id) {
      if (reachable[id] != 0 && length(id) == 1) add(id);
    }
    const auto live = [&](const BpeMerge& merge) {
      return reachable[merge.left] != 0 && reachable[merge.right] != 0;
    };
    for (const BpeMerge& merge : definition.merges) {
      if (live(merge)) add(merge.piece);
    }
    for (const BpeMerge& merge : definition.merges) {
      if (live(merge)) merges.push_back({numbers[merge.left], numbers[merge.right], numbers[merge.piece]});
    }
  }
};

class JsonTokenizer final : public Tokenizer {
 public:
  JsonTokenizer(const TokenizerJson& definition, const SpecialIds& special, const std::string& bytes,
                Vocabulary vocabulary)
      : Tokenizer(table_of_pieces(definition.pieces, definition.added,
                                  [](const std::string& piece) { return piece.size(); }),
                  special, sha256_bytes(bytes)),
        encoder_(vocabulary.pieces, vocabulary.merges),
        ids_(std::move(vocabulary.ids)),
        added_(tokens_looked_for(definition.added, false)),
        added_normalized_(tokens_looked_for(definition.added, true)),
        normalizer_(definition.normalizer),
        splits_(definition.splits),
        fuse_unknown_(definition.fuse_unknown),
        numbers_(numbers_by_id(ids_, definition.pieces.size())),
        leaves_bases_(leaves_bases(definition)) {
    ascii_ids_.fill(no_id);
    for (std::uint32_t id = 0; id < definition.pieces.size(); ++id) {
      const std::string& piece = definition.pieces[id];
      if (character_length(piece, 0) != piece.size()) continue;
      if (piece.size() == 1) {
        ascii_ids_[static_cast<unsigned char>(piece[0])] = id;
      } else {
        other_ids_.emplace(piece, id);
      }
    }
  }

  // A, C, G and T merge, and no letter of the alphabet beside them but N.
  bool is_dna() const override {
    for (char letter = 'A'; letter <= 'Z'; ++letter) {
      const bool base = std::string_view("ACGT").find(letter) != std::string_view::npos;
      if (base ? !encoder_.is_letter(letter) : letter != 'N' && encoder_.is_letter(letter)) return false;
      if (encoder_.is_letter(static_cast<char>(letter | 0x20))) return false;
    }
    return true;
  }

  void encode(std::string_view text, std::vector<std::uint32_t>& ids,
              std::vector<std::uint32_t>* byte_offsets) const override {
    added_.split(text, [&](TextRange range, std::optional<std::uint32_t> id) {
      if (id) {
        ids.push_back(*id);
        if (byte_offsets != nullptr) byte_offsets->push_back(static_cast<std::uint32_t>(range.begin));
        return;
      }
      TracedText normalized(text.substr(range.begin, range.end - range.begin), range.begin);
      for (const NormalizerStep& step : normalizer_) {
        if (step.kind == NormalizerStep::Kind::strip) {
          normalized.strip(step.strip_left, step.strip_right);
        } else {
          normalized.replace(step.pattern, step.content);
        }
      }
      encode_normalized(normalized, ids, byte_offsets);
    });
  }

  std::size_t encode_like(std::string_view text, const KnownEncoding& known,
                          std::vector<std::uint32_t>& ids) const override {
    const auto is_bases = [](std::string_view letters) {
      return std::all_of(letters.begin(), letters.end(), [](char letter) {
        return letter == 'A' || letter == 'C' || letter == 'G' || letter == 'T';
      });
    };
    if (!leaves_bases_ || !is_bases(text) || !is_bases(known.text)) {
      encode(text, ids, nullptr);
      return 0;
    }
    const std::size_t first = ids.size();
    const std::vector<std::uint32_t> numbers = numbers_of(known.ids, numbers_);
    const std::size_t taken = encoder_.encode_like(text, {known.text, numbers, known.offsets}, ids);
    for (std::size_t i = first; i < ids.size(); ++i) ids[i] = ids_[ids[i]];
    return taken;
  }

  // The file itself says which pieces are looked for in the text.
  void encode_with_special_pieces(std::string_view text, std::vector<std::uint32_t>& ids,
                                  std::vector<std::uint32_t>* byte_offsets) const override {
    encode(text, ids, byte_offsets);
  }

 private:
  // Whether a text of A, C, G and T alone goes to the encoder as it is.
  bool leaves_bases(const TokenizerJson& definition) const {
    constexpr std::string_view bases = "ACGT";
    const auto is_letter = [&](char letter) { return encoder_.is_letter(letter); };
    const auto occurs = [&](const auto& step) { return step.pattern.occurs_among(bases); };
    return std::all_of(bases.begin(), bases.end(), is_letter) &&
           std::none_of(definition.added.begin(), definition.added.end(),
                        [&](const AddedToken& token) {
                          return token.text.find_first_not_of(bases) == std::string::npos;
                        }) &&
           std::none_of(normalizer_.begin(), normalizer_.end(),
                        [&](const NormalizerStep& step) {
                          return step.kind == NormalizerStep::Kind::replace && occurs(step);
                        }) &&
           std::none_of(splits_.begin(), splits_.end(), occurs);
  }

  // Where ids go, with their places in the original text.
  struct Output {
    const TracedText& text;
    std::vector<std::uint32_t>& ids;
    std::vector<std::uint32_t>* byte_offsets;
    std::size_t cursor = 0;

    void add(std::uint32_t id, std::size_t at) {
      ids.push_back(id);
      if (byte_offsets != nullptr) {
        byte_offsets->push_back(static_cast<std::uint32_t>(text.origin(at, cursor)));
      }
    }
  };

  void encode_normalized(const TracedText& normalized, std::vector<std::uint32_t>& ids,
                         std::vector<std::uint32_t>* byte_offsets) const {
    Output output{normalized, ids, byte_offsets};
    const std::string_view text = normalized.text();
    std::vector<std::uint32_t> numbers;
    added_normalized_.split(text, [&](TextRange range, std::optional<std::uint32_t> id) {
      if (id) {
        output.add(*id, range.begin);
        return;
      }
      std::vector<TextRange> words{range};
      for (const SplitStep& split : splits_) words = split_words(text, words, split);
      for (const TextRange& word : words) encode_word(text, word, numbers, output);
    });
  }

  // Runs of letters go to the encoder; other characters never merge and are looked up one by one.
  void encode_word(std::string_view text, TextRange word, std::vector<std::uint32_t>& numbers,
                   Output& output) const {
    bool after_unknown = false;
    for (std::size_t at = word.begin; at < word.end;) {
      if (!encoder_.is_letter(text[at])) {
        const std::size_t length = character_length(text.substr(0, word.end), at);
        const std::uint32_t id = id_of_character(text.substr(at, length));
        if (id != no_id) {
          output.add(id, at);
        } else if (!fuse_unknown_ || !after_unknown) {
          output.add(special().unknown, at);
        }
        after_unknown = id == no_id;
        at += length;
        continue;
      }
      std::size_t end = at + 1;
      while (end < word.end && encoder_.is_letter(text[end])) ++end;
      numbers.clear();
      encoder_.encode(text.substr(at, end - at), numbers);
      for (const std::uint32_t number : numbers) {
        output.add(ids_[number], at);
        at += encoder_.length(number);
      }
      after_unknown = false;
    }
  }

  std::uint32_t id_of_character(std::string_view character) const {
    if (character.size() == 1) return ascii_ids_[static_cast<unsigned char>(character[0])];
    const auto found = other_ids_.find(character);
    return found == other_ids_.end() ? no_id : found->second;
  }

  BpeEncoder encoder_;
  std::vector<std::uint32_t> ids_;  // by the encoder's number
  std::array<std::uint32_t, 256> ascii_ids_{};
  std::map<std::string, std::uint32_t, std::less<>> other_ids_;
  AddedTokenFinder added_;
  AddedTokenFinder added_normalized_;
  std::vector<NormalizerStep> normalizer_;
  std::vector<SplitStep> splits_;
  bool fuse_unknown_;
  std::vector<std::uint32_t> numbers_;  // of the encoder, by id
  bool leaves_bases_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_json_tokenizer(const TokenizerJson& definition, const SpecialIds& special,
                                               const std::string& bytes) {
  return std::make_unique<JsonTokenizer>(definition, special, bytes, Vocabulary(definition));
}

}  // namespace bigbird
