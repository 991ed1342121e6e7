// A run over variants whose models run on a thread of their own: the same files as without it, chunk by
// chunk.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/progress.h"
#include "lib/genomics/variants/run.h"
#include "tests/cli/variants_fixture.h"

namespace bigbird {
namespace {

class VariantsAhead : public testing::VariantsFixture {
 protected:
  VariantRunOptions options(const std::string& output, std::uint64_t chunk) const {
    VariantRunOptions options;
    options.scoring.input = path("in.vcf");
    options.scoring.fasta = path("genome.fa");
    options.scoring.chunk = chunk;
    options.format = VariantFormat::tsv;
    options.output = path(output);
    options.report = path(output + "-report");
    return options;
  }
  VariantTally run(const VariantRunOptions& options, bool ahead) const {
    const auto backend = kernels::make_cpu_backend();
    ScorerOptions scoring{{path("model"), path("model2")}, Strands::both, {256}};
    if (ahead) scoring.device = std::make_shared<DeviceThread>([] {});
    SequenceScorer scorer(scoring, *backend);
    EXPECT_EQ(scorer.works_ahead(), ahead);
    return run_variants(options, scorer).tally;
  }
};

TEST_F(VariantsAhead, TheFilesAreThoseOfARunWithoutAThread) {
  const VariantTally expected = run(options("plain.tsv", 1000), false);
  EXPECT_GT(expected.scored, 20u);
  EXPECT_GT(expected.alleles, expected.scored);
  const std::string table = testing::read_text(path("plain.tsv"));
  // Chunks of one record, of which nothing may be scored, as of all; 1 runs into the bound of begun records.
  for (const std::uint64_t chunk : {1u, 7u, 1000u}) {
    const std::string name = "ahead-" + std::to_string(chunk) + ".tsv";
    const VariantTally tally = run(options(name, chunk), true);
    EXPECT_EQ(tally.scored, expected.scored);
    EXPECT_EQ(tally.alleles, expected.alleles);
    EXPECT_EQ(testing::read_text(path(name)), table) << chunk;
  }
}

// Windows are tokenized 64 at a time; REF and ALT of an allele may lie in different turns.
TEST_F(VariantsAhead, WhatAllelesChangeOfTheTokensDoesNotDependOnTheTurn) {
  VariantRunOptions many = options("turns.tsv", 1000), few = options("one-turn.tsv", 1);
  many.scoring.windows.shifts = few.scoring.windows.shifts = 9;
  many.scoring.windows.shift_step = few.scoring.windows.shift_step = 10;
  EXPECT_GT(run(many, false).passes, 5 * 64u);
  run(few, false);
  EXPECT_EQ(testing::read_text(path("turns.tsv")), testing::read_text(path("one-turn.tsv")));
}

TEST_F(VariantsAhead, AStoppedRunKeepsWholeChunksAndGoesOn) {
  const std::string expected = "plain-4.tsv";
  run(options(expected, 4), false);
  VariantRunOptions stopped = options("stopped.tsv", 4);
  stopped.restart = Restart::resume;
  set_progress_sink([](const ProgressEvent& event) {
    if (event.task == "variants" && event.done >= 8) request_cancel(15);
  });
  EXPECT_THROW(run(stopped, true), Error);
  set_progress_sink({});
  clear_cancel();
  EXPECT_FALSE(std::filesystem::exists(path("stopped.tsv")));
  EXPECT_TRUE(std::filesystem::exists(path("stopped.tsv.parts")));
  run(stopped, true);
  EXPECT_EQ(testing::read_text(path("stopped.tsv")), testing::read_text(path(expected)));
}

}  // namespace
}  // namespace bigbird
