// Leases: one holder at a time, told by name; taken over from the dead at once, from other machines after
// they were silent; and a holder that was thought dead learns that it is no longer one.
#include "lib/io/files/lease.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "lib/core/cancel.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using std::chrono::milliseconds;
using testing::read_text;
using testing::write_text;

constexpr LeaseTimes quick{milliseconds(20), milliseconds(200)};

class LeaseTest : public ::testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "out.lease").string(); }
  bool exists() const { return std::filesystem::exists(path()); }
  // Of a process of another machine, which is never seen from here.
  void write_foreign() const {
    write_text(path(),
               "bigbird lease 1\nhost ffffffffffff\npid 17\nstart 5\nmachine node7\nsince "
               "2026-01-02T03:04:05Z\nrandom 0000000000000001\n");
  }
  void touch() const { utimensat(AT_FDCWD, path().c_str(), nullptr, 0); }

  testing::TemporaryFolder folder_;
};

void expect_error(ErrorKind kind, const std::string& words, const std::function<void()>& work) {
  const std::optional<Error> error = testing::error_of(work);
  testing::expect_message(error, words, "");
  if (error) {
    EXPECT_EQ(error->kind(), kind);
  }
}

// Leaves a process behind that holds the lease and does nothing.
pid_t process_that_holds(const std::string& path) {
  std::array<int, 2> ready{};
  EXPECT_EQ(pipe(ready.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Lease lease(path, LeaseBusy::refuse, quick);
    const char byte = 1;
    if (write(ready[1], &byte, 1) == 1) pause();
    _exit(1);
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
  return child;
}

TEST_F(LeaseTest, IsThereForItsLife) {
  {
    const Lease lease(path(), LeaseBusy::refuse);
    EXPECT_TRUE(exists());
    EXPECT_NE(read_text(path()).find(fmt::format("\npid {}\n", getpid())), std::string::npos);
    lease.check();
  }
  EXPECT_FALSE(exists());
}

TEST_F(LeaseTest, ALivingProcessOfThisMachineIsNamed) {
  const Lease lease(path(), LeaseBusy::refuse, quick);
  expect_error(ErrorKind::runtime, fmt::format("held by process {} on ", getpid()),
               [&] { const Lease second(path(), LeaseBusy::refuse, quick); });
  EXPECT_TRUE(exists());  // the first one's
}

TEST_F(LeaseTest, OfAKilledProcessIsTakenOverAtOnce) {
  const pid_t child = process_that_holds(path());
  expect_error(ErrorKind::runtime, fmt::format("held by process {} on ", child),
               [&] { const Lease second(path(), LeaseBusy::refuse, quick); });
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(exists());
  const auto begin = std::chrono::steady_clock::now();
  {
    const Lease lease(path(), LeaseBusy::refuse);  // whose times are those of real life
    lease.check();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(9));
  EXPECT_FALSE(exists());
}

TEST_F(LeaseTest, OfAnotherMachineThatIsSilentIsTakenOverAfterAWhile) {
  write_foreign();
  const auto begin = std::chrono::steady_clock::now();
  const Lease lease(path(), LeaseBusy::refuse, quick);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, quick.over_after);
  lease.check();
}

TEST_F(LeaseTest, WhatAProcessOfAnotherMachineLeftGoesWithItsLease) {
  write_foreign();
  const auto beside = [&](const std::string& name) { return (folder_.path() / name).string(); };
  const std::string left = beside("out.tsv.tmp.ffffffffffff-17-5-0123456789abcdef");
  const std::string folder = beside("run.tmp-ffffffffffff-17-5-0123456789abcdef");
  const std::string set_aside = beside("run.old-ffffffffffff-17-5-0123456789abcdef");
  const std::string of_another = beside("out.tsv.tmp.ffffffffffff-18-5-0123456789abcdef");
  const std::string of_before = beside("out.tsv.tmp.ffffffffffff-17-4-0123456789abcdef");
  for (const std::string& name : {left, of_another, of_before}) write_text(name, "half");
  for (const std::string& name : {folder, set_aside}) std::filesystem::create_directory(name);
  const Lease lease(path(), LeaseBusy::wait, quick);
  for (const std::string& name : {left, folder}) EXPECT_FALSE(std::filesystem::exists(name)) << name;
  for (const std::string& name : {set_aside, of_another, of_before})
    EXPECT_TRUE(std::filesystem::exists(name)) << name;
}

TEST_F(LeaseTest, OfAnotherMachineThatLivesIsNamed) {
  write_foreign();
  std::atomic<bool> ending = false;
  std::thread other([&] {
    while (!ending) {
      touch();
      std::this_thread::sleep_for(milliseconds(10));
    }
  });
  expect_error(ErrorKind::runtime, "held by process 17 on node7 (since 2026-01-02T03:04:05Z)",
               [&] { const Lease second(path(), LeaseBusy::refuse, quick); });
  ending = true;
  other.join();
  EXPECT_TRUE(exists());
}

TEST_F(LeaseTest, WhoWaitsGetsItWhenTheHolderIsDone) {
  std::optional<Lease> first(std::in_place, path(), LeaseBusy::refuse, quick);
  std::atomic<bool> second_has_it = false;
  std::thread other([&] {
    const Lease second(path(), LeaseBusy::wait, quick);
    second_has_it = true;
    second.check();
  });
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_FALSE(second_has_it);
  first.reset();
  other.join();
  EXPECT_TRUE(second_has_it);
  EXPECT_FALSE(exists());
}

TEST_F(LeaseTest, WaitingEndsWithARequestToStop) {
  const Lease first(path(), LeaseBusy::refuse, quick);
  request_cancel(SIGTERM);
  expect_error(ErrorKind::interrupted, "", [&] { const Lease second(path(), LeaseBusy::wait, quick); });
  clear_cancel();
}

TEST_F(LeaseTest, WhoLostItIsTold) {
  const Lease lease(path(), LeaseBusy::refuse, quick);
  write_foreign();
  std::this_thread::sleep_for(milliseconds(200));
  expect_error(ErrorKind::runtime, "taken over by process 17 on node7", [&] { lease.check(); });
}

// The end of a holder that was thought dead takes nothing from the one that it lost the lease to.
TEST_F(LeaseTest, WhoLostItLeavesTheWinnersFile) {
  std::string winners;
  {
    const Lease lease(path(), LeaseBusy::refuse, quick);
    write_foreign();
    winners = read_text(path());
  }
  ASSERT_TRUE(exists());
  EXPECT_EQ(read_text(path()), winners);
}

TEST_F(LeaseTest, AFileThatIsNoLeaseIsWaitedForAndTakenOver) {
  for (const char* text : {"", "bigbird lease 1\nhost", "something else\n"}) {
    write_text(path(), text);
    const Lease lease(path(), LeaseBusy::refuse, quick);
    EXPECT_TRUE(read_text(path()).starts_with("bigbird lease 1\n"));
  }
}

TEST_F(LeaseTest, AFolderThatIsNotThereIsSaid) {
  expect_error(ErrorKind::runtime, "none: no such folder to write into",
               [&] { const Lease lease((folder_.path() / "none/out.lease").string(), LeaseBusy::wait); });
}

}  // namespace
}  // namespace bigbird
