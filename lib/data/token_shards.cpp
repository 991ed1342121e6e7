// Token shards: mapping, checking, finding sentences, and writing; see token_shards.h for the layout.
#include "lib/data/token_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/sha256.h"

namespace bigbird {
namespace {

static_assert(std::endian::native == std::endian::little,
              "shards are little-endian and are mapped as they are");

// What the reader and the writer must agree on.
constexpr char shard_magic[9] = {'M', 'M', 'I', 'D', 'I', 'D', 'X', '\0', '\0'};
constexpr std::uint64_t shard_version = 1;
constexpr std::uint8_t shard_type_int32 = 4;
constexpr std::uint8_t shard_type_uint16 = 8;
// Magic, version, type, number of sentences, number of document entries.
constexpr std::size_t shard_header_size = sizeof shard_magic + 8 + 1 + 8 + 8;
// Megatron's rule for when ids fit in 16 bits.
constexpr std::size_t largest_uint16_vocabulary = 65500;

// "P" or "P.00007".
std::string shard_stem(const std::string& prefix, bool numbered, std::size_t number) {
  return numbered ? fmt::format("{}.{:05}", prefix, number) : prefix;
}

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

constexpr std::size_t buffer_size = std::size_t{1} << 20;
// Every shard keeps its files open until all are complete, so that a set appears whole.
constexpr std::size_t most_shards = 400;

template <typename T>
void append(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
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

struct TokenShardWriter::OpenShard {
  explicit OpenShard(const std::string& stem) : ids(stem + ".bin"), index(stem + ".idx") {}

  void flush() {
    ids.write(buffer.data(), buffer.size());
    digest.update(buffer.data(), buffer.size());
    buffer.clear();
  }

  AtomicFile ids;
  AtomicFile index;
  Sha256 digest;
  std::string buffer;
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> documents{0};
  std::string sha256;
  std::uint64_t document_count = 0;
  std::uint64_t sentence_count = 0;
  std::uint64_t token_count = 0;
};

TokenShardWriter::TokenShardWriter(std::string prefix, std::size_t vocab_size, std::uint64_t tokens_per_shard)
    : prefix_(std::move(prefix)),
      vocab_size_(vocab_size),
      tokens_per_shard_(tokens_per_shard),
      wide_(vocab_size > largest_uint16_vocabulary) {
  if (prefix_ == "-")
    throw_usage("-: shards are several files, and not for stdout", "give a prefix of names");
  start_shard();
}

TokenShardWriter::~TokenShardWriter() = default;

void TokenShardWriter::start_shard() {
  if (shards_.size() == most_shards) {
    throw_usage(fmt::format("more than {} shards", most_shards), message("choose a larger `shard_size`"));
  }
  shards_.push_back(std::make_unique<OpenShard>(shard_stem(prefix_, tokens_per_shard_ != 0, shards_.size())));
}

void TokenShardWriter::end_shard() {
  OpenShard& shard = *shards_.back();
  shard.flush();
  shard.sha256 = shard.digest.finish();
  std::string& out = shard.buffer;
  const auto write_when_full = [&](std::size_t limit) {
    if (out.size() < limit) return;
    shard.index.write(out.data(), out.size());
    out.clear();
  };
  out.append(shard_magic, sizeof shard_magic);
  append(out, shard_version);
  append(out, wide_ ? shard_type_int32 : shard_type_uint16);
  append(out, shard.sentence_count);
  append(out, static_cast<std::uint64_t>(shard.documents.size()));
  for (const std::int32_t length : shard.lengths) {
    append(out, length);
    write_when_full(buffer_size);
  }
  std::int64_t pointer = 0;
  for (const std::int32_t length : shard.lengths) {
    append(out, pointer);
    pointer += std::int64_t{length} * (wide_ ? 4 : 2);
    write_when_full(buffer_size);
  }
  for (const std::int64_t first : shard.documents) {
    append(out, first);
    write_when_full(buffer_size);
  }
  write_when_full(1);
  shard.lengths = {};
  shard.documents = {};
}

void TokenShardWriter::add_document(std::span<const std::uint32_t> ids,
                                    std::span<const std::uint32_t> sentence_lengths, std::uint64_t bases) {
  if (sentence_lengths.empty()) return;
  if (tokens_per_shard_ != 0 && shards_.back()->token_count != 0 &&
      shards_.back()->token_count + ids.size() > tokens_per_shard_) {
    end_shard();
    start_shard();
  }
  OpenShard& shard = *shards_.back();
  for (const std::uint32_t id : ids) {
    if (wide_) {
      append(shard.buffer, static_cast<std::int32_t>(id));
    } else {
      append(shard.buffer, static_cast<std::uint16_t>(id));
    }
  }
  if (shard.buffer.size() >= buffer_size) shard.flush();
  for (const std::uint32_t length : sentence_lengths)
    shard.lengths.push_back(static_cast<std::int32_t>(length));
  shard.sentence_count += sentence_lengths.size();
  shard.token_count += ids.size();
  ++shard.document_count;
  shard.documents.push_back(static_cast<std::int64_t>(shard.sentence_count));
  ++document_count_;
  sentence_count_ += sentence_lengths.size();
  token_count_ += ids.size();
  base_count_ += bases;
}

void TokenShardWriter::finish(const std::string& tokenizer_digest, const Provenance* provenance,
                              const TextShardFacts* text) {
  end_shard();
  nlohmann::ordered_json description;
  description["format"] = "megatron indexed dataset, version 1";
  description["type"] = wide_ ? "int32" : "uint16";
  description["documents"] = document_count_;
  description["sentences"] = sentence_count_;
  description["tokens"] = token_count_;
  description[text == nullptr ? "bases" : "bytes"] = base_count_;
  description[text == nullptr ? "bases_per_token" : "bytes_per_token"] =
      token_count_ == 0 ? 0.0 : static_cast<double>(base_count_) / static_cast<double>(token_count_);
  if (text != nullptr) {
    description["alphabet"] = "text";
    description["join"] = text->join;
    description["white_space"] = text->fold_white_space ? "fold" : "keep";
    description["ascii_punctuation"] = text->ascii_punctuation;
    description["unknown_tokens"] = text->unknown_tokens;
    description["blank_documents"] = text->blank_documents;
  }
  description["vocab_size"] = vocab_size_;
  description["tokenizer_sha256"] = tokenizer_digest;
  description["numbered"] = tokens_per_shard_ != 0;
  description["shards"] = nlohmann::ordered_json::array();
  for (const auto& shard : shards_) {
    const auto name = [](const AtomicFile& file) {
      return file.path().substr(file.path().find_last_of('/') + 1);
    };
    description["shards"].push_back({{"bin", name(shard->ids)},
                                     {"idx", name(shard->index)},
                                     {"documents", shard->document_count},
                                     {"sentences", shard->sentence_count},
                                     {"tokens", shard->token_count},
                                     {"bytes", shard->ids.size()},
                                     {"sha256", shard->sha256}});
  }
  if (provenance != nullptr) {
    description["provenance"] = nlohmann::ordered_json::parse(provenance_json(*provenance));
  }
  OutputSet outputs({{"", prefix_ + ".json"}});
  for (const auto& shard : shards_) {
    outputs.add({"", shard->ids.path()});
    outputs.add({"", shard->index.path()});
  }
  for (const auto& shard : shards_) {
    shard->ids.commit();
    shard->index.commit();
  }
  write_text_atomic(prefix_ + ".json", json_text(description, 2) + "\n");
  outputs.commit();
}

}  // namespace bigbird
