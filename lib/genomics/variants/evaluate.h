// `bigbird variants evaluate`: how well scores of alleles tell labelled alleles apart, by class of
// consequence, and how their order agrees with what was measured and with scores of another tool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/reason_counts.h"
#include "lib/genomics/variants/measured_effects.h"
#include "lib/metrics/metrics.h"

namespace bigbird {

// Which end of a score speaks for a positive label: its highest values, its lowest, or those farthest from 0.
enum class ScoreDirection { higher, lower, size };
const char* score_direction_name(ScoreDirection direction);

struct EvaluatedScore {
  std::string name;  // a column, or "effect": |lfc * diff|
  ScoreDirection direction = ScoreDirection::higher;
};
// What a column's name says: E-values, the functional score (e, e_..., ..._e, funsig) and ratios of language
// models (lm_..., but for distances, lm_l2 and lm_cos) by their lowest values; differences and log fold
// changes (diff, lfc, effect, ..._diff, ..._lfc) by their size; any other by its highest values.
ScoreDirection usual_direction(const std::string& name);
// "NAME", or "NAME:higher", "NAME:lower", "NAME:size". Error{usage} for another word.
EvaluatedScore parse_evaluated_score(const std::string& text);
// As it is compared: higher speaks for a positive label.
double oriented(double value, ScoreDirection direction);

struct VariantEvaluationOptions {
  std::string scored;         // what `variants` wrote, a table or VCF; "-": stdin
  std::string fasta;          // empty, or the genome: insertions and deletions are left-aligned
  std::string labels;         // empty, or as VariantLabels takes it
  std::string labels_column;  // empty: label, of a VCF CLNSIG
  MeasuredEffectsOptions effects;
  std::vector<std::string> exclude;    // as ExcludedRegions: rows whose REF touches a region are left out
  std::vector<std::string> scores;     // as parse_evaluated_score takes them; empty: the usual ones
  std::vector<std::string> baselines;  // files, as named_path takes them: their columns are NAME_<column>
  std::vector<std::string> baseline_columns;  // empty: all
  std::uint64_t draws = 1000;                 // of the bootstrap; 0: no interval
  std::uint64_t seed = 1;
};

// Of one score and one class.
struct ScoreEvaluation {
  EvaluatedScore score;
  std::string class_name;  // "all": of every labelled allele
  RankMetrics ranks;
  Interval interval;          // of AUROC, 95 %
  std::uint64_t missing = 0;  // labelled alleles of the class without this score
};

// Of one score, with what was measured of the same alleles.
struct EffectEvaluation {
  EvaluatedScore score;
  // Sizes are compared: the score as it is oriented, with the number without its sign; else both as they are.
  bool sizes = false;
  std::uint64_t alleles = 0;  // with both
  std::uint64_t missing = 0;  // measured alleles of the scored file without this score
  double spearman = 0;
  Interval interval;        // 95 %
  RankMetrics significant;  // positives: significant ones. Of sizes, where a significance was read
  Interval auroc_interval;
};

// Of a score of another tool, with ours.
struct ScoreComparison {
  EvaluatedScore baseline;
  EvaluatedScore ours;
  std::uint64_t alleles = 0;  // with both scores
  std::uint64_t missing = 0;  // with ours alone
  double spearman = 0;
  struct Top {
    std::size_t count = 0;  // 100, 1,000, and 1 % of the alleles
    double shared = 0;      // NaN where there are fewer alleles
  };
  std::vector<Top> top;
};

struct VariantEvaluation {
  std::uint64_t rows = 0;             // of the scored file
  std::uint64_t labels = 0;           // alleles with a label
  std::uint64_t labels_found = 0;     // of these in the scored file
  std::uint64_t labels_repeated = 0;  // rows of the labels whose allele stood there before
  std::uint64_t rows_repeated = 0;    // rows of labelled alleles that stood there before, not counted again
  ReasonCounts labels_left_out;
  std::uint64_t rows_excluded = 0;  // that touch an excluded region
  // What was measured: alleles, rows of them, and alleles that are in the scored file.
  struct Measured {
    std::uint64_t alleles = 0, rows = 0, significant = 0, found = 0;
    ReasonCounts left_out;  // rows
  };
  Measured measured;
  std::vector<ScoreEvaluation> scores;  // score by score; "all" first, then classes, the most frequent first
  std::vector<EffectEvaluation> effects;  // score by score: as they are, then sizes
  std::vector<ScoreComparison> comparisons;
};

// Error{usage} without labels, effects or anything to compare with. Error{bad_input} when no labelled or no
// measured allele is in the scored file or all labelled ones have one label, for a score that is not there or
// is no number; else as VariantTable, VariantLabels, MeasuredEffects, BaselineTable, ExcludedRegions.
VariantEvaluation evaluate_variants(const VariantEvaluationOptions& options);

// With `comments` as of TsvWriter, "." for what has no value:
// #score direction class positives negatives share missing auroc auroc_low auroc_high auprc
void write_evaluation_table(const std::string& path, const VariantEvaluation& evaluation,
                            const std::vector<std::string>& comments);
// #score direction measured alleles missing spearman spearman_low spearman_high significant share auroc
// auroc_low auroc_high auprc; measured is signed or size
void write_effects_table(const std::string& path, const VariantEvaluation& evaluation,
                         const std::vector<std::string>& comments);
// #baseline direction ours alleles missing spearman top_100 top_1000 top_1_percent
void write_comparison_table(const std::string& path, const VariantEvaluation& evaluation,
                            const std::vector<std::string>& comments);
// Everything, as JSON. `provenance_json` is put in as it is when not empty.
std::string variant_evaluation_json(const VariantEvaluation& evaluation, const std::string& provenance_json);

}  // namespace bigbird
