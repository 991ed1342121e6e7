// Variant files in: every container, headers that lack something, regions, and what is refused.
#include "lib/io/genome/vcf.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <iterator>
#include <utility>

#include "lib/io/files/file.h"
#include "tests/support/sanitizer.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;
using testing::write_text;

const std::string vcf_header =
    "##fileformat=VCFv4.2\n##reference=file:///hg19.fa\n##contig=<ID=1,length=1000,assembly=b37>\n"
    "##contig=<ID=2,note=\"a,length=7\">\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";

std::vector<VcfRecord> read_all(const std::string& path, const std::vector<std::string>& regions = {}) {
  VcfReader reader(path, regions);
  std::vector<VcfRecord> records;
  VcfRecord record;
  while (reader.next(record)) records.push_back(std::move(record));
  return records;
}

class Vcf : public ::testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "x.vcf") {
    write_text(folder_ / name, text);
    return (folder_ / name).string();
  }
  std::vector<VcfRecord> parse(const std::string& text) { return read_all(write(text)); }
  void refused(const std::string& text, const std::string& place, const std::string& what) {
    expect_bad_input(error_of([&] { parse(text); }), place, what);
  }
  TemporaryFolder folder_;
};

// A quarter of a megabyte of gzip, cut: what it holds is read up to the bound, not to the damage behind it.
TEST_F(Vcf, ALineOfGzipIsBounded) {
  const std::string path = (folder_ / "x.vcf.gz").string(), million(1'000'000, 'A');
  gzFile file = gzopen(path.c_str(), "wb9");
  ASSERT_EQ(gzputs(file, "##fileformat=VCFv4.2\n"), 21);
  for (std::size_t size = 0; size <= longest_line / 10 * 11; size += million.size())
    ASSERT_EQ(gzwrite(file, million.data(), 1'000'000), 1'000'000);
  gzclose(file);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 100 * 98);
  expect_bad_input(error_of([&] { read_all(path); }), "x.vcf.gz:2", "a line of more than 268435456 bytes");
}

TEST_F(Vcf, FieldsOfARecord) {
  const std::string path =
      write(vcf_header + "1\t7\trs1\tacG\tT,<DEL>,*\t.\tq10;s50\tAC=1\n2\t0\t.\tN\t.\t5\t.\t.\n");
  VcfReader reader(path);
  ASSERT_EQ(reader.contigs().size(), 2u);
  EXPECT_EQ(reader.contigs()[0].length, 1000);
  EXPECT_EQ(reader.contigs()[1].name, "2");
  EXPECT_EQ(reader.contigs()[1].length, 0);
  EXPECT_EQ(reader.build_hints().size(), 2u);
  EXPECT_FALSE(reader.headerless());
  VcfRecord record;
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.chrom, "1");
  EXPECT_EQ(record.position, 6);
  EXPECT_EQ(record.id, "rs1");
  EXPECT_EQ(record.ref, "acG");
  EXPECT_EQ(record.alts, (std::vector<std::string>{"T", "<DEL>", "*"}));
  EXPECT_EQ(record.filter, "q10;s50");
  EXPECT_EQ(record.contig_length, 1000);
  EXPECT_EQ(record.number, 0u);
  EXPECT_EQ(record.where, path + ":6");
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.position, -1);
  EXPECT_TRUE(record.alts.empty());
  EXPECT_EQ(record.filter, ".");
  EXPECT_EQ(record.number, 1u);
  EXPECT_FALSE(reader.next(record));
}

// A reader that gives its descriptor back goes on where it was, in every container.
TEST_F(Vcf, ReadersThatRestGoOnWhereTheyWere) {
  std::string text = vcf_header;
  const auto id = [](int i) { return std::to_string(i) + std::string(200, 'x'); };
  for (int i = 1; i <= 900; ++i) text += "1\t" + std::to_string(i) + "\t" + id(i) + "\tA\tC\t.\t.\t.\n";
  const std::string plain = write(text);
  const std::string bgzf = (folder_ / "x.vcf.gz").string(), bcf = (folder_ / "x.bcf").string();
  for (const auto& [path, type] : {std::pair(bgzf, VcfType::bgzf), std::pair(bcf, VcfType::bcf)}) {
    VcfReader reader(plain);
    VcfWriter writer(path, type, reader, {}, {}, {});
    VcfRecord record;
    while (reader.next(record)) writer.write(record, {});
    writer.close();
  }
  const auto open_now = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  for (const std::string& path : {plain, bgzf, bcf}) {
    SCOPED_TRACE(path);
    const auto before = open_now();
    VcfReader reader(path);
    VcfRecord record;
    for (int i = 1; i <= 900; ++i) {
      if (i % 7 == 1) {
        reader.rest();
        ASSERT_EQ(open_now(), before);
      }
      ASSERT_TRUE(reader.next(record));
      ASSERT_EQ(record.id, id(i));
      ASSERT_EQ(record.position, i - 1);
    }
    reader.rest();
    EXPECT_FALSE(reader.next(record));
  }
}

// Without a descriptor left it is not said to be something else.
TEST_F(Vcf, ThatCannotBeOpenedIsNoOtherFormat) {
  if (testing::under_sanitizer) GTEST_SKIP() << "the sanitizer's own checks open pipes";
  const std::string path = write(vcf_header + "1\t7\trs1\tA\tT\t.\t.\t.\n");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto error = error_of([&] { VcfReader reader(path); });
  setrlimit(RLIMIT_NOFILE, &before);
  expect_bad_input(error, path, "cannot read: Too many open files");
  EXPECT_NE(error->hint().find("ulimit -n"), std::string::npos) << error->hint();
}

TEST_F(Vcf, TablesWithoutAHeader) {
  for (const std::string names : {"", "# chrom pos id ref alt\n", "#CHROM\tPOS\tID\tREF\tALT\n"}) {
    const auto records = parse(names + "chr1\t5\t.\tA\tG\nchr1\t4\tx\tC\tT,A\n");
    ASSERT_EQ(records.size(), 2u) << names;
    EXPECT_EQ(records[1].position, 3);
    EXPECT_EQ(records[1].alts.size(), 2u);
  }
  EXPECT_TRUE(VcfReader(write("chr1\t5\t.\tA\tG\n")).headerless());
  // Columns beyond the fifth that are no VCF's do not matter; a VCF's do.
  EXPECT_EQ(parse("1\t5\t.\tA\tG\tnear GENE\t1\tx\n")[0].filter, ".");
  EXPECT_EQ(parse("1\t5\t.\tA\tG\t9.5\tLow\tx\n")[0].filter, "Low");
}

TEST_F(Vcf, CarriageReturnsEmptyLinesAtTheEndAndNoLastNewline) {
  std::string text = vcf_header + "1\t7\t.\tA\tG\t.\tPASS\t.\n\n\n";
  std::string windows;
  for (const char letter : text) windows += letter == '\n' ? std::string("\r\n") : std::string(1, letter);
  for (const std::string& one : {text, windows, text.substr(0, text.size() - 3)}) {
    const auto records = parse(one);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].filter, "PASS");
  }
  EXPECT_TRUE(parse(vcf_header).empty());
}

TEST_F(Vcf, MissingColumnLineAndDuplicatesKeepTheirOrder) {
  const auto records = parse(
      "##fileformat=VCFv4.2\n2\t9\t.\tA\tG\t.\t.\t.\n1\t9\t.\tA\tG\t.\t.\t.\n1\t9\t.\tA\tG\t.\t.\t.\n1\t2\t."
      "\tC\tG\t.\t.\t.\n");
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].chrom, "2");
  EXPECT_EQ(records[2].position, 8);
  EXPECT_EQ(records[3].position, 1);
}

TEST_F(Vcf, BadLinesAreNamed) {
  const std::string good = "1\t7\t.\tA\tG\t.\tPASS\t.\n";
  refused(vcf_header + good + "1 8 . A G . PASS .\n", "x.vcf:7", "spaces");
  refused("#CHROM POS ID REF ALT QUAL FILTER INFO\n" + good, "x.vcf:1", "spaces");
  refused("chr1  5  .  A  G\n", "x.vcf:1", "spaces");
  refused(vcf_header + "1\t8\t.\tA\n", "x.vcf:6", "4 columns");
  refused(vcf_header + "1\t8\t.\tA\tG\t.\tPASS\n", "x.vcf:6", "7 columns");
  refused(vcf_header + "1\t8\t.\tA\tG\t.\tPASS\t.\tGT\t0/1\n", "x.vcf:6", "10 columns");
  for (const char* bad : {"x", "1e3", "-1", "+5", "7.0", "99999999999999999999"})
    refused(vcf_header + "1\t" + bad + "\t.\tA\tG\t.\tPASS\t.\n", "x.vcf:6", "POS");
  refused(vcf_header + "1\t8\t.\t\tG\t.\tPASS\t.\n", "x.vcf:6", "REF is empty");
  refused(vcf_header + "1\t8\t.\tA\t\t.\tPASS\t.\n", "x.vcf:6", "ALT is empty");
  refused(vcf_header + "1\t8\t.\tA\tG,\t.\tPASS\t.\n", "x.vcf:6", "allele of ALT is empty");
  refused(vcf_header + "1\t8\t.\tA G\tT\t.\tPASS\t.\n", "x.vcf:6", "space in REF");
  refused(vcf_header + "\n" + good, "x.vcf:6", "empty line");
  refused(vcf_header + good + vcf_header + good, "x.vcf:7", "header line among");
  refused("#CHROM\tPOS\tID\tALT\tREF\n" + good, "x.vcf:1", "column 4");
  refused("", "x.vcf", "empty");
}

TEST_F(Vcf, OtherFilesAreRefused) {
  expect_bad_input(error_of([&] { read_all((folder_ / "none.vcf").string()); }), "none.vcf", "No such file");
  expect_bad_input(error_of([&] { read_all(folder_.path().string()); }), folder_.path().string(), "folder");
  refused(std::string("BAM\1\0\0\0\0\0\0\0\0", 12), "x.vcf", "neither VCF nor BCF");
  refused(std::string("\x7f"
                      "ELF\2\1\1\0\0\0\0",
                      11),
          "x.vcf", "");
  refused(">chr1\nACGT\n", "x.vcf", "");
}

// Writes the same records in all containers.
class VcfContainers : public Vcf {
 protected:
  VcfContainers() {
    text_ = vcf_header;
    for (int i = 1; i <= 20000; ++i)
      text_ += std::to_string(i <= 15000 ? 1 : 2) + "\t" + std::to_string(i) + "\trs" + std::to_string(i) +
               "\tACGT\tA,AC\t.\tPASS\t.\n";
    write(text_);
    for (const auto& [name, type] : {std::pair{"x.vcf.gz", VcfType::bgzf}, {"x.bcf", VcfType::bcf}}) {
      VcfReader reader((folder_ / "x.vcf").string());
      VcfWriter writer((folder_ / name).string(), type, reader, {}, {}, {});
      VcfRecord record;
      while (reader.next(record)) writer.write(record, {});
      writer.close();
    }
  }
  std::string text_;
};

TEST_F(VcfContainers, BgzfAndBcfHoldAllRecords) {
  for (const char* name : {"x.vcf.gz", "x.bcf"}) {
    const auto records = read_all((folder_ / name).string());
    ASSERT_EQ(records.size(), 20000u) << name;
    EXPECT_EQ(records.back().position, 19999);
    EXPECT_EQ(records.back().id, "rs20000");
    EXPECT_EQ(records.back().chrom, "2");
    EXPECT_EQ(records.back().alts, (std::vector<std::string>{"A", "AC"}));
    EXPECT_EQ(records.back().filter, "PASS");
    EXPECT_EQ(records.front().contig_length, 1000);
  }
  EXPECT_EQ(read_all((folder_ / "x.bcf").string())[4].where, (folder_ / "x.bcf").string() + ": record 5");
}

TEST_F(VcfContainers, MembersOneAfterTheOtherAreAllRead) {
  const std::string packed = testing::read_text(folder_ / "x.vcf.gz");
  EXPECT_GT(text_.size(), 10u * 65280);  // more than ten members
  // A second BGZF file after the first one, its end-of-file block in between.
  {
    OutputStream out((folder_ / "more.vcf.gz").string());
    out.write("2\t30000\t.\tA\tG\t.\tPASS\t.\n");
    out.close();
  }
  write(packed + testing::read_text(folder_ / "more.vcf.gz"), "two.vcf.gz");
  EXPECT_EQ(read_all((folder_ / "two.vcf.gz").string()).size(), 20001u);
}

TEST_F(VcfContainers, CutAndDamagedFilesAreRefused) {
  for (const char* name : {"x.vcf.gz", "x.bcf"}) {
    const std::string whole = testing::read_text(folder_ / name);
    for (const std::size_t size : {whole.size() - 28, whole.size() - 1000, whole.size() / 2}) {
      const std::string path = write(whole.substr(0, size), std::string("cut.") + name);
      expect_bad_input(error_of([&] { read_all(path); }), "cut.", "cut short");
    }
    std::string damaged = whole;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
    const std::string path = write(damaged, std::string("damaged.") + name);
    expect_bad_input(error_of([&] { read_all(path); }), "damaged.", "damaged");
  }
}

TEST_F(VcfContainers, RegionsNeedAnIndex) {
  expect_bad_input(error_of([&] { read_all((folder_ / "x.vcf.gz").string(), {"1"}); }), "x.vcf.gz", "index");
  expect_bad_input(error_of([&] { read_all((folder_ / "x.vcf").string(), {"1"}); }), "x.vcf", "BGZF");
  const auto usage = error_of([&] { read_all("-", {"1"}); });
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->kind(), ErrorKind::usage);
  write("no index", "x.vcf.gz.tbi");
  expect_bad_input(error_of([&] { read_all((folder_ / "x.vcf.gz").string(), {"1"}); }), "x.vcf.gz.tbi",
                   "index");
}

TEST(VcfStdin, StreamsAreReadAndTheirEndIsChecked) {
  BIGBIRD_REQUIRE_SHARED();
  const auto folder = *testing::shared_dir() / "data" / "vcf-grch37";
  const TemporaryFolder temporary;
  const std::string text = testing::read_text(folder / "kgp3_chr20_first2000.b37.bcf");
  write_text(temporary / "cut.bcf", text.substr(0, text.size() - 28));
  const int saved = dup(STDIN_FILENO);
  const auto through_pipe = [&](const std::filesystem::path& file) {
    FILE* pipe = popen(("cat '" + file.string() + "'").c_str(), "r");
    EXPECT_GE(dup2(fileno(pipe), STDIN_FILENO), 0);
    const auto error = error_of([&] { EXPECT_EQ(read_all("-").size(), 2000u); });
    EXPECT_GE(dup2(saved, STDIN_FILENO), 0);
    pclose(pipe);
    return error;
  };
  EXPECT_FALSE(through_pipe(folder / "kgp3_chr20_first2000.b37.bcf"));
  expect_bad_input(through_pipe(temporary / "cut.bcf"), "-", "cut short");
  close(saved);
}

TEST(VcfRegionsTest, RegionsOfTheRealFiles) {
  BIGBIRD_REQUIRE_SHARED();
  const auto folder = *testing::shared_dir() / "data" / "vcf-grch37";
  const std::string sites = (folder / "kgp3_chr20_1M-2M.b37.vcf.gz").string();
  // Counts: bcftools view -H -r.
  EXPECT_EQ(read_all(sites, {"20:1,010,000-1020000"}).size(), 269u);
  const auto two = read_all(sites, {"20:1020000-1030000", "20:1000000-1010000", "20:1010005-1010006"});
  EXPECT_EQ(two.size(), 525u);
  for (std::size_t i = 1; i < two.size(); ++i) {
    EXPECT_GE(two[i].position, two[i - 1].position);
    EXPECT_EQ(two[i].number, i);
  }
  EXPECT_EQ(read_all(sites, {"20:1009998-1009998", "20:1010001"}).size(), 28752u);
  EXPECT_EQ(read_all(sites, {"chr20:1050000"}).size(), 27633u);
  EXPECT_EQ(read_all(sites, {"7"}).size(), 0u);
  EXPECT_EQ(read_all((folder / "kgp3_chr20_first2000.b37.bcf").string(), {"20:1,010,000-1020000"}).size(),
            269u);
  for (const char* bad : {"21x", "20:0-5", "20:63025521", "20:1-63025521", "20:5-3", "20:a-b"}) {
    expect_bad_input(error_of([&] { read_all(sites, {bad}); }), bad, "");
  }
}

TEST(VcfReal, CountsOfTheRealFiles) {
  BIGBIRD_REQUIRE_SHARED();
  const auto folder = *testing::shared_dir() / "data" / "vcf-grch37";
  int single = 0;
  int indel = 0;
  int symbolic = 0;
  int multi = 0;
  const auto records = read_all((folder / "kgp3_chr20_1M-2M.b37.vcf.gz").string());
  for (const VcfRecord& record : records) {
    multi += record.alts.size() > 1 ? 1 : 0;
    for (const std::string& alt : record.alts) {
      if (alt.front() == '<') {
        ++symbolic;
      } else {
        ++(record.ref.size() == 1 && alt.size() == 1 ? single : indel);
      }
    }
  }
  EXPECT_EQ(records.size(), 28998u);
  EXPECT_EQ(single, 28191);
  EXPECT_EQ(indel, 929);
  EXPECT_EQ(symbolic, 24);
  EXPECT_EQ(multi, 138);
  EXPECT_EQ(read_all((folder / "star_alleles.chr20.b37.vcf").string()).size(), 355u);
  EXPECT_EQ(read_all((folder / "trio_ggvcf.star_nonref.b37.vcf.gz").string()).size(), 558u);
  // Its line of column names ends in a tab.
  EXPECT_EQ(read_all((folder / "complexEvents.symbolic.b37.vcf").string()).size(), 5u);
}

}  // namespace
}  // namespace bigbird
