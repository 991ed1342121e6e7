// Where compressed input ends, and what it is where it begins: one rule for files and pipes and for every
// reader.
#include <gtest/gtest.h>
#include <zlib.h>

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/chain.h"
#include "lib/io/genome/fasta_stream.h"
#include "lib/io/genome/vcf.h"
#include "lib/io/tables/tsv.h"
#include "lib/io/text/delimited.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_lines.h"
#include "tests/support/standard_input.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::PipedInput;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

std::string bgzf_of(const std::string& text) {
  const TemporaryFolder folder;
  OutputStream out(folder / "x.gz");
  out.write(text);
  out.close();
  return read_text(folder / "x.gz");
}

std::string gzip_of(const std::string& text) {
  const TemporaryFolder folder;
  gzFile file = gzopen((folder / "x.gz").c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return read_text(folder / "x.gz");
}

// Sizes of the blocks of a BGZF, added up.
std::vector<std::size_t> block_ends(const std::string& bgzf) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < bgzf.size(); ends.push_back(at)) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bgzf[at + i]); };
    at += std::size_t{byte(16)} + 256 * byte(17) + 1;
  }
  return ends;
}

std::string letters_of(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i)
    text += "chr1\t" + std::to_string(i % 1000) + "\t" + std::to_string(i % 1000 + 7) + "\n";
  return text;
}

// The text through a file and through a pipe; nothing where both refuse.
std::optional<std::string> read_both_ways(const std::string& bytes) {
  const TemporaryFolder folder;
  write_text(folder / "x", bytes);
  std::string from_file, from_pipe;
  const auto file_error = error_of([&] { from_file = InputStream(folder / "x").read_all(); });
  const PipedInput input(bytes);
  const auto pipe_error = error_of([&] { from_pipe = InputStream("-").read_all(); });
  EXPECT_EQ(file_error.has_value(), pipe_error.has_value());
  for (const auto& error : {file_error, pipe_error}) {
    if (error) {
      EXPECT_NE(error->message().find("cut short"), std::string::npos) << error->message();
    }
  }
  if (file_error) return std::nullopt;
  EXPECT_EQ(from_file, from_pipe);
  return from_file;
}

TEST(StreamEnd, IsAskedForInFilesAndPipesAlike) {
  const std::string text = letters_of(200000);
  const std::string bgzf = bgzf_of(text), gzip = gzip_of(text);
  const std::vector<std::size_t> ends = block_ends(bgzf);
  ASSERT_GT(ends.size(), 3u);
  EXPECT_EQ(read_both_ways(""), "");
  EXPECT_EQ(read_both_ways(bgzf), text);
  EXPECT_EQ(read_both_ways(bgzf + bgzf), text + text) << "an empty block in the middle";
  EXPECT_EQ(read_both_ways(gzip), text);
  EXPECT_EQ(read_both_ways(gzip + gzip), text + text) << "two members";
  EXPECT_EQ(read_both_ways(bgzf.substr(bgzf.size() - 28)), "") << "a BGZF of nothing";
  for (const std::size_t end : ends) {
    for (const std::size_t more : {0u, 5u, 100u}) {
      if (end + more >= bgzf.size()) continue;
      EXPECT_EQ(read_both_ways(bgzf.substr(0, end + more)), std::nullopt)
          << "cut " << more << " after " << end;
      EXPECT_EQ(read_both_ways(bgzf + bgzf.substr(0, end + more)), std::nullopt) << "the second of two cut";
    }
  }
  for (const std::size_t lost : {1u, 4u, 8u, 9u, 500u}) {
    EXPECT_EQ(read_both_ways(gzip.substr(0, gzip.size() - lost)), std::nullopt) << "gzip without " << lost;
    EXPECT_EQ(read_both_ways(gzip + gzip.substr(0, gzip.size() - lost)), std::nullopt);
  }
  EXPECT_EQ(read_both_ways(gzip.substr(0, 7)), std::nullopt) << "less than a header";
  EXPECT_EQ(read_both_ways(gzip + "no member"), std::nullopt);
  EXPECT_EQ(read_both_ways(bgzf + "no block"), std::nullopt);
  EXPECT_EQ(read_both_ways(bgzf + gzip), std::nullopt) << "its last block is not an end-of-file block";
}

struct NamedReader {
  const char* name;
  std::string text;
  std::function<void()> read;
};

// Every kind of reader, over "-".
std::vector<NamedReader> readers() {
  const std::string vcf = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
  std::string records, fasta = ">s\n", json, csv = "id,text\n", chain, tsv = "#a\tb\n";
  for (int i = 0; i < 4000; ++i) {
    const std::string n = std::to_string(i);
    records += "1\t" + std::to_string(i + 1) + "\t.\tA\tC\t.\t.\t.\n";
    fasta += "ACGTTGCA\n";
    json += "{\"text\": \"" + n + "\"}\n";
    csv += n + ",some text\n";
    tsv += n + "\t1\n";
    chain += "chain 9 a" + n + " 9 + 0 9 b 9 + 0 9 " + n + "\n9\n\n";
  }
  return {{"lines", csv,
           [] {
             LineReader r("-");
             for (std::string_view l; r.next(l);) {
             }
           }},
          {"text", csv,
           [] {
             TextLines r("-");
             for (std::string_view l; r.next(l);) {
             }
           }},
          {"CSV", csv,
           [] {
             DelimitedReader r("-");
             for (std::vector<std::string> l; r.next(l);) {
             }
           }},
          {"TSV", tsv,
           [] {
             TsvReader r("-");
             for (std::vector<std::string_view> l; r.next(l);) {
             }
           }},
          {"JSON", json,
           [] {
             JsonRecords r("-");
             for (JsonRecord l; r.next(l);) {
             }
           }},
          {"BED", letters_of(200000),
           [] {
             BedReader r("-");
             for (BedRecord l; r.next(l);) {
             }
           }},
          {"VCF", vcf + records,
           [] {
             VcfReader r("-");
             for (VcfRecord l; r.next(l);) {
             }
           }},
          {"FASTA", fasta,
           [] {
             FastaStream r("-");
             for (FastaRecord l; r.next(l);) {
             }
           }},
          {"chain", chain, [] { ChainFile{"-"}; }}};
}

TEST(StreamEnd, ACutBgzfIsNoWholeInputToAnyReader) {
  for (const NamedReader& reader : readers()) {
    SCOPED_TRACE(reader.name);
    const std::string whole = bgzf_of(reader.text);
    {
      const PipedInput input(whole);
      EXPECT_FALSE(error_of(reader.read).has_value());
    }
    // After a whole block, where nothing else gives it away once the last line is taken for one.
    const PipedInput input(whole.substr(0, whole.size() - 28));
    expect_bad_input(error_of(reader.read), "-", "cut short");
  }
}

TEST(StreamBegin, OtherCompressionsAndEncodingsAreNamedWithTheirCommand) {
  using namespace std::string_literals;
  const std::string tar = "name"s + std::string(253, '\0') + "ustar" + std::string(200, '\0');
  const std::vector<std::tuple<std::string, const char*, const char*>> forms = {
      {"\xFD"s + "7zXZ\0\0\4aaaaaaaaaaaa"s, "xz", "xz -dc FILE"},
      {"BZh91AY&SYaaaaaaaaaaa", "bzip2", "bzip2 -dc FILE"},
      {"\x28\xB5\x2F\xFD"s + std::string(20, 'a'), "zstd", "zstd -dc FILE"},
      {"\x04\x22\x4D\x18"s + std::string(20, 'a'), "lz4", "lz4 -dc FILE"},
      {"PK\3\4"s + std::string(26, '\0') + "a.txt", "a zip archive", "unzip -p FILE"},
      {"7z\xBC\xAF\x27\x1C"s + std::string(20, '\0'), "7z", "7z x -so FILE"},
      {"\xFF\xFE"s + "c\0h\0r\0"s + std::string(20, '\0'), "UTF-16", "iconv -f UTF-16"},
      {"\xFE\xFF\0c\0h"s + std::string(20, '\0'), "UTF-16", "iconv -f UTF-16"}};
  for (const auto& [bytes, name, command] : forms) {
    SCOPED_TRACE(name);
    for (const NamedReader& reader : readers()) {
      SCOPED_TRACE(reader.name);
      const PipedInput input(bytes);
      const auto error = error_of(reader.read);
      expect_bad_input(error, "-: is ", name);
      if (error) {
        EXPECT_NE(error->hint().find(command), std::string::npos) << error->hint();
      }
    }
  }
  for (const std::string& bytes : {tar, gzip_of(tar), bgzf_of(tar)}) {
    const PipedInput input(bytes);
    expect_bad_input(error_of([] { InputStream("-").read_all(); }), "-", "is a tar archive");
  }
  {
    const PipedInput input(gzip_of(gzip_of("text")));
    expect_bad_input(error_of([] { InputStream("-").read_all(); }), "-", "packed by gzip twice");
  }
  // Text that begins as one of them does.
  for (const std::string text : {"BZh is a word\n", "PK\t1\t2\n", "7z\n", "LZIP\n", "ustar\n"}) {
    const PipedInput piped(text);
    EXPECT_EQ(InputStream("-").read_all(), text);
  }
}

TEST(StreamBegin, AByteOrderMarkIsDroppedForEveryReaderOfText) {
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::string& bytes : {mark + "chr1\t1\t9\n", gzip_of(mark + "chr1\t1\t9\n")}) {
    const PipedInput input(bytes);
    BedReader reader("-");
    BedRecord record;
    ASSERT_TRUE(reader.next(record));
    EXPECT_EQ(record.chrom, "chr1");
  }
  for (const NamedReader& reader : readers()) {
    if (std::string(reader.name) == "VCF") continue;
    SCOPED_TRACE(reader.name);
    const PipedInput input(bgzf_of(mark + reader.text));
    EXPECT_FALSE(error_of(reader.read).has_value());
  }
  const PipedInput input("a" + mark + "b");
  EXPECT_EQ(InputStream("-").read_all(), "a" + mark + "b") << "elsewhere it is text";
}

TEST(StreamBegin, ABeginIsHandedOutInPiecesOfAnySize) {
  const std::string text = letters_of(3000);
  for (const std::size_t piece : {1u, 7u, 511u, 513u}) {
    const PipedInput input("\xEF\xBB\xBF" + text);
    InputStream stream("-");
    std::string found, buffer(piece, '\0');
    while (const std::size_t count = stream.read(buffer.data(), piece)) found.append(buffer, 0, count);
    EXPECT_EQ(found, text);
  }
}

TEST(LineReader, ALineLongerThanAnyIsRefusedByItsNumber) {
  const TemporaryFolder folder;
  write_text(folder / "x", "a\n" + std::string(3000000, 'b') + "\nc\n");
  LineReader reader(folder / "x", 1000000);
  std::string_view line;
  ASSERT_TRUE(reader.next(line));
  expect_bad_input(error_of([&] { reader.next(line); }), "x:2", "a line of more than 1000000 bytes");
  LineReader longer(folder / "x", 3000000);
  int lines = 0;
  while (longer.next(line)) ++lines;
  EXPECT_EQ(lines, 3);
}

}  // namespace
}  // namespace bigbird
