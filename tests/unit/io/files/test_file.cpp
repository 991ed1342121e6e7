// Whole files, atomic files and folders, memory maps.
#include "lib/io/files/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::expect_message;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

std::ptrdiff_t entries(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

TEST(File, ReadsTheBytesAsStored) {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\r\n\xff", 6);
  write_text(folder / "x", bytes);
  EXPECT_EQ(read_file(folder / "x"), bytes);
}

TEST(File, MissingFileIsBadInputWithItsName) {
  const TemporaryFolder folder;
  expect_bad_input(error_of([&] { read_file(folder / "nothing"); }), (folder / "nothing").string(),
                   "No such file");
  expect_bad_input(error_of([&] { MappedFile{folder / "nothing"}; }), (folder / "nothing").string(),
                   "No such file");
}

TEST(File, ParentFolder) {
  EXPECT_EQ(parent_folder("a/b/c"), "a/b");
  EXPECT_EQ(parent_folder("a/b/"), "a");
  EXPECT_EQ(parent_folder("c"), ".");
  EXPECT_EQ(parent_folder("/c"), "/");
}

TEST(AtomicFile, NothingAppearsBeforeCommit) {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "out");
    file.write("half", 4);
    EXPECT_FALSE(file_exists(folder / "out"));
  }
  EXPECT_EQ(entries(folder.path()), 0) << "the temporary file was left behind";
  AtomicFile file(folder / "out");
  file.write("whole", 5);
  EXPECT_EQ(file.size(), 5u);
  file.commit();
  EXPECT_EQ(read_text(folder / "out"), "whole");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(AtomicFile, DiscardedWriteKeepsTheOldFile) {
  const TemporaryFolder folder;
  write_text(folder / "out", "old");
  {
    AtomicFile file(folder / "out");
    file.write("new", 3);
  }
  EXPECT_EQ(read_text(folder / "out"), "old");
}

TEST(AtomicFile, FollowsASymbolicLink) {
  const TemporaryFolder folder;
  write_text(folder / "real", "old");
  std::filesystem::create_symlink("real", folder / "link");
  write_text_atomic(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_text(folder / "real"), "new");
}

TEST(AtomicFile, FullDiskIsARuntimeErrorNamingTheFile) {
  const auto error = error_of([] { write_text_atomic("/dev/full", "text"); });
  expect_message(error, "/dev/full", "No space left on device");
  EXPECT_EQ(error->kind(), ErrorKind::runtime);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(AtomicFile, MissingFolderAndFolderInPlaceAreErrors) {
  const TemporaryFolder folder;
  expect_message(error_of([&] { write_text_atomic(folder / "no/out", "x"); }), "no/out", "cannot write");
  expect_message(error_of([&] { write_text_atomic(folder.path(), "x"); }), folder.path(), "Is a directory");
}

// As nobody, in a process of its own: mode 0733 lets it make files in a folder that it cannot read.
TEST(AtomicFile, IsWrittenIntoAFolderThatMayNotBeRead) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can become nobody";
  const TemporaryFolder folder;
  make_folders((folder / "inbox").string());
  for (const auto& path : {folder.path(), folder / "inbox"})
    ASSERT_EQ(chmod(path.c_str(), path == folder.path() ? 0755 : 0733), 0);
  const pid_t child = fork();
  if (child == 0) {
    int status = setuid(65'534) != 0 ? 2 : 0;
    try {
      write_text_atomic((folder / "inbox/out").string(), "whole");
    } catch (const Error&) {
      status = 1;
    }
    _exit(status);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(read_file((folder / "inbox/out").string()), "whole");
}

TEST(AtomicFolder, AppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  {
    const AtomicFolder half(folder / "model");
    write_text(half.file("a"), "1");
  }
  EXPECT_EQ(entries(folder.path()), 0);
  AtomicFolder whole(folder / "model");
  write_text(whole.file("a"), "1");
  make_folders(whole.file("inner"));
  write_text(whole.file("inner/b"), "2");
  EXPECT_FALSE(folder_exists(folder / "model"));
  whole.commit();
  EXPECT_EQ(read_text(folder / "model" / "inner/b"), "2");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(AtomicFolder, RefusesToOverwriteUnlessAsked) {
  const TemporaryFolder folder;
  make_folders(folder / "run");
  write_text(folder / "run" / "a", "old");
  expect_bad_input(error_of([&] { AtomicFolder{folder / "run"}; }), (folder / "run").string(), "not empty");
  AtomicFolder replacement(folder / "run", true);
  write_text(replacement.file("b"), "new");
  replacement.commit();
  EXPECT_FALSE(file_exists(folder / "run" / "a"));
  EXPECT_EQ(read_text(folder / "run" / "b"), "new");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(AtomicFolder, NeverReplacesTheHomeFolderOrTheOneItRunsIn) {
  const TemporaryFolder folder;
  for (const char* name : {"home", "work/below", "work/below/old"}) make_folders(folder / name);
  write_text(folder / "home/kept", "kept");
  const std::filesystem::path before = std::filesystem::current_path();
  const char* home = std::getenv("HOME");
  const std::string home_before = home == nullptr ? "" : home;
  setenv("HOME", (folder / "home").c_str(), 1);
  std::filesystem::current_path(folder / "work/below");
  for (const std::string& path : {(folder / "home").string(), (folder / "work").string(), std::string(".."),
                                  std::string("../../home/")})
    expect_message(error_of([&] { AtomicFolder{path, true}; }), "", "is not replaced as a whole");
  write_text("old/kept", "old");
  EXPECT_NO_THROW((AtomicFolder{"old", true})) << "a folder in the one that it runs in";
  std::filesystem::current_path(before);
  if (home == nullptr) {
    unsetenv("HOME");
  } else {
    setenv("HOME", home_before.c_str(), 1);
  }
  EXPECT_EQ(read_file(folder / "home/kept"), "kept");
}

TEST(AtomicFolder, AcceptsAnEmptyFolderInPlace) {
  const TemporaryFolder folder;
  make_folders(folder / "run");
  AtomicFolder fresh((folder / "run/").string());
  write_text(fresh.file("a"), "x");
  fresh.commit();
  EXPECT_EQ(read_text(folder / "run" / "a"), "x");
}

// A child replaces the folder over and over and is killed at some moment: what is there must always be one
// whole version.
TEST(AtomicFolder, SurvivesKillAtAnyMoment) {
  for (int round = 0; round < 10; ++round) {
    const TemporaryFolder folder;
    const std::string target = folder / "checkpoint";
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int version = 0;; ++version) {
        AtomicFolder next(target, true);
        for (const char* name : {"a", "b"}) {
          AtomicFile file(next.file(name));
          const std::string text(20000, static_cast<char>('0' + version % 10));
          file.write(text.data(), text.size());
          file.commit();
        }
        next.commit();
      }
    }
    while (!folder_exists(target)) usleep(500);
    usleep(static_cast<useconds_t>(1000 + 1777 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::string a = read_text(target + "/a");
    ASSERT_EQ(a.size(), 20000u);
    EXPECT_EQ(a, read_text(target + "/b"));
    EXPECT_EQ(a, std::string(20000, a.front()));
  }
}

TEST(MappedFile, SeesTheBytesAndMoves) {
  const TemporaryFolder folder;
  write_text(folder / "x", "hello");
  MappedFile first(folder / "x");
  MappedFile second(std::move(first));
  MappedFile third;
  third = std::move(second);
  ASSERT_EQ(third.size(), 5u);
  EXPECT_EQ(static_cast<char>(third.bytes()[4]), 'o');
  write_text(folder / "empty", "");
  EXPECT_EQ(MappedFile(folder / "empty").size(), 0u);
  expect_bad_input(error_of([&] { MappedFile{folder.path()}; }), folder.path(), "not a regular file");
}

}  // namespace
}  // namespace bigbird
