// `bigbird chromatin predict`: probabilities of chromatin profiles for bins, windows or a data set.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/tasks/genomics/chromatin/predict.h"
#include "lib/tasks/genomics/chromatin/predict_output.h"

namespace bigbird::apps {
namespace {

constexpr std::size_t most_tracks = 64;  // without a choice of profiles

struct PredictCommand {
  std::vector<std::string> models;
  std::string records, fasta, regions, data;
  std::string split = "test";
  std::string output = "-";
  std::string format = "tsv";
  ScoringOptions scoring;
  double max_n = 0.5;
  bool variants = false;
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
    throw_usage("--variants writes matrices", "take -O npy -o FILE.npy with it");
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

// "p.npy" -> "p.single.npy"
std::string beside(const std::string& output, const std::string& variant) {
  return output.substr(0, output.rfind('.')) + "." + variant + ".npy";
}

// One matrix beside the main one: fewer models, or fewer strands.
struct Variant {
  std::string name;
  std::size_t models = 1;
  std::size_t strands = 1;
  std::unique_ptr<PredictionSink> sink;
};

std::vector<Variant> make_variants(const PredictCommand& typed, const SequenceScorer& scorer,
                                   const PredictionColumns& columns) {
  std::vector<Variant> variants;
  if (!typed.variants) return variants;
  const auto add = [&](const std::string& name, std::size_t models, std::size_t strands) {
    variants.push_back({name, models, strands, make_matrix_sink(beside(typed.output, name), columns)});
  };
  add("single", 1, 1);
  if (scorer.strands() > 1) add("rc", 1, 2);
  return variants;
}

// The mean over the first `models` models and `strands` strands, summed in a fixed order.
void mean_values(const SequenceScores& scores, std::size_t models, std::size_t strands,
                 const PredictionColumns& columns, std::vector<float>& values) {
  values.clear();
  for (const std::size_t output : columns.selected) {
    double sum = 0;
    for (std::size_t strand = 0; strand < strands; ++strand) {
      for (std::size_t model = 0; model < models; ++model) sum += scores.at(model, strand, output);
    }
    values.push_back(static_cast<float>(sum / static_cast<double>(models * strands)));
  }
}

void say(const PredictionCounts& counts, double max_n) {
  std::string line = fmt::format("{} rows, {} scored", counts.rows, counts.scored);
  if (const auto many = counts.skipped.count(name_of(PredictionStatus::too_many_n)); many > 0)
    line += fmt::format(", {} with a larger share of N than {:g}", many, max_n);
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

}  // namespace

int cmd_chromatin_predict(int argc, char** argv) {
  Verb verb("chromatin predict", "Predict chromatin profiles of bins: table, matrix or genome tracks.",
            {"bigbird chromatin predict -m run/final -f hg19.fa -R bins.bed -o predictions.tsv",
             "bigbird chromatin predict -m run/final --data chromatin --split test -O npy -o test.npy",
             "bigbird chromatin predict -m run1/final -m run2/final -f hg19.fa -R bins.bed -O bigwig "
             "--profiles 0,125-130 -o tracks",
             "bigbird chromatin predict -m run/final windows.fa"});
  PredictCommand typed;
  CLI::App& app = verb.app();
  app.add_option("-m,--model", typed.models, "Model folder of chromatin finetune; several are averaged")
      ->required()
      ->allow_extra_args(false)
      ->type_name("MODEL");
  app.add_option("FASTA", typed.records, "Every record is one window; - is stdin");
  app.add_option("-f,--fasta-ref", typed.fasta, "Genome for --regions-file, or instead of the data set's")
      ->type_name("FASTA");
  app.add_option("-R,--regions-file", typed.regions, "Bins as long as the model's target, or whole windows")
      ->type_name("BED");
  app.add_option("--data", typed.data, "Data set of chromatin build")->type_name("DIR");
  app.add_option("--split", typed.split, "Of --data: train, valid, test, none or all");
  app.add_option("-o,--output", typed.output, "File, or folder of several tracks; - is stdout (text)")
      ->type_name("PATH");
  app.add_option("-O,--output-format", typed.format, "tsv, npy, h5, bedgraph or bigwig");
  typed.scoring.add(verb, {.strands = Strands::both, .profiles = "all", .had_batch = true});
  app.add_option("--max-n", typed.max_n, "Windows with a larger share of N are not scored")
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--variants", typed.variants,
               "Beside OUT.npy, of all models: OUT.single.npy (first model, forward strand) and OUT.rc.npy "
               "(first model, both strands), for chromatin evaluate");
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  if (!verb.parse(argc, argv)) return 0;
  check(typed);
  const PredictionFormat format = parse_prediction_format(typed.format);

  const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  SequenceScorer scorer({typed.models, typed.scoring.strands(), typed.scoring.batch()}, *backend);
  scorer.model().require_task("chromatin");
  const PredictionColumns columns = select_profiles(scorer.profiles(), typed.scoring.profiles());
  const bool tracks = format == PredictionFormat::bedgraph || format == PredictionFormat::bigwig;
  if (tracks && typed.scoring.profiles().empty() && columns.selected.size() > most_tracks) {
    throw_usage(fmt::format("the model has {} profiles, and each is a track", columns.selected.size()),
                "choose some with --profiles");
  }
  std::optional<ChromatinDataset> data;
  const std::unique_ptr<PredictionTargets> targets = make_targets(typed, data, scorer);

  std::vector<std::string> comments;
  if (verb.provenance()) {
    Provenance provenance{bigbird_version(), verb.command(), std::nullopt, typed.fasta, {}};
    for (std::size_t i = 0; i < typed.models.size(); ++i) {
      provenance.inputs.push_back({"model", typed.models[i], scorer.digests()[i]});
    }
    comments = provenance_lines(provenance);
  }
  const std::unique_ptr<PredictionSink> sink =
      make_prediction_sink(format, typed.output, columns, targets->contigs(), comments);
  const std::vector<Variant> variants = make_variants(typed, scorer, columns);
  std::vector<float> values;
  const PredictionCounts counts = predict_chromatin(
      *targets, scorer, typed.max_n, [&](const PredictedRow& row, const SequenceScores* scores) {
        for (const Variant& variant : variants) {
          values.clear();
          if (scores != nullptr) mean_values(*scores, variant.models, variant.strands, columns, values);
          variant.sink->add(row, values);
        }
        values.clear();
        if (scores != nullptr) mean_values(*scores, scorer.models(), scorer.strands(), columns, values);
        sink->add(row, values);
      });
  const std::string source = !typed.records.empty()   ? typed.records
                             : !typed.regions.empty() ? typed.regions
                                                      : typed.data;
  if (counts.rows == 0) throw_bad_input(source + ": there is nothing to predict");
  say(counts, typed.max_n);
  if (counts.scored == 0) throw_bad_input(source + ": no window could be scored", "see --max-n");
  for (const Variant& variant : variants) variant.sink->close();
  sink->close();
  verb.set_throughput(static_cast<double>(counts.rows), "windows");
  return 0;
}

}  // namespace bigbird::apps
