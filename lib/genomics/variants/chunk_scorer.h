// Scores a chunk of VCF records: judges their alleles, runs each different window once, and reduces what the
// models say to what is written. The result is a function of the records, the genome and the models: not of
// batches, threads or other chunks.
//
// From VCF to VCF a window waits in three queues. With its chunk among those that are begun
// (lib/parts/parts.h): the output has the order of the input. In the batch that is filled
// (sequence_runner.h): a model takes many sequences at once. With its batch on the way to a device and back
// (device_thread.h): the device works while the program prepares more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/genomics/effect_scores.h"
#include "lib/genomics/variants/alleles.h"
#include "lib/genomics/variants/background.h"
#include "lib/genomics/variants/baselines.h"
#include "lib/genomics/variants/tracks.h"
#include "lib/inference/model_task.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/vcf.h"

namespace bigbird {

// How windows lie around variants.
struct VariantWindows {
  std::int64_t window = 0;       // bp; 0: the models' own
  std::int64_t offset = -1;      // of the variant in the window; -1: the middle of the target, see below
  bool anchor_bin = false;       // windows on the grid of the models' target bins
  std::int64_t shifts = 1;       // odd: windows moved by -k..k times shift_step
  std::int64_t shift_step = 20;  // bp
};

// Fills in the windows of `rules`. The variant stands at the scored_place of the models' window, or of a
// window whose length was given and is another than theirs. Error{usage} without a length, for even shifts,
// for a grid without a target bin.
void place_windows(AlleleRules& rules, VariantWindows& windows, const std::optional<ModelWindow>& model);
// "window=1000 offset=499 shifts=1 step=20 edge=pad strands=2" (+ or - where one is read): what makes scores
// comparable.
std::string windows_text(const AlleleRules& rules, const VariantWindows& windows, Strands strands);

// What is kept of one ALT. Numbers hold only where reason is none; n_share also where there is too much of
// it.
struct AlleleResult {
  SkipReason reason = SkipReason::none;
  unsigned flags = 0;
  float n_share = 0;          // of the REF window; of shifted windows the largest
  float token_share = 0;      // changed_token_share, first strand read, first model; mean over the shifts
  float difference = 0;       // of the profile with the largest |logFC * diff|
  float log_fold_change = 0;  // of the same
  std::int32_t profile = -1;
  float e_value = 0;     // the smallest of all profiles
  float functional = 0;  // functional_score
  // Of each track its value, NaN for none; with a background the E-values of the tracks behind them.
  std::vector<float> tracks;
  std::vector<float> baselines;  // of each score of another tool, NaN for none
  std::vector<float> language;   // of a language model: language_columns() (zero_shot.h); else none
  std::vector<GroupSummary> groups;
  // [written profiles, values_per_profile]: REF, ALT, diff, logFC and, with a background, E.
  std::vector<float> values;
};

struct ChunkResult {
  std::vector<std::vector<AlleleResult>> records;  // an entry for each ALT, one where ALT is "."
  // Run by the models, and REF and ALT of every scored allele and shift; of language models passes.
  std::uint64_t windows = 0;
  std::uint64_t windows_asked = 0;
};

// For chunk_bytes.h: what is kept of a chunk while the run is not finished.
template <typename Bytes>
void pass(Bytes& bytes, AlleleResult& allele) {
  bytes(allele.reason, allele.flags, allele.n_share, allele.token_share, allele.difference,
        allele.log_fold_change, allele.profile, allele.e_value, allele.functional, allele.tracks,
        allele.baselines, allele.language, allele.groups, allele.values);
}
template <typename Bytes>
void pass(Bytes& bytes, ChunkResult& result) {
  bytes(result.windows, result.windows_asked, result.records);
}

class AlleleScorer {
 public:
  AlleleScorer() = default;
  virtual ~AlleleScorer() = default;
  AlleleScorer(const AlleleScorer&) = delete;
  AlleleScorer& operator=(const AlleleScorer&) = delete;

  // `done` is called once, when the last allele of the records is scored: now, in a later call or in
  // finish(), on the calling thread. The records, which stay where they are until then, are judged and
  // tokenized here, while a device that works beside the program runs what was added before. Chunks of which
  // nothing is to be scored are done at once, others in the order of the calls.
  virtual void add(const std::vector<VcfRecord>& records, std::function<void(ChunkResult)> done) = 0;
  // Every chunk is done afterwards.
  virtual void finish() = 0;
  // What score() finds out before it runs a model: reasons, flags, and the number of windows.
  virtual ChunkResult judge(const std::vector<VcfRecord>& records) = 0;
  // One chunk alone.
  ChunkResult score(const std::vector<VcfRecord>& records);
};

// The alleles of records, each judged at its place and with the window moved by each of `shifts`: [records *
// shifts]. judges: one for each thread.
std::vector<std::vector<PlacedAllele>> judge_alleles(std::vector<AlleleJudge>& judges,
                                                     const std::vector<VcfRecord>& records,
                                                     const std::vector<std::int64_t>& shifts);

struct ChunkScorerOptions {
  AlleleRules rules;
  VariantWindows windows;
  std::vector<std::size_t> written;  // profiles whose numbers are kept
  bool keep_groups = true;
  // None; else as long-lived as the scorer.
  AlleleTracks* tracks = nullptr;
  AlleleBaselines* baselines = nullptr;
};

class ChunkScorer : public AlleleScorer {
 public:
  // `background` may be null. The references live as long as this object. Error{bad_input} for models that
  // give no probabilities.
  ChunkScorer(SequenceScorer& scorer, const Fasta& fasta, const ContigNames& contigs,
              const ChunkScorerOptions& options, const VariantBackground* background);

  void add(const std::vector<VcfRecord>& records, std::function<void(ChunkResult)> done) override;
  void finish() override;
  ChunkResult judge(const std::vector<VcfRecord>& records) override;
  const std::vector<ProfileGroup>& groups() const { return groups_; }
  std::size_t values_per_profile() const { return background_ == nullptr ? 4 : 5; }

 private:
  struct Window;
  struct Job;
  struct Chunk;
  // A REF window, where it lies.
  struct PlacedSequence {
    std::size_t contig = 0;
    std::int64_t begin = 0;
    KnownSequence known;  // empty: none
  };
  std::vector<EncodedSequence> encode(std::span<Window> windows);
  Chunk lay_out(const std::vector<VcfRecord>& records);
  void compare_tokens(Chunk& chunk, std::span<const EncodedSequence> encoded, std::size_t begin);
  void take_scores(Chunk& chunk, std::size_t window, const SequenceScores& scores);
  void reduce(const Job& job, const std::vector<Window>& windows);

  SequenceScorer& scorer_;
  ChunkScorerOptions options_;
  const VariantBackground* background_;
  std::vector<AlleleJudge> judges_;  // one for each thread
  std::vector<std::int64_t> shifts_;
  std::vector<ProfileGroup> groups_;
  std::vector<float> differences_, log_fold_changes_;  // [profiles], scratch of reduce
  std::vector<double> e_values_, track_e_values_;
  PlacedSequence last_reference_;  // of those that were tokenized before
};

}  // namespace bigbird
