// Variant files out: what was read survives, fields are added, bytes do not depend on threads, and a full
// disk is noticed.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/vcf.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

constexpr float vcf_missing = std::numeric_limits<float>::quiet_NaN();
const std::vector<VcfInfoField> vcf_fields = {{"BB_DIFF", "A", "Float", "difference"},
                                              {"BB_N", "1", "Integer", "a number"},
                                              {"BB_FLAGS", "A", "String", "flags"}};

std::vector<VcfInfoValues> values_of(const VcfRecord& record) {
  std::vector<float> diff(record.alts.size(), 0.0123456789F);
  if (diff.size() > 1) diff[0] = vcf_missing;
  return {diff, std::vector<std::int32_t>{static_cast<std::int32_t>(record.number)},
          std::vector<std::string>(record.alts.size(), record.number % 2 == 0 ? "a|b" : "")};
}

void copy(const std::string& input, const std::string& output, VcfType type, bool add) {
  VcfReader reader(input);
  VcfWriter writer(output, type, reader, {{"1", 1000}}, add ? vcf_fields : std::vector<VcfInfoField>{},
                   add ? std::vector<std::string>{"##bigbird_command=x"} : std::vector<std::string>{});
  VcfRecord record;
  while (reader.next(record)) writer.write(record, add ? values_of(record) : std::vector<VcfInfoValues>{});
  writer.close();
}

// The text of any variant file, as this library reads it.
std::string text_of(const std::string& path) {
  const TemporaryFolder folder;
  copy(path, (folder / "x.vcf").string(), VcfType::text, false);
  return read_text(folder / "x.vcf");
}

std::string records_of(const std::string& text) {
  const std::size_t columns = text.find("#CHROM");
  return columns == std::string::npos ? text : text.substr(columns);
}

class VcfOut : public ::testing::Test {
 protected:
  std::string path(const std::string& name) { return (folder_ / name).string(); }
  std::string write(const std::string& text) {
    write_text(folder_ / "in.vcf", text);
    return path("in.vcf");
  }
  TemporaryFolder folder_;
};

const std::string written_header =
    "##fileformat=VCFv4.3\n##FILTER=<ID=q10,Description=\"low\">\n##contig=<ID=1,length=1000>\n"
    "##INFO=<ID=AC,Number=A,Type=Integer,Description=\"count\">\n"
    "##INFO=<ID=BB_DIFF,Number=1,Type=String,Description=\"of an earlier run\">\n"
    "##FORMAT=<ID=GT,Number=1,Type=String,Description=\"genotype\">\n"
    "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS1\n";
const std::string vcf_records =
    "1\t7\trs1\tA\tG\t29.5\tq10\tAC=1\tGT\t0|1\n1\t8\t.\tAC\tA,*\t.\tPASS\tBB_DIFF=old;AC=1,2\tGT\t1/2\n"
    "1\t9\t.\tA\t.\t5\t.\t.\tGT\t0/0\n";

TEST(VcfTypeOf, IsWhatTheNameEndsIn) {
  EXPECT_EQ(vcf_type_of("a/b.vcf"), VcfType::text);
  EXPECT_EQ(vcf_type_of("b.vcf.gz"), VcfType::bgzf);
  EXPECT_EQ(vcf_type_of("b.vcf.bgz"), VcfType::bgzf);
  EXPECT_EQ(vcf_type_of("b.bcf"), VcfType::bcf);
  for (const char* other : {"b.tsv", "b.vcf.zst", "b.gz", "vcf", ""})
    EXPECT_FALSE(vcf_type_of(other)) << other;
}

TEST_F(VcfOut, AddedFieldsAndNothingElse) {
  copy(write(written_header + vcf_records), path("out.vcf"), VcfType::text, true);
  EXPECT_EQ(read_text(path("out.vcf")),
            "##fileformat=VCFv4.3\n##FILTER=<ID=q10,Description=\"low\">\n##contig=<ID=1,length=1000>\n"
            "##INFO=<ID=AC,Number=A,Type=Integer,Description=\"count\">\n"
            "##FORMAT=<ID=GT,Number=1,Type=String,Description=\"genotype\">\n"
            "##INFO=<ID=BB_DIFF,Number=A,Type=Float,Description=\"difference\">\n"
            "##INFO=<ID=BB_N,Number=1,Type=Integer,Description=\"a number\">\n"
            "##INFO=<ID=BB_FLAGS,Number=A,Type=String,Description=\"flags\">\n##bigbird_command=x\n"
            "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS1\n"
            "1\t7\trs1\tA\tG\t29.5\tq10\tAC=1;BB_DIFF=0.0123457;BB_N=0;BB_FLAGS=a|b\tGT\t0|1\n"
            "1\t8\t.\tAC\tA,*\t.\tPASS\tAC=1,2;BB_DIFF=.,0.0123457;BB_N=1\tGT\t1/2\n"
            "1\t9\t.\tA\t.\t5\t.\tBB_N=2\tGT\t0/0\n");
}

TEST_F(VcfOut, AllTypesHoldTheSame) {
  const std::string input = write(written_header + vcf_records);
  copy(input, path("out.vcf"), VcfType::text, true);
  copy(input, path("out.vcf.gz"), VcfType::bgzf, true);
  copy(input, path("out.bcf"), VcfType::bcf, true);
  EXPECT_EQ(text_of(path("out.vcf.gz")), text_of(path("out.vcf")));
  EXPECT_EQ(records_of(text_of(path("out.bcf"))), records_of(text_of(path("out.vcf"))));
  // From a BCF as well: to text, and to BCF again, where fields of an earlier run are replaced.
  copy(path("out.bcf"), path("again.bcf"), VcfType::bcf, true);
  copy(path("out.bcf"), path("again.vcf"), VcfType::text, true);
  EXPECT_EQ(records_of(text_of(path("again.bcf"))), records_of(text_of(path("out.vcf"))));
  EXPECT_EQ(records_of(text_of(path("again.vcf"))), records_of(text_of(path("out.vcf"))));
}

TEST_F(VcfOut, TablesGetAHeader) {
  copy(write("1\t5\t.\ta\tG\n"), path("out.vcf"), VcfType::text, false);
  EXPECT_EQ(read_text(path("out.vcf")),
            "##fileformat=VCFv4.2\n##contig=<ID=1,length=1000>\n"
            "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n1\t5\t.\ta\tG\t.\t.\t.\n");
  copy(path("in.vcf"), path("out.bcf"), VcfType::bcf, true);
  EXPECT_EQ(records_of(text_of(path("out.bcf"))),
            "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n1\t5\t.\ta\tG\t.\t.\tBB_DIFF=0.0123457;BB_N=0;BB_"
            "FLAGS=a|b\n");
  copy(write("##x=y\n1\t5\t.\tA\tG\t.\t.\t.\tGT\t0/1\t0/0\n"), path("out.vcf"), VcfType::text, false);
  EXPECT_EQ(
      read_text(path("out.vcf")),
      "##fileformat=VCFv4.2\n##x=y\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tsample1\tsample2\n"
      "1\t5\t.\tA\tG\t.\t.\t.\tGT\t0/1\t0/0\n");
}

TEST_F(VcfOut, TheFirstVersionCounts) {
  copy(write("##fileformat=VCFv4.1\n##fileformat=x\n#CHROM\tPOS\tID\tREF\tALT\n"), path("out.vcf"),
       VcfType::text, false);
  EXPECT_EQ(read_text(path("out.vcf")).find("##fileformat=VCFv4.1\n#CHROM"), 0u);
}

TEST_F(VcfOut, BcfNeedsDeclarations) {
  const auto to_bcf = [&](const std::string& text) {
    return error_of([&] { copy(write(text), path("out.bcf"), VcfType::bcf, false); });
  };
  expect_bad_input(to_bcf(written_header + "2\t7\t.\tA\tG\t.\t.\t.\tGT\t0|1\n"), "in.vcf:8", "contig 2");
  expect_bad_input(to_bcf(written_header + "1\t7\t.\tA\tG\t.\t.\tXX=1\tGT\t0|1\n"), "in.vcf:8",
                   "not declared");
  EXPECT_FALSE(file_exists(path("out.bcf")));
}

TEST_F(VcfOut, NothingAppearsBeforeTheEndAndAFullDiskIsNoticed) {
  const std::string input = write(written_header + vcf_records);
  for (const VcfType type : {VcfType::text, VcfType::bgzf, VcfType::bcf}) {
    {
      VcfReader reader(input);
      VcfWriter writer(path("out"), type, reader, {}, {}, {});
      VcfRecord record;
      while (reader.next(record)) writer.write(record, {});
    }
    EXPECT_FALSE(file_exists(path("out")));
    const auto full = error_of([&] { copy(input, "/dev/full", type, true); });
    ASSERT_TRUE(full);
    EXPECT_EQ(full->kind(), ErrorKind::runtime);
    EXPECT_TRUE(error_of([&] { copy(input, path("no/folder"), type, true); }));
  }
}

TEST_F(VcfOut, BytesDoNotDependOnThreads) {
  std::string text = written_header;
  for (int i = 0; i < 20000; ++i)
    text += "1\t7\trs" + std::to_string(i * i) + "\tA\tG\t.\tPASS\tAC=1\tGT\t0|1\n";
  const std::string input = write(text);
  for (const VcfType type : {VcfType::bgzf, VcfType::bcf}) {
    const int before = kernels::thread_count();
    kernels::set_thread_count(1);
    copy(input, path("one"), type, true);
    kernels::set_thread_count(3);
    copy(input, path("three"), type, true);
    kernels::set_thread_count(before);
    EXPECT_EQ(read_text(path("one")), read_text(path("three")));
  }
}

TEST_F(VcfOut, RecordsMayBeKept) {
  copy(write(written_header + vcf_records), path("in.bcf"), VcfType::bcf, false);
  for (const std::string& input : {path("in.vcf"), path("in.bcf")}) {
    VcfReader reader(input);
    std::vector<VcfRecord> kept;
    VcfRecord record;
    while (reader.next(record)) kept.push_back(std::move(record));
    VcfWriter writer(path("out.vcf"), VcfType::text, reader, {}, {}, {});
    for (const VcfRecord& one : kept) writer.write(one, {});
    writer.close();
    EXPECT_EQ(records_of(read_text(path("out.vcf"))).size(), records_of(written_header + vcf_records).size());
  }
}

TEST(VcfOutReal, RealFilesSurviveEveryType) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *testing::shared_dir() / "data" / "vcf-grch37";
  const TemporaryFolder folder;
  for (const char* name : {"kgp3_chr20_first2000.b37.bcf", "star_alleles.chr20.b37.vcf",
                           "trio_ggvcf.star_nonref.b37.vcf.gz", "complexEvents.symbolic.b37.vcf"}) {
    const std::string input = (data / name).string();
    const std::string before = text_of(input);
    for (const VcfType type : {VcfType::text, VcfType::bgzf, VcfType::bcf}) {
      copy(input, (folder / "out").string(), type, false);
      copy((folder / "out").string(), (folder / "back.vcf").string(), VcfType::text, false);
      // A BCF keeps numbers as floats: QUAL and INFO of text are compared where the text is kept.
      if (type == VcfType::bcf) {
        copy((folder / "back.vcf").string(), (folder / "out2").string(), VcfType::bcf, false);
        EXPECT_EQ(text_of((folder / "out2").string()), text_of((folder / "back.vcf").string())) << name;
      } else {
        EXPECT_EQ(read_text(folder / "back.vcf"), before) << name;
      }
    }
  }
}

// A record of two samples with these columns, and a header that declares a field of every type.
std::string typed_record(const std::string& quality, const std::string& info, const std::string& format,
                         const std::string& first, const std::string& second,
                         const std::string& type_of_gt = "String") {
  return "##fileformat=VCFv4.2\n##contig=<ID=1,length=1000>\n##FILTER=<ID=q10,Description=\"x\">\n"
         "##INFO=<ID=DP,Number=1,Type=Integer,Description=\"x\">\n"
         "##INFO=<ID=AF,Number=A,Type=Float,Description=\"x\">\n"
         "##INFO=<ID=DB,Number=0,Type=Flag,Description=\"x\">\n"
         "##INFO=<ID=ST,Number=1,Type=String,Description=\"x\">\n"
         "##FORMAT=<ID=GT,Number=1,Type=" +
         type_of_gt +
         ",Description=\"x\">\n##FORMAT=<ID=AD,Number=R,Type=Integer,Description=\"x\">\n"
         "##FORMAT=<ID=FF,Number=1,Type=Float,Description=\"x\">\n"
         "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS1\tS2\n1\t7\t.\tA\tG\t" +
         quality + "\tPASS\t" + info + "\t" + format + "\t" + first + "\t" + second + "\n";
}

TEST_F(VcfOut, ValuesThatBcfWouldChangeAreRefusedByLine) {
  struct Case {
    std::string text;
    std::string says;
  };
  const std::vector<Case> refused = {
      {typed_record(".", "DP=1.22e+06", "GT", "0/1", "0/0"), "INFO DP=1.22e+06 would become DP=1"},
      {typed_record(".", "DP=1e2", "GT", "0/1", "0/0"), "DP=1e2"},
      {typed_record(".", "DP=3000000000", "GT", "0/1", "0/0"), "DP=3000000000"},
      {typed_record(".", "DP=1000000.4", "GT", "0/1", "0/0"), "DP=1000000.4"},
      {typed_record(".", "AF=0.5;DP=x", "GT", "0/1", "0/0"), "DP=x"},
      {typed_record(".", "DP=1,x,3", "GT", "0/1", "0/0"), "DP=1,x,3"},
      {typed_record(".", "AF=1e-300", "GT", "0/1", "0/0"), "AF=1e-300"},
      {typed_record(".", "AF=1e60", "GT", "0/1", "0/0"), "AF=1e60"},
      {typed_record(".", "AF=1e400", "GT", "0/1", "0/0"), "AF=1e400"},
      {typed_record(".", "AF=0.5x", "GT", "0/1", "0/0"), "AF=0.5x"},
      {typed_record("abc", "DP=1", "GT", "0/1", "0/0"), "QUAL abc"},
      {typed_record("1e60", "DP=1", "GT", "0/1", "0/0"), "QUAL 1e60"},
      {typed_record(".", "DP=1", "GT", ".", ".", "Integer"), "FORMAT/GT of sample 1: . would become"},
      {typed_record(".", "DP=1", "GT", "0", "1", "Integer"), "FORMAT/GT of sample 1"},
      {typed_record(".", "DP=1", "GT:AD", "0/1:1,2", "0/0:3000000000,1"), "FORMAT/AD of sample 2"},
      {typed_record(".", "DP=1", "GT:FF", "0/1:1e-300", "0/0:1"), "FORMAT/FF of sample 1"},
      {typed_record(".", "DP=1", "GT:AD", "0/1:1.5,2", "0/0:1,2"), "BCF"},
      {typed_record(".", "DP=1", "GT", "0/1:5", "0/0"), "BCF"},
      {typed_record(".", "XX=1", "GT", "0/1", "0/0"), "not declared"},
  };
  for (const Case& bad : refused) {
    const std::string input = write(bad.text);
    expect_bad_input(error_of([&] { copy(input, path("out.bcf"), VcfType::bcf, true); }), "in.vcf:12",
                     bad.says);
    EXPECT_FALSE(file_exists(path("out.bcf"))) << bad.says;
    copy(input, path("out.vcf"), VcfType::text, false);
    EXPECT_EQ(records_of(read_text(path("out.vcf"))), records_of(bad.text)) << "text keeps what it is given";
  }
}

TEST_F(VcfOut, ValuesThatBcfWritesInAnotherWayAreKept) {
  for (const std::string& text : {
           typed_record("30.0", "DP=+5;AF=0.10,1e-7", "GT", "0|1", "./."),
           typed_record("29.123456789", "DP=0012;AF=16777217", "GT:AD:FF", "0/1", ".:1,2"),
           typed_record(".", "DP=3.0;AF=nan", "GT:AD", "0/1/1:.", "0:1,2,3"),
           typed_record("5", "DP=.;DB=;AF=inf", "AD:GT", "1,.:0/1", ".,.:1/0"),
           typed_record("1e-5", ";DB;;ST=a=b,c;", "GT:FF", "0/1:123456.74", "0/1:-0"),
           typed_record("1", "AF=1e-40;DP=", "GT", ".", "."),
           typed_record("1", ".", "GT", "1|0", "0|0"),
       }) {
    copy(write(text), path("out.bcf"), VcfType::bcf, true);
    EXPECT_NE(text_of(path("out.bcf")).find("1\t7\t.\tA\tG"), std::string::npos) << text;
  }
}

TEST_F(VcfOut, LinesOfAHeaderThatBcfDropsAreTold) {
  const std::string text = typed_record(".", "DP=1", "GT", "0/1", "0/0");
  const auto warnings = [&](const std::string& more) {
    std::string told;
    set_log_sink([&](LogLevel, const std::string& message) { told += message; });
    copy(write(std::string(text).insert(text.find("##contig"), more)), path("out.bcf"), VcfType::bcf, true);
    set_log_sink({});
    return told;
  };
  EXPECT_EQ(warnings("##source=x\n##INFO=<ID=QQ,Number=1,Type=Float,Description=\"a, \\\"b\\\" =c\">\n"), "");
  EXPECT_NE(
      warnings("##INFO=<ID=DP,Number=2,Type=Float,Description=\"again\">\n").find("1 line of its header"),
      std::string::npos);
}

}  // namespace
}  // namespace bigbird
