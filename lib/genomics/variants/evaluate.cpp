// Evaluation of scored alleles; see evaluate.h.
#include "lib/genomics/variants/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/core/unicode.h"
#include "lib/genomics/variants/allele_key.h"
#include "lib/genomics/variants/baselines.h"
#include "lib/genomics/variants/tracks.h"
#include "lib/genomics/variants/variant_table.h"
#include "lib/io/genome/excluded_regions.h"
#include "lib/io/tables/tsv.h"
#include "lib/metrics/metrics.h"

namespace bigbird {
namespace {

constexpr double no_score = std::numeric_limits<double>::quiet_NaN();
constexpr const char* effect_name = "effect";
constexpr const char* ratio_name = "lm_llr";          // of a language model, in place of an effect
constexpr const char* baseline_prefix = "baseline_";  // of columns that `variants --baseline` writes
constexpr std::array<std::pair<ScoreDirection, const char*>, 3> direction_names{
    {{ScoreDirection::higher, "higher"}, {ScoreDirection::lower, "lower"}, {ScoreDirection::size, "size"}}};

bool ends_with_one_of(const std::string& name, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.ends_with(end); });
}

// p_ctcf_diff, p_dnase_e: columns of single profiles, which are many. p12_diff in files of earlier versions.
bool is_of_a_profile(const std::string& name) {
  const std::size_t line = name.find('_');
  if (name[0] != 'p' || line == std::string::npos) return false;
  if (line == 1) {
    const std::size_t end = name.rfind('_');
    return end > 2 && ends_with_one_of(name, {"_ref", "_alt", "_diff", "_lfc", "_e"});
  }
  return std::all_of(name.begin() + 1, name.begin() + static_cast<std::ptrdiff_t>(line),
                     [](char letter) { return letter >= '0' && letter <= '9'; });
}

// The columns of `variants` that are scores of an allele as a whole.
bool is_usual_score(const std::string& name) {
  if (is_of_a_profile(name)) return false;
  if (name.starts_with("lm_")) return true;
  return name == "diff" || name == "lfc" || name == "e" || name == "funsig" || name.starts_with("e_track_") ||
         name.starts_with("track_") || name.starts_with(baseline_prefix) ||
         ends_with_one_of(name, {"_diff", "_lfc"});
}

// Where a score comes from: a column of the scored file, two of them, or a column of a baseline.
struct Source {
  EvaluatedScore score;
  std::size_t column = 0;
  std::optional<std::size_t> factor;    // effect: `column` times this one
  std::optional<std::size_t> baseline;  // of the tables, and `column` of its columns
};

struct Baseline {
  std::string name;
  std::unique_ptr<BaselineTable> table;
};

// Names of scores are those of columns, "effect", and NAME_COLUMN of baselines.
class Scores {
 public:
  Scores(const VariantTable& table, const std::vector<Baseline>& baselines)
      : table_(table), baselines_(baselines) {}

  Source source_of(const EvaluatedScore& score) const {
    const std::string name = lower_ascii(score.name);
    for (std::size_t i = 0; i < baselines_.size(); ++i) {
      const std::vector<std::string>& columns = baselines_[i].table->columns();
      for (std::size_t column = 0; column < columns.size(); ++column) {
        if (name == lower_ascii(baselines_[i].name) + "_" + columns[column])
          return {{name, score.direction}, column, std::nullopt, i};
      }
    }
    if (name == effect_name && !table_.find_column(name) && has_effect())
      return {score, table_.column("lfc"), table_.column("diff"), std::nullopt};
    const std::size_t column = table_.column(name);
    return {{table_.columns()[column], score.direction}, column, std::nullopt, std::nullopt};
  }

  std::vector<Source> usual() const {
    std::vector<Source> sources;
    const auto add = [&](const std::string& name) {
      sources.push_back(source_of({name, usual_direction(name)}));
    };
    if (has_effect()) add(effect_name);
    for (const std::string& name : table_.columns()) {
      if (is_usual_score(name)) add(name);
    }
    for (const Source& source : of_baselines()) sources.push_back(source);
    if (sources.empty()) {
      throw_bad_input(table_.path() + ": has no column that `bigbird variants` gives a score",
                      message("name the columns that are scores with `score`"));
    }
    return sources;
  }

  // Of the files given, which are not in the scored one.
  std::vector<Source> of_baselines() const {
    std::vector<Source> sources;
    for (const Baseline& baseline : baselines_) {
      for (const std::string& column : baseline.table->columns()) {
        const std::string name = lower_ascii(baseline.name) + "_" + column;
        sources.push_back(source_of({name, usual_direction(name)}));
      }
    }
    return sources;
  }

  bool has_effect() const { return table_.find_column("diff") && table_.find_column("lfc"); }

 private:
  const VariantTable& table_;
  const std::vector<Baseline>& baselines_;
};

double number_at(const VariantTable& table, const VariantRow& row, std::size_t column) {
  const std::string& text = row.fields[column];
  return is_missing(text) ? no_score : parse_number(text, table.where(), table.columns()[column]);
}

// The scores of labelled alleles, in the order of the scored file.
struct LabelledScores {
  std::vector<const AlleleLabel*> labels;
  std::vector<std::vector<double>> values;  // [scores][alleles], oriented; NaN for none
};

ScoreEvaluation evaluate_class(const LabelledScores& scores, std::size_t score,
                               const std::vector<std::size_t>& alleles,
                               const VariantEvaluationOptions& options) {
  ScoreEvaluation result;
  std::vector<double> positives, negatives;
  for (const std::size_t allele : alleles) {
    const double value = scores.values[score][allele];
    if (std::isnan(value)) {
      ++result.missing;
    } else {
      (scores.labels[allele]->label == 1 ? positives : negatives).push_back(value);
    }
  }
  result.ranks = rank_metrics(positives, negatives);
  result.interval = auroc_interval(positives, negatives, options.draws, options.seed);
  return result;
}

// The alleles of "all", and of each class that has one, the most frequent first.
std::vector<std::pair<std::string, std::vector<std::size_t>>> classes_of(
    const LabelledScores& scores, const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> classes;
  for (const std::string& name : names) classes.push_back({name, {}});
  std::vector<std::size_t> all(scores.labels.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const std::size_t allele : all) {
    for (const std::uint32_t number : scores.labels[allele]->classes)
      classes[number].second.push_back(allele);
  }
  std::erase_if(classes, [](const auto& entry) { return entry.second.empty(); });
  std::sort(classes.begin(), classes.end(), [](const auto& one, const auto& other) {
    if (one.second.size() != other.second.size()) return one.second.size() > other.second.size();
    return one.first < other.first;
  });
  classes.insert(classes.begin(), {"all", std::move(all)});
  return classes;
}

// The scores of measured alleles, in the order of the scored file.
struct MeasuredScores {
  std::vector<const MeasuredEffect*> effects;
  std::vector<std::vector<double>> values;  // [scores][alleles], as they are; NaN for none
};

EffectEvaluation evaluate_effect(const MeasuredScores& scores, std::size_t number,
                                 const EvaluatedScore& score, bool sizes,
                                 const VariantEvaluationOptions& options) {
  EffectEvaluation result;
  result.score = score;
  result.sizes = sizes;
  std::vector<double> values, measured, significant, others;
  for (std::size_t i = 0; i < scores.effects.size(); ++i) {
    double value = scores.values[number][i];
    if (std::isnan(value)) {
      ++result.missing;
      continue;
    }
    const MeasuredEffect& effect = *scores.effects[i];
    if (sizes) value = oriented(value, score.direction);
    values.push_back(value);
    measured.push_back(sizes ? std::abs(effect.value) : effect.value);
    (effect.significant ? significant : others).push_back(value);
  }
  result.alleles = values.size();
  result.spearman = spearman(values, measured);
  result.interval = spearman_interval(values, measured, options.draws, options.seed);
  const bool by_significance = sizes && !options.effects.significance_column.empty();
  if (!by_significance) {
    significant.clear();
    others.clear();
  }
  result.significant = rank_metrics(significant, others);
  result.auroc_interval = auroc_interval(significant, others, options.draws, options.seed);
  return result;
}

// Ours and another tool's, of every row that has both.
struct Compared {
  Source baseline;
  std::vector<double> ours, theirs;  // oriented
  std::uint64_t missing = 0;
};

ScoreComparison compare(const Compared& compared, const EvaluatedScore& ours) {
  ScoreComparison result{compared.baseline.score,
                         ours,
                         compared.ours.size(),
                         compared.missing,
                         spearman(compared.ours, compared.theirs),
                         {}};
  for (const std::size_t count : {std::size_t{100}, std::size_t{1000}, (compared.ours.size() + 50) / 100})
    result.top.push_back({count, top_overlap(compared.ours, compared.theirs, count)});
  return result;
}

class Evaluation {
 public:
  explicit Evaluation(const VariantEvaluationOptions& options) : options_(options) {
    if (!options.fasta.empty()) {
      fasta_ = std::make_unique<Fasta>(options.fasta);
      contigs_ = ContigNames(fasta_->contigs());
      keys_ = AlleleKeys(*fasta_, contigs_);
    }
    if (!options.labels.empty())
      labels_ = std::make_unique<VariantLabels>(options.labels, options.labels_column, keys_);
    if (!options.effects.path.empty()) effects_ = std::make_unique<MeasuredEffects>(options.effects, keys_);
    if (!options.exclude.empty()) {
      excluded_ = options.fasta.empty() ? ExcludedRegions(options.exclude)
                                        : ExcludedRegions(options.exclude, contigs_);
    }
    for (const std::string& text : options.baselines) {
      const NamedPath file = named_path(text);
      baselines_.push_back(
          {file.name, std::make_unique<BaselineTable>(file.path, options.baseline_columns, keys_)});
    }
  }

  VariantEvaluation run() {
    VariantTable table(options_.scored);
    choose(table);
    VariantRow row;
    std::unordered_set<AlleleKey> seen, measured;
    while (table.next(row)) {
      if (result_.rows++ % 4096 == 0) throw_if_cancelled();
      if (excluded_.touch(row.chrom, row.position,
                          row.position + static_cast<std::int64_t>(row.ref.size()))) {
        ++result_.rows_excluded;
        continue;
      }
      const auto key = keys_.of(row.chrom, row.position, row.ref, row.alt);
      if (effects_ && key) add_measured(table, row, *key, measured);
      for (Compared& compared : compared_) add_compared(table, row, key, compared);
      const AlleleLabel* label = labels_ && key ? labels_->find(*key) : nullptr;
      if (label == nullptr) continue;
      if (!seen.insert(*key).second) {
        ++result_.rows_repeated;
        continue;
      }
      labelled_.labels.push_back(label);
      for (std::size_t i = 0; i < sources_.size(); ++i)
        labelled_.values[i].push_back(value_of(table, row, key, sources_[i]));
    }
    if (labels_) evaluate_labels();
    if (effects_) evaluate_effects();
    for (const Compared& compared : compared_) result_.comparisons.push_back(compare(compared, ours_.score));
    return result_;
  }

 private:
  void choose(const VariantTable& table) {
    const Scores scores(table, baselines_);
    if (options_.scores.empty()) {
      if (labels_ || effects_) sources_ = scores.usual();
    } else {
      for (const std::string& text : options_.scores)
        sources_.push_back(scores.source_of(parse_evaluated_score(text)));
    }
    labelled_.values.resize(sources_.size());
    measured_.values.resize(sources_.size());
    std::vector<Source> theirs = scores.of_baselines();
    for (const std::string& name : table.columns()) {
      if (name.starts_with(baseline_prefix))
        theirs.push_back(scores.source_of({name, usual_direction(name)}));
    }
    if (!labels_ && !effects_ && theirs.empty()) {
      throw_usage("there is nothing to hold the scores against",
                  message("give `labels`, `effects`, `baseline`, or several of them"));
    }
    if (theirs.empty()) return;
    if (!scores.has_effect() && !table.find_column(ratio_name)) {
      throw_bad_input(table.path() +
                          ": has no diff and lfc, which the effect |lfc * diff| is made of, and no " +
                          ratio_name,
                      "give what `bigbird variants` wrote");
    }
    ours_ = scores.source_of({scores.has_effect() ? effect_name : ratio_name, ScoreDirection::size});
    for (Source& baseline : theirs) {
      // A direction that was given holds here too.
      for (const Source& source : sources_) {
        if (source.score.name == baseline.score.name) baseline.score.direction = source.score.direction;
      }
      compared_.push_back({baseline, {}, {}, 0});
    }
  }

  double value_of(const VariantTable& table, const VariantRow& row, const std::optional<AlleleKey>& key,
                  const Source& source) const {
    return oriented(plain_value_of(table, row, key, source), source.score.direction);
  }

  double plain_value_of(const VariantTable& table, const VariantRow& row, const std::optional<AlleleKey>& key,
                        const Source& source) const {
    double value = no_score;
    if (source.baseline) {
      const auto found = key ? baselines_[*source.baseline].table->find(*key) : std::span<const float>();
      if (!found.empty()) value = static_cast<double>(found[source.column]);
    } else {
      value = number_at(table, row, source.column);
      if (source.factor) value *= number_at(table, row, *source.factor);
    }
    return value;
  }

  void add_measured(const VariantTable& table, const VariantRow& row, const AlleleKey& key,
                    std::unordered_set<AlleleKey>& seen) {
    const MeasuredEffect* const effect = effects_->find(key);
    if (effect == nullptr || !seen.insert(key).second) return;
    measured_.effects.push_back(effect);
    for (std::size_t i = 0; i < sources_.size(); ++i)
      measured_.values[i].push_back(plain_value_of(table, row, key, sources_[i]));
  }

  void add_compared(const VariantTable& table, const VariantRow& row, const std::optional<AlleleKey>& key,
                    Compared& compared) const {
    const double ours = value_of(table, row, key, ours_);
    if (std::isnan(ours)) return;
    const double theirs = value_of(table, row, key, compared.baseline);
    if (std::isnan(theirs)) {
      ++compared.missing;
      return;
    }
    compared.ours.push_back(ours);
    compared.theirs.push_back(theirs);
  }

  void evaluate_labels() {
    result_.labels = labels_->size();
    result_.labels_found = labelled_.labels.size();
    result_.labels_repeated = labels_->repeated();
    result_.labels_left_out = labels_->left_out();
    if (labelled_.labels.empty()) {
      throw_bad_input(
          fmt::format("{}: none of its {} alleles has a label in {}", options_.scored, result_.rows,
                      options_.labels),
          message("are they of one assembly? Insertions and deletions are found under another place with "
                  "`fasta`"));
    }
    const auto positives = std::count_if(labelled_.labels.begin(), labelled_.labels.end(),
                                         [](const AlleleLabel* label) { return label->label == 1; });
    if (positives == 0 || positives == static_cast<std::ptrdiff_t>(labelled_.labels.size())) {
      throw_bad_input(fmt::format("{}: all {} labelled alleles have label {}", options_.scored,
                                  labelled_.labels.size(), positives == 0 ? 0 : 1),
                      "there must be some of both, or there is nothing to compare");
    }
    const auto classes = classes_of(labelled_, labels_->classes());
    for (std::size_t score = 0; score < sources_.size(); ++score) {
      for (const auto& entry : classes) {
        ScoreEvaluation one = evaluate_class(labelled_, score, entry.second, options_);
        one.score = sources_[score].score;
        one.class_name = entry.first;
        result_.scores.push_back(std::move(one));
      }
    }
  }

  void evaluate_effects() {
    result_.measured = {effects_->size(), effects_->rows(), effects_->significant(), measured_.effects.size(),
                        effects_->left_out()};
    if (measured_.effects.empty()) {
      throw_bad_input(fmt::format("{}: none of its {} alleles was measured in {}", options_.scored,
                                  result_.rows, options_.effects.path),
                      message("are they of one assembly? Insertions and deletions are found under another "
                              "place with `fasta`"));
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      // E-values have no sign, nor has the effect |lfc * diff|; ratios of language models have one.
      const EvaluatedScore& score = sources_[i].score;
      const bool has_sign =
          !sources_[i].factor && (score.direction != ScoreDirection::lower || score.name.starts_with("lm_"));
      if (has_sign)
        result_.effects.push_back(evaluate_effect(measured_, i, sources_[i].score, false, options_));
      result_.effects.push_back(evaluate_effect(measured_, i, sources_[i].score, true, options_));
    }
  }

  const VariantEvaluationOptions& options_;
  std::unique_ptr<Fasta> fasta_;
  ContigNames contigs_;
  AlleleKeys keys_;
  std::unique_ptr<VariantLabels> labels_;
  std::unique_ptr<MeasuredEffects> effects_;
  ExcludedRegions excluded_;
  std::vector<Baseline> baselines_;
  std::vector<Source> sources_;
  LabelledScores labelled_;
  MeasuredScores measured_;
  Source ours_;
  std::vector<Compared> compared_;
  VariantEvaluation result_;
};

}  // namespace

const char* score_direction_name(ScoreDirection direction) {
  return find_name(direction_names, direction);
}

ScoreDirection usual_direction(const std::string& name) {
  const std::string lower = lower_ascii(name);
  if (lower == "diff" || lower == "lfc" || lower == effect_name || ends_with_one_of(lower, {"_diff", "_lfc"}))
    return ScoreDirection::size;
  if (lower == "lm_l2" || lower == "lm_cos") return ScoreDirection::higher;
  if (lower == "e" || lower == "funsig" || lower.starts_with("lm_") || lower.starts_with("e_") ||
      lower.ends_with("_e"))
    return ScoreDirection::lower;
  return ScoreDirection::higher;
}

EvaluatedScore parse_evaluated_score(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string name = text.substr(0, colon);
  if (colon == std::string::npos) return {name, usual_direction(name)};
  return {name, parse_name(direction_names, text.substr(colon + 1), "direction of a score")};
}

double oriented(double value, ScoreDirection direction) {
  if (direction == ScoreDirection::lower) return -value;
  return direction == ScoreDirection::size ? std::abs(value) : value;
}

VariantEvaluation evaluate_variants(const VariantEvaluationOptions& options) {
  return Evaluation(options).run();
}

}  // namespace bigbird
