// FASTA access: bases, bounds, indexes built and read, and every broken input that has its own message.
#include "lib/io/genome/fasta.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <thread>

#include "lib/io/files/file.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

void write_bgzf(const std::string& path, const std::string& text) {
  OutputStream out(path);
  out.write(text);
  out.close();
}

// Pseudo-random bases from a fixed congruential sequence: the test does not lean on the library's own
// generator.
std::string bases(std::size_t count, std::uint32_t seed) {
  std::string text(count, '\0');
  std::uint32_t state = seed;
  for (char& letter : text) {
    state = state * 1664525u + 1013904223u;
    letter = "ACGT"[state >> 30];
  }
  return text;
}

std::string wrapped(const std::string& sequence, std::size_t width, const std::string& line_end) {
  std::string text;
  for (std::size_t i = 0; i < sequence.size(); i += width) text += sequence.substr(i, width) + line_end;
  return text;
}

struct Genome {
  std::string first = bases(200003, 1);
  std::string second = bases(61, 2);
  std::string third = bases(60, 3);
  std::string text(const std::string& line_end) const {
    return ">first some words" + line_end + wrapped(first, 60, line_end) + ">second" + line_end +
           wrapped(second, 60, line_end) + line_end + ">third\tx" + line_end + wrapped(third, 60, line_end);
  }
};

void expect_genome(Fasta& fasta, const Genome& genome) {
  ASSERT_EQ(fasta.contigs().size(), 3u);
  EXPECT_EQ(fasta.contigs()[0].name, "first");
  EXPECT_EQ(fasta.contigs()[0].length, 200003);
  EXPECT_EQ(fasta.contigs()[2].name, "third");
  EXPECT_TRUE(fasta.fetch(0, 0, 200003) == genome.first);
  EXPECT_EQ(fasta.fetch(1, 0, 61), genome.second);
  EXPECT_EQ(fasta.fetch(2, 0, 60), genome.third);
  for (std::int64_t begin = 0; begin < 190; ++begin) {
    for (const std::int64_t size : {0, 1, 59, 60, 61, 120}) {
      ASSERT_EQ(fasta.fetch(0, begin, begin + size),
                genome.first.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(size)));
    }
  }
  EXPECT_EQ(fasta.fetch(0, 199990, 200003), genome.first.substr(199990));
}

TEST(Fasta, PlainCrlfAndBgzfGiveTheSameBases) {
  const TemporaryFolder folder;
  const Genome genome;
  write_text(folder / "unix.fa", genome.text("\n"));
  write_text(folder / "dos.fa", genome.text("\r\n"));
  write_bgzf(folder / "unix.fa.gz", genome.text("\n"));
  write_bgzf(folder / "dos.fa.gz", genome.text("\r\n"));
  for (const char* name : {"unix.fa", "dos.fa", "unix.fa.gz", "dos.fa.gz"}) {
    SCOPED_TRACE(name);
    Fasta fasta(folder / name);
    expect_genome(fasta, genome);
    EXPECT_TRUE(file_exists((folder / name).string() + ".fai"));
    EXPECT_EQ(file_exists((folder / name).string() + ".gzi"), has_suffix(name, ".gz"));
    Fasta reopened(folder / name);
    expect_genome(reopened, genome);
  }
}

TEST(Fasta, IndexIsTheOneThatSamtoolsMakes) {
  const TemporaryFolder folder;
  if (testing::run_program({"samtools", "--version"}).status != 0)
    GTEST_SKIP() << "SKIPPED: samtools is not installed";
  const Genome genome;
  for (const char* name : {"unix.fa", "dos.fa", "packed.fa.gz"}) {
    SCOPED_TRACE(name);
    const std::string path = folder / name;
    const std::string text = genome.text(std::string(name) == "dos.fa" ? "\r\n" : "\n");
    has_suffix(name, ".gz") ? write_bgzf(path, text) : write_text(path, text);
    build_fasta_index(path);
    const std::string fai = read_text(path + ".fai");
    const std::string gzi = has_suffix(name, ".gz") ? read_text(path + ".gzi") : "";
    ASSERT_EQ(testing::run_program({"samtools", "faidx", path}).status, 0);
    EXPECT_EQ(fai, read_text(path + ".fai"));
    if (has_suffix(name, ".gz")) {
      EXPECT_EQ(gzi, read_text(path + ".gzi"));
    }
  }
}

TEST(Fasta, OneLineRecordsAndNoFinalLineEnd) {
  const TemporaryFolder folder;
  const std::string sequence = bases(2500000, 4);
  write_text(folder / "x.fa", ">a\nACGT\n>b\n" + sequence);
  Fasta fasta(folder / "x.fa");
  EXPECT_EQ(fasta.fetch(0, 0, 4), "ACGT");
  EXPECT_TRUE(fasta.fetch(1, 0, 2500000) == sequence);
  EXPECT_EQ(fasta.fetch(1, 2499999, 2500000), sequence.substr(2499999));
}

TEST(Fasta, UpperCasesAndCountsOtherIupacLetters) {
  const TemporaryFolder folder;
  write_text(folder / "x.fa", ">a\nacgtnACGTN\nRYSWKMBDHV\nrA\n");
  Fasta fasta(folder / "x.fa");
  EXPECT_EQ(fasta.fetch(0, 0, 22), "ACGTNACGTNNNNNNNNNNNNA");
  EXPECT_EQ(fasta.iupac_replaced(), 11u);
  Fasta other = fasta.clone();
  EXPECT_EQ(other.fetch(0, 20, 21), "N");
  EXPECT_EQ(fasta.iupac_replaced(), 12u);
}

TEST(Fasta, RangesOutsideAreErrorsAndNeverClamped) {
  const TemporaryFolder folder;
  write_text(folder / "x.fa", ">a\nACGT\n>b\nACGT\n");
  Fasta fasta(folder / "x.fa");
  EXPECT_EQ(fasta.fetch(0, 4, 4), "");
  expect_bad_input(error_of([&] { fasta.fetch(0, 0, 5); }), "a:1-5", "a, which has 4 bases");
  expect_bad_input(error_of([&] { fasta.fetch(0, -1, 2); }), "x.fa", "outside");
  expect_bad_input(error_of([&] { fasta.fetch(0, 3, 2); }), "x.fa", "outside");
  expect_bad_input(error_of([&] { fasta.fetch(0, 5, 5); }), "x.fa", "outside");
  EXPECT_TRUE(error_of([&] { fasta.fetch(2, 0, 1); }).has_value());
}

TEST(Fasta, ClonesServeThreads) {
  const TemporaryFolder folder;
  const Genome genome;
  write_bgzf(folder / "x.fa.gz", genome.text("\n"));
  const Fasta fasta(folder / "x.fa.gz");
  std::vector<int> wrong(4, -1);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t, mine = fasta.clone()]() mutable {
      wrong[t] = 0;
      for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t begin = (i * 7919 + t * 104729) % 190000;
        const auto from = static_cast<std::int64_t>(begin);
        if (mine.fetch(0, from, from + 9000) != genome.first.substr(begin, 9000)) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(FastaBadInput, PlainGzipNamesBgzip) {
  const TemporaryFolder folder;
  gzFile file = gzopen((folder / "x.fa.gz").c_str(), "wb");
  gzputs(file, ">a\nACGT\n");
  gzclose(file);
  const auto error = error_of([&] { Fasta{folder / "x.fa.gz"}; });
  expect_bad_input(error, "x.fa.gz", "plain gzip");
  EXPECT_NE(error->hint().find("bgzip"), std::string::npos);
  EXPECT_FALSE(file_exists(folder / "x.fa.gz.fai"));
}

TEST(FastaBadInput, BgzfCutShort) {
  const TemporaryFolder folder;
  write_bgzf(folder / "x.fa.gz", Genome().text("\n"));
  const std::string whole = read_text(folder / "x.fa.gz");
  build_fasta_index(folder / "x.fa.gz");
  write_text(folder / "x.fa.gz", whole.substr(0, whole.size() * 2 / 3));
  expect_bad_input(error_of([&] { Fasta{folder / "x.fa.gz"}; }), "x.fa.gz", "cut short");
}

TEST(FastaBadInput, MissingIndexThatCannotBeWrittenNamesTheCommand) {
  const TemporaryFolder folder;
  write_text(folder / "x.fa", ">a\nACGT\n");
  // A folder in the index's place stops even the superuser from writing it.
  make_folders(folder / "x.fa.fai");
  const auto error = error_of([&] { Fasta{folder / "x.fa"}; });
  expect_bad_input(error, "x.fa", "no index");
  EXPECT_NE(error->hint().find("samtools faidx " + (folder / "x.fa").string()), std::string::npos)
      << error->hint();
}

TEST(FastaBadInput, MissingBgzfIndexThatCannotBeWritten) {
  const TemporaryFolder folder;
  write_bgzf(folder / "x.fa.gz", ">a\nACGT\n");
  make_folders(folder / "x.fa.gz.gzi");
  expect_bad_input(error_of([&] { Fasta{folder / "x.fa.gz"}; }), "x.fa.gz", "no index");
}

TEST(FastaBadInput, DuplicateRecordsInFileAndIndex) {
  const TemporaryFolder folder;
  write_text(folder / "x.fa", ">a\nACGT\n>b\nAC\n>a words\nGG\n");
  expect_bad_input(error_of([&] { Fasta{folder / "x.fa"}; }), "x.fa:5", "duplicate record a");
  EXPECT_FALSE(file_exists(folder / "x.fa.fai"));
  write_text(folder / "y.fa.fai", "a\t4\t3\t4\t5\na\t4\t11\t4\t5\n");
  expect_bad_input(error_of([&] { load_fai(folder / "y.fa"); }), "y.fa.fai:2", "duplicate record a");
}

TEST(FastaBadInput, EmptyRecordsInFileAndIndex) {
  const TemporaryFolder folder;
  write_text(folder / "x.fa", ">a\nACGT\n>b\n\n>c\nGG\n");
  expect_bad_input(error_of([&] { Fasta{folder / "x.fa"}; }), "x.fa:3", "record b is empty");
  write_text(folder / "y.fa", ">a\nACGT\n>b\n");
  expect_bad_input(error_of([&] { Fasta{folder / "y.fa"}; }), "y.fa:3", "record b is empty");
  write_text(folder / "z.fa.fai", "a\t0\t3\t0\t0\n");
  expect_bad_input(error_of([&] { load_fai(folder / "z.fa"); }), "z.fa.fai:1", "record a is empty");
}

TEST(FastaBadInput, NotAFasta) {
  const TemporaryFolder folder;
  write_text(folder / "empty.fa", "");
  expect_bad_input(error_of([&] { Fasta{folder / "empty.fa"}; }), "empty.fa", "holds no sequence");
  write_text(folder / "x.fa", "ACGT\n");
  expect_bad_input(error_of([&] { Fasta{folder / "x.fa"}; }), "x.fa:1", "does not start with '>'");
  write_text(folder / "y.fa", ">\nACGT\n");
  expect_bad_input(error_of([&] { Fasta{folder / "y.fa"}; }), "y.fa:1", "no name");
  expect_bad_input(error_of([&] { Fasta{folder / "none.fa"}; }), "none.fa", "No such file");
}

TEST(FastaBadInput, LinesOfDifferentLength) {
  const TemporaryFolder folder;
  for (const char* text :
       {">a\nACGT\nAC\nACGT\n", ">a\nACGT\nACGTA\n", ">a\nACGT\n\nACGT\n", ">a\nACGT\r\nACGT\nACGT\n"}) {
    write_text(folder / "x.fa", text);
    expect_bad_input(error_of([&] { Fasta{folder / "x.fa"}; }),
                     "x.fa:", "lines of different length in record a");
  }
}

TEST(FastaBadInput, LettersThatAreNoBasesAreNamedByTheBuilder) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.fa";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"AC-T", "'-'"},         {"ACGT*", "'*'"},          {"ACG.", "'.'"},
      {"ACG ", "a blank"},     {"ACG\t", "a tab"},        {"ACGE", "'E'"},
      {"A>GT", "'>'"},         {"AC1T", "'1'"},           {" ", "a blank"},
      {"AC\rT", "a line end"}, {"\xC3\xA4", "byte 0xc3"}, {std::string("A\0C", 3), "a NUL byte"}};
  for (const auto& [line, letter] : cases) {
    write_text(path, ">b\nAC\n>a words\nACGT\n" + line + "\nACGT\n");
    const auto error = error_of([&] { Fasta{path}; });
    expect_bad_input(error, "x.fa:5: ", letter + " in record a is not a base");
    ASSERT_TRUE(error);
    EXPECT_EQ(error->hint().find("index"), std::string::npos) << error->hint();
    EXPECT_FALSE(file_exists(path + ".fai"));
  }
  // A long line comes in pieces.
  write_text(path, ">a\n" + bases(3'000'000, 1) + "-\n");
  expect_bad_input(error_of([&] { Fasta{path}; }), "x.fa:2: ", "'-' in record a");
}

TEST(FastaBadInput, LettersThatAreNoBasesBesideAnIndexOfSamtools) {
  const TemporaryFolder folder;
  write_text(folder / "x.fa", ">a\nACGT\nAC-T\nACGT\n");
  write_text(folder / "x.fa.fai", "a\t12\t3\t4\t5\n");
  Fasta fasta(folder / "x.fa");
  EXPECT_EQ(fasta.fetch(0, 0, 6), "ACGTAC");
  const auto error = error_of([&] { fasta.fetch(0, 1, 12); });
  expect_bad_input(error, "x.fa: base 7, line 2 of its record", "'-' in record a is not a base");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->hint().find("index"), std::string::npos) << error->hint();
}

TEST(FastaBadInput, IndexLinesThatLie) {
  const TemporaryFolder folder;
  for (const char* line :
       {"a\t4\t3\t4", "a\tx\t3\t4\t5", "a\t-4\t3\t4\t5", "a\t4\t-3\t4\t5", "a\t4\t3\t0\t1", "a\t4\t3\t4\t4",
        "a\t4\t3\t4\t9", "a\t9223372036854775807\t3\t1\t2", "\t4\t3\t4\t5"}) {
    write_text(folder / "x.fa.fai", std::string(line) + "\n");
    expect_bad_input(error_of([&] { load_fai(folder / "x.fa"); }), "x.fa.fai:1", "");
  }
  write_text(folder / "x.fa.fai", "");
  expect_bad_input(error_of([&] { load_fai(folder / "x.fa"); }), "x.fa.fai", "lists no sequence");
}

TEST(FastaBadInput, DamagedGzi) {
  const TemporaryFolder folder;
  write_bgzf(folder / "x.fa.gz", Genome().text("\n"));
  build_fasta_index(folder / "x.fa.gz");
  write_text(folder / "x.fa.gz.gzi", "abc");
  expect_bad_input(error_of([&] { Fasta{folder / "x.fa.gz"}; }), "x.fa.gz.gzi", "does not fit");
}

TEST(LoadFai, NeedsNoFasta) {
  const TemporaryFolder folder;
  write_text(folder / "x.fa.fai", "chr1\t249250621\t6\t50\t51\nchrM\t16571\t300000000\t50\t51\n");
  for (const char* name : {"x.fa", "x.fa.fai"}) {
    const std::vector<Contig> contigs = load_fai(folder / name);
    ASSERT_EQ(contigs.size(), 2u);
    EXPECT_EQ(contigs[0].length, 249250621);
    EXPECT_EQ(contigs[1].name, "chrM");
  }
  expect_bad_input(error_of([&] { load_fai(folder / "y.fa"); }), "y.fa", "neither");
  write_text(folder / "z.fa", ">a\nACGT\n");
  EXPECT_EQ(load_fai(folder / "z.fa").front().length, 4);
}

TEST(ReverseComplement, KeepsCaseAndIupac) {
  EXPECT_EQ(reverse_complement("ACGTN"), "NACGT");
  EXPECT_EQ(reverse_complement("aCgtn"), "nacGt");
  EXPECT_EQ(reverse_complement("RYKMBVDHSW"), "WSDHBVKMRY");
  EXPECT_EQ(reverse_complement("A-"), "NT");
  EXPECT_EQ(reverse_complement(""), "");
  const std::string sequence = bases(1001, 5);
  EXPECT_EQ(reverse_complement(reverse_complement(sequence)), sequence);
}

TEST(SharedFasta, RealHumanSequence) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *testing::shared_dir() / "data";
  Fasta pieces(data / "human-grch37/grch37.pieces.fa.gz");
  Fasta sparse(data / "human-grch37/grch37.sparse.fa.gz");
  EXPECT_EQ(pieces.contigs()[0].name, "chr1:1-1000000");
  // The two files hold the same bases at different places: chr20:1,000,001-2,000,000.
  std::size_t chr20 = 0;
  std::size_t piece = 0;
  while (sparse.contigs()[chr20].name != "chr20") ++chr20;
  while (pieces.contigs()[piece].name != "chr20:1000001-2000000") ++piece;
  EXPECT_TRUE(sparse.fetch(chr20, 1000000, 2000000) == pieces.fetch(piece, 0, 1000000));
  Fasta rcrs(data / "mitochondria/MT_rCRS.fa");
  EXPECT_EQ(rcrs.fetch(0, 3106, 3107), "N");
  EXPECT_EQ(rcrs.fetch(0, 0, 10), "GATCACAGGT");
}

}  // namespace
}  // namespace bigbird
