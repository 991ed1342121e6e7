// `bigbird promoter predict`: promoter probabilities of windows, as TSV.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "lib/calibration/calibration_file.h"
#include "lib/core/error.h"
#include "lib/genomics/promoter/labelled_sequences.h"
#include "lib/genomics/promoter/predict.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/most_n.h"
#include "lib/io/tables/tsv.h"

namespace bigbird::apps {
namespace {

struct PromoterPredictCommand {
  std::vector<std::string> models;
  std::string records, fasta, regions;
  LabelledSource data;
  std::string output = "-";
  ScoringOptions scoring;
  double max_n = most_n_of_scored_window;
};

// A row for each window; their number.
std::int64_t write_table(const PromoterPredictCommand& typed, SequenceScorer& scorer,
                         const CalibratedScores& calibrated, WindowReader& windows,
                         const std::vector<std::string>& comments, OutputStream& out) {
  std::vector<std::string> columns = {"id", "chrom", "start", "end", "strand"};
  if (!typed.data.empty()) columns.emplace_back("label");
  columns.emplace_back("n_share");
  if (const std::size_t classes = classes_of(scorer); classes == 2) {
    columns.emplace_back("score");
  } else {
    for (std::size_t c = 0; c < classes; ++c) columns.push_back(fmt::format("p{}", c));
  }
  TsvWriter table(out, columns, comments);
  std::vector<std::string> fields;
  return predict_promoters(
      scorer, calibrated, windows, typed.max_n,
      [&](const Window& window, std::span<const double> probabilities) {
        fields = {window.id, text_field(window.chrom), std::to_string(window.begin),
                  std::to_string(window.end), text_field(std::string(1, window.strand))};
        if (!typed.data.empty()) fields.push_back(std::to_string(window.label));
        fields.push_back(fmt::format("{:.6g}", share_of_n(window.sequence)));
        for (std::size_t k = 0; k < scorer.outputs(); ++k)
          fields.push_back(probabilities.empty() ? missing_field : fmt::format("{:.9g}", probabilities[k]));
        table.row(fields);
      });
}

void add_options(Verb& verb, PromoterPredictCommand& typed) {
  verb.add_required("-m,--model MODEL", typed.models,
                    "Model folder of promoter finetune; several are averaged")
      ->allow_extra_args(false);
  verb.add_option("FASTA", typed.records, "Records, each one window, on the forward strand");
  verb.add_option("-f,--fasta-ref FASTA", typed.fasta, "Genome for --regions-file");
  verb.add_option("-R,--regions-file BED", typed.regions,
                  "Regions, each a window; strand - is reverse-complemented");
  verb.add_option(
      "--data FILE", typed.data.path,
      "Labelled sequences, whose labels are carried over: a file of promoter build, a TSV or CSV with "
      "the columns sequence and label, or a FASTA of class 1");
  verb.add_option("--data-negatives FASTA", typed.data.negatives,
                  "FASTA of class 0, where --data is one of class 1");
  verb.add_option("-o,--output FILE", typed.output, "TSV to write; - is stdout");
  verb.add_option("--max-n", typed.max_n, "Largest fraction of N in a window; the score of the others is NA",
                  CLI::Range(0.0, 1.0));
  typed.scoring.add(verb, {.strands = usual_strands, .calibrated = true, .had_batch = true});
  add_machine(verb);
}

}  // namespace

int cmd_promoter_predict(int argc, char** argv) {
  Verb verb("promoter predict",
            "Score windows of FASTA, BED or labelled sequences with a fine-tuned promoter model.",
            {("awk 'NR > 1 { print \">\" $1 \"\\n\" $8 }' demo-output/promoters/test.tsv | bigbird "
              "promoter predict -m demo-output/finetune/final -"),
             ("awk -v OFS='\\t' 'NR > 1 { print $2, $3, $4, $1, 0, $5 }' "
              "demo-output/promoters/test.tsv | bigbird promoter predict -m demo-output/finetune/final "
              "-f demo-output/genome/genome.fa.gz -R - -o scores.tsv"),
             ("bigbird promoter predict -m demo-output/finetune/final --data "
              "demo-output/promoters/test.tsv -o predictions.tsv"),
             ("printf 'chrXV\\t160000\\t162000\\n' | bigbird promoter predict -m yeast-r64/promoters "
              "-f tour/genome.fa.gz -R - --calibrated platt -o calibrated.tsv")});
  PromoterPredictCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;

  const CalibrationMethod method = typed.scoring.calibrated();
  const int sources =
      (typed.records.empty() ? 0 : 1) + (typed.regions.empty() ? 0 : 1) + (typed.data.empty() ? 0 : 1);
  if (sources != 1 || typed.regions.empty() != typed.fasta.empty() ||
      (typed.data.empty() && !typed.data.negatives.empty())) {
    throw_usage("give the windows in one way", "a FASTA, or --fasta-ref with --regions-file, or --data FILE");
  }
  const std::unique_ptr<WindowReader> windows = !typed.records.empty() ? read_fasta_windows(typed.records)
                                                : !typed.regions.empty()
                                                    ? read_bed_windows(typed.regions, typed.fasta)
                                                    : read_labelled_windows(typed.data);
  const auto backend = verb.make_backend(typed.models);
  Strands strands = typed.scoring.strands();
  if (method != CalibrationMethod::none && !typed.scoring.strands_typed(verb))
    strands = strands_of_calibration(typed.models.front()).value_or(strands);
  SequenceScorer scorer({typed.models, strands, typed.scoring.batch()}, *backend);
  require_classes(scorer);
  const CalibratedScores calibrated(method, scorer);

  std::vector<std::string> comments;
  if (verb.provenance()) {
    Provenance provenance = provenance_of_models(verb, typed.fasta, typed.models, scorer.digests());
    calibrated.add_to(provenance);
    comments = provenance_lines(provenance);
    calibrated.add_to(comments);
    const std::string negatives =
        typed.data.empty() ? std::string() : read_promoter_facts(typed.data).negatives;
    if (!negatives.empty()) comments.push_back(negatives_comment(negatives));
    comments = verb.head_of(typed.output, comments);
  }
  OutputStream out(typed.output);
  const std::int64_t count = write_table(typed, scorer, calibrated, *windows, comments, out);
  if (count == 0) {
    throw_bad_input(fmt::format("{}: no windows", !typed.records.empty()   ? typed.records
                                                  : !typed.regions.empty() ? typed.regions
                                                                           : typed.data.path));
  }
  out.close();
  verb.set_throughput(static_cast<double>(count), "windows");
  return 0;
}

}  // namespace bigbird::apps
