// Own labelled sequences: the tables and FASTA pairs that are read, and the lines that are refused.
#include "lib/genomics/promoter/labelled_sequences.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/core/error.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

class LabelledSequences : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    testing::write_text(folder_ / name, text);
    return (folder_ / name).string();
  }

  static std::vector<Window> read(const LabelledSource& source) {
    std::vector<Window> windows;
    const auto reader = read_labelled_windows(source);
    Window window;
    while (reader->next(window)) windows.push_back(window);
    return windows;
  }

  std::string refusal(const std::string& text) {
    try {
      read({write("bad.csv", text), ""});
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  }

  testing::TemporaryFolder folder_;
};

TEST_F(LabelledSequences, ReadsATableInAnyOrderCaseSeparatorAndLineEnd) {
  const auto csv = read({write("a.csv", "\xEF\xBB\xBFSequence,label\r\nacgtR,1\r\n\r\nGGGU,0\r\n"), ""});
  ASSERT_EQ(csv.size(), 2u);
  EXPECT_EQ(csv[0].sequence, "ACGTN");
  EXPECT_EQ(csv[0].label, 1);
  EXPECT_EQ(csv[0].id, "row1");
  EXPECT_EQ(csv[0].chrom, ".");
  EXPECT_EQ(csv[0].end, 5);
  EXPECT_EQ(csv[1].sequence, "GGGT");
  const auto tsv =
      read({write("b.tsv", "##a note\n#label\tsource\tid\tSEQUENCE\n2\tx, \"y\"\tfirst\tTTTT\n"), ""});
  ASSERT_EQ(tsv.size(), 1u);
  EXPECT_EQ(tsv[0].id, "first");
  EXPECT_EQ(tsv[0].label, 2);
  EXPECT_EQ(tsv[0].sequence, "TTTT");
}

TEST_F(LabelledSequences, ReadsQuotedFields) {
  const auto rows = read({write("q.csv", "id,sequence,label\n\"a,\"\"b\"\"\",\"ACGT\",1\n,A,\"0\"\n"), ""});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].id, "a,\"b\"");
  EXPECT_EQ(rows[0].sequence, "ACGT");
  EXPECT_EQ(rows[1].id, "");
  EXPECT_EQ(rows[1].label, 0);
}

TEST_F(LabelledSequences, ReadsTheFilesOfPromoterBuildWithTheirPlaces) {
  const auto rows = read(
      {write(
           "train.tsv",
           "#id\tchrom\tstart\tend\tstrand\tlabel\tsplit\tsequence\nG_1\tchr2\t10\t14\t-\t1\ttrain\tACGT\n"),
       ""});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].chrom, "chr2");
  EXPECT_EQ(rows[0].begin, 10);
  EXPECT_EQ(rows[0].end, 14);
  EXPECT_EQ(rows[0].strand, '-');
}

TEST_F(LabelledSequences, ReadsAPairOfFastaFiles) {
  const auto rows = read({write("p.fa", ">a text\nAC\ngt\n>b\nTTT\n"), write("n.fa", ">c\nGGGR\n")});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].id, "a");
  EXPECT_EQ(rows[0].sequence, "ACGT");
  EXPECT_EQ(rows[0].label, 1);
  EXPECT_EQ(rows[0].chrom, ".");
  EXPECT_EQ(rows[1].label, 1);
  EXPECT_EQ(rows[2].sequence, "GGGN");
  EXPECT_EQ(rows[2].label, 0);
}

TEST_F(LabelledSequences, NamesTheLineOfWhatIsWrong) {
  EXPECT_NE(refusal("").find("no header"), std::string::npos);
  EXPECT_NE(refusal("seq,label\nA,1\n").find("bad.csv:1: the header names no column 'sequence'"),
            std::string::npos);
  EXPECT_NE(refusal("sequence\nA\n").find("no column 'label'"), std::string::npos);
  EXPECT_NE(refusal(">x\nACGT\n").find("bad.csv:1: a FASTA file has no labels"), std::string::npos);
  EXPECT_NE(refusal("sequence,label\nA,1\nA\n").find("bad.csv:3: 1 fields where the header has 2"),
            std::string::npos);
  EXPECT_NE(refusal("sequence,label\nA,one\n").find("bad.csv:2: label 'one'"), std::string::npos);
  EXPECT_NE(refusal("sequence,label\nA,-1\n").find("label '-1'"), std::string::npos);
  EXPECT_NE(refusal("sequence,label\n,1\n").find("bad.csv:2: the sequence is empty"), std::string::npos);
  EXPECT_NE(refusal("sequence,label\nAC GT,1\n").find("bad.csv:2: ' ' in the sequence"), std::string::npos);
  EXPECT_NE(refusal("sequence,label\n\"A,1\n").find("bad.csv:2: a quote is not closed"), std::string::npos);
  EXPECT_NE(refusal("sequence,label\n\"A\"C,1\n").find("bad.csv:2: text after"), std::string::npos);
}

TEST_F(LabelledSequences, FindsTheSidesOfAFolder) {
  write("train.csv", "sequence,label\nA,1\n");
  write("dev.csv", "sequence,label\nA,1\n");
  const std::string folder = folder_.path().string();
  EXPECT_EQ(labelled_side(folder, "train")->path, folder + "/train.csv");
  EXPECT_EQ(labelled_side(folder, "valid")->path, folder + "/dev.csv");
  EXPECT_FALSE(labelled_side(folder, "test"));
  write("train.tsv", "#sequence\tlabel\nA\t1\n");
  EXPECT_EQ(labelled_side(folder, "train")->path, folder + "/train.tsv");
}

TEST_F(LabelledSequences, ReadsWhatTheManifestSays) {
  const std::string folder = folder_.path().string();
  EXPECT_EQ(read_promoter_facts(folder).negatives, "");
  write(
      "manifest.json",
      R"({"window": {"left": 300, "right": 100, "length": 400, "tss_offset": 300}, "negatives": {"kind": "permute"}})");
  for (const std::string& at : {folder, folder + "/fold2", folder + "/fold2/"}) {
    const PromoterDataFacts facts = read_promoter_facts(at);
    EXPECT_EQ(facts.negatives, "permute") << at;
    EXPECT_EQ(facts.window, (ModelWindow{"promoter", 400, 300, 1})) << at;
  }
  EXPECT_EQ(read_promoter_facts(folder + "/other").negatives, "");
  write("manifest.json", "{\"window\": ");
  EXPECT_THROW(read_promoter_facts(folder), Error);
}

}  // namespace
}  // namespace bigbird
