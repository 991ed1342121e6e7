// A warm start across vocabularies; see vocabulary_transfer.h.
#include "lib/model_folder/vocabulary_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "lib/core/error.h"
#include "lib/tokenization/byte_level_bpe.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

constexpr std::string_view blank_of_sentencepiece = "\xE2\x96\x81";  // U+2581
constexpr const char* word_vectors = "bert.embeddings.word_embeddings.weight";
constexpr const char* output_bias = "cls.predictions.bias";
constexpr const char* positions_table = "bert.embeddings.position_embeddings.weight";

// What the pieces of one vocabulary stand for.
class PieceBytes {
 public:
  explicit PieceBytes(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      bytes_.emplace(byte_level_characters()[byte], static_cast<char>(byte));
    }
    bytes_.emplace(blank_of_sentencepiece, ' ');
    stand_ins_ = tokenizer.word_start() != blank_of_sentencepiece || holds_every_stand_in();
  }

  // Nothing for a piece that is written in stand-ins and holds another character.
  std::optional<std::string> of(std::uint32_t id) const {
    const std::string& piece = tokenizer_.piece(id);
    if (const std::string_view within = tokenizer_.within_words(); !within.empty())
      return tokenizer_.begins_word(id) ? ' ' + piece : piece.substr(within.size());
    if (stand_ins_) return from_stand_ins(piece);
    if (const auto byte = byte_piece(id)) return std::string(1, *byte);
    std::string text;
    for (std::size_t i = 0; i < piece.size();) {
      const bool blank = piece.compare(i, blank_of_sentencepiece.size(), blank_of_sentencepiece) == 0;
      text += blank ? ' ' : piece[i];
      i += blank ? blank_of_sentencepiece.size() : 1;
    }
    return text;
  }

 private:
  // Every byte but the blank, whose sign may be either. A vocabulary learnt from text holds no U+0100 to
  // U+011F in a row.
  bool holds_every_stand_in() const {
    std::array<bool, 256> held{};
    held[static_cast<std::size_t>(' ')] = true;
    for (std::uint32_t id = 0; id < tokenizer_.vocab_size(); ++id) {
      const auto found = bytes_.find(tokenizer_.piece(id));
      if (found != bytes_.end()) held[static_cast<unsigned char>(found->second)] = true;
    }
    return std::find(held.begin(), held.end(), false) == held.end();
  }

  std::optional<std::string> from_stand_ins(const std::string& piece) const {
    std::string text;
    for (std::size_t begin = 0; begin < piece.size();) {
      std::size_t end = begin + 1;
      while (end < piece.size() && (static_cast<unsigned char>(piece[end]) & 0xc0u) == 0x80u) ++end;
      const auto found = bytes_.find(piece.substr(begin, end - begin));
      if (found == bytes_.end()) return std::nullopt;
      text += found->second;
      begin = end;
    }
    return text;
  }

  // <0x0A> of byte fallback, which stands for one byte where an ordinary piece of that text stands for six.
  std::optional<char> byte_piece(std::uint32_t id) const {
    const std::string& piece = tokenizer_.piece(id);
    if (piece.size() != 6 || tokenizer_.piece_length(id) != 1 || !piece.starts_with("<0x")) {
      return std::nullopt;
    }
    unsigned value = 0;
    const auto [end, error] = std::from_chars(piece.data() + 3, piece.data() + 5, value, 16);
    if (error != std::errc() || end != piece.data() + 5) return std::nullopt;
    return static_cast<char>(value);
  }

  const Tokenizer& tokenizer_;
  std::unordered_map<std::string, char> bytes_;  // by stand-in
  bool stand_ins_ = false;
};

std::array<std::uint32_t, 5> ids_by_use(const SpecialIds& special) {
  return {special.pad, special.unknown, special.cls, special.sep, special.mask};
}

bool is_one_of_five(const Tokenizer& tokenizer, std::uint32_t id) {
  const auto five = ids_by_use(tokenizer.special());
  return std::find(five.begin(), five.end(), id) != five.end();
}

std::string with_commas(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

}  // namespace

std::string VocabularyTransfer::summary() const {
  return fmt::format("{} of {} pieces mapped by string, {} special, {} random", with_commas(by_string),
                     with_commas(static_cast<std::int64_t>(rows.size())), special, with_commas(random));
}

bool same_vocabulary(const Tokenizer& a, const Tokenizer& b) {
  if (a.vocab_size() != b.vocab_size() || !(a.special() == b.special())) return false;
  for (std::uint32_t id = 0; id < a.vocab_size(); ++id) {
    if (a.piece(id) != b.piece(id)) return false;
  }
  return true;
}

VocabularyTransfer match_vocabularies(const Tokenizer& source, const Tokenizer& target) {
  const PieceBytes source_bytes(source), target_bytes(target);
  std::unordered_map<std::string, std::int64_t> source_rows;
  // Byte pieces last: where "A" and <0x41> are both there, "A" is what texts were encoded with.
  for (const bool longer : {true, false}) {
    for (std::uint32_t id = 0; id < source.vocab_size(); ++id) {
      const bool byte_piece = source.piece(id).size() == 6 && source.piece_length(id) == 1;
      if (byte_piece == longer || is_one_of_five(source, id)) continue;
      if (auto bytes = source_bytes.of(id)) source_rows.emplace(std::move(*bytes), id);
    }
  }
  VocabularyTransfer transfer;
  transfer.rows.assign(target.vocab_size(), -1);
  const auto from = ids_by_use(source.special());
  const auto to = ids_by_use(target.special());
  for (std::size_t use = 0; use < to.size(); ++use) transfer.rows[to[use]] = from[use];
  for (std::uint32_t id = 0; id < target.vocab_size(); ++id) {
    if (is_one_of_five(target, id)) {
      ++transfer.special;
      continue;
    }
    const std::optional<std::string> bytes = target_bytes.of(id);
    const auto found = bytes ? source_rows.find(*bytes) : source_rows.end();
    if (found == source_rows.end()) {
      ++transfer.random;
      continue;
    }
    transfer.rows[id] = found->second;
    ++transfer.by_string;
  }
  return transfer;
}

ModelConfig with_vocabulary(const ModelConfig& config, const Tokenizer& target) {
  ModelConfig changed = config;
  changed.vocab_size = static_cast<std::int64_t>(target.vocab_size());
  changed.pad_token_id = target.special().pad;
  changed.bos_token_id = target.special().cls;
  changed.eos_token_id = target.special().sep;
  changed.sep_token_id = target.special().sep;
  changed.tokenizer_digest = target.digest();
  return changed;
}

std::vector<float> transferred_parameters(const LoadedModel& source, const ModelConfig& config,
                                          const VocabularyTransfer& transfer, std::uint64_t seed) {
  const ParameterLayout from(source.config), to(config);
  std::vector<float> parameters = initial_parameters(to, config, seed);
  for (const TensorSpec& spec : to.tensors()) {
    const TensorSpec* stored = from.find(spec.name);
    const bool by_piece = spec.name == word_vectors || spec.name == output_bias ||
                          spec.name == "cls.predictions.decoder.weight";
    const bool repeated = spec.name == positions_table;
    const auto fits = [&] {
      if (stored == nullptr || stored->shape.size() != spec.shape.size()) return false;
      if (!by_piece && !repeated) return stored->shape == spec.shape;
      return std::equal(stored->shape.begin() + 1, stored->shape.end(), spec.shape.begin() + 1);
    };
    if (!fits()) {
      throw_bad_input(fmt::format("tensor {} of the model has not the shape [{}] that is asked for",
                                  spec.name, fmt::join(spec.shape, ", ")),
                      "a warm start may change the vocabulary and the number of positions only");
    }
    const std::int64_t rows = spec.shape[0], stored_rows = stored->shape[0];
    const std::int64_t width = spec.count / rows;
    const float* values = source.parameters.data() + stored->offset;
    float* out = parameters.data() + spec.offset;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int64_t taken = row;
      if (by_piece) taken = transfer.rows.at(static_cast<std::size_t>(row));
      if (repeated) taken = row % stored_rows;
      if (taken < 0) continue;
      if (taken >= stored_rows) {
        throw_bad_input(fmt::format("tensor {} has {} rows, the model's tokenizer a piece {}", spec.name,
                                    stored_rows, taken),
                        "the tokenizer in the folder is not the one of its weights");
      }
      std::copy_n(values + taken * width, width, out + row * width);
    }
  }
  return parameters;
}

}  // namespace bigbird
