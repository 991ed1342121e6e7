// Indexes that do not fit their FASTA: stale, of another file, damaged. Never other bases than the file's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "lib/core/log.h"
#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/fasta.h"
#include "tests/fuzz/mutations.h"
#include "tests/support/sanitizer.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

struct FitRecord {
  std::string header, sequence;
};
using FitGenome = std::vector<FitRecord>;

std::string bases_of(std::size_t count, std::uint64_t seed) {
  CounterRng rng(36, Purpose::test, seed);
  std::string text(count, '\0');
  for (char& letter : text) letter = "ACGT"[rng.below(4)];
  return text;
}

std::string fasta_text(const FitGenome& genome, std::size_t width, const std::string& line_end = "\n") {
  std::string text;
  for (const FitRecord& record : genome) {
    text += ">" + record.header + line_end;
    for (std::size_t i = 0; i < record.sequence.size(); i += width)
      text += record.sequence.substr(i, width) + line_end;
  }
  return text;
}

void write_fasta(const std::string& path, const std::string& text) {
  if (!has_suffix(path, ".gz")) return write_text(path, text);
  OutputStream out(path);
  out.write(text);
  out.close();
}

// Long enough for several blocks of BGZF.
FitGenome fit_genome() {
  return {{"chr1 one", bases_of(150'000, 1)}, {"chr2", bases_of(150'000, 2)}, {"chr3", bases_of(61, 3)}};
}

class StaleFasta : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    path_ = folder_ / GetParam();
    write_fasta(path_, fasta_text(fit_genome(), 60));
    build_fasta_index(path_);
  }
  // The file is another one now. With .gzi too, that one is as stale; without, it was made again.
  void expect_misfit(const std::string& name, const std::string& text) {
    SCOPED_TRACE(name);
    const bool compressed = has_suffix(path_, ".gz");
    const std::string fai = read_text(path_ + ".fai");
    write_fasta(path_, text);
    for (const bool gzi_anew : {false, true}) {
      if (gzi_anew && !compressed) continue;
      if (gzi_anew) {
        build_fasta_index(path_);
        write_text(path_ + ".fai", fai);
      }
      for (const bool lengths_only : {false, true}) {
        const auto error = error_of([&] {
          if (lengths_only) {
            load_fai(path_);
          } else {
            Fasta{path_};
          }
        });
        expect_bad_input(error, path_ + (compressed && !gzi_anew ? "." : ".fai: does not fit"),
                         "does not fit");
        if (error) {
          EXPECT_NE(error->hint().find("samtools faidx " + path_), std::string::npos) << error->hint();
        }
      }
    }
    EXPECT_EQ(read_text(path_ + ".fai"), fai) << "an index is not written over";
    write_fasta(path_, fasta_text(fit_genome(), 60));
    build_fasta_index(path_);
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_P(StaleFasta, AnIndexOfAnotherVersionIsRefused) {
  const FitGenome genome = fit_genome();
  FitGenome other = genome;
  other[0].header = "chr1 version 2";
  expect_misfit("longer header", fasta_text(other, 60));
  expect_misfit("other lines", fasta_text(genome, 50));
  // 61 bytes a line as before, but the line ends differ.
  expect_misfit("other line ends", fasta_text(genome, 59, "\r\n"));
  other = genome;
  std::swap(other[0].header, other[1].header);
  other[0].header = "chr2 one", other[1].header = "chr1";
  expect_misfit("names exchanged, lengths equal", fasta_text(other, 60));
  other = genome;
  other[1].header = "chrB";
  expect_misfit("renamed", fasta_text(other, 60));
  other = genome;
  other.push_back({"chr4", bases_of(100, 4)});
  expect_misfit("grown by a record", fasta_text(other, 60));
  other = genome;
  other[2].sequence += "A";
  expect_misfit("grown by a base", fasta_text(other, 60));
  other = genome;
  other.pop_back();
  expect_misfit("shrunk", fasta_text(other, 60));
  other = genome;
  other[0].sequence.insert(600, bases_of(60, 5));
  expect_misfit("a line more", fasta_text(other, 60));
  other = genome;
  other[0].sequence.insert(600, bases_of(60, 5));
  other[1].sequence.erase(600, 60);
  expect_misfit("a line more here and less there, the size as before", fasta_text(other, 60));
  other = genome;
  other.insert(other.begin() + 1, {"chr1b", bases_of(70, 6)});
  expect_misfit("a record in between", fasta_text(other, 60));
  other = genome;
  std::swap(other[0].sequence, other[2].sequence);
  expect_misfit("lengths exchanged", fasta_text(other, 60));
}

TEST_P(StaleFasta, WhatDoesNotChangePlacesFits) {
  FitGenome other = fit_genome();
  other[1].sequence = bases_of(150'000, 7);
  write_fasta(path_, fasta_text(other, 60) + "\n\n");
  if (has_suffix(path_, ".gz")) {  // blocks lie elsewhere: only .fai is old
    const std::string fai = read_text(path_ + ".fai");
    build_fasta_index(path_);
    write_text(path_ + ".fai", fai);
  }
  EXPECT_TRUE(Fasta(path_).fetch(1, 0, 150'000) == other[1].sequence);
  // Whoever sorted the index did not touch the places.
  write_text(path_ + ".fai",
             "chr3\t61\t305022\t60\t61\nchr1\t150000\t10\t60\t61\nchr2\t150000\t152516\t60\t61\n");
  EXPECT_TRUE(Fasta(path_).fetch(2, 0, 150'000) == other[1].sequence);
}

INSTANTIATE_TEST_SUITE_P(PlainAndBgzf, StaleFasta, ::testing::Values("x.fa", "x.fa.gz"));

TEST(FastaFit, AnIndexThatIsOnlyOlderIsAWarning) {
  const TemporaryFolder folder;
  const std::string path = folder / "older.fa";
  write_text(path, ">a\nACGT\n");
  build_fasta_index(path);
  const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (path + ".fai").c_str(), times, 0), 0);
  std::vector<std::string> said;
  set_log_sink([&](LogLevel level, const std::string& line) {
    if (level == LogLevel::warning) said.push_back(line);
  });
  const std::string read = Fasta(path).fetch(0, 0, 4);
  set_log_sink({});
  EXPECT_EQ(read, "ACGT");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("older.fa.fai is older than"), std::string::npos) << said[0];
}

TEST(FastaFit, ManyRecordsLongHeadersAndOddFormsFit) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.fa.gz";
  FitGenome genome;
  for (std::uint64_t i = 0; i < 5000; ++i)
    genome.push_back({"contig" + std::to_string(i), bases_of(1 + i % 130, i)});
  genome[7].header += " " + std::string(200'000, 'w');
  write_fasta(path, "\n\n" + fasta_text(genome, 60));
  build_fasta_index(path);
  EXPECT_EQ(Fasta(path).fetch(4999, 0, 60), genome[4999].sequence.substr(0, 60));
  write_fasta(folder / "mark.fa", "\xEF\xBB\xBF>a x\r\nAC\r\nGT\r\n\r\n>b\r\nA");
  for (int opened = 0; opened < 2; ++opened) {
    Fasta fasta(folder / "mark.fa");
    EXPECT_EQ(fasta.contigs()[0].name, "a");
    EXPECT_EQ(fasta.fetch(0, 1, 4), "CGT");
    EXPECT_EQ(fasta.fetch(1, 0, 1), "A");
  }
}

TEST(FastaFit, BlocksOfAnotherFileAreNotTaken) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.fa.gz";
  const std::string other = folder / "y.fa.gz";
  write_fasta(path, fasta_text(fit_genome(), 60));
  FitGenome more = fit_genome();
  more[1].sequence = bases_of(150'000, 8);
  write_fasta(other, fasta_text(more, 60));
  build_fasta_index(path);
  build_fasta_index(other);
  std::filesystem::copy_file(other + ".gzi", path + ".gzi",
                             std::filesystem::copy_options::overwrite_existing);
  const auto error = error_of([&] { Fasta{path}; });
  expect_bad_input(error, "x.fa.gz.gzi: does not fit", "block");
}

TEST(FastaFit, ABlockWhoseContentIsListedABaseOffIsNotTaken) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.fa.gz";
  write_fasta(path, fasta_text({{"a", bases_of(2'000'000, 9)}}, 60));
  build_fasta_index(path);
  const std::string whole = read_text(path + ".gzi");
  ASSERT_GT(whole.size(), 8U + 20 * 16);
  for (const std::size_t block : {1U, 4U, 9U}) {
    std::string bytes = whole;
    ++bytes[8 + block * 16 + 8];  // the lowest byte of where the content of the block begins
    write_text(path + ".gzi", bytes);
    expect_bad_input(error_of([&] { Fasta(path).fetch(0, 0, 2'000'000); }), "x.fa.gz.gzi: does not fit",
                     "block");
  }
}

// Every mutant is refused, or gives the bytes of the file: a flag of what is read out of a damaged index.
void expect_same_or_refused(const std::string& path, const std::string& index, const FitGenome& genome) {
  const std::string whole = read_text(index);
  const std::uint64_t count = testing::under_sanitizer ? 100 : 300;
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string bytes = fuzz::mutated(whole, i);
    if (i % 3 == 0 && bytes.size() > 8) {
      const std::size_t at = CounterRng(1, Purpose::test, i).below(bytes.size() / 4) * 4;
      bytes.replace(at, 4, i % 2 == 0 ? std::string("\xFF\xFF\xFF\x7F") : std::string(4, '\0'));
    }
    write_text(index, bytes);
    const auto error = error_of([&] {
      Fasta fasta(path);
      for (std::size_t contig = 0; contig < fasta.contigs().size(); ++contig) {
        const std::int64_t length = fasta.contigs()[contig].length;
        EXPECT_TRUE(fasta.fetch(contig, length / 3, length) ==
                    genome[contig].sequence.substr(static_cast<std::size_t>(length / 3)))
            << index << " " << i;
      }
    });
    if (error) ++refused;
    if (error) {
      EXPECT_EQ(error->message().find('\n'), std::string::npos) << error->message();
    }
  }
  write_text(index, whole);
  EXPECT_GT(refused, count / 2);
}

TEST(FastaFit, DamagedIndexesGiveNoOtherBases) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.fa.gz";
  write_fasta(path, fasta_text(fit_genome(), 60));
  build_fasta_index(path);
  expect_same_or_refused(path, path + ".gzi", fit_genome());
  expect_same_or_refused(path, path + ".fai", fit_genome());
}

TEST(FastaFit, APipeIsNamed) {
  const TemporaryFolder folder;
  const std::string path = folder / "pipe.fa";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  expect_bad_input(error_of([&] { Fasta{path}; }), "pipe.fa: can be read only once", "index");
  expect_bad_input(error_of([&] { build_fasta_index(path); }), "pipe.fa: can be read only once", "index");
}

}  // namespace
}  // namespace bigbird
