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
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/tables/tsv.h"
#include "lib/model/folder/model_folder.h"
#include "lib/tasks/genomics/promoter/evaluate.h"
#include "lib/tasks/genomics/promoter/labelled_sequences.h"
#include "lib/tasks/genomics/promoter/predict.h"

namespace bigbird::apps {

int cmd_promoter_predict(int argc, char** argv) {
  Verb verb("promoter predict", "Score windows with a fine-tuned promoter model; TSV on stdout.",
            {"bigbird promoter predict -m run/final windows.fa",
             "bigbird promoter predict -m run/final -f genome.fa.gz -R windows.bed -o scores.tsv",
             "bigbird promoter predict -m run/final --data promoters/test.tsv -o predictions.tsv",
             "bigbird promoter predict -m run/final --data test.csv -o predictions.tsv",
             "bigbird promoter predict -m run/final windows.fa --calibrated platt"});
  std::vector<std::string> models;
  std::string records, fasta, regions;
  LabelledSource data;
  std::string output = "-";
  ScoringOptions scoring;
  double max_n = 0.5;
  CLI::App& app = verb.app();
  app.add_option("-m,--model", models, "Model folder of promoter finetune; several are averaged")
      ->required()
      ->allow_extra_args(false)
      ->type_name("MODEL");
  app.add_option("FASTA", records, "Every record is one window, on the forward strand");
  app.add_option("-f,--fasta-ref", fasta, "Genome for --regions-file")->type_name("FASTA");
  app.add_option("-R,--regions-file", regions, "Windows; strand - is reverse-complemented")->type_name("BED");
  app.add_option(
         "--data", data.path,
         "Labelled sequences, whose labels are carried over: a file of promoter build, a TSV or CSV with "
         "the columns sequence and label, or a FASTA of class 1")
      ->type_name("FILE");
  app.add_option("--data-negatives", data.negatives, "FASTA of class 0, where --data is one of class 1")
      ->type_name("FASTA");
  app.add_option("-o,--output", output, "Where the TSV goes; - is stdout")->type_name("FILE");
  app.add_option("--max-n", max_n, "Windows with a larger share of N are not scored: their score is .")
      ->check(CLI::Range(0.0, 1.0));
  scoring.add(verb, {.strands = Strands::forward, .calibrated = true, .had_batch = true});
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  verb.add_random_mode();
  if (!verb.parse(argc, argv)) return 0;

  const CalibrationMethod method = scoring.calibrated();
  const int sources = (records.empty() ? 0 : 1) + (regions.empty() ? 0 : 1) + (data.empty() ? 0 : 1);
  if (sources != 1 || regions.empty() != fasta.empty() || (data.empty() && !data.negatives.empty())) {
    throw_usage("give the windows in one way", "a FASTA, or --fasta-ref with --regions-file, or --data FILE");
  }
  const std::unique_ptr<WindowReader> windows = !records.empty()   ? read_fasta_windows(records)
                                                : !regions.empty() ? read_bed_windows(regions, fasta)
                                                                   : read_labelled_windows(data);
  require_model_folders(models);
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  SequenceScorer scorer({models, scoring.strands(), scoring.batch()}, *backend);
  require_classes(scorer);
  const std::size_t classes = classes_of(scorer);
  const CalibratedScores calibrated(method, scorer);

  std::vector<std::string> comments;
  if (verb.provenance()) {
    Provenance provenance{bigbird_version(), verb.command(), std::nullopt, fasta, {}};
    for (std::size_t i = 0; i < models.size(); ++i)
      provenance.inputs.push_back(model_input(models[i], scorer.digests()[i]));
    calibrated.add_to(provenance);
    comments = provenance_lines(provenance);
    calibrated.add_to(comments);
    const std::string negatives = data.empty() ? std::string() : read_promoter_facts(data).negatives;
    if (!negatives.empty()) comments.push_back(negatives_comment(negatives));
  }
  OutputStream out(output);
  std::vector<std::string> columns = {"id", "chrom", "start", "end", "strand"};
  if (!data.empty()) columns.emplace_back("label");
  columns.emplace_back("n_share");
  if (classes == 2) {
    columns.emplace_back("score");
  } else {
    for (std::size_t c = 0; c < classes; ++c) columns.push_back(fmt::format("p{}", c));
  }
  TsvWriter table(out, columns, comments);
  std::vector<std::string> fields;
  const std::int64_t count = predict_promoters(
      scorer, calibrated, *windows, max_n, [&](const Window& window, std::span<const double> probabilities) {
        fields = {window.id, window.chrom, std::to_string(window.begin), std::to_string(window.end),
                  std::string(1, window.strand)};
        if (!data.empty()) fields.push_back(std::to_string(window.label));
        fields.push_back(fmt::format("{:.6g}", share_of_n(window.sequence)));
        for (std::size_t k = 0; k < scorer.outputs(); ++k)
          fields.push_back(probabilities.empty() ? "." : fmt::format("{:.9g}", probabilities[k]));
        table.row(fields);
      });
  if (count == 0) {
    throw_bad_input(fmt::format("{}: no windows", !records.empty()   ? records
                                                  : !regions.empty() ? regions
                                                                     : data.path));
  }
  out.close();
  verb.set_throughput(static_cast<double>(count), "windows");
  return 0;
}

}  // namespace bigbird::apps
