// Event files: checksums, and records read back field by field. tests/peers/tensorboard_events.py has the
// tensorboard package read them.
#include "lib/training/metrics_log.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "lib/io/files/crc32c.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

// A message of protocol buffers as far as events need it.
struct Message {
  std::map<int, std::vector<std::string>> bytes;
  std::map<int, std::uint64_t> numbers;
};

Message parse(const std::string& text) {
  Message message;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(text.at(at++));
      value |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
  };
  while (at < text.size()) {
    const std::uint64_t key = varint();
    const int field = static_cast<int>(key >> 3);
    std::size_t size = 0;
    if ((key & 7) == 0) {
      message.numbers[field] = varint();
      continue;
    }
    size = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : varint();
    message.bytes[field].push_back(text.substr(at, size));
    at += size;
  }
  return message;
}

// The events of a file whose checksums fit.
std::vector<Message> events(const std::string& path) {
  const std::string file = testing::read_text(path);
  std::vector<Message> all;
  std::size_t at = 0;
  const auto word = [&](std::size_t offset) {
    std::uint32_t value = 0;
    std::memcpy(&value, file.data() + offset, sizeof value);
    return value;
  };
  const auto masked = [](const std::string& bytes) {
    const std::uint32_t crc = crc32c(bytes);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
  };
  while (at < file.size()) {
    std::uint64_t size = 0;
    std::memcpy(&size, file.data() + at, sizeof size);
    EXPECT_EQ(word(at + 8), masked(file.substr(at, 8)));
    const std::string event = file.substr(at + 12, size);
    EXPECT_EQ(word(at + 12 + size), masked(event));
    all.push_back(parse(event));
    at += size + 16;
  }
  EXPECT_EQ(at, file.size());
  return all;
}

TEST(EventLog, HoldsEveryNumberOfARow) {
  const testing::TemporaryFolder folder;
  EventLog log((folder / "board/run").string(), 0);
  log.row("train", 300, {"loss", "mlm_accuracy", "lr"}, {"5.25", "NA", "1e-05"});
  const std::vector<Message> all = events(log.path());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].bytes.at(3).front(), "brain.Event:2");
  EXPECT_EQ(all[1].numbers.at(2), 300u);
  const Message summary = parse(all[1].bytes.at(5).front());
  ASSERT_EQ(summary.bytes.at(1).size(), 2u);
  const Message loss = parse(summary.bytes.at(1)[0]), rate = parse(summary.bytes.at(1)[1]);
  EXPECT_EQ(loss.bytes.at(1).front(), "train/loss");
  EXPECT_EQ(rate.bytes.at(1).front(), "train/lr");
  float value = 0;
  std::memcpy(&value, loss.bytes.at(2).front().data(), sizeof value);
  EXPECT_EQ(value, 5.25f);
}

TEST(EventLog, ARunThatGoesOnTakesBackTheStepsBehindItsCheckpoint) {
  const testing::TemporaryFolder folder;
  const EventLog log(folder.path().string(), 40);
  const std::vector<Message> all = events(log.path());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].numbers.at(2), 41u);
  EXPECT_EQ(parse(all[1].bytes.at(7).front()).numbers.at(1), 1u);  // SessionLog: START
}

TEST(EventLog, AFolderThatCannotBeMadeIsNamed) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "file", "");
  const auto error = testing::error_of([&] { EventLog log((folder / "file/board").string(), 0); });
  testing::expect_message(error, "file/board", "");
}

}  // namespace
}  // namespace bigbird
