// Reading token shards: mapping, checking, and finding sentences; see token_shards.h.
#include "lib/data/token_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/data/token_shard_format.h"

namespace bigbird {
namespace {

static_assert(std::endian::native == std::endian::little,
              "shards are little-endian and are mapped as they are");

constexpr const char* again_hint = "copy the file again, or run bigbird tokenize again";
constexpr const char* other_tokenizer_hint =
    "tokenize the data with this model's tokenizer, or choose the model that fits the data";

template <typename T>
T load(const MappedFile& file, std::size_t at) {
  T value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

template <typename T>
T entry(const MappedFile& file, std::size_t table, std::uint64_t i) {
  return load<T>(file, table + static_cast<std::size_t>(i) * sizeof(T));
}

// Reads all of the ids, and lets them go: a run touches them again where its samples lie.
template <typename Id>
std::uint32_t find_largest(const MappedFile& file) {
  constexpr std::size_t stretch = std::size_t{4} << 20;
  std::vector<Id> largest((file.size() + stretch - 1) / stretch, Id{0});
  kernels::parallel_for(largest.size(), [&](std::size_t i) {
    const std::size_t begin = i * stretch;
    const std::size_t end = std::min(begin + stretch, file.size());
    Id found{0};
    for (std::size_t at = begin; at < end; at += sizeof(Id)) found = std::max(found, load<Id>(file, at));
    largest[i] = found;
    file.release(begin, end);
  });
  return largest.empty() ? 0 : *std::max_element(largest.begin(), largest.end());
}

}  // namespace

TokenShards::TokenShards(const std::string& prefix) : prefix_(prefix) {
  for (const std::string& stem : find_stems()) {
    Shard shard = open_shard(stem);
    shard.first_sentence = sentence_count_;
    shard.first_document = document_count_;
    sentence_count_ += shard.sentences;
    document_count_ += shard.documents;
    token_count_ += shard.token_count();
    shards_.push_back(std::move(shard));
  }
  if (vocab_size_ != 0) require_ids_below(vocab_size_);
}

// What P.json lists; without it, P.idx, or P.00000.idx and those that follow.
std::vector<std::string> TokenShards::find_stems() {
  const std::string path = prefix_ + ".json";
  if (file_exists(path)) {
    const nlohmann::json description = nlohmann::json::parse(read_file(path), nullptr, false);
    const auto field = [&](const char* name) -> const nlohmann::json& {
      if (!description.is_object() || !description.contains(name)) {
        throw_bad_input(fmt::format("{}: not a description of token shards (no \"{}\")", path, name),
                        again_hint);
      }
      return description[name];
    };
    is_text_ = description.is_object() && description.contains("alphabet");
    const char* bases = is_text_ ? "bytes" : "bases";
    if (!field("shards").is_array() || !field("numbered").is_boolean() ||
        !field(bases).is_number_unsigned() || !field("tokenizer_sha256").is_string()) {
      throw_bad_input(path + ": a field of the shards' description has the wrong type", again_hint);
    }
    base_count_ = field(bases).get<std::uint64_t>();
    tokenizer_digest_ = field("tokenizer_sha256").get<std::string>();
    if (description.contains("vocab_size") && description["vocab_size"].is_number_unsigned()) {
      vocab_size_ = description["vocab_size"].get<std::size_t>();
    }
    if (is_text_) {
      if (field("alphabet") != "text" || !field("join").is_boolean()) {
        throw_bad_input(path + ": \"alphabet\" or \"join\" is not what this program writes", again_hint);
      }
      joins_documents_ = field("join").get<bool>();
    }
    std::vector<std::string> stems;
    for (std::size_t i = 0; i < field("shards").size(); ++i) {
      stems.push_back(shard_stem(prefix_, field("numbered").get<bool>(), i));
    }
    return stems;
  }
  if (file_exists(prefix_ + ".idx")) return {prefix_};
  std::vector<std::string> stems;
  while (file_exists(shard_stem(prefix_, true, stems.size()) + ".idx")) {
    stems.push_back(shard_stem(prefix_, true, stems.size()));
  }
  if (stems.empty()) {
    throw_bad_input(fmt::format("{}: no token shards there ({}.idx is missing)", prefix_, prefix_),
                    "make them with bigbird tokenize; give the prefix, without .bin or .idx");
  }
  return stems;
}

TokenShards::Shard TokenShards::open_shard(const std::string& stem) {
  Shard shard;
  shard.index = MappedFile(stem + ".idx");
  const MappedFile& index = shard.index;
  const auto fail = [&](const std::string& what) { throw_bad_input(index.path() + ": " + what, again_hint); };
  if (index.size() < shard_header_size || std::memcmp(index.data(), shard_magic, sizeof shard_magic) != 0) {
    fail("not an index of token shards (it does not begin with MMIDIDX)");
  }
  const auto version = load<std::uint64_t>(index, 9);
  const auto type = load<std::uint8_t>(index, 17);
  shard.sentences = load<std::uint64_t>(index, 18);
  const auto entries = load<std::uint64_t>(index, 26);
  if (version != 1) fail(fmt::format("version {} of the format; this program reads version 1", version));
  if (type != shard_type_uint16 && type != shard_type_int32) {
    fail(fmt::format("ids of type {}; this program reads 8 (uint16) and 4 (int32)", type));
  }
  shard.wide = type == shard_type_int32;
  const std::uint64_t most = index.size();  // no count can exceed the file's size: keeps the sum below small
  const std::uint64_t expected =
      shard.sentences > most || entries > most ? 0 : shard_header_size + shard.sentences * 12 + entries * 8;
  if (expected != index.size()) {
    fail(fmt::format(
        "damaged or cut short: {} sentences and {} document entries take {} bytes, the file holds {}",
        shard.sentences, entries, expected == 0 ? "more" : std::to_string(expected), index.size()));
  }
  if (entries == 0) fail("the document table is empty");
  shard.documents = entries - 1;
  shard.lengths_at = shard_header_size;
  shard.pointers_at = shard.lengths_at + static_cast<std::size_t>(shard.sentences) * 4;
  shard.documents_at = shard.pointers_at + static_cast<std::size_t>(shard.sentences) * 8;

  const std::uint64_t id_size = shard.wide ? 4 : 2;
  std::uint64_t bytes = 0;
  for (std::uint64_t s = 0; s < shard.sentences; ++s) {
    const auto length = entry<std::int32_t>(index, shard.lengths_at, s);
    const auto pointer = entry<std::int64_t>(index, shard.pointers_at, s);
    if (length < 0 || pointer != static_cast<std::int64_t>(bytes)) {
      fail(fmt::format("the entry of sentence {} is damaged (length {}, at byte {})", s, length, pointer));
    }
    bytes += static_cast<std::uint64_t>(length) * id_size;
  }
  std::int64_t previous = 0;
  for (std::uint64_t d = 0; d < entries; ++d) {
    const auto first = entry<std::int64_t>(index, shard.documents_at, d);
    const bool fits = d == 0 ? first == 0 : first >= previous;
    const bool ends = d + 1 < entries || first == static_cast<std::int64_t>(shard.sentences);
    if (!fits || !ends) fail(fmt::format("entry {} of the document table is damaged ({})", d, first));
    previous = first;
  }
  shard.tokens = MappedFile(stem + ".bin");
  if (shard.tokens.size() != bytes) {
    throw_bad_input(
        fmt::format("{}: {}: its index names {} bytes, the file holds {}", shard.tokens.path(),
                    shard.tokens.size() < bytes ? "cut short" : "too long", bytes, shard.tokens.size()),
        again_hint);
  }
  shard.largest_id =
      shard.wide ? find_largest<std::uint32_t>(shard.tokens) : find_largest<std::uint16_t>(shard.tokens);
  return shard;
}

const TokenShards::Shard& TokenShards::shard_of_sentence(std::uint64_t s) const {
  const auto after =
      std::upper_bound(shards_.begin(), shards_.end(), s,
                       [](std::uint64_t value, const Shard& shard) { return value < shard.first_sentence; });
  return *(after - 1);
}

const TokenShards::Shard& TokenShards::shard_of_document(std::uint64_t d) const {
  const auto after =
      std::upper_bound(shards_.begin(), shards_.end(), d,
                       [](std::uint64_t value, const Shard& shard) { return value < shard.first_document; });
  return *(after - 1);
}

std::uint64_t TokenShards::token_bytes() const {
  std::uint64_t bytes = 0;
  for (const Shard& shard : shards_) bytes += shard.tokens.size();
  return bytes;
}

SentenceRange TokenShards::document(std::uint64_t d) const {
  const Shard& shard = shard_of_document(d);
  const std::uint64_t local = d - shard.first_document;
  const auto first = entry<std::int64_t>(shard.index, shard.documents_at, local);
  const auto last = entry<std::int64_t>(shard.index, shard.documents_at, local + 1);
  return {shard.first_sentence + static_cast<std::uint64_t>(first),
          shard.first_sentence + static_cast<std::uint64_t>(last)};
}

std::uint32_t TokenShards::sentence_length(std::uint64_t s) const {
  const Shard& shard = shard_of_sentence(s);
  return static_cast<std::uint32_t>(
      entry<std::int32_t>(shard.index, shard.lengths_at, s - shard.first_sentence));
}

TokenView TokenShards::sentence(std::uint64_t s) const {
  const Shard& shard = shard_of_sentence(s);
  const std::uint64_t local = s - shard.first_sentence;
  const auto pointer = entry<std::int64_t>(shard.index, shard.pointers_at, local);
  const auto length = entry<std::int32_t>(shard.index, shard.lengths_at, local);
  return {shard.tokens.data() + pointer, static_cast<std::size_t>(length), shard.wide};
}

TokenView TokenShards::document_tokens(std::uint64_t d) const {
  const SentenceRange sentences = document(d);
  const Shard& shard = shard_of_document(d);
  const std::uint64_t id_size = shard.wide ? 4 : 2;
  // Byte of the first sentence; that of the end is where the next one begins, which was checked.
  const auto byte_of = [&](std::uint64_t s) {
    return s - shard.first_sentence == shard.sentences
               ? static_cast<std::uint64_t>(shard.tokens.size())
               : static_cast<std::uint64_t>(
                     entry<std::int64_t>(shard.index, shard.pointers_at, s - shard.first_sentence));
  };
  const std::uint64_t begin = byte_of(sentences.first), end = byte_of(sentences.last);
  return {shard.tokens.data() + begin, static_cast<std::size_t>((end - begin) / id_size), shard.wide};
}

void TokenShards::require_tokenizer(const std::string& digest, std::size_t vocab_size) const {
  if (!tokenizer_digest_.empty() && tokenizer_digest_ != digest) {
    throw_bad_input(fmt::format("{}.json: the shards were made with another tokenizer ({}..., not {}...)",
                                prefix_, tokenizer_digest_.substr(0, 12), digest.substr(0, 12)),
                    other_tokenizer_hint);
  }
  require_ids_below(vocab_size);
}

void TokenShards::require_ids_below(std::size_t vocab_size) const {
  for (const Shard& shard : shards_) {
    if (shard.largest_id < vocab_size || shard.token_count() == 0) continue;
    const TokenView ids(shard.tokens.data(), shard.token_count(), shard.wide);
    std::size_t at = 0;
    while (at + 1 < ids.size() && ids[at] < vocab_size) ++at;
    throw_bad_input(fmt::format("{}: id {} at token {} is outside the vocabulary of {} pieces",
                                shard.tokens.path(), ids[at], at, vocab_size),
                    vocab_size_ != 0 && shard.largest_id >= vocab_size_ ? again_hint : other_tokenizer_hint);
  }
}

}  // namespace bigbird
