// Shards and finished chunks: which chunks a shard takes, what a resumed run takes up and what it refuses.
#include "lib/parts/finished_chunks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "lib/core/error.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

std::string digest(char letter) {
  return std::string(64, letter);
}

void expect_error(ErrorKind kind, const std::string& words, const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "no error: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(Shards, TakeEachChunkOnce) {
  for (std::uint64_t count : {1u, 2u, 5u}) {
    for (std::uint64_t chunk = 0; chunk < 12; ++chunk) {
      int takers = 0;
      for (std::uint64_t index = 1; index <= count; ++index)
        takers += Shard{index, count}.takes(chunk) ? 1 : 0;
      EXPECT_EQ(takers, 1) << chunk << " of " << count;
    }
  }
  EXPECT_TRUE((Shard{2, 3}.takes(1) && Shard{2, 3}.takes(4) && !Shard{2, 3}.takes(3)));
}

TEST(Shards, AreReadFromText) {
  const Shard shard = parse_shard("2/10");
  EXPECT_EQ(shard.index, 2u);
  EXPECT_EQ(shard.count, 10u);
  EXPECT_FALSE(shard.is_whole_run());
  EXPECT_TRUE(parse_shard("1/1").is_whole_run());
  EXPECT_EQ(parse_shard("100000/100000").index, 100000u);
  for (const char* text : {"", "2", "2/", "/2", "0/2", "3/2", "1/0", "1/100001", "1/2/3", "-1/2", "1 /2",
                           "x/y", "99999999999999999999/2"}) {
    expect_error(ErrorKind::usage, std::string("`shard` ") + text + ":", [&] { parse_shard(text); });
  }
}

class FinishedChunksTest : public ::testing::Test {
 protected:
  std::string folder() const { return (folder_.path() / "out.parts").string(); }
  FinishedChunks open(Restart restart, const std::string& identity = "run A") const {
    return {folder(), identity, restart};
  }
  void save_two() const {
    FinishedChunks chunks = open(Restart::refuse);
    chunks.save(0, digest('a'), "first");
    chunks.save(7, digest('b'), std::string("se\0cond", 7));
  }

  testing::TemporaryFolder folder_;
};

TEST_F(FinishedChunksTest, AResumedRunTakesWhatWasSaved) {
  save_two();
  EXPECT_TRUE(std::filesystem::exists(folder() + "/run.json"));
  EXPECT_TRUE(std::filesystem::exists(folder() + "/chunk-00000007"));
  {
    FinishedChunks chunks = open(Restart::resume);
    EXPECT_EQ(chunks.load(0, digest('a')), "first");
    EXPECT_EQ(chunks.load(7, digest('b')), std::string("se\0cond", 7));
    EXPECT_EQ(chunks.load(1, digest('a')), std::nullopt);
    chunks.save(1, digest('c'), "");
  }
  const FinishedChunks chunks = open(Restart::resume);
  EXPECT_EQ(chunks.load(1, digest('c')), "");
  chunks.remove();
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(FinishedChunksTest, AnotherRunIsRefused) {
  save_two();
  expect_error(ErrorKind::usage, "a run that did not end", [&] { open(Restart::refuse); });
  expect_error(ErrorKind::bad_input, "another run", [&] { open(Restart::resume, "run B"); });
  EXPECT_EQ(open(Restart::force, "run B").load(0, digest('a')), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(folder()));
  EXPECT_TRUE(open(Restart::resume).keeps());  // nothing to go on from: a run like any other
}

// What a process leaves that is killed between the making of the folder and of its run.json, or while it
// removes the folder: parts of no run.
TEST_F(FinishedChunksTest, PartsOfNoRunAreNone) {
  for (const Restart restart : {Restart::refuse, Restart::resume, Restart::automatic, Restart::force}) {
    std::filesystem::create_directories(folder());
    testing::write_text(folder() + "/run.json.tmp.d6d17c60f6f6-1-1-0ef9da1d7c3366b1", "{");
    EXPECT_TRUE(open(restart).keeps());
    EXPECT_FALSE(std::filesystem::exists(folder()));
    save_two();
    std::filesystem::remove(folder() + "/run.json");
    EXPECT_EQ(open(restart).load(0, digest('a')), std::nullopt);
    EXPECT_FALSE(std::filesystem::exists(folder()));
  }
  // What is no part is somebody's.
  std::filesystem::create_directories(folder());
  testing::write_text(folder() + "/notes.txt", "mine");
  expect_error(ErrorKind::usage, "a run that did not end", [&] { open(Restart::refuse); });
  EXPECT_TRUE(std::filesystem::exists(folder() + "/notes.txt"));
}

// The folder is there with its run.json, or not at all.
TEST_F(FinishedChunksTest, TheFolderAppearsWithItsRun) {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_all);
  FinishedChunks chunks = open(Restart::refuse);
  EXPECT_FALSE(std::filesystem::exists(folder()));
  chunks.save(0, digest('a'), "first");
  EXPECT_EQ(testing::read_text(folder() + "/run.json"), "run A");
  chunks.remove();
  std::size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    left += entry.path().string().ends_with(".lease") ? 0U : 1U;
  EXPECT_EQ(left, 0U) << "no half-removed folder";
}

TEST_F(FinishedChunksTest, ThatNothingCanComeOfAreRemoved) {
  save_two();
  {
    const FinishedChunks chunks = open(Restart::resume);
    expect_error(ErrorKind::runtime, "disk",
                 [&] { chunks.use_for([] { throw_runtime("the disk is full", "free some space"); }); });
    EXPECT_TRUE(std::filesystem::exists(folder())) << "there may be room next time";
    expect_error(ErrorKind::bad_input, "nothing scored",
                 [&] { chunks.use_for([] { throw_bad_input("nothing scored", "give other regions"); }); });
  }
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

// A machine that stops may leave parts empty or cut: they are made again.
TEST_F(FinishedChunksTest, ChunksOfAnotherInputAreRefusedAndDamagedOnesAreNone) {
  save_two();
  const FinishedChunks chunks = open(Restart::resume);
  expect_error(ErrorKind::bad_input, "other records", [&] { (void)chunks.load(0, digest('b')); });
  const std::string bytes = testing::read_text(chunks.path(0));
  for (std::size_t i = 0; i < bytes.size(); i += 5) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    testing::write_text(chunks.path(0), damaged);
    EXPECT_EQ(chunks.load(0, digest('a')), std::nullopt) << i;
  }
  for (const std::string& cut : {bytes.substr(0, bytes.size() - 3), std::string()}) {
    testing::write_text(chunks.path(0), cut);
    EXPECT_EQ(chunks.load(0, digest('a')), std::nullopt);
  }
}

TEST_F(FinishedChunksTest, AutomaticTakesWhatFitsAndBeginsAnewElse) {
  save_two();
  {
    const FinishedChunks chunks = open(Restart::automatic);
    EXPECT_EQ(chunks.load(0, digest('a')), "first");
    EXPECT_EQ(chunks.load(7, digest('x')), std::nullopt);  // of other records
    testing::write_text(chunks.path(0), "cut");
    EXPECT_EQ(chunks.load(0, digest('a')), std::nullopt);
  }
  EXPECT_EQ(open(Restart::automatic, "run B").load(7, digest('b')), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(FinishedChunksTest, ASecondRunOfOneOutputIsToldWhoHoldsIt) {
  const FinishedChunks first = open(Restart::refuse);
  for (const Restart restart : {Restart::refuse, Restart::resume, Restart::force}) {
    expect_error(ErrorKind::runtime, fmt::format("out.parts.lease: held by process {} on ", getpid()),
                 [&] { open(restart); });
  }
}

TEST_F(FinishedChunksTest, ARunThatKeepsNothingWritesNothing) {
  FinishedChunks none;
  EXPECT_FALSE(none.keeps());
  none.save(0, digest('a'), "first");
  EXPECT_EQ(none.load(0, digest('a')), std::nullopt);
  none.remove();
  // Nor does a run that has not finished a chunk make a folder.
  EXPECT_TRUE(open(Restart::refuse).keeps());
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

}  // namespace
}  // namespace bigbird
