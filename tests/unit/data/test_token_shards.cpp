// Token shards: what is written is what is read, byte by byte as Megatron lays it out, and damage is named.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/data/token_shards.h"
#include "lib/io/files/sha256.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

using Sentences = std::vector<std::vector<std::uint32_t>>;

std::vector<Sentences> random_documents(std::uint64_t index, std::size_t count, std::uint32_t vocab_size) {
  CounterRng rng(4, Purpose::test, index);
  std::vector<Sentences> documents(count);
  for (Sentences& document : documents) {
    document.resize(static_cast<std::size_t>(rng.between(1, 6)));
    for (auto& sentence : document) {
      sentence.resize(static_cast<std::size_t>(rng.between(0, 30)));
      for (std::uint32_t& id : sentence) id = static_cast<std::uint32_t>(rng.below(vocab_size));
    }
  }
  return documents;
}

void write_shards(const std::string& prefix, const std::vector<Sentences>& documents, std::size_t vocab_size,
                  std::uint64_t tokens_per_shard = 0) {
  TokenShardWriter writer(prefix, vocab_size, tokens_per_shard);
  for (const Sentences& document : documents) {
    std::vector<std::uint32_t> ids;
    std::vector<std::uint32_t> lengths;
    for (const auto& sentence : document) {
      ids.insert(ids.end(), sentence.begin(), sentence.end());
      lengths.push_back(static_cast<std::uint32_t>(sentence.size()));
    }
    writer.add_document(ids, lengths, ids.size() * 7);
  }
  writer.finish("digest", nullptr);
}

std::vector<Sentences> read_all(const TokenShards& shards) {
  std::vector<Sentences> documents;
  for (std::uint64_t d = 0; d < shards.document_count(); ++d) {
    Sentences document;
    const SentenceRange range = shards.document(d);
    for (std::uint64_t s = range.first; s < range.last; ++s) {
      document.emplace_back();
      shards.sentence(s).append_to(document.back());
      EXPECT_EQ(shards.sentence_length(s), document.back().size());
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

std::string open_error(const std::string& prefix) {
  try {
    const TokenShards shards(prefix);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "opened";
}

TEST(TokenShards, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  for (const std::uint32_t vocab_size : {32000u, 65500u, 65501u, 1000000u}) {
    const std::string prefix = (folder / ("v" + std::to_string(vocab_size))).string();
    const auto documents = random_documents(vocab_size, 40, vocab_size);
    write_shards(prefix, documents, vocab_size);
    const TokenShards shards(prefix);
    EXPECT_EQ(read_all(shards), documents);
    EXPECT_EQ(shards.shard_count(), 1u);
    EXPECT_EQ(shards.base_count(), shards.token_count() * 7);
    EXPECT_EQ(read_text(prefix + ".bin").size(), shards.token_count() * (vocab_size <= 65500 ? 2 : 4));
  }
}

TEST(TokenShards, AreMegatronsBytes) {
  const TemporaryFolder folder;
  const std::string prefix = (folder / "p").string();
  write_shards(prefix, {{{1, 2, 3}, {}}, {{65000}}}, 65500);
  const std::string index = read_text(prefix + ".idx");
  const std::string expected(
      "MMIDIDX\0\0"
      "\1\0\0\0\0\0\0\0"                                   // version
      "\10"                                                // uint16
      "\3\0\0\0\0\0\0\0"                                   // sentences
      "\3\0\0\0\0\0\0\0"                                   // document entries
      "\3\0\0\0\0\0\0\0\1\0\0\0"                           // lengths
      "\0\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0"   // byte offsets
      "\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0",  // first sentences of documents, and the end
      34 + 12 + 24 + 24);
  EXPECT_EQ(index, expected);
  EXPECT_EQ(read_text(prefix + ".bin"), std::string("\1\0\2\0\3\0\xe8\xfd", 8));
}

TEST(TokenShards, DescribesItselfInJson) {
  const TemporaryFolder folder;
  const std::string prefix = (folder / "p").string();
  write_shards(prefix, {{{1, 2, 3}, {4}}, {{5}}}, 100);
  const auto description = nlohmann::json::parse(read_text(prefix + ".json"));
  EXPECT_EQ(description["documents"], 2);
  EXPECT_EQ(description["sentences"], 3);
  EXPECT_EQ(description["tokens"], 5);
  EXPECT_EQ(description["bases"], 35);
  EXPECT_EQ(description["tokenizer_sha256"], "digest");
  EXPECT_EQ(description["shards"][0]["bin"], "p.bin");
  EXPECT_EQ(description["shards"][0]["sha256"], sha256_file(prefix + ".bin"));
  EXPECT_FALSE(description.contains("provenance"));
}

TEST(TokenShards, SplitsAtDocumentsAndReadsThroughAllShards) {
  const TemporaryFolder folder;
  const std::string prefix = (folder / "p").string();
  const auto documents = random_documents(9, 100, 500);
  write_shards(prefix, documents, 500, 150);
  const TokenShards shards(prefix);
  EXPECT_GT(shards.shard_count(), 5u);
  EXPECT_EQ(read_all(shards), documents);
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < shards.shard_count(); ++i) {
    const TokenShards one(prefix + ".000" + (i < 10 ? "0" : "") + std::to_string(i));
    EXPECT_LE(one.token_count(), 150u);
    tokens += one.token_count();
  }
  EXPECT_EQ(tokens, shards.token_count());
  std::filesystem::remove(prefix + ".json");
  EXPECT_EQ(read_all(TokenShards(prefix)), documents);
}

TEST(TokenShards, ReadMegatronsOwnFilesWithoutJson) {
  const TemporaryFolder folder;
  const std::string prefix = (folder / "p").string();
  const auto documents = random_documents(10, 10, 500);
  write_shards(prefix, documents, 500);
  std::filesystem::remove(prefix + ".json");
  const TokenShards shards(prefix);
  EXPECT_EQ(read_all(shards), documents);
  EXPECT_EQ(shards.base_count(), 0u);
  EXPECT_NO_THROW(shards.require_tokenizer("any", 500));
  EXPECT_THROW(shards.require_tokenizer("any", 100), Error);
}

TEST(TokenShards, RefuseAnotherTokenizer) {
  const TemporaryFolder folder;
  const std::string prefix = (folder / "p").string();
  write_shards(prefix, random_documents(11, 3, 500), 500);
  const TokenShards shards(prefix);
  EXPECT_NO_THROW(shards.require_tokenizer("digest", 500));
  EXPECT_THROW(shards.require_tokenizer("other", 500), Error);
  EXPECT_THROW(shards.require_tokenizer("digest", 100), Error);
}

TEST(TokenShards, CutShortSaysTheBytesExpectedAndFound) {
  const TemporaryFolder folder;
  const std::string prefix = (folder / "p").string();
  write_shards(prefix, {{{1, 2, 3, 4, 5}}}, 500);
  const std::string ids = read_text(prefix + ".bin");
  write_text(prefix + ".bin", ids.substr(0, 7));
  EXPECT_NE(open_error(prefix).find("p.bin: cut short: its index names 10 bytes, the file holds 7"),
            std::string::npos)
      << open_error(prefix);
  write_text(prefix + ".bin", ids + "x");
  EXPECT_NE(open_error(prefix).find("too long"), std::string::npos);
  std::filesystem::remove(prefix + ".bin");
  EXPECT_NE(open_error(prefix).find("p.bin"), std::string::npos);
}

TEST(TokenShards, EveryCutOfTheIndexIsNoticed) {
  const TemporaryFolder folder;
  const std::string prefix = (folder / "p").string();
  write_shards(prefix, {{{1, 2, 3}, {4}}, {{5}}}, 500);
  const std::string index = read_text(prefix + ".idx");
  for (std::size_t size = 0; size < index.size(); ++size) {
    write_text(prefix + ".idx", index.substr(0, size));
    EXPECT_NE(open_error(prefix).find("p.idx"), std::string::npos) << size;
  }
}

TEST(TokenShards, EveryFlippedByteOfTheIndexIsNoticed) {
  const TemporaryFolder folder;
  const std::string prefix = (folder / "p").string();
  write_shards(prefix, {{{1, 2, 3}, {4}}, {{5}}}, 500);
  const std::string index = read_text(prefix + ".idx");
  int opened = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    std::string damaged = index;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x80);
    write_text(prefix + ".idx", damaged);
    if (open_error(prefix) == "opened") ++opened;
  }
  EXPECT_EQ(opened, 0);
}

TEST(TokenShards, BrokenDescriptionIsNamed) {
  const TemporaryFolder folder;
  const std::string prefix = (folder / "p").string();
  write_shards(prefix, {{{1}}}, 500);
  for (const char* text : {"", "[]", "{\"shards\": 3}", "{\"shards\": [], \"numbered\": 1}"}) {
    write_text(prefix + ".json", text);
    EXPECT_NE(open_error(prefix).find("p.json"), std::string::npos);
  }
  EXPECT_NE(open_error((folder / "none").string()).find("no token shards"), std::string::npos);
}

TEST(TokenShardWriter, LeavesNothingBehindWhenItIsNotFinished) {
  const TemporaryFolder folder;
  {
    TokenShardWriter writer((folder / "p").string(), 500, 3);
    EXPECT_FALSE(std::filesystem::is_empty(folder.path()));
    const std::vector<std::uint32_t> ids{1, 2, 3};
    const std::vector<std::uint32_t> lengths{3};
    for (int i = 0; i < 4; ++i) writer.add_document(ids, lengths, 3);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// One bit of one id, which would index what has a place for each piece.
TEST(TokenShards, AFlippedBitOfAnIdIsNoticedWhenTheyAreOpened) {
  const TemporaryFolder folder;
  for (const std::uint32_t vocab_size : {500u, 100000u}) {
    const std::string prefix = (folder / ("v" + std::to_string(vocab_size))).string();
    write_shards(prefix, {{{1, 2, 3}, {vocab_size - 1}}, {{5}}}, vocab_size);
    EXPECT_EQ(open_error(prefix), "opened");
    std::string ids = read_text(prefix + ".bin");
    const std::size_t width = ids.size() / 5;
    ids[4 * width - 1] = static_cast<char>(ids[4 * width - 1] ^ 0x80);
    write_text(prefix + ".bin", ids);
    EXPECT_NE(open_error(prefix).find(".bin: id "), std::string::npos) << open_error(prefix);
    EXPECT_NE(
        open_error(prefix).find(" at token 3 is outside the vocabulary of " + std::to_string(vocab_size)),
        std::string::npos)
        << open_error(prefix);
    std::filesystem::remove(prefix + ".json");  // nobody says how large the vocabulary is
    const TokenShards shards(prefix);
    EXPECT_THROW(shards.require_ids_below(vocab_size), Error);
    EXPECT_THROW(shards.require_tokenizer("any", vocab_size), Error);
  }
}

// Longer than the stretches that are searched together.
TEST(TokenShards, TheLargestIdOfALongShardIsFoundWhereverItLies) {
  const TemporaryFolder folder;
  const std::string prefix = (folder / "p").string();
  constexpr std::size_t tokens = 5'000'001;
  std::vector<std::uint32_t> sentence(tokens, 7);
  write_shards(prefix, {{sentence}}, 500);
  const std::string ids = read_text(prefix + ".bin");
  std::filesystem::remove(prefix + ".json");
  for (const std::size_t place :
       {std::size_t{0}, std::size_t{2'097'151}, std::size_t{2'097'152}, tokens - 1}) {
    std::string damaged = ids;
    damaged[2 * place] = 100;
    write_text(prefix + ".bin", damaged);
    const TokenShards shards(prefix);
    EXPECT_NO_THROW(shards.require_ids_below(101));
    try {
      shards.require_ids_below(100);
      ADD_FAILURE() << place;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("id 100 at token " + std::to_string(place) + " "), std::string::npos)
          << error.message();
    }
    EXPECT_EQ(shards.sentence(0)[place], 100u);
  }
}

}  // namespace
}  // namespace bigbird
