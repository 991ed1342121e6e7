// `bigbird promoter calibrate`: a promoter model's scores as probabilities, kept in its folder.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/genomics/calibration_options.h"
#include "apps/scoring_options.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/promoter/predict.h"
#include "lib/inference/model_task.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/most_n.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {
namespace {

struct Sides {
  LabelledSource valid;
  LabelledSource test;  // empty: there is none
};

struct PromoterCalibrateCommand {
  std::string data;
  Sides sides;
  std::optional<double> prior;
  std::optional<double> train_prior;
  double max_n = most_n_of_scored_window;
  CalibrationOptions options;
  ScoringOptions scoring;
};

void find_sides(const std::string& data, Sides& sides) {
  if (data.empty()) return;
  const std::optional<LabelledSource> valid = labelled_side(data, "valid");
  if (!valid) {
    throw_bad_input(data + ": holds no valid side",
                    "a data folder holds valid.tsv or dev.csv; or name a file with --valid");
  }
  sides.valid = *valid;
  if (sides.test.empty()) sides.test = labelled_side(data, "test").value_or(LabelledSource{});
}

// The share of promoters that the model was trained on: as typed, as its folder tells, as the data tell, or a
// half. Says which.
double find_train_prior(const PromoterCalibrateCommand& typed) {
  const std::string& model = typed.options.model();
  if (typed.train_prior) return *typed.train_prior;
  if (const std::optional<double> told = read_train_prior(model)) {
    log_info(fmt::format("promoters were {:.4g} of the training examples, by {}", *told, model));
    return *told;
  }
  if (!typed.data.empty()) {
    if (const std::optional<double> told = read_promoter_facts(typed.data).prior) {
      log_info(fmt::format("promoters were {:.4g} of the training examples, by {}", *told, typed.data));
      return *told;
    }
  }
  constexpr double half = 0.5;
  log_info(fmt::format(
      "promoters are taken for {} of the training examples: neither model nor data have the fraction (--train-prior)",
      half));
  return half;
}

LabelledScores scores_of(SequenceScorer& scorer, const LabelledSource& source, double max_n) {
  LabelledScores side = score_labelled_windows(scorer, source, max_n);
  if (side.left_out > 0) log_info(fmt::format("{}: {} windows left out", source.path, side.left_out));
  return side;
}

void add_options(Verb& verb, PromoterCalibrateCommand& typed) {
  typed.options.add(verb, "promoter finetune");
  verb.add_option(
      "--data DIR", typed.data,
      "Folder of promoter build, or of valid.csv or dev.csv (or .tsv): the valid side is fitted on, "
      "the test side, where there is one, measured on");
  verb.add_option("--valid FILE", typed.sides.valid.path,
                  "Windows to fit on, in place of --data: a TSV or CSV with the columns sequence and label, "
                  "or a FASTA of class 1");
  verb.add_option("--valid-negatives FASTA", typed.sides.valid.negatives,
                  "FASTA of class 0, where --valid is one of class 1");
  verb.add_option("--test FILE", typed.sides.test.path,
                  "Windows to measure on, in the form of --valid (default: the test side of --data, or five "
                  "folds of the valid side)");
  verb.add_option("--test-negatives FASTA", typed.sides.test.negatives,
                  "FASTA of class 0, where --test is one of class 1");
  verb.add_option("--prior P", typed.prior,
                  "Fraction of promoters where the model is to be used (default: as on the valid side)");
  verb.add_option("--train-prior P", typed.train_prior,
                  "Fraction of promoters that the model was trained on (default: as in the model's folder, "
                  "else as in --data, else 0.5)");
  verb.add_option("--max-n", typed.max_n, "Largest fraction of N in a window; the others are left out",
                  CLI::Range(0.0, 1.0));
  // A promoter has a strand, and `promoter scan` calibrates the score of each by itself: one is fitted.
  typed.scoring.add(verb, {.strands = Strands::forward});
  verb.add_seed();
  add_machine(verb);
}

}  // namespace

int cmd_promoter_calibrate(int argc, char** argv) {
  Verb verb("promoter calibrate",
            "Fit a promoter model's scores to the fraction of promoters among labelled windows.",
            {"bigbird promoter calibrate -m demo-output/finetune/final --data demo-output/promoters",
             ("bigbird promoter calibrate -m demo-output/finetune/final --data demo-output/promoters "
              "--force --prior 0.01 --curve curve.tsv --svg curve.svg"),
             ("bigbird promoter calibrate -m demo-output/finetune/final --valid "
              "demo-output/promoters/valid.tsv --test demo-output/promoters/test.tsv --force -o "
              "errors.tsv")});
  PromoterCalibrateCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  Sides& sides = typed.sides;
  if (typed.data.empty() == sides.valid.empty() || (sides.valid.empty() && !sides.valid.negatives.empty()) ||
      (sides.test.empty() && !sides.test.negatives.empty())) {
    throw_usage("give the windows in one way",
                "--data DIR, or --valid FILE, with --test FILE where wanted; each with its negatives when it "
                "is a FASTA");
  }
  const CalibrationOptions& options = typed.options;
  options.check(verb);
  OutputSet outputs = options.outputs();
  find_sides(typed.data, sides);

  const auto backend = verb.make_backend({options.model()});
  SequenceScorer scorer({{options.model()}, typed.scoring.strands(), typed.scoring.batch()}, *backend);
  require_two_classes(scorer);
  const LabelledScores side = scores_of(scorer, sides.valid, typed.max_n);
  const double train_prior = find_train_prior(typed);
  const CalibrationChoices choices = options.choices(verb, promoter_choices(side, typed.prior, train_prior));
  Provenance provenance = verb.made_from();
  provenance.inputs = {model_input(options.model(), scorer.digests().front()),
                       {"valid", sides.valid.path, ""}};
  MeasuredSide other{fmt::format("valid, {}-fold", calibration_folds), {}};
  std::size_t windows = side.windows();
  if (!sides.test.empty()) {
    other = {"test", scores_of(scorer, sides.test, typed.max_n)};
    windows += other.scores->windows();
    provenance.inputs.push_back({"test", sides.test.path, ""});
  }
  Calibration calibration;
  calibration.task = "promoter";
  calibration.fitted_on = sides.valid.path;
  calibration.prior = typed.prior;
  calibration.train_prior = train_prior;
  calibration.names = {scorer.profiles().front().name};
  options.fit(verb, scorer, side, choices, other, calibration, provenance);
  outputs.commit();
  verb.set_throughput(static_cast<double>(windows), "windows");
  return 0;
}

}  // namespace bigbird::apps
