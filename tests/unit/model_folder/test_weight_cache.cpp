// Files of packed weights: found again, thrown away where they do not fit, done without where they cannot be.

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "lib/model_folder/open_model.h"
#include "tests/support/support.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;
using testing::read_text;
using testing::write_text;

constexpr std::size_t packed_size = 10'000;

void fill(std::byte* to) {
  for (std::size_t i = 0; i < packed_size; ++i) to[i] = static_cast<std::byte>(i * 7 % 251);
}

bool holds_what_was_filled(const PackedMemory& memory) {
  std::vector<std::byte> expected(packed_size);
  fill(expected.data());
  return memory != nullptr && std::memcmp(memory.get(), expected.data(), packed_size) == 0;
}

class WeightCacheTest : public ::testing::Test {
 protected:
  WeightCache cache(const std::string& digest = "digest", const std::string& layout = "layout") const {
    return {(folder_ / "made/by/it").string(), digest, layout, packed_size};
  }
  testing::TemporaryFolder folder_;
};

TEST_F(WeightCacheTest, WhatWasMadeIsFoundByTheSameKeyAlone) {
  EXPECT_EQ(cache().find(), nullptr);
  const PackedMemory made = cache().make(fill);
  EXPECT_TRUE(holds_what_was_filled(made));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made.get()) % 64, 0u);
  EXPECT_TRUE(holds_what_was_filled(cache().find()));
  EXPECT_EQ(cache("other").find(), nullptr);
  EXPECT_EQ(cache("digest", "other").find(), nullptr);
}

TEST_F(WeightCacheTest, AFileThatDoesNotFitIsThrownAwayAndMadeAgain) {
  const std::string path = cache().path();
  cache().make(fill);
  const std::string whole = read_text(path);
  std::string flipped = whole;
  flipped[7'000] = static_cast<char>(flipped[7'000] ^ 1);
  for (const std::string& damaged :
       {std::string(), std::string("no header"), whole.substr(0, whole.size() - 1), flipped,
        std::string(whole.size(), '\0'), "{}" + whole.substr(2)}) {
    write_text(path, damaged);
    EXPECT_EQ(cache().find(), nullptr);
    EXPECT_FALSE(fs::exists(path));
    EXPECT_TRUE(holds_what_was_filled(cache().make(fill)));
    EXPECT_EQ(read_text(path), whole);
  }
  // Under the name of this one, whole, but of another model.
  cache("other").make(fill);
  fs::rename(cache("other").path(), path);
  EXPECT_EQ(cache().find(), nullptr);
}

TEST_F(WeightCacheTest, AFileThatAnotherUserCouldHaveWrittenIsNotRead) {
  const std::string path = cache().path();
  cache().make(fill);
  const std::string whole = read_text(path);
  fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(cache().find(), nullptr);
  EXPECT_EQ(read_text(path), whole);  // nor is it this process's to remove
  fs::permissions(path, fs::perms::others_write, fs::perm_options::remove);
  EXPECT_TRUE(holds_what_was_filled(cache().find()));
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can give a file to another user";
  ASSERT_EQ(chown(path.c_str(), 65'534, 65'534), 0);
  EXPECT_EQ(cache().find(), nullptr);
  EXPECT_TRUE(holds_what_was_filled(cache().make(fill)));
}

TEST_F(WeightCacheTest, WithoutAFolderThatCanBeWrittenThereAreNoFiles) {
  const WeightCache none("", "digest", "layout", packed_size);
  EXPECT_EQ(none.find(), nullptr);
  EXPECT_TRUE(holds_what_was_filled(none.make(fill)));
  write_text(folder_ / "file", "");
  const WeightCache below_a_file((folder_ / "file/folder").string(), "digest", "layout", packed_size);
  EXPECT_EQ(below_a_file.find(), nullptr);
  EXPECT_TRUE(holds_what_was_filled(below_a_file.make(fill)));
  EXPECT_EQ(read_text(folder_ / "file"), "");
}

TEST_F(WeightCacheTest, FilesThatWereNotUsedForTheLongestTimeGo) {
  cache("old").make(fill);
  cache("new").make(fill);
  const auto now = fs::file_time_type::clock::now();
  // Sparse: 5 GiB that are not there.
  for (const auto& [name, hours] : {std::pair{"old", 3}, std::pair{"new", 2}}) {
    fs::resize_file(cache(name).path(), std::uintmax_t{5} << 30);
    fs::last_write_time(cache(name).path(), now - std::chrono::hours(hours));
  }
  write_text(folder_ / "made/by/it/notes.txt", "mine");
  cache("third").make(fill);
  EXPECT_FALSE(fs::exists(cache("old").path()));
  EXPECT_TRUE(fs::exists(cache("new").path()));
  EXPECT_TRUE(fs::exists(cache("third").path()));
  EXPECT_TRUE(fs::exists(folder_ / "made/by/it/notes.txt"));
}

TEST(WeightCacheFolder, IsWhatTheEnvironmentSays) {
  std::map<std::string, std::string> words;
  const auto folder = [&] {
    return weight_cache_folder([&](const char* name) -> const char* {
      const auto found = words.find(name);
      return found == words.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_EQ(folder(), "");
  words["HOME"] = "/home/me";
  EXPECT_EQ(folder(), "/home/me/.cache/bigbird/weights");
  words["XDG_CACHE_HOME"] = "/cache";
  EXPECT_EQ(folder(), "/cache/bigbird/weights");
  words["BIGBIRD_WEIGHT_CACHE"] = "/node/packed";
  EXPECT_EQ(folder(), "/node/packed");
  words["BIGBIRD_WEIGHT_CACHE"] = "none";
  EXPECT_EQ(folder(), "");
}

// A model folder into a model: from its weights, and again from the cache, without reading them.
TEST(OpenModel, TheCacheGivesTheBytesOfTheWeights) {
  const testing::TemporaryFolder folder;
  setenv("BIGBIRD_WEIGHT_CACHE", (folder / "cache").c_str(), 1);
  ModelConfig config = testing::tiny_config();
  config.head = HeadType::classification;
  const ParameterLayout layout(config);
  const std::string path = (folder / "model").string();
  fs::create_directories(path);
  write_model_files(path, config, layout, initial_parameters(layout, config, 3), "", "# card\n");
  const Batch batch = testing::random_batch(config, {30, 9}, 5);
  for (const kernels::Precision precision : {kernels::Precision::fp32, kernels::Precision::bf16}) {
    const auto backend = kernels::make_cpu_backend(precision);
    std::vector<std::vector<float>> logits;
    for (int round = 0; round < 3; ++round) {
      if (round == 2) setenv("BIGBIRD_WEIGHT_CACHE", "none", 1);
      const auto limits = [&](const ModelConfig&) { return testing::limits_of(batch); };
      const auto [model, loaded] = open_model(ModelFolder(path), {*backend, limits});
      EXPECT_TRUE(loaded.parameters.empty());
      model->forward(batch, {});
      logits.push_back(model->sequence_logits());
      EXPECT_EQ(model->packed_bytes() > 0, fs::exists(folder / "cache"));
    }
    setenv("BIGBIRD_WEIGHT_CACHE", (folder / "cache").c_str(), 1);
    EXPECT_EQ(logits[1], logits[0]);
    EXPECT_EQ(logits[2], logits[0]);
  }
  setenv("BIGBIRD_WEIGHT_CACHE", "none", 1);
}

// A decoder that the folder has not is drawn anew: the cache of the folder's weights has none of it.
TEST(OpenModel, ADrawnDecoderIsOfItsSeed) {
  const testing::TemporaryFolder folder;
  setenv("BIGBIRD_WEIGHT_CACHE", (folder / "cache").c_str(), 1);
  ModelConfig config = testing::tiny_config();
  config.head = HeadType::encoder;
  const ParameterLayout layout(config);
  const std::string path = (folder / "model").string();
  fs::create_directories(path);
  write_model_files(path, config, layout, initial_parameters(layout, config, 3), "", "# card\n");
  Batch batch = testing::random_batch(config, {30, 9}, 5);
  for (int sequence = 0; sequence < 2; ++sequence)
    batch.targets.append({2, 6, 7}, {}, config.block_size, static_cast<std::int32_t>(config.pad_token_id));
  const auto backend = kernels::make_cpu_backend(kernels::Precision::bf16);
  const auto limits = [&](const ModelConfig&) { return testing::limits_of(batch); };
  std::vector<std::vector<float>> logits;
  for (const std::uint64_t seed : std::array<std::uint64_t, 3>{1, 2, 1}) {
    LoadOptions load;
    load.head = HeadType::generation;
    load.seed = seed;
    const OpenedModel opened = open_model(ModelFolder(path), {*backend, limits, {}, load});
    opened.model->forward(batch, {});
    logits.push_back(opened.model->target_logits());
  }
  EXPECT_EQ(logits[0], logits[2]);
  EXPECT_NE(logits[0], logits[1]);
  EXPECT_FALSE(fs::exists(folder / "cache"));
  setenv("BIGBIRD_WEIGHT_CACHE", "none", 1);
}

}  // namespace
}  // namespace bigbird
