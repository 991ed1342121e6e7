// `bigbird promoter calibrate`: a promoter model's scores as probabilities, kept in its folder.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/calibration_options.h"
#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/provenance.h"
#include "lib/model/folder/model_folder.h"
#include "lib/tasks/calibration_report.h"
#include "lib/tasks/genomics/promoter/calibrate.h"

namespace bigbird::apps {
namespace {

struct Sides {
  LabelledSource valid;
  LabelledSource test;  // empty: there is none
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

void say_left_out(const LabelledSource& source, const LabelledScores& side) {
  if (side.left_out > 0) log_info(fmt::format("{}: {} windows left out", source.path, side.left_out));
}

}  // namespace

int cmd_promoter_calibrate(int argc, char** argv) {
  Verb verb(
      "promoter calibrate",
      "Fit a promoter model's scores to the share of promoters among labelled windows, for promoter predict "
      "--calibrated.",
      {"bigbird promoter calibrate -m run/final --data promoters",
       "bigbird promoter calibrate -m run/final --data promoters --prior 0.01 --curve curve.tsv --svg "
       "curve.svg",
       "bigbird promoter calibrate -m run/final --valid dev.csv --test test.csv -o errors.tsv"});
  std::string data;
  Sides sides;
  std::optional<double> prior;
  double train_prior = 0.5;
  double max_n = 0.5;
  CalibrationOptions options;
  ScoringOptions scoring;
  CLI::App& app = verb.app();
  options.add(verb, "promoter finetune");
  app.add_option(
         "--data", data,
         "Folder of promoter build, or of valid.csv or dev.csv (or .tsv): the valid side is fitted on, "
         "the test side, where there is one, measured on")
      ->type_name("DIR");
  app.add_option(
         "--valid", sides.valid.path,
         "In place of --data: windows to fit on, a TSV or CSV with the columns sequence and label, or a "
         "FASTA of class 1")
      ->type_name("FILE");
  app.add_option("--valid-negatives", sides.valid.negatives,
                 "FASTA of class 0, where --valid is one of class 1")
      ->type_name("FASTA");
  app.add_option("--test", sides.test.path,
                 "The same to measure on; without a test side by five folds of the valid side")
      ->type_name("FILE");
  app.add_option("--test-negatives", sides.test.negatives, "FASTA of class 0, where --test is one of class 1")
      ->type_name("FASTA");
  app.add_option("--prior", prior,
                 "Share of promoters where the model is to be used; without it that of the valid side")
      ->type_name("P");
  app.add_option("--train-prior", train_prior, "Share of promoters that the model was trained on")
      ->type_name("P");
  app.add_option("--max-n", max_n, "Windows with a larger share of N are left out")
      ->check(CLI::Range(0.0, 1.0));
  scoring.add(verb, {.strands = Strands::forward});
  verb.add_seed();
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  verb.add_random_mode();
  if (!verb.parse(argc, argv)) return 0;
  if (data.empty() == sides.valid.empty() || (sides.valid.empty() && !sides.valid.negatives.empty()) ||
      (sides.test.empty() && !sides.test.negatives.empty())) {
    throw_usage("give the windows in one way",
                "--data DIR, or --valid FILE, with --test FILE where wanted; each with its negatives when it "
                "is a FASTA");
  }
  options.check(verb);
  OutputSet outputs = options.outputs();
  find_sides(data, sides);

  require_model_folders({options.model()});
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  SequenceScorer scorer({{options.model()}, scoring.strands(), scoring.batch()}, *backend);
  require_two_classes(scorer);
  const LabelledScores side = score_labelled_windows(scorer, sides.valid, max_n);
  say_left_out(sides.valid, side);
  CalibrationChoices choices = promoter_choices(side, prior, train_prior);
  choices.bins = options.bins();
  choices.seed = verb.seed();

  Calibration calibration;
  calibration.task = "promoter";
  calibration.weights = scorer.digests().front();
  calibration.strands = scorer.strands_read();
  calibration.fitted_on = sides.valid.path;
  calibration.windows = static_cast<std::int64_t>(side.windows());
  calibration.prior = prior;
  calibration.train_prior = train_prior;
  calibration.names = {scorer.profiles().front().name};
  calibration.outputs = fit_calibrations(side, choices);

  Provenance provenance{bigbird_version(), verb.command(), verb.seed(), "", {}};
  provenance.inputs = {model_input(options.model(), calibration.weights), {"valid", sides.valid.path, ""}};
  double windows = static_cast<double>(side.windows());
  std::vector<MeasuredMethod> measured;
  std::string measured_on;
  if (sides.test.empty()) {
    measured = cross_measure_calibrations(side, choices);
    measured_on = fmt::format("valid, {}-fold", calibration_folds);
  } else {
    const LabelledScores test = score_labelled_windows(scorer, sides.test, max_n);
    say_left_out(sides.test, test);
    measured = measure_calibrations(test, calibration.outputs, choices);
    measured_on = "test";
    windows += static_cast<double>(test.windows());
    provenance.inputs.push_back({"test", sides.test.path, ""});
  }
  std::vector<std::string> comments;
  if (verb.provenance()) {
    comments = provenance_lines(provenance);
    calibration.provenance = provenance_json(provenance);
  }
  for (const std::string& line : describe_calibration(calibration.outputs, scorer.profiles()))
    log_warning(line);
  options.write_measured(measured, measured_on, comments);
  options.write(calibration);
  outputs.commit();
  verb.set_throughput(windows, "windows");
  return 0;
}

}  // namespace bigbird::apps
