// Writing token shards; see token_shards.h for the layout.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/data/token_shard_format.h"
#include "lib/data/token_shards.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/sha256.h"

namespace bigbird {
namespace {

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

std::string shard_stem(const std::string& prefix, bool numbered, std::size_t number) {
  return numbered ? fmt::format("{}.{:05}", prefix, number) : prefix;
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
