// `bigbird chromatin calibrate`: the profiles of a chromatin model as probabilities, kept in its folder.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/genomics/calibration_options.h"
#include "apps/scoring_options.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/chromatin/evaluate.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/most_n.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {
namespace {

struct ChromatinCalibrateCommand {
  CalibrationOptions options;
  ScoringOptions scoring;
  std::string data, fasta, profiles_tsv;
  std::string split = "valid";
  std::string measure_split;
  std::uint64_t most_windows = 0;
  double max_n = most_n_of_scored_window;
};

void say_left_out(const std::string& split, const LabelledScores& side) {
  if (side.left_out == 0) return;
  log_info(fmt::format("{} of {} windows of the split {} left out", side.left_out,
                       side.left_out + side.windows(), split));
}

void add_options(Verb& verb, ChromatinCalibrateCommand& typed) {
  typed.options.add(verb, "chromatin finetune");
  verb.add_required("--data DIR", typed.data, "Data set of chromatin build");
  verb.add_option("-f,--fasta-ref FASTA", typed.fasta, "Genome of --data (default: the data set's own)");
  verb.add_option("--split", typed.split, "Side whose bins are fitted on: train, valid, test or none");
  verb.add_option("--measure-split", typed.measure_split,
                  "Bins to measure on; the same as --split, or no test bins: by five folds (default: test "
                  "where the data set has such bins)");
  verb.with_word(verb.add_count("--samples COUNT", typed.most_windows,
                                "Samples (bins) of a split, a seeded choice of so many, or all"),
                 "all", "0");
  verb.add_option("--max-n", typed.max_n, "Largest fraction of N in a window; the others are left out",
                  CLI::Range(0.0, 1.0));
  verb.add_option("--table FILE", typed.profiles_tsv, "TSV of the errors of every profile");
  verb.leave_out_of_provenance("--table");
  typed.scoring.add(verb, {.strands = usual_strands});
  verb.add_seed();
  add_machine(verb);
}

}  // namespace

int cmd_chromatin_calibrate(int argc, char** argv) {
  Verb verb("chromatin calibrate",
            "Fit each profile of a chromatin model to the fraction of positives among labelled bins.",
            {"bigbird chromatin calibrate -m demo-output/chromatin-run/final --data demo-output/chromatin",
             ("bigbird chromatin calibrate -m demo-output/chromatin-run/final --data "
              "demo-output/chromatin --force --measure-split valid -o errors.tsv --table "
              "profile-errors.tsv"),
             ("bigbird chromatin calibrate -m demo-output/chromatin-run/final --data "
              "demo-output/chromatin --force --samples 4k --curve curve.tsv --svg curve.svg")});
  ChromatinCalibrateCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  const Split split = parse_split_side(typed.split, "--split " + typed.split);
  Split measured_split = Split::test;
  if (!typed.measure_split.empty())
    measured_split = parse_split_side(typed.measure_split, "--measure-split " + typed.measure_split);
  const CalibrationOptions& options = typed.options;
  options.check(verb);
  OutputSet outputs = options.outputs();
  outputs.add({"--table", typed.profiles_tsv});

  const auto backend = verb.make_backend({options.model()});
  SequenceScorer scorer({{options.model()}, typed.scoring.strands(), typed.scoring.batch()}, *backend);
  const ChromatinDataset data(typed.data, typed.fasta);
  require_profiles(scorer, data);
  const auto scores_of = [&](Split of, const std::string& name) {
    LabelledScores side = score_labelled_bins(
        scorer, data, calibration_rows(data, of, typed.most_windows, verb.seed()), typed.max_n);
    say_left_out(name, side);
    return side;
  };
  const LabelledScores side = scores_of(split, typed.split);
  const ModelConfig& config = scorer.model().config();
  MeasuredSide other{fmt::format("{}, {}-fold", typed.split, calibration_folds), {}};
  std::size_t windows = side.windows();
  const bool folds =
      measured_split == split || (typed.measure_split.empty() && data.rows(measured_split).empty());
  if (!folds) {
    other.name = split_side_name(measured_split);
    other.scores = scores_of(measured_split, other.name);
    windows += other.scores->windows();
  }
  Calibration calibration;
  calibration.task = "chromatin";
  calibration.fitted_on = fmt::format("{}, split {}", typed.data, typed.split);
  calibration.positive_weight = config.positive_weight;
  for (const Profile& profile : scorer.profiles()) calibration.names.push_back(profile.name);
  const Provenance provenance = verb.made_from(
      typed.fasta, {model_input(options.model(), scorer.digests().front()), {"data", typed.data, ""}});
  options.fit(verb, scorer, side, options.choices(verb, chromatin_choices(config)), other, calibration,
              provenance, typed.profiles_tsv);
  outputs.commit();
  verb.set_throughput(static_cast<double>(windows), "windows");
  return 0;
}

}  // namespace bigbird::apps
