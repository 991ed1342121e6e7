// `bigbird chromatin predict`: probabilities of chromatin profiles for bins, windows or a data set.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/work_options.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/chromatin/predict.h"
#include "lib/genomics/chromatin/predict_run.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/most_n.h"

namespace bigbird::apps {
namespace {

constexpr std::size_t most_tracks = 64;  // without a choice of profiles
constexpr std::uint64_t windows_of_a_chunk = 1024;

struct PredictCommand {
  std::vector<std::string> models;
  std::string records, fasta, regions, data;
  std::string split = "test";
  std::string output = "-";
  std::string format = "tsv";
  ScoringOptions scoring;
  double max_n = most_n_of_scored_window;
  bool variants = false;
  WorkOptions work;
};

void check(const PredictCommand& typed) {
  const int sources =
      (typed.records.empty() ? 0 : 1) + (typed.regions.empty() ? 0 : 1) + (typed.data.empty() ? 0 : 1);
  if (sources != 1 || (!typed.regions.empty() && typed.fasta.empty()) ||
      (!typed.records.empty() && !typed.fasta.empty())) {
    throw_usage("give what is to be predicted in one way",
                "a FASTA of windows, or --fasta-ref with --regions-file, or --data DIR");
  }
  const std::array<const char*, 5> sides = {"train", "valid", "test", "none", "all"};
  if (std::find(sides.begin(), sides.end(), typed.split) == sides.end()) {
    throw_usage("--split " + typed.split + ": there is no such split",
                "one of: train, valid, test, none, all");
  }
  if (typed.variants && typed.format != "npy") {
    throw_usage("--ablations writes matrices", "take -O npy -o FILE.npy with it");
  }
  if (typed.scoring.calibrated() != CalibrationMethod::none && typed.variants) {
    throw_usage("--ablations writes scores of one strand and of both, and a calibration is of one of them",
                "predict twice, each time with its --strands");
  }
}

std::unique_ptr<PredictionTargets> make_targets(const PredictCommand& typed,
                                                std::optional<ChromatinDataset>& data,
                                                const SequenceScorer& scorer) {
  if (!typed.records.empty()) return fasta_targets(typed.records, scorer.window());
  if (!typed.regions.empty()) return bed_targets(typed.regions, typed.fasta, scorer.window());
  data.emplace(typed.data, typed.fasta);
  if (data->profiles() != scorer.profiles()) {
    throw_bad_input(typed.data + ": other profiles than the model's",
                    "take the data set that the model was made with, or give bins: -f GENOME -R BED");
  }
  const std::optional<Split> split =
      typed.split == "all" ? std::nullopt
                           : std::optional<Split>(parse_split_side(typed.split, "--split " + typed.split));
  return dataset_targets(*data, split, scorer.window());
}

void say(const PredictionCounts& counts, double max_n) {
  std::string line = fmt::format("{} rows, {} scored", counts.rows, counts.scored);
  if (const auto many = counts.skipped.count(name_of(PredictionStatus::too_many_n)); many > 0)
    line += fmt::format(", {} with a larger fraction of N than {:g}", many, max_n);
  if (const auto many = counts.skipped.count(name_of(PredictionStatus::short_contig)); many > 0)
    line += fmt::format(", {} on contigs shorter than the window", many);
  if (counts.shifted > 0) line += fmt::format("; {} windows moved inwards at a contig's end", counts.shifted);
  log_info(line);
  if (counts.cut > 0) {
    log_warning(
        fmt::format("{} windows have more tokens than the model takes and lost their right end (column cut)",
                    counts.cut));
  }
}

void add_options(Verb& verb, PredictCommand& typed) {
  verb.add_required("-m,--model MODEL", typed.models,
                    "Model folder of chromatin finetune; several are averaged")
      ->allow_extra_args(false);
  verb.add_option("FASTA", typed.records, "Records, each one window; - is stdin");
  verb.add_option("-f,--fasta-ref FASTA", typed.fasta,
                  "Genome of --regions-file or --data (default: the data set's own)");
  verb.add_option("-R,--regions-file BED", typed.regions,
                  "Regions, each a bin as long as the model's target, or a whole window");
  verb.add_option("--data DIR", typed.data, "Data set of chromatin build");
  verb.add_option("--split", typed.split, "Side of --data: train, valid, test, none or all");
  verb.add_option("-o,--output PATH", typed.output, "File, or folder of several tracks; - is stdout (text)");
  verb.add_option("-O,--output-type", typed.format, "Type of the output")
      ->type_name(choices(prediction_format_names));
  typed.scoring.add(verb,
                    {.strands = usual_strands, .calibrated = true, .profiles = "all", .had_batch = true});
  verb.add_option("--max-n", typed.max_n, "Largest fraction of N in a window; the others are not scored",
                  CLI::Range(0.0, 1.0));
  verb.add_flag("--ablations", typed.variants,
                "Write also, next to OUT.npy, which is of all models: OUT.single.npy (first model, forward "
                "strand) and OUT.rc.npy (first model, both strands), for chromatin evaluate");
  typed.work.add(verb);
  typed.work.add_chunk(verb, "windows", windows_of_a_chunk);
  add_machine(verb);
}

}  // namespace

int cmd_chromatin_predict(int argc, char** argv) {
  Verb verb("chromatin predict", "Predict chromatin profiles of bins or sequences: table, matrix or tracks.",
            {("printf 'chr20\\t1292800\\t1293000\\n' | bigbird chromatin predict -m human/tracks -f "
              "bigbird-demo/genome.fa.gz -R - -o profiles.tsv"),
             ("printf 'chr20\\t1292800\\t1293000\\n' | bigbird chromatin predict -m human/tracks -f "
              "bigbird-demo/genome.fa.gz -R - --calibrated isotonic -o calibrated.tsv"),
             ("bigbird chromatin predict -m demo-output/chromatin-run/final --data "
              "demo-output/chromatin --split test -O npy -o test.npy"),
             ("bigbird chromatin predict -m demo-output/chromatin-run/final --data "
              "demo-output/chromatin --split test -O bigwig --profiles 0,2-3 -o tracks"),
             ("for i in 1 2; do bigbird chromatin predict -m demo-output/chromatin-run/final --data "
              "demo-output/chromatin --split test -O h5 --shard $i/2 -o part$i.h5; done")});
  PredictCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  check(typed);
  ChromatinPredictOptions options;
  options.format = parse_prediction_format(typed.format);

  for (const std::string& input : {typed.records, typed.regions, typed.fasta}) require_readable(input);

  const auto backend = verb.make_backend(typed.models);
  SequenceScorer scorer({.models = typed.models,
                         .strands = typed.scoring.strands(),
                         .batch = typed.scoring.batch(),
                         .waits = true},
                        *backend);
  scorer.model().require_task("chromatin");
  const CalibratedScores calibrated(typed.scoring.calibrated(), scorer);
  options.columns = select_profiles(scorer.profiles(), typed.scoring.profiles());
  const std::size_t selected = options.columns.selected.size();
  if (is_track(options.format) && typed.scoring.profiles().empty() && selected > most_tracks) {
    throw_usage(fmt::format("the model has {} profiles, and each is a track", selected),
                "choose some with --profiles");
  }
  std::optional<ChromatinDataset> data;
  const std::unique_ptr<PredictionTargets> targets = make_targets(typed, data, scorer);

  if (verb.provenance()) {
    Provenance provenance = provenance_of_models(verb, typed.fasta, typed.models, scorer.digests());
    calibrated.add_to(provenance);
    std::vector<std::string> lines = provenance_lines(provenance);
    calibrated.add_to(lines);
    const bool has_place = options.format == PredictionFormat::h5;
    options.comments = has_place ? lines : verb.head_of(typed.output, lines);
  }
  options.input = !typed.records.empty()   ? typed.records
                  : !typed.regions.empty() ? typed.regions
                                           : typed.data;
  options.output = typed.output;
  options.max_n = typed.max_n;
  options.variants = typed.variants;
  options.work = typed.work.work(verb);
  const PredictionCounts counts = run_chromatin_predict(options, *targets, scorer, calibrated);
  if (counts.rows > 0) say(counts, typed.max_n);  // nothing was done where the output was whole already
  verb.set_throughput(static_cast<double>(counts.rows), "windows");
  verb.set_cost_of(static_cast<double>(counts.predicted), "window");
  return 0;
}

}  // namespace bigbird::apps
