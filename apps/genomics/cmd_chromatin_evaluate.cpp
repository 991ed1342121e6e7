// `bigbird chromatin evaluate`: AUROC and AUPRC of predicted chromatin profiles, medians by group, ROC and
// precision-recall plots; beside them what the fraction of G and C and 6-mers say.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/chromatin/chromatin_baselines.h"
#include "lib/genomics/chromatin/evaluate.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/excluded_regions.h"
#include "lib/io/genome/most_n.h"
#include "lib/model_folder/model_folder.h"
#include "lib/report/curves.h"

namespace bigbird::apps {
namespace {

// Neighbouring points of a curve lie two thirds of a pixel apart.
constexpr double step_of_curves = 1.0 / 480;

struct ChromatinEvaluateCommand {
  std::vector<std::string> predictions;
  std::vector<std::string> models;
  ScoringOptions scoring;
  double max_n = most_n_of_scored_window;
  std::string fasta;
  std::string labels, split, output = "-", profiles_tsv, svg;
  std::string baseline;  // empty: gc where a model scores, else none
  std::uint64_t baseline_bins = ChromatinBaselineOptions{}.most_bins;
  std::vector<std::size_t> plot;
  std::vector<std::string> exclude;
  double curve_step() const { return svg.empty() ? 0 : step_of_curves; }
};

struct NamedFile {
  std::string name, path;
};

// "rc=scores.npy", or a path alone.
NamedFile parse_predictions(const std::string& text) {
  const std::size_t sign = text.find('=');
  const bool named = sign != std::string::npos && sign > 0 && text.find('/') > sign && !file_exists(text);
  if (!named) return {"", text};
  return {text.substr(0, sign), text.substr(sign + 1)};
}

std::vector<NamedFile> parse_all(const std::vector<std::string>& texts) {
  std::vector<NamedFile> files;
  std::set<std::string> names;
  for (const std::string& text : texts) {
    files.push_back(parse_predictions(text));
    if (!names.insert(files.back().name).second) {
      throw_usage("several predictions need a name each",
                  "--predictions single=a.npy --predictions rc=b.npy");
    }
  }
  return files;
}

std::optional<Split> asked_split(const ChromatinEvaluateCommand& options) {
  if (options.split == "all") return std::nullopt;
  if (!options.split.empty()) return parse_split_side(options.split, "--split");
  return folder_exists(options.labels) ? std::optional(Split::test) : std::nullopt;
}

struct Evaluated {
  std::vector<Profile> profiles;
  std::vector<ChromatinScores> sets;
  std::size_t drawn = 0;  // of them; what stands beside the predictions is in no picture
  std::vector<ProvenanceInput> inputs;
  std::optional<std::size_t> excluded = {};  // bins, where some were to be left out
};

// The labels of the bins that are scored.
ChromatinLabels chosen_labels(const ChromatinEvaluateCommand& options, std::optional<std::size_t> columns,
                              std::optional<std::size_t>& excluded) {
  ChromatinLabels labels(options.labels, asked_split(options), columns);
  if (!options.exclude.empty()) {
    excluded = labels.leave_out(ExcludedRegions(options.exclude));
    log_info(fmt::format("{} bins touch an excluded region and are left out; {} are scored", *excluded,
                         labels.rows().size()));
  }
  return labels;
}

void add_baselines(const ChromatinEvaluateCommand& options, const ChromatinDataset& data,
                   const ChromatinLabels& labels, std::uint64_t seed, Evaluated& result) {
  result.drawn = result.sets.size();
  ChromatinBaselineOptions baseline;
  baseline.kmers = options.baseline == "kmers";
  baseline.most_bins = options.baseline_bins;
  baseline.max_n = options.max_n;
  baseline.seed = seed;
  for (ChromatinScores& set : score_chromatin_baselines(data, labels, baseline))
    result.sets.push_back(std::move(set));
}

Evaluated evaluate_files(const ChromatinEvaluateCommand& options, std::uint64_t seed) {
  const std::vector<NamedFile> files = parse_all(options.predictions);
  std::optional<std::size_t> excluded;
  const ChromatinLabels labels = chosen_labels(options, stored_columns(files.front().path), excluded);
  Evaluated result{labels.profiles(), {}, 0, {}, excluded};
  for (const NamedFile& file : files) {
    const PredictionMatrix predictions(file.path, labels.profiles().size());
    result.sets.push_back(score_chromatin(file.name, predictions, labels, options.curve_step()));
    result.inputs.push_back({file.name.empty() ? "predictions" : file.name, file.path, ""});
  }
  result.drawn = result.sets.size();
  if (options.baseline.empty() || options.baseline == "none") return result;
  if (!folder_exists(options.labels))
    throw_usage("--baseline needs the data set and its genome", "give its folder as --data");
  add_baselines(options, ChromatinDataset(options.labels, options.fasta), labels, seed, result);
  return result;
}

Evaluated evaluate_models(const ChromatinEvaluateCommand& options, std::uint64_t seed,
                          kernels::Backend& backend) {
  if (!folder_exists(options.labels)) {
    throw_usage(fmt::format("{}: not a folder", options.labels),
                "--model needs --data, the data set of `bigbird chromatin build`");
  }
  const std::optional<Split> split = asked_split(options);
  std::optional<std::size_t> excluded;
  const ChromatinLabels labels = chosen_labels(options, std::nullopt, excluded);
  SequenceScorer scorer({options.models, options.scoring.strands(), options.scoring.batch()}, backend);
  Evaluated result{labels.profiles(), {}, 0, {}, excluded};
  for (std::size_t i = 0; i < options.models.size(); ++i) {
    result.inputs.push_back(model_input(options.models[i], scorer.digests()[i]));
  }
  const ChromatinDataset data(options.labels, options.fasta);
  for (const NamedPredictions& set : predict_for_evaluation(data, split, scorer, options.max_n)) {
    result.sets.push_back(score_chromatin(set.name, set.scores, labels, options.curve_step()));
  }
  result.drawn = result.sets.size();
  if (options.baseline != "none") add_baselines(options, data, labels, seed, result);
  return result;
}

void write_pictures(const ChromatinEvaluateCommand& options, OutputSet& outputs,
                    const std::vector<ChromatinScores>& sets, const std::vector<Profile>& profiles,
                    std::size_t drawn) {
  const std::vector<ChromatinScores> evaluations(sets.begin(),
                                                 sets.begin() + static_cast<std::ptrdiff_t>(drawn));
  std::vector<std::size_t> chosen = options.plot;
  if (chosen.empty()) chosen = median_profiles(evaluations.front(), profiles);
  if (chosen.empty()) throw_bad_input("no profile can be drawn: each has bins of one class only");
  if (has_suffix(options.svg, ".svg")) {
    const char* title =
        options.plot.empty() ? "Profiles with the median AUROC of their group" : "Chosen profiles";
    write_text_atomic(options.svg, chromatin_curves_svg(title, evaluations, profiles, chosen));
    return;
  }
  outputs.make_folder(options.svg);
  for (const auto& [name, svg] : chromatin_curve_files(evaluations, profiles, chosen)) {
    outputs.add({"--svg", options.svg + "/" + name});
    write_text_atomic(options.svg + "/" + name, svg);
  }
}

void add_options(Verb& verb, ChromatinEvaluateCommand& options) {
  verb.add_option(
          "--predictions FILE", options.predictions,
          "Predictions, a row per bin and a column per profile: .npy, .h5, or TSV whose last columns they are; several files as NAME=FILE")
      ->allow_extra_args(false);
  verb.add_option(
          "-m,--model MODEL", options.models,
          "Model folder of chromatin finetune, to predict the bins with in place of --predictions; several are averaged. Scores one model on the forward strand, on both strands, and all models")
      ->allow_extra_args(false);
  verb.add_required("--data DIR|NPY", options.labels,
                    "Data set of chromatin build, or a .npy matrix of its labels");
  verb.add_option("--split", options.split, "Side of the data set whose bins are scored (default: test)",
                  CLI::IsMember({"train", "valid", "test", "none", "all"}));
  verb.add_exclude(options.exclude, "bins that touch them are not scored");
  verb.add_option("-o,--output FILE", options.output, "Medians and means by group, as JSON; - is stdout");
  verb.add_option("--table FILE", options.profiles_tsv, "TSV of AUROC and AUPRC of every profile");
  verb.add_option(
      "--svg FILE|FOLDER", options.svg,
      "Picture of ROC and precision-recall curves (.svg), or a folder with one for each group too");
  verb.add_option("--plot INDEX,...", options.plot,
                  "Profiles to draw, by index (default: the one with the median AUROC of each group)")
      ->delimiter(',');
  verb.add_option("-f,--fasta-ref FASTA", options.fasta, "Genome for --model (default: the data set's own)");
  options.scoring.add(verb, {.strands = usual_strands});
  verb.add_option("--max-n", options.max_n,
                  "Largest fraction of N in a window (--model); the other bins are left out",
                  CLI::Range(0.0, 1.0));
  verb.add_option("--baseline WHAT", options.baseline,
                  "Baselines of the predictions: gc, the fraction of G and C of a bin's window; kmers, and a "
                  "logistic regression on 6-mers for each profile, fitted to training bins of the data set; "
                  "none (default: gc with --model, else none)",
                  CLI::IsMember({"none", "gc", "kmers"}));
  verb.with_word(verb.add_count("--baseline-samples", options.baseline_bins,
                                "Most training bins to fit the baselines to, a random choice, or all"),
                 "all", "0");
  verb.add_seed();
  add_machine(verb);
}

}  // namespace

int cmd_chromatin_evaluate(int argc, char** argv) {
  Verb verb("chromatin evaluate",
            "Score predicted chromatin profiles against their labels: AUROC and AUPRC of each, medians by "
            "group, curves.\n\nScores of G and C, and of 6-mers, are next to them.",
            {("bigbird chromatin evaluate -m demo-output/chromatin-run/final --data "
              "demo-output/chromatin --baseline kmers -o summary.json"),
             ("bigbird chromatin predict -m demo-output/chromatin-run/final --data "
              "demo-output/chromatin --split test -O npy -o test.npy && bigbird chromatin evaluate "
              "--predictions test.npy --data demo-output/chromatin -o summary.json"),
             ("bigbird chromatin evaluate --predictions mine=test.npy --data demo-output/chromatin "
              "--table profiles.tsv --svg curves.svg")});
  ChromatinEvaluateCommand options;
  add_options(verb, options);
  if (!verb.parse(argc, argv)) return 0;
  if (!options.plot.empty() && options.svg.empty()) throw_usage("--plot draws nothing without --svg");

  if (options.predictions.empty() == options.models.empty()) {
    throw_usage("give --predictions, or --model", "predictions are what `bigbird chromatin predict` wrote");
  }
  OutputSet outputs({{"--output", options.output},
                     {"--table", options.profiles_tsv},
                     {"--svg", has_suffix(options.svg, ".svg") ? options.svg : ""}});
  Evaluated evaluated = options.models.empty()
                            ? evaluate_files(options, verb.seed())
                            : evaluate_models(options, verb.seed(), *verb.make_backend(options.models));
  double bins = 0;
  for (const ChromatinScores& scores : evaluated.sets) {
    bins += static_cast<double>(scores.rows);
    for (const std::string& line : describe_chromatin_scores(scores, evaluated.profiles)) log_info(line);
    if (scores.missing != evaluated.sets.front().missing) {
      log_warning("the sets of predictions leave out different numbers of bins: they are not comparable");
    }
  }
  evaluated.inputs.push_back({"labels", options.labels, ""});
  const Provenance provenance = verb.made_from(options.fasta, evaluated.inputs);
  if (!options.profiles_tsv.empty()) {
    write_profile_scores(options.profiles_tsv, evaluated.sets, evaluated.profiles,
                         verb.head_of(options.profiles_tsv, provenance));
  }
  if (!options.svg.empty())
    write_pictures(options, outputs, evaluated.sets, evaluated.profiles, evaluated.drawn);
  write_output(options.output, chromatin_scores_json(evaluated.sets, evaluated.profiles,
                                                     verb.json_of(provenance), evaluated.excluded));
  outputs.commit();
  verb.set_throughput(bins * static_cast<double>(evaluated.profiles.size()), "labels");
  return 0;
}

}  // namespace bigbird::apps
