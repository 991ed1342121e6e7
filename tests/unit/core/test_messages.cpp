// Errors, log, progress and cancellation: what the library says instead of printing.
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"

namespace bigbird {
namespace {

TEST(Error, CarriesKindMessageAndHint) {
  try {
    throw_usage("no such option --x", "did you mean --y?");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_STREQ(error.what(), "no such option --x");
    const Error within = error.with_context("config.toml");
    EXPECT_EQ(within.message(), "config.toml: no such option --x");
    EXPECT_EQ(within.hint(), "did you mean --y?");
    EXPECT_EQ(within.kind(), ErrorKind::usage);
  }
  EXPECT_THROW(throw_bad_input("x"), Error);
  EXPECT_THROW(throw_runtime("x"), Error);
  EXPECT_THROW(throw_environment("x"), Error);
}

class LogSinkGuard {
 public:
  ~LogSinkGuard() { set_log_sink({}); }
};

TEST(Log, ReachesTheSinkOnceWhereAskedAndNothingWithoutOne) {
  const LogSinkGuard guard;
  set_log_sink({});
  log_info("dropped");
  std::vector<std::string> said;
  set_log_sink([&](LogLevel level, const std::string& message) {
    said.push_back((level == LogLevel::warning ? "W " : level == LogLevel::info ? "I " : "D ") + message);
  });
  log_debug("a");
  log_info_once("b");
  log_info_once("b");
  log_warning_once("c");
  log_warning_once("c");
  log_warning("c");
  EXPECT_EQ(said, (std::vector<std::string>{"D a", "I b", "W c", "W c"}));
}

TEST(Log, CallsFromThreadsAreSerialised) {
  const LogSinkGuard guard;
  std::vector<int> lengths;  // unguarded on purpose: the log serialises
  set_log_sink(
      [&](LogLevel, const std::string& message) { lengths.push_back(static_cast<int>(message.size())); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 250; ++i) log_info("12345");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lengths, std::vector<int>(1000, 5));
}

TEST(Progress, ReportsAmountsNotesAndTheEnd) {
  std::vector<ProgressEvent> events;
  set_progress_sink([&](const ProgressEvent& event) { events.push_back(event); });
  {
    Progress progress("tokenize", 100, "bp");
    progress.advance(30);
    progress.advance(70, "fast");
  }
  set_progress_sink({});
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].done, 30u);
  EXPECT_EQ(events[0].task, "tokenize");
  EXPECT_EQ(events[1].done, 100u);
  EXPECT_EQ(events[1].note, "fast");
  EXPECT_FALSE(events[1].finished);
  EXPECT_TRUE(events[2].finished);
  EXPECT_EQ(events[2].total, 100u);
}

TEST(Cancel, StopsWorkWithAnInterruptedError) {
  clear_cancel();
  EXPECT_NO_THROW(throw_if_cancelled());
  request_cancel(SIGTERM);
  EXPECT_EQ(cancel_signal(), SIGTERM);
  try {
    throw_if_cancelled();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
  clear_cancel();
  EXPECT_EQ(cancel_signal(), 0);
}

}  // namespace
}  // namespace bigbird
