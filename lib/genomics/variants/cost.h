// What scoring a variant file will cost, before it is scored: records and forward passes counted, the time of
// a pass taken from a sample that is run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/genomics/language_scorer.h"
#include "lib/genomics/variants/scoring.h"
#include "lib/genomics/variants/summary.h"
#include "lib/inference/sequence_scorer.h"

namespace bigbird {

struct VariantCostOptions {
  VariantScoringOptions scoring;
  double seconds =
      60;  // that the sample is run for, about: it ends with the group of records that passes them
};

struct VariantCost {
  std::uint64_t records = 0;  // all of them
  std::uint64_t chunks = 0;   // of options.scoring.chunk records
  // Chunks that were laid out without running a model: evenly over the file, all of a small one. Scores are
  // not in it, all else is.
  std::uint64_t judged_chunks = 0;
  VariantTally judged;
  // Groups of records from all over the judged chunks that were run: passes, and seconds on the clock.
  struct Timed {
    std::uint64_t records = 0;
    std::uint64_t passes = 0;
    double seconds = 0;
  };
  std::vector<Timed> sample;
  double startup_seconds = 0;   // weights read, genome opened, digests of genome and models taken
  double warm_up_seconds = 0;   // of the first record that was run, which counts nowhere else
  std::size_t peak_memory = 0;  // bytes of this process, with the sample run

  // Of the whole file, from the judged fraction of its records.
  double passes() const;
  double alleles() const;
  double scored_alleles() const;
  Timed whole_sample() const;  // its groups together
  // Means over the sample, and of its fastest and slowest group.
  double seconds_per_pass() const;
  double fastest() const;
  double slowest() const;
};

// Reads the input once. Error{usage} for standard input, which can be read only once; Error{bad_input} for a
// file none of whose judged alleles would be scored, and as VariantInput and ChunkScorer.
VariantCost variant_cost(const VariantCostOptions& options, SequenceScorer& scorer);
VariantCost variant_cost(const VariantCostOptions& options, LanguageScorer& scorer);

// Into how many shards to cut the file, and what each is asked for.
struct ShardAdvice {
  static constexpr std::uint64_t most = 1000;  // of one array: Slurm's MaxArraySize is 1001 by default
  enum class Limit { none, array, chunks };    // why there are not more: so many tasks, or one chunk in each
  std::uint64_t shards = 1;
  Limit limit = Limit::none;
  double task_seconds = 0;
  double core_hours = 0;  // of all tasks
  std::uint64_t memory_mib = 0;
  double limit_seconds = 0;
};
// Shards of about `wanted_task` seconds, each of which takes `startup` seconds before it begins.
ShardAdvice advise_shards(const VariantCost& cost, double startup, double wanted_task, int threads);

}  // namespace bigbird
