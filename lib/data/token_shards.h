// Token shards: ids on disk in Megatron's indexed-dataset layout, which other trainers read as well.
//
// One sequence is one sentence; documents are runs of sentences; no special tokens are stored.
//   P.bin  the ids one after another, uint16 when the vocabulary has at most 65,500 pieces, else int32
//   P.idx  "MMIDIDX\0\0", uint64 version 1, uint8 type (8 = uint16, 4 = int32), uint64 sentences,
//          uint64 entries of the document table, int32 length of every sentence, int64 byte offset of every
//          sentence in P.bin, int64 document table (first sentence of every document, then the end)
//   P.json counts, tokenizer digest, SHA-256 of every .bin, provenance; the list of shards; of text that it
//          is text, how it was encoded, and whether samples join documents (TextShardFacts)
// All little-endian. A set written with a shard size is P.00000.bin, P.00001.bin, ... (each with its .idx)
// and one P.json; a document never spans two shards. Megatron's own files (no P.json) are read as one shard.
// Source: Megatron-LM, indexed_dataset.py (version 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"

namespace bigbird {

// The ids of one sentence, in the mapped file. Valid as long as its TokenShards.
class TokenView {
 public:
  TokenView(const std::byte* data, std::size_t size, bool wide) : data_(data), size_(size), wide_(wide) {}

  std::size_t size() const { return size_; }
  std::uint32_t operator[](std::size_t i) const {
    if (wide_) {
      std::uint32_t id = 0;
      std::memcpy(&id, data_ + i * sizeof id, sizeof id);
      return id;
    }
    std::uint16_t id = 0;
    std::memcpy(&id, data_ + i * sizeof id, sizeof id);
    return id;
  }
  void append_to(std::vector<std::uint32_t>& ids) const {
    for (std::size_t i = 0; i < size_; ++i) ids.push_back((*this)[i]);
  }

 private:
  const std::byte* data_;
  std::size_t size_;
  bool wide_;
};

// Sentences [first, last) of a document.
struct SentenceRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t size() const { return last - first; }
};

// All shards of a prefix, memory-mapped and checked. Documents and sentences are numbered through all shards.
// Immutable: safe from many threads.
class TokenShards {
 public:
  // Error{bad_input} naming the file: none there; an .idx that is none, or shorter than its counts; a .bin
  // that does not hold the bytes that its .idx names (expected and found are said); tables out of order; an
  // id outside of the vocabulary that P.json says the shards were made for. Every id is read once, here.
  explicit TokenShards(const std::string& prefix);

  const std::string& prefix() const { return prefix_; }
  std::uint64_t document_count() const { return document_count_; }
  std::uint64_t sentence_count() const { return sentence_count_; }
  std::uint64_t token_count() const { return token_count_; }
  std::size_t shard_count() const { return shards_.size(); }
  // Bytes of the mapped ids, all shards together: what reading every sentence makes resident.
  std::uint64_t token_bytes() const;
  // From P.json: bases (of text bytes) that the ids stand for (0 when unknown) and the tokenizer's digest
  // (empty when unknown).
  std::uint64_t base_count() const { return base_count_; }
  const std::string& tokenizer_digest() const { return tokenizer_digest_; }

  // From P.json: made from documents of text (TextShardFacts), and those are joined in samples.
  bool is_text() const { return is_text_; }
  bool joins_documents() const { return joins_documents_; }

  // d < document_count(), s < sentence_count().
  SentenceRange document(std::uint64_t d) const;
  TokenView document_tokens(std::uint64_t d) const;  // all its sentences
  TokenView sentence(std::uint64_t s) const;
  std::uint32_t sentence_length(std::uint64_t s) const;

  // Error{bad_input} when the shards were made with another tokenizer (if P.json says with which), or hold an
  // id outside of the vocabulary.
  void require_tokenizer(const std::string& digest, std::size_t vocab_size) const;
  // Error{bad_input} naming the file and the token whose id is vocab_size or more. Who takes ids as places in
  // a table asks for this first; it costs nothing, as the largest ids are known.
  void require_ids_below(std::size_t vocab_size) const;

 private:
  struct Shard {
    MappedFile index;
    MappedFile tokens;
    std::uint64_t sentences = 0;
    std::uint64_t documents = 0;
    std::uint64_t first_sentence = 0;
    std::uint64_t first_document = 0;
    std::size_t lengths_at = 0;  // offsets of the three tables in index
    std::size_t pointers_at = 0;
    std::size_t documents_at = 0;
    bool wide = false;
    std::uint32_t largest_id = 0;

    std::uint64_t token_count() const { return tokens.size() / (wide ? 4 : 2); }
  };

  static Shard open_shard(const std::string& stem);
  std::vector<std::string> find_stems();
  const Shard& shard_of_sentence(std::uint64_t s) const;
  const Shard& shard_of_document(std::uint64_t d) const;

  std::string prefix_;
  std::string tokenizer_digest_;
  std::vector<Shard> shards_;
  std::uint64_t document_count_ = 0;
  std::uint64_t sentence_count_ = 0;
  std::uint64_t token_count_ = 0;
  std::uint64_t base_count_ = 0;
  std::size_t vocab_size_ = 0;  // 0: unknown
  bool is_text_ = false;
  bool joins_documents_ = false;
};

// What P.json says of shards of text beside the counts; `bases` are their bytes then.
struct TextShardFacts {
  bool join = true;  // samples hold several documents where they fit (joined_documents.h)
  // How lines were encoded (lib/tokenization/text_encoding.h): texts to be scored must be read alike.
  bool fold_white_space = true;
  bool ascii_punctuation = false;
  std::uint64_t unknown_tokens = 0;
  std::uint64_t blank_documents = 0;  // left out
};

// Writes a set of shards; nothing appears under its names before finish().
class TokenShardWriter {
 public:
  // tokens_per_shard 0: one shard, P.bin. Else a new numbered shard begins before the document that would
  // take the current one past that many tokens.
  TokenShardWriter(std::string prefix, std::size_t vocab_size, std::uint64_t tokens_per_shard = 0);
  ~TokenShardWriter();

  // ids of all sentences one after another; lengths sum to ids.size(); bases counts what they stand for.
  // A document without sentences is left out.
  void add_document(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> sentence_lengths,
                    std::uint64_t bases);
  // Completes the files and P.json. provenance null: none is written. text null: P.json does not say what the
  // tokens are of, and samples are made as they are for DNA.
  void finish(const std::string& tokenizer_digest, const Provenance* provenance,
              const TextShardFacts* text = nullptr);

  std::uint64_t document_count() const { return document_count_; }
  std::uint64_t sentence_count() const { return sentence_count_; }
  std::uint64_t token_count() const { return token_count_; }
  std::uint64_t base_count() const { return base_count_; }

 private:
  struct OpenShard;
  void start_shard();
  void end_shard();

  std::string prefix_;
  std::size_t vocab_size_;
  std::uint64_t tokens_per_shard_;
  bool wide_;
  std::vector<std::unique_ptr<OpenShard>> shards_;
  std::uint64_t document_count_ = 0;
  std::uint64_t sentence_count_ = 0;
  std::uint64_t token_count_ = 0;
  std::uint64_t base_count_ = 0;
};

}  // namespace bigbird
