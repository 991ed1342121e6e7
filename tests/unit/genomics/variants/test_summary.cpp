// What a run over variants counts, and the summary that holds it.
#include "lib/genomics/variants/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/parts/chunk_bytes.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

AlleleResult allele(SkipReason reason, unsigned flags = 0) {
  AlleleResult result;
  result.reason = reason;
  result.flags = flags;
  return result;
}

VcfRecord record(const std::string& chrom) {
  VcfRecord made;
  made.chrom = chrom;
  return made;
}

VariantTally some_tally() {
  VariantTally tally;
  tally.add(record("chr1"), {allele(SkipReason::none, flag_trimmed | flag_cut), allele(SkipReason::edge)});
  tally.add(record("chr1"), {allele(SkipReason::symbolic), allele(SkipReason::edge)});
  tally.add(record("chrUn"), {allele(SkipReason::unknown_contig)});
  tally.passes = 8;
  tally.passes_asked = 10;
  return tally;
}

TEST(VariantTally, EveryAlleleIsScoredOrUnderOneReason) {
  const VariantTally tally = some_tally();
  EXPECT_EQ(tally.records, 3u);
  EXPECT_EQ(tally.alleles, 5u);
  EXPECT_EQ(tally.scored, 1u);
  EXPECT_EQ(tally.skipped.total(), 4u);
  EXPECT_EQ(tally.scored + tally.skipped.total(), tally.alleles);
  // In the order of SkipReason, not of the alphabet.
  EXPECT_EQ(tally.skipped.text(), "symbolic 1, unknown_contig 1, edge 2");
  EXPECT_EQ(tally.unknown_contigs, (std::map<std::string, std::uint64_t>{{"chrUn", 1}}));
  EXPECT_EQ(tally.flags, (std::map<std::string, std::uint64_t>{{"tokens_cut", 1}, {"trimmed", 1}}));
}

TEST(VariantTally, OfShardsAddUp) {
  VariantTally sum = some_tally();
  sum.add(some_tally());
  EXPECT_EQ(sum.records, 6u);
  EXPECT_EQ(sum.alleles, 10u);
  EXPECT_EQ(sum.skipped.text(), "symbolic 2, unknown_contig 2, edge 4");
  EXPECT_EQ(sum.flags.at("trimmed"), 2u);
  EXPECT_EQ(sum.passes_asked, 20u);
}

TEST(ScoringCost, OfShardsAddsUpButForMemory) {
  ScoringCost sum{4, 1.5, 3.0, 100};
  sum.add({6, 2.0, 3.5, 70});
  EXPECT_EQ(sum.scored, 10u);
  EXPECT_EQ(sum.wall_seconds, 3.5);
  EXPECT_EQ(sum.cpu_seconds, 6.5);
  EXPECT_EQ(sum.peak_memory, 100u);
}

TEST(VariantSummary, ComesBackFromItsFile) {
  VariantSummary summary;
  summary.tally = some_tally();
  summary.input_records = 3;
  summary.input_digest = "abc";
  summary.chunk = 2;
  summary.format = "tsv";
  summary.run = R"({"models":["m"]})";
  summary.shard = VariantShard{{2, 3}, {4, 1}, {3, 1}};
  summary.cost = ScoringCost{4, 1.5, 3.00049, 1 << 20};
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "summary.json", summary_json(summary));
  const auto json = nlohmann::json::parse(testing::read_text(folder / "summary.json"));
  EXPECT_EQ(json.at("shard").at("chunks").dump(), "[[4,3],[1,1]]");
  EXPECT_EQ(json.at("reasons").dump(), R"({"edge":2,"symbolic":1,"unknown_contig":1})");
  EXPECT_EQ(json.at("cost").at("cpu_seconds"), 3.0);
  EXPECT_EQ(json.at("cost").at("cpu_seconds_per_allele"), 0.75);
  EXPECT_EQ(json.at("cost").at("alleles_per_core_hour"), 4800);
  const VariantSummary read = read_variant_summary((folder / "summary.json").string());
  ASSERT_TRUE(read.shard.has_value());
  EXPECT_EQ(read.shard->shard.index, 2u);
  EXPECT_EQ(read.shard->shard.count, 3u);
  EXPECT_EQ(read.shard->rows, summary.shard->rows);
  EXPECT_EQ(read.shard->skipped_rows, summary.shard->skipped_rows);
  EXPECT_EQ(summary_json(read), summary_json(summary));
  summary.cost = ScoringCost{0, 1.5, 3.0, 1 << 20};  // of a run that found all of it done
  EXPECT_EQ(summary_json(summary).find("per_core_hour"), std::string::npos);
  summary.cost.reset();
  EXPECT_EQ(summary_json(summary).find("cost"), std::string::npos);
  testing::write_text(folder / "summary.json", "{}");
  EXPECT_THROW(read_variant_summary((folder / "summary.json").string()), Error);
}

TEST(ChunkResultBytes, HoldEveryNumberOfAnAllele) {
  ChunkResult result;
  result.windows = 7;
  result.windows_asked = 9;
  AlleleResult full;
  full.flags = flag_swapped;
  full.n_share = 0.25f;
  full.token_share = 0.5f;
  full.difference = -0.125f;
  full.log_fold_change = 2.5f;
  full.profile = 3;
  full.e_value = 1e-3f;
  full.functional = 1e-2f;
  full.groups.resize(2);
  full.groups[1].difference = 4.5f;
  full.values = {1, 2, 3};
  result.records = {{full, allele(SkipReason::too_long)}, {}};
  const std::string bytes = chunk_bytes(result);
  auto back = from_chunk_bytes<ChunkResult>(bytes, "part");
  EXPECT_EQ(chunk_bytes(back), bytes);
  EXPECT_EQ(back.windows, 7u);
  EXPECT_EQ(back.windows_asked, 9u);
  ASSERT_EQ(back.records.size(), 2u);
  ASSERT_EQ(back.records[0].size(), 2u);
  EXPECT_TRUE(back.records[1].empty());
  const AlleleResult& one = back.records[0][0];
  EXPECT_EQ(one.flags, flag_swapped);
  EXPECT_EQ(one.log_fold_change, 2.5f);
  EXPECT_EQ(one.profile, 3);
  EXPECT_EQ(one.functional, 1e-2f);
  ASSERT_EQ(one.groups.size(), 2u);
  EXPECT_EQ(one.groups[1].difference, 4.5f);
  EXPECT_EQ(one.values, full.values);
  EXPECT_EQ(back.records[0][1].reason, SkipReason::too_long);
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_THROW(from_chunk_bytes<ChunkResult>(std::string_view(bytes).substr(0, size), "part"), Error)
        << size;
  }
}

}  // namespace
}  // namespace bigbird
