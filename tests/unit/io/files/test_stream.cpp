// Streams and lines: plain, gzip, BGZF; damage; full disks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>

#include "lib/io/files/file.h"
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

void write_stream(const std::string& path, const std::string& text) {
  OutputStream out(path);
  out.write(text);
  out.close();
}

// Several gzip members, as `cat a.gz b.gz` makes them.
void write_plain_gzip(const std::string& path, const std::string& first, const std::string& second) {
  for (const auto& [text, mode] : {std::pair(first, "wb"), std::pair(second, "ab")}) {
    gzFile file = gzopen(path.c_str(), mode);
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
    ASSERT_EQ(gzclose(file), Z_OK);
  }
}

std::string some_text(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += "line " + std::to_string(i * 7919 % 100003) + "\n";
  return text;
}

TEST(Stream, WritesAndReadsPlainAndBgzf) {
  const TemporaryFolder folder;
  const std::string text = some_text(50000);
  write_stream(folder / "plain", text);
  write_stream(folder / "packed.gz", text);
  EXPECT_EQ(read_text(folder / "plain"), text);
  EXPECT_LT(std::filesystem::file_size(folder / "packed.gz"), text.size() / 2);
  EXPECT_EQ(InputStream(folder / "plain").read_all(), text);
  EXPECT_EQ(InputStream(folder / "packed.gz").read_all(), text);
}

TEST(Stream, BgzfEndsWithItsEndOfFileBlockAndIsTheSameEachTime) {
  const TemporaryFolder folder;
  const std::string text = some_text(30000);
  write_stream(folder / "a.gz", text);
  {
    OutputStream out(folder / "b.gz");
    for (std::size_t i = 0; i < text.size(); i += 1001) out.write(std::string_view(text).substr(i, 1001));
    out.close();
  }
  const std::string a = read_text(folder / "a.gz");
  EXPECT_EQ(a, read_text(folder / "b.gz")) << "the bytes depend on how the text was handed over";
  const std::string end_block(
      "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0\x42\x43\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0", 28);
  EXPECT_EQ(a.substr(a.size() - 28), end_block);
}

TEST(Stream, ReadsAllMembersOfPlainGzip) {
  const TemporaryFolder folder;
  write_plain_gzip(folder / "x.gz", some_text(1000), "the second member\n");
  EXPECT_EQ(InputStream(folder / "x.gz").read_all(), some_text(1000) + "the second member\n");
}

TEST(Stream, EmptyInput) {
  const TemporaryFolder folder;
  write_text(folder / "x", "");
  EXPECT_EQ(InputStream(folder / "x").read_all(), "");
  LineReader lines(folder / "x");
  std::string_view line;
  EXPECT_FALSE(lines.next(line));
  EXPECT_FALSE(lines.next(line));
}

TEST(Stream, BgzfWithoutItsEndBlockIsCutShort) {
  const TemporaryFolder folder;
  write_stream(folder / "x.gz", some_text(50000));
  const std::string whole = read_text(folder / "x.gz");
  write_text(folder / "cut.gz", whole.substr(0, whole.size() - 28));
  expect_bad_input(error_of([&] { InputStream{folder / "cut.gz"}; }), "cut.gz", "cut short");
  write_text(folder / "half.gz", whole.substr(0, whole.size() / 2));
  expect_bad_input(error_of([&] { InputStream{folder / "half.gz"}; }), "half.gz", "cut short");
}

TEST(Stream, DamageInsideIsAnError) {
  const TemporaryFolder folder;
  write_stream(folder / "x.gz", some_text(50000));
  std::string bytes = read_text(folder / "x.gz");
  for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 64; ++i)
    bytes[i] = static_cast<char>(~bytes[i]);
  write_text(folder / "bad.gz", bytes);
  expect_bad_input(error_of([&] { InputStream(folder / "bad.gz").read_all(); }), "bad.gz", "damaged");
}

TEST(Stream, PlainGzipCutShortIsAnError) {
  const TemporaryFolder folder;
  write_plain_gzip(folder / "x.gz", some_text(50000), "");
  const std::string whole = read_text(folder / "x.gz");
  // The second, empty member takes the last 20 bytes.
  for (const std::size_t kept : {whole.size() - 20 - 5, whole.size() / 2}) {
    write_text(folder / "cut.gz", whole.substr(0, kept));
    expect_bad_input(error_of([&] { InputStream(folder / "cut.gz").read_all(); }), "cut.gz", "cut short");
  }
}

TEST(Stream, MissingFileAndFolderAreErrors) {
  const TemporaryFolder folder;
  expect_bad_input(error_of([&] { InputStream{folder / "nothing"}; }), "nothing", "No such file");
  expect_bad_input(error_of([&] { InputStream{folder.path()}; }), folder.path(), "folder");
}

TEST(Stream, FullDiskIsNoticed) {
  const auto plain = error_of([] { write_stream("/dev/full", "text"); });
  expect_message(plain, "/dev/full", "No space left on device");
  EXPECT_EQ(plain->kind(), ErrorKind::runtime);
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / "full.gz");
  const auto packed = error_of([&] { write_stream(folder / "full.gz", "text"); });
  expect_message(packed, "full.gz", "cannot write");
  EXPECT_EQ(packed->kind(), ErrorKind::runtime);
}

TEST(Stream, DashReadsTheStandardInputAlsoWhenCompressed) {
  const TemporaryFolder folder;
  write_stream(folder / "x.gz", some_text(1000));
  const int saved = dup(STDIN_FILENO);
  const int file = open((folder / "x.gz").c_str(), O_RDONLY);
  ASSERT_GE(dup2(file, STDIN_FILENO), 0);
  close(file);
  const std::string text = InputStream("-").read_all();
  dup2(saved, STDIN_FILENO);
  close(saved);
  EXPECT_EQ(text, some_text(1000));
}

TEST(Stream, NothingIsLeftWithoutClose) {
  const TemporaryFolder folder;
  for (const char* name : {"x", "x.gz"}) {
    OutputStream out(folder / name);
    out.write(some_text(100000));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(LineReader, NumbersLinesAndStripsCarriageReturns) {
  const TemporaryFolder folder;
  write_text(folder / "x", "one\r\n\ntwo\nlast without an end");
  LineReader lines(folder / "x");
  std::string_view line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "one");
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "");
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "two");
  EXPECT_EQ(lines.where(), (folder / "x").string() + ":3");
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "last without an end");
  EXPECT_FALSE(lines.next(line));
  EXPECT_EQ(lines.line_number(), 4u);
}

TEST(LineReader, LinesLongerThanAnyBuffer) {
  const TemporaryFolder folder;
  std::string expected;
  for (std::size_t i = 0; i < 6; ++i) expected += std::string(700001 * i, static_cast<char>('a' + i)) + "\n";
  write_text(folder / "x", expected);
  LineReader lines(folder / "x");
  std::string_view line;
  std::string seen;
  while (lines.next(line)) seen += std::string(line) + "\n";
  EXPECT_TRUE(seen == expected);
}

}  // namespace
}  // namespace bigbird
