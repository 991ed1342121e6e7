// See cost.h.
#include "lib/genomics/variants/cost.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/process_memory.h"
#include "lib/core/progress.h"
#include "lib/genomics/variants/scoring.h"
#include "lib/genomics/variants/zero_shot.h"
#include "lib/inference/model_identity.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/indexed_table.h"

namespace bigbird {
namespace {

constexpr std::uint64_t most_judged_chunks = 64;
constexpr std::size_t kept_of_a_chunk = 64;   // records that may be run
constexpr std::size_t largest_group = 256;    // records that are run and timed together
constexpr double groups_in_the_sample = 6.0;  // about: enough to see how far they differ

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

bool any_is_scored(const std::vector<AlleleResult>& alleles) {
  return std::any_of(alleles.begin(), alleles.end(),
                     [](const AlleleResult& allele) { return allele.reason == SkipReason::none; });
}

// A chunk that was judged, and those of its records that could be run.
struct JudgedChunk {
  VariantTally tally;
  std::vector<VcfRecord> records;
};

class CostEstimate {
 public:
  CostEstimate(const VariantCostOptions& options, ScoringContext& context, AlleleScorer& scorer)
      : options_(options), context_(context), scorer_(scorer) {}

  VariantCost take() {
    judge_input();
    run_sample();
    cost_.peak_memory = resident_memory().peak;
    return std::move(cost_);
  }

 private:
  // Every chunk while there are few of them; then every second, every fourth one ... of all that were read.
  void judge_input() {
    const VariantScoringOptions& scoring = options_.scoring;
    VariantInput input(scoring, context_.fasta, context_.contigs);
    Progress progress("cluster plan",
                      scoring.regions.empty() ? records_in_index(scoring.input).value_or(0) : 0, "records");
    std::vector<VcfRecord> records;
    std::uint64_t step = 1;
    while (input.next(records)) {
      progress.advance(records.size());
      if (input.chunk_number() % step != 0) continue;
      if (judged_.size() == most_judged_chunks) {
        step *= 2;
        for (std::size_t i = 0; 2 * i < judged_.size(); ++i) judged_[i] = std::move(judged_[2 * i]);
        judged_.resize(judged_.size() / 2);
        if (input.chunk_number() % step != 0) continue;
      }
      judge(records);
    }
    cost_.records = input.records();
    cost_.chunks = cost_.records == 0 ? 0 : input.chunk_number() + 1;
    cost_.judged_chunks = judged_.size();
    for (const JudgedChunk& chunk : judged_) cost_.judged.add(chunk.tally);
    if (cost_.records == 0) throw_bad_input(scoring.input + ": no records", "there is nothing to plan");
    if (const auto nothing = why_nothing_was_scored(cost_.judged, scoring.input)) throw Error(*nothing);
  }

  void judge(std::vector<VcfRecord>& records) {
    JudgedChunk chunk;
    const ChunkResult result = scorer_.judge(records);
    context_.count(records, result, chunk.tally);
    // From all over the chunk.
    std::vector<std::size_t> scored;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (any_is_scored(result.records[i])) scored.push_back(i);
    }
    const std::size_t kept = std::min(scored.size(), kept_of_a_chunk);
    for (std::size_t i = 0; i < kept; ++i)
      chunk.records.push_back(std::move(records[scored[i * scored.size() / kept]]));
    judged_.push_back(std::move(chunk));
  }

  // The first records of all chunks, then the second ones ...: every group is from all over the file.
  std::vector<VcfRecord> candidates() {
    std::vector<VcfRecord> all;
    for (std::size_t i = 0; i < kept_of_a_chunk; ++i) {
      for (JudgedChunk& chunk : judged_) {
        if (i < chunk.records.size()) all.push_back(std::move(chunk.records[i]));
      }
    }
    return all;
  }

  VariantCost::Timed timed(std::vector<VcfRecord>& records, std::size_t first, std::size_t count) {
    const auto from = records.begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<VcfRecord> group(std::make_move_iterator(from),
                                       std::make_move_iterator(from + static_cast<std::ptrdiff_t>(count)));
    VariantTally tally;
    const auto begin = std::chrono::steady_clock::now();
    context_.count(group, scorer_.score(group), tally);
    return {count, tally.passes, seconds_since(begin)};
  }

  void run_sample() {
    std::vector<VcfRecord> records = candidates();
    Progress progress("timed sample", 0, "records");
    const auto begin = std::chrono::steady_clock::now();
    // The first run makes pages and packs weights. A file of one record has no other.
    std::size_t next = 0;
    cost_.warm_up_seconds = timed(records, next, 1).seconds;
    if (records.size() > 1) ++next;
    double of_a_record = cost_.warm_up_seconds;
    while (next < records.size()) {
      const double wanted = options_.seconds / groups_in_the_sample / of_a_record;
      const auto size = static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(largest_group)));
      const std::size_t count = std::min(size, records.size() - next);
      const VariantCost::Timed group = timed(records, next, count);
      next += count;
      progress.advance(count);
      of_a_record = group.seconds / static_cast<double>(count);
      cost_.sample.push_back(group);
      if (seconds_since(begin) >= options_.seconds) break;
    }
  }

  const VariantCostOptions& options_;
  ScoringContext& context_;
  AlleleScorer& scorer_;
  std::vector<JudgedChunk> judged_;
  VariantCost cost_;
};

double per_pass(const VariantCost::Timed& group) {
  return group.seconds / static_cast<double>(group.passes);
}

// prepare(): the scorer of the alleles, with its weights read.
template <typename Prepare>
VariantCost cost_of(const VariantCostOptions& options, ScoringContext& context, const Prepare& prepare) {
  if (options.scoring.input == "-") {
    throw_usage("a plan reads its input and so would the run: standard input can be read only once",
                "give the name of a file");
  }
  refuse_stream(options.scoring.input, "a plan reads its input and so would the run");
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_ptr<AlleleScorer> scorer = prepare();
  CostEstimate estimate(options, context, *scorer);
  genome_fingerprint(options.scoring.fasta);  // as a run that says what it is known by
  const double startup = seconds_since(begin);
  VariantCost cost = estimate.take();
  cost.startup_seconds = startup;
  return cost;
}

}  // namespace

double VariantCost::passes() const {
  return static_cast<double>(judged.passes) / static_cast<double>(judged.records) *
         static_cast<double>(records);
}
double VariantCost::alleles() const {
  return static_cast<double>(judged.alleles) / static_cast<double>(judged.records) *
         static_cast<double>(records);
}
double VariantCost::scored_alleles() const {
  return static_cast<double>(judged.scored) / static_cast<double>(judged.records) *
         static_cast<double>(records);
}

VariantCost::Timed VariantCost::whole_sample() const {
  Timed all;
  for (const Timed& group : sample) {
    all.records += group.records;
    all.passes += group.passes;
    all.seconds += group.seconds;
  }
  return all;
}

double VariantCost::seconds_per_pass() const {
  return per_pass(whole_sample());
}
double VariantCost::fastest() const {
  return per_pass(*std::min_element(sample.begin(), sample.end(), [](const Timed& a, const Timed& b) {
    return per_pass(a) < per_pass(b);
  }));
}
double VariantCost::slowest() const {
  return per_pass(*std::max_element(sample.begin(), sample.end(), [](const Timed& a, const Timed& b) {
    return per_pass(a) < per_pass(b);
  }));
}

VariantCost variant_cost(const VariantCostOptions& options, SequenceScorer& scorer) {
  ScoringContext context(options.scoring, scorer);
  return cost_of(options, context, [&] {
    scorer.open();
    return std::make_unique<ChunkScorer>(scorer, context.fasta, context.contigs,
                                         ChunkScorerOptions{context.rules, context.windows, {}, false},
                                         nullptr);
  });
}

VariantCost variant_cost(const VariantCostOptions& options, LanguageScorer& scorer) {
  ScoringContext context(options.scoring, models_of(scorer, options.scoring.windows));
  return cost_of(options, context, [&] {
    open_language(scorer, context);
    return std::make_unique<ZeroShotScorer>(scorer, context,
                                            ZeroShotOptions{.ancestral = !options.scoring.ancestral.empty()});
  });
}

ShardAdvice advise_shards(const VariantCost& cost, double startup, double wanted_task, int threads) {
  // Of what was measured, for a slower or busier node, and for chunks that are larger than the sample.
  constexpr double memory_margin = 1.25, time_margin = 2;
  constexpr double memory_step = 256.0 * (1 << 20), seconds_of_an_hour = 3600, quarter_hour = 900;
  const double work = cost.passes() * cost.seconds_per_pass();
  ShardAdvice advice;
  const double wanted = std::max(1.0, std::ceil(work / wanted_task));
  advice.shards = static_cast<std::uint64_t>(std::min(wanted, static_cast<double>(ShardAdvice::most)));
  if (wanted > static_cast<double>(ShardAdvice::most)) advice.limit = ShardAdvice::Limit::array;
  if (advice.shards > cost.chunks) {
    advice.shards = cost.chunks;
    advice.limit = ShardAdvice::Limit::chunks;
  }
  const auto shards = static_cast<double>(advice.shards);
  // Shards take chunks in turn: the first ones may have one more.
  const std::uint64_t most_chunks = (cost.chunks + advice.shards - 1) / advice.shards;
  const double largest_share = static_cast<double>(most_chunks) / static_cast<double>(cost.chunks);
  advice.task_seconds = startup + work * largest_share;
  advice.core_hours = (startup * shards + work) * threads / seconds_of_an_hour;
  advice.memory_mib = static_cast<std::uint64_t>(
      std::ceil(static_cast<double>(cost.peak_memory) * memory_margin / memory_step) * memory_step /
      (1 << 20));
  advice.limit_seconds = std::ceil(advice.task_seconds * time_margin / quarter_hour) * quarter_hour;
  return advice;
}

}  // namespace bigbird
