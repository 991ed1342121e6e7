// bigbird variants --track: conservation beside scores, in every format, over shards, and in the functional
// score.
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/io/genome/track.h"
#include "tests/cli/variants_fixture.h"

namespace bigbird::testing {
namespace {

class VariantsTracks : public VariantsFixture {
 protected:
  // Values at the bases of chr1 (1-based), none at every fifth; named without "chr".
  static double value_at(std::int64_t position) {
    return position % 5 == 0 ? std::nan("") : static_cast<double>(position % 97) / 8 - 3;
  }
  static std::string write_track(const std::string& name, std::int64_t added = 0) {
    const std::vector<Contig> contigs = {{"1", 6000}};
    const auto writer = make_track_writer(path(name), TrackFormat::bigwig, contigs, {});
    for (std::int64_t position = 1; position <= 6000; ++position) {
      const double value = value_at(position + added);
      if (!std::isnan(value)) writer->add(0, position - 1, position, static_cast<float>(value));
    }
    writer->close();
    return path(name);
  }
  // As a table shows it.
  static std::string mean_text(const std::vector<std::int64_t>& positions) {
    double sum = 0;
    int count = 0;
    for (const std::int64_t position : positions) {
      if (std::isnan(value_at(position))) continue;
      sum += value_at(position);
      ++count;
    }
    if (count == 0) return "NA";
    std::ostringstream text;
    text.precision(6);
    text << sum / count;
    return text.str();
  }
};

TEST_F(VariantsTracks, TheColumnIsTheMeanOverTheChangedBases) {
  const std::string track = write_track("phyloP.bw");
  std::string records = header();
  for (const int position : {301, 302, 305, 307}) {
    records += line("chr1", position, reference("chr1", position), other(reference("chr1", position)));
  }
  records += line("chr1", 400, reference("chr1", 400, 4), reference("chr1", 400));  // 401-403 deleted
  records += line("chr1", 412, reference("chr1", 412), reference("chr1", 412) + "GATTACA");  // 412 and 413
  records += line("chr1", 420, reference("chr1", 420), "*");
  records += line("chr2", 300, reference("chr2", 300), other(reference("chr2", 300)));
  write_text(path("few.vcf"), records);
  const std::vector<std::string> with_track = {path("few.vcf"), "--track", track, "--track",
                                               "again=" + track};
  std::vector<std::string> words = command(with_track);
  words.insert(words.end(), {"-o", path("few.tsv")});
  must(words);
  const auto rows = read_table(file("few.tsv"));
  const std::vector<std::string> expected = {
      mean_text({301}),           mean_text({302}),      "NA", mean_text({307}),
      mean_text({401, 402, 403}), mean_text({412, 413}), "NA", "NA"};
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("track_phylop"), expected[i]) << i;
    EXPECT_EQ(rows[i].at("track_again"), expected[i]) << i;
  }
  words = command(with_track);
  const std::string vcf = must(words).out;
  EXPECT_NE(vcf.find("##INFO=<ID=BB_TRACK_PHYLOP,Number=A,Type=Float"), std::string::npos);
  EXPECT_NE(vcf.find("BB_TRACK_AGAIN=" + expected[4] + ";"), std::string::npos) << vcf;
  words.insert(words.end(), {"-o", path("few.npy")});
  must(words);
  EXPECT_EQ(read_table(file("few.rows.tsv"))[4].at("track_phylop"), expected[4]);
}

TEST_F(VariantsTracks, BelongToTheRun) {
  const std::string track = write_track("phyloP.bw");
  const std::string moved = write_track("other.bw", 1);
  const auto run = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words = command({path("in.vcf"), "--chunk-size", "7", "-o", path(name)});
    words.insert(words.end(), more.begin(), more.end());
    return run_bigbird(words);
  };
  const auto good = [](const RunResult& result) { EXPECT_EQ(result.status, 0) << result.err; };
  good(run("whole.tsv", {"--track", track, "--no-provenance"}));
  good(run("half1.tsv", {"--track", track, "--shard", "1/2", "--no-provenance"}));
  good(run("half2.tsv", {"--track", track, "--shard", "2/2", "--no-provenance"}));
  good(run("half3.tsv", {"--track", "phyloP=" + moved, "--shard", "2/2", "--no-provenance"}));
  const std::vector<std::string> merge = {"variants", "merge", "-o", path("merged.tsv"), path("half1.tsv")};
  std::vector<std::string> words = merge;
  words.push_back(path("half2.tsv"));
  must(words);
  EXPECT_TRUE(file("merged.tsv") == file("whole.tsv"));
  EXPECT_TRUE(file("merged.tsv.summary.json") == file("whole.tsv.summary.json"));
  words = merge;
  words.push_back(path("half3.tsv"));
  refused(words, 1, "options differ (tracks)");
  // What is whole is whole for the same track only.
  EXPECT_NE(run("whole.tsv", {"--track", track, "--resume", "--no-provenance"}).err.find("whole already"),
            std::string::npos);
  EXPECT_EQ(run("whole.tsv", {"--track", "phyloP=" + moved, "--resume", "--no-provenance"})
                .err.find("whole already"),
            std::string::npos);
  refused(command({path("in.vcf"), "--track", path("genome.fa")}), 1, "is not a bigWig");
  refused(command({path("in.vcf"), "--track", track, "--track", track}), 2, "two tracks are called PHYLOP");
}

TEST_F(VariantsTracks, EnterTheFunctionalScore) {
  const std::string track = write_track("phyloP.bw");
  const std::string background = path("tracks.safetensors");
  std::vector<std::string> words = command({path("in.vcf"), "--track", track, "--max-records", "40"});
  words.insert(words.begin() + 1, "background");
  words.insert(words.end(), {"-o", background});
  must(words);
  const auto with = read_table(
      must(command({path("in.vcf"), "-O", "tsv", "--background", background, "--track", track})).out);
  const auto without =
      read_table(must(command({path("in.vcf"), "-O", "tsv", "--background", background})).out);
  // The background's alleles are the first 48 rows.
  std::vector<double> values;
  for (std::size_t i = 0; i < 48; ++i) {
    if (with[i].at("track_phylop") != "NA") values.push_back(std::stod(with[i].at("track_phylop")));
  }
  ASSERT_LT(values.size(), 48u);
  int scored = 0;
  for (std::size_t i = 0; i < with.size(); ++i) {
    if (with[i].at("skip") != "NA") continue;
    double expected = 1;
    if (with[i].at("track_phylop") != "NA") {
      const double value = std::stod(with[i].at("track_phylop"));
      const auto larger =
          std::count_if(values.begin(), values.end(), [&](double other) { return other >= value; });
      expected = larger == 0 ? 1e-6 : static_cast<double>(larger) / 48;
    }
    EXPECT_NEAR(std::stod(with[i].at("e_track_phylop")) / expected, 1, 1e-5) << i;
    EXPECT_NEAR(std::stod(with[i].at("funsig")) / (std::stod(without[i].at("funsig")) * expected), 1, 1e-4)
        << i;
    ++scored;
  }
  EXPECT_GT(scored, 45);
  refused(command({path("in.vcf"), "--background", background, "--track", "other=" + track}), 1,
          "made with other tracks (PHYLOP), not with OTHER");
  refused(command({path("in.vcf"), "--background", background, "--track",
                   "phyloP=" + write_track("moved.bw", 1)}),
          1, "another file of track PHYLOP");
}

}  // namespace
}  // namespace bigbird::testing
