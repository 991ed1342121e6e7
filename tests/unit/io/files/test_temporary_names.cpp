// What is written beside its place: names of its own for every writer, nothing followed or overwritten, and
// what killed processes left is removed by the next one, and by no other.
#include "lib/io/files/temporary_names.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lib/io/files/file.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Runs `work` in another process, which is killed when it has said that it is where it should be.
template <typename Work>
void run_and_kill(const Work& work) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    work([&] {
      if (write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    });
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

// A file "out" that a process began and was killed over; returns the left-over's name.
std::string leave_file(const TemporaryFolder& folder) {
  run_and_kill([&](const auto& here) {
    AtomicFile file(folder / "out");
    file.write("half", 4);
    here();
  });
  const std::vector<std::string> names = names_in(folder.path());
  EXPECT_EQ(names.size(), 1u);
  return names.empty() ? "" : names[0];
}

TEST(TemporaryNames, AreOnesOwnAndSayWhose) {
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) names.insert(temporary_name("folder/out", ".tmp."));
  EXPECT_EQ(names.size(), 1000u);
  EXPECT_TRUE(names.begin()->starts_with("folder/out.tmp.")) << *names.begin();
  EXPECT_NE(names.begin()->find("-" + std::to_string(getpid()) + "-"), std::string::npos) << *names.begin();
  EXPECT_EQ(temporary_name("out", ".tmp.").find('/'), std::string::npos);
}

TEST(TemporaryNames, LongNamesAreShortened) {
  const TemporaryFolder folder;
  const std::string name(240, 'n');
  write_text_atomic(folder / name, "text");
  EXPECT_EQ(read_text(folder / name), "text");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{name});
}

TEST(TemporaryNames, NothingThatIsThereIsOpened) {
  const TemporaryFolder folder;
  write_text(folder / "precious", "kept");
  fs::create_symlink("precious", folder / "link");
  fs::create_symlink("nowhere", folder / "dangling");
  for (const char* name : {"precious", "link", "dangling"}) {
    errno = 0;
    EXPECT_EQ(create_new_file(folder / name), -1) << name;
    EXPECT_EQ(errno, EEXIST) << name;
  }
  EXPECT_EQ(read_text(folder / "precious"), "kept");
  EXPECT_FALSE(fs::exists(folder / "nowhere"));
  const int descriptor = create_new_file(folder / "new");
  EXPECT_GE(descriptor, 0);
  close(descriptor);
}

TEST(TemporaryNames, WritersOfOneFileDoNotMeet) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "out"), second(folder / "out");  // as of two containers with one process number
  first.write("first", 5);
  second.write("second", 6);
  EXPECT_NE(first.written_path(), second.written_path());
  first.commit();
  EXPECT_EQ(read_text(folder / "out"), "first");
  second.commit();
  EXPECT_EQ(read_text(folder / "out"), "second");
  AtomicFolder one(folder / "model", true), two(folder / "model", true);
  write_text(one.file("a"), "one");
  write_text(two.file("a"), "two");
  one.commit();
  two.commit();
  EXPECT_EQ(read_text(folder / "model" / "a"), "two");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"model", "out"}));
}

TEST(TemporaryNames, ManyThreadsWriteOneFileWhole) {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (char letter = 'a'; letter < 'e'; ++letter) {
    threads.emplace_back([&, letter] {
      for (int i = 0; i < 20; ++i) write_text_atomic(folder / "out", std::string(5000, letter));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = read_text(folder / "out");
  EXPECT_EQ(text, std::string(5000, text.at(0)));
  EXPECT_EQ(names_in(folder.path()).size(), 1u);
}

TEST(TemporaryNames, WhatAKilledProcessLeftIsRemovedByTheNextThatWritesThere) {
  const TemporaryFolder folder;
  EXPECT_TRUE(leave_file(folder).starts_with("out.tmp."));
  write_text_atomic(folder / "out", "whole");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"out"});
  EXPECT_EQ(read_text(folder / "out"), "whole");
}

TEST(TemporaryNames, AKilledProcesssFolderIsRemovedToo) {
  const TemporaryFolder folder;
  run_and_kill([&](const auto& here) {
    AtomicFolder half(folder / "model");
    write_text(half.file("a"), "half");
    here();
  });
  EXPECT_EQ(names_in(folder.path()).size(), 1u);
  AtomicFolder whole(folder / "model");
  write_text(whole.file("a"), "whole");
  whole.commit();
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"model"});
}

TEST(TemporaryNames, OtherOutputsAndWhatOnlyLooksAlikeStay) {
  const TemporaryFolder folder;
  const std::string left = leave_file(folder);
  const std::vector<std::string> alike{
      "out.tmp.1234",        "out.tmp.txt",
      "out.tmp.a-b-c-d",     "out.tmp." + std::string(12, '0') + "-x-0-" + std::string(16, '0'),
      "my" + left.substr(3), left + ".bak"};
  for (const std::string& name : alike) write_text(folder / name, "");
  write_text_atomic(folder / "other", "");
  EXPECT_TRUE(fs::exists(folder / left)) << "another output's";
  write_text_atomic(folder / "out", "");
  EXPECT_FALSE(fs::exists(folder / left));
  for (const std::string& name : alike) EXPECT_TRUE(fs::exists(folder / name)) << name;
}

TEST(TemporaryNames, ALivingProcesssFileStays) {
  const TemporaryFolder folder;
  int ready[2], go_on[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(go_on), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  char byte = 'x';
  if (child == 0) {
    AtomicFile file(folder / "out");
    file.write("living", 6);
    if (write(ready[1], &byte, 1) != 1 || read(go_on[0], &byte, 1) != 1) _exit(1);
    file.commit();
    _exit(0);
  }
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  write_text_atomic(folder / "out", "another");  // the first look into this folder
  EXPECT_EQ(names_in(folder.path()).size(), 2u);
  ASSERT_EQ(write(go_on[1], &byte, 1), 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_text(folder / "out"), "living");
  for (const int end : {ready[0], ready[1], go_on[0], go_on[1]}) close(end);
}

// A number that was given to another process since: the start of the process tells them apart.
TEST(TemporaryNames, ANumberThatIsUsedAgainDoesNotKeepALeftover) {
  const TemporaryFolder folder;
  const std::string own = fs::path(temporary_name(folder / "out", ".tmp.")).filename().string();
  const std::string pid = "-" + std::to_string(getpid()) + "-";
  const std::size_t at = own.find(pid) + pid.size();
  const std::string stale = own.substr(0, at) + "1" + own.substr(own.rfind('-'));
  write_text(folder / stale, "half");
  write_text(folder / own, "half");
  write_text_atomic(folder / "out", "whole");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"out", own}));
}

TEST(TemporaryNames, OfAnotherHostOnlyWhatIsOldGoes) {
  const TemporaryFolder folder;
  std::string left = leave_file(folder);
  const std::size_t host = std::string("out.tmp.").size();
  std::string foreign = left, old = left;
  foreign[host] = foreign[host] == 'a' ? 'b' : 'a';
  old[host] = old[host] == 'c' ? 'd' : 'c';
  fs::rename(folder / left, folder / foreign);
  write_text(folder / old, "half");
  fs::last_write_time(folder / old, fs::file_time_type::clock::now() - std::chrono::hours(24 * 31));
  write_text_atomic(folder / "out", "whole");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"out", foreign}));
}

// Between the two renames of a system without an exchange, the folder set aside is the only copy.
TEST(TemporaryNames, AFolderSetAsideStaysUntilThereIsAnother) {
  const TemporaryFolder folder;
  const std::string left = leave_file(folder);
  const std::string aside = "model.old-" + left.substr(std::string("out.tmp.").size());
  make_folders(folder / aside);
  fs::remove(folder / left);
  {
    AtomicFolder first(folder / "model");
    EXPECT_TRUE(fs::exists(folder / aside));
    first.commit();
  }
  AtomicFolder second(folder / "model", true);
  EXPECT_FALSE(fs::exists(folder / aside));
}

}  // namespace
}  // namespace bigbird
