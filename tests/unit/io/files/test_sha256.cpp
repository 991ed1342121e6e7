// SHA-256 against the vectors of FIPS 180-4 (NIST's examples) and against itself over every split.
#include "lib/io/files/sha256.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(sha256_bytes(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_bytes("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_bytes(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, SplitsDoNotMatter) {
  std::string text;
  for (int i = 0; i < 150; ++i) text += static_cast<char>(i * 7);
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::string_view part = std::string_view(text).substr(0, length);
    for (const std::size_t cut : {std::size_t{0}, length / 3, length / 2, length}) {
      Sha256 hash;
      hash.update(part.data(), cut);
      hash.update(nullptr, 0);  // an empty vector
      hash.update(part.data() + cut, length - cut);
      ASSERT_EQ(hash.finish(), sha256_bytes(part)) << length;
    }
  }
}

TEST(Sha256, InstructionsOfTheProcessorAndPlainCodeAgree) {
  const Sha256Compress by_instructions = sha256_compress_x86();
  if (by_instructions == nullptr) GTEST_SKIP() << "this processor has no SHA extensions";
  std::vector<std::uint8_t> blocks(20 * sha256_block_bytes);
  std::uint32_t next = 12345;
  for (std::uint8_t& byte : blocks)
    byte = static_cast<std::uint8_t>((next = next * 1664525u + 1013904223u) >> 24);
  Sha256State plain{1, 2, 3, 0xffffffffu, 5, 0x80000000u, 7, 8}, other = plain;
  for (const std::size_t count : {std::size_t{1}, std::size_t{0}, std::size_t{2}, std::size_t{20}}) {
    sha256_compress_plain(plain, blocks.data(), count);
    by_instructions(other, blocks.data(), count);
    ASSERT_EQ(plain, other) << count;
  }
}

TEST(Sha256, Files) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "x", std::string(1000000, 'a'));
  EXPECT_EQ(sha256_file(folder / "x"), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  testing::write_text(folder / "empty", "");
  EXPECT_EQ(sha256_file(folder / "empty"), sha256_bytes(""));
}

// The reason is the system's.
TEST(Sha256, AFileThatCannotBeReadIsRefusedWithItsReason) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "folder");
  std::filesystem::create_symlink("circle", folder / "circle");
  for (const auto& [name, reason] : {std::pair{"nothing", ENOENT}, {"folder", EISDIR}, {"circle", ELOOP}}) {
    const std::string path = folder / name;
    testing::expect_bad_input(testing::error_of([&] { sha256_file(path); }), name,
                              path + ": cannot read: " + system_text(reason));
  }
}

}  // namespace
}  // namespace bigbird
