// Values of bigWig tracks at alleles: which bases count, under which names of contigs, and which tracks are
// refused.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/variants/tracks.h"
#include "lib/io/genome/track.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

constexpr std::int64_t chr1_length = 20000;
const std::vector<Contig> genome_contigs = {{"chr1", chr1_length}, {"other", 50}, {"chrM", 16571}};

// Base i of chr1 has the value i / 4 but where i % 10 is 9, which has none.
float value_of(std::int64_t base) {
  return static_cast<float>(base) / 4;
}
bool has_value(std::int64_t base) {
  return base % 10 != 9;
}

class AlleleTracksTest : public ::testing::Test {
 protected:
  // A track of chr1 under the name `chrom`, and of further contigs without values.
  std::string write(const std::string& name, const std::string& chrom, std::int64_t length = chr1_length,
                    const std::vector<Contig>& more = {}) {
    std::vector<Contig> contigs = {{chrom, length}};
    contigs.insert(contigs.end(), more.begin(), more.end());
    const std::string path = (folder_ / name).string();
    const auto writer = make_track_writer(path, TrackFormat::bigwig, contigs, {});
    for (std::int64_t base = 0; base < chr1_length; ++base) {
      if (has_value(base)) writer->add(0, base, base + 1, value_of(base));
    }
    writer->close();
    return path;
  }
  static float one(AlleleTracks& tracks, std::int64_t begin, const std::string& ref, std::size_t contig = 0) {
    PlacedAllele allele;
    allele.contig = contig;
    allele.begin = begin;
    allele.ref = ref;
    allele.alt = "T";
    return tracks.values(allele).at(0);
  }
  AlleleTracks open(const std::vector<std::string>& files) const {
    return AlleleTracks(files, genome_, "genome.fa");
  }
  std::string refused(const std::vector<std::string>& files, ErrorKind kind) const {
    try {
      open(files);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.message();
      EXPECT_FALSE(error.hint().empty()) << error.message();
      return error.message();
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
  }

  testing::TemporaryFolder folder_;
  ContigNames genome_{genome_contigs};
};

TEST_F(AlleleTracksTest, TheMeanIsOverTheBasesThatChange) {
  AlleleTracks tracks = open({write("a.bw", "chr1")});
  EXPECT_EQ(one(tracks, 100, "A"), 25.0F);
  EXPECT_EQ(one(tracks, 100, "ACG"), 25.25F);            // 100, 101, 102
  EXPECT_EQ(one(tracks, 108, "ACG"), 27.25F);            // 108 and 110: 109 has no value
  EXPECT_TRUE(std::isnan(one(tracks, 109, "A")));        // nothing to take a mean of
  EXPECT_EQ(one(tracks, 200, ""), 50.0F);                // an insertion before 200: 199 has no value
  EXPECT_EQ(one(tracks, 203, ""), 50.625F);              // 202 and 203
  EXPECT_EQ(one(tracks, 0, ""), 0.0F);                   // only the base behind it
  EXPECT_EQ(one(tracks, chr1_length - 1, ""), 4999.5F);  // 19,998 alone: 19,999 has no value
  EXPECT_TRUE(std::isnan(one(tracks, chr1_length, "")));
  EXPECT_TRUE(std::isnan(one(tracks, 10, "A", 1)));  // a contig that the track has not
}

TEST_F(AlleleTracksTest, ValuesDoNotDependOnWhatWasAskedBefore) {
  const std::string path = write("a.bw", "chr1");
  AlleleTracks many = open({path});
  for (const std::int64_t begin : {100L, 4190L, 4195L, 4196L, 8500L, 120L, 19990L, 4196L, 15L}) {
    const std::string ref(begin % 7 == 0 ? 30 : 3, 'A');
    if (begin + static_cast<std::int64_t>(ref.size()) > chr1_length) continue;
    double sum = 0;
    int count = 0;
    for (std::int64_t base = begin; base < begin + static_cast<std::int64_t>(ref.size()); ++base) {
      if (!has_value(base)) continue;
      sum += static_cast<double>(value_of(base));
      ++count;
    }
    EXPECT_EQ(one(many, begin, ref), static_cast<float>(sum / count)) << begin;
    AlleleTracks alone = open({path});
    EXPECT_EQ(one(alone, begin, ref), one(many, begin, ref)) << begin;
  }
}

TEST_F(AlleleTracksTest, ContigsAreKnownUnderTheirOtherNames) {
  AlleleTracks tracks = open({write("a.bw", "1")});
  EXPECT_EQ(one(tracks, 100, "A"), 25.0F);
  // The mitochondrion of another length is another sequence, and no sign of another assembly.
  AlleleTracks other = open({write("m.bw", "chr1", chr1_length, {{"chrM", 16569}})});
  EXPECT_TRUE(std::isnan(one(other, 100, "A", 2)));
}

TEST_F(AlleleTracksTest, NamesAreTheFilesOrGiven) {
  const std::string path = write("hg19.phyloP100way.bw", "chr1");
  const AlleleTracks tracks = open({path, "gerp++=" + path});
  EXPECT_EQ(tracks.ids(), (std::vector<std::string>{"HG19_PHYLOP100WAY", "GERP__"}));
  // One file under two names, and another file.
  const std::string digest = tracks.identities()[0].substr(tracks.identities()[0].find(':'));
  EXPECT_EQ(tracks.identities()[1], "GERP__" + digest);
  EXPECT_NE(open({"x=" + write("b.bw", "1")}).identities()[0], "X" + digest);
  EXPECT_NE(refused({path, path}, ErrorKind::usage).find("two tracks are called HG19_PHYLOP100WAY"),
            std::string::npos);
}

TEST_F(AlleleTracksTest, TracksOfAnotherAssemblyAreRefused) {
  const std::string longer = refused({write("long.bw", "1", chr1_length + 1)}, ErrorKind::bad_input);
  EXPECT_NE(longer.find("long.bw: of another assembly than genome.fa: 1 has 20001 bp"), std::string::npos)
      << longer;
  EXPECT_NE(longer.find("chr1 has 20000"), std::string::npos) << longer;
  const std::string none = refused({write("none.bw", "scaffold7")}, ErrorKind::bad_input);
  EXPECT_NE(none.find("none.bw: has none of the contigs of genome.fa"), std::string::npos) << none;
}

TEST_F(AlleleTracksTest, WhatIsNoBigWigIsRefused) {
  testing::write_text(folder_ / "text.bw", "chr1\t0\t5\t1\n");
  EXPECT_NE(refused({(folder_ / "text.bw").string()}, ErrorKind::bad_input).find("is not a bigWig"),
            std::string::npos);
  refused({(folder_ / "absent.bw").string()}, ErrorKind::bad_input);
  const std::string whole = testing::read_text(write("a.bw", "chr1"));
  testing::write_text(folder_ / "cut.bw", whole.substr(0, whole.size() / 3));
  EXPECT_NE(
      refused({(folder_ / "cut.bw").string()}, ErrorKind::bad_input).find("cut.bw: the bigWig is damaged"),
      std::string::npos);
}

}  // namespace
}  // namespace bigbird
