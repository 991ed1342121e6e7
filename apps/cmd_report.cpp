// `bigbird report`: what verbs have written as a page to look at, and as files for MultiQC.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/model/folder/model_folder.h"
#include "lib/report/ism_logo.h"
#include "lib/report/report_inputs.h"
#include "lib/report/sequence_logo.h"
#include "lib/tasks/genomics/ism.h"
#include "lib/tasks/genomics/variants/allele_key.h"
#include "lib/tasks/strands.h"

namespace bigbird::apps {
namespace {

// Logos of the bases around alleles, by a model: of the window and on the strands that the allele's scores
// are of.
class Logos {
 public:
  // `strands_typed`: those of the options, whatever the scores were made with.
  Logos(const IsmOptions& options, bool strands_typed, kernels::Backend& backend, std::int64_t reach,
        std::size_t most)
      : options_(options),
        strands_typed_(strands_typed),
        backend_(backend),
        fasta_(options.fasta),
        contigs_(fasta_.contigs()),
        keys_(fasta_, contigs_),
        reach_(reach),
        most_(most),
        progress_("logos", 0, "sequences") {}

  ReportPicture draw(const StrongAllele& allele) {
    if (drawn_ == most_) return {};
    ++drawn_;
    // Its window stands at the first base that changes, trimmed and left-aligned.
    const auto key = keys_.of(allele.chrom, allele.position, allele.ref, allele.alt);
    const std::int64_t place =
        key ? static_cast<std::int64_t>(key->place & position_of_place) - 1 : allele.position;
    const IsmResult result = mutator_of(allele.windows).around(allele.chrom, place, reach_, progress_);
    tell_difference(allele.windows, result);
    const auto profile = static_cast<std::size_t>(std::max<std::int64_t>(allele.profile, 0));
    const auto found = std::find(result.selected.begin(), result.selected.end(), profile);
    const auto row =
        found == result.selected.end() ? 0 : static_cast<std::size_t>(found - result.selected.begin());
    return {fmt::format("{}:{} {}>{}, {}", allele.chrom, allele.position + 1, allele.ref, allele.alt,
                        result.profiles[result.selected[row]].name),
            sequence_logo_svg(ism_logo(result, row, IsmValue::difference))};
  }

 private:
  RegionMutator& mutator_of(const ScoredWindows& windows) {
    IsmOptions options = options_;
    if (!strands_typed_ && !windows.strands.empty()) options.strands = parse_strands(windows.strands);
    options.offset = windows.offset;
    if (!mutator_ || options.strands != made_.strands || options.offset != made_.offset) {
      mutator_.reset();  // one model in memory at a time
      mutator_ = std::make_unique<RegionMutator>(options, backend_);
      made_ = options;
    }
    return *mutator_;
  }

  static void tell_difference(const ScoredWindows& windows, const IsmResult& result) {
    const bool other_length = windows.length > 0 && windows.length != result.window_length;
    const bool other_strands = !windows.strands.empty() && parse_strands(windows.strands) != result.strands;
    if (windows.alone && !other_length && !other_strands) return;
    log_warning_once(
        fmt::format("logos are of one window of {} bp, on strands {}; scores of the table are not ({})",
                    result.window_length, name_of(result.strands),
                    !windows.alone ? "they are of a bin, or of several shifts"
                    : other_length ? fmt::format("{} bp", windows.length)
                                   : "strands " + windows.strands));
  }

  IsmOptions options_;
  bool strands_typed_;
  kernels::Backend& backend_;
  Fasta fasta_;
  ContigNames contigs_;
  AlleleKeys keys_;
  std::unique_ptr<RegionMutator> mutator_;  // null at first
  IsmOptions made_;                         // what it was made with
  std::int64_t reach_;
  std::size_t most_;
  std::size_t drawn_ = 0;
  Progress progress_;
};

void write_files(const std::string& folder, const std::map<std::string, std::string>& files,
                 OutputSet& outputs) {
  outputs.make_folder(folder);
  for (const auto& [name, text] : files) {
    outputs.add({"--multiqc", folder + "/" + name});
    write_text_atomic(folder + "/" + name, text);
  }
}

}  // namespace

int cmd_report(int argc, char** argv) {
  Verb verb(
      "report",
      "Make a page of what verbs have written: runs, evaluations, scored variants, scans, jobs in shards.",
      {"bigbird report run -o run.html", "bigbird report run another-run -o runs.html",
       "bigbird report predictions.tsv evaluation.json -o evaluation.html",
       "bigbird report scored.vcf.gz -m run/final -f genome.fa.gz --logos 10 -o variants.html",
       "bigbird report scan.bw calls.bed --multiqc multiqc -o scan.html",
       "bigbird report scored.vcf.gz.shards -o job.html"});
  std::vector<std::string> inputs;
  std::string output, multiqc;
  ReportOptions options;
  IsmOptions ism;
  std::int64_t bases = 41;
  std::size_t logos = 50;
  ScoringOptions scoring;
  CLI::App& app = verb.app();
  app.add_option(
         "INPUT", inputs,
         "Run folders, which share their charts; evaluations (JSON or table), predictions with labels, "
         "reliability curves; outputs of `variants` and `promoter scan` with their summaries beside them, "
         "called promoters; a folder OUT.shards; pictures (.svg)")
      ->required();
  app.add_option("-o,--output", output, "HTML page to write")->required()->type_name("FILE");
  app.add_option("--multiqc", multiqc, "Folder for the same numbers as files *_mqc.json, which MultiQC reads")
      ->type_name("DIR");
  app.add_option("--threshold", options.threshold, "Predictions from here on count as positive");
  app.add_option("--strongest", options.strongest, "Variants and calls that are listed")
      ->transform(count_suffix())
      ->check(CLI::Range(0, 10'000));
  app.add_option(
         "-m,--model", ism.models,
         "Model that scored the variants: logos of the bases around the strongest, from every substitution")
      ->allow_extra_args(false)
      ->type_name("MODEL");
  app.add_option("-f,--fasta-ref", ism.fasta, "Genome of the variants (--model)")->type_name("FASTA");
  app.add_option("--logos", logos, "Variants with a logo, from the strongest on (--model)")
      ->check(CLI::Range(0, 1000));
  app.add_option("--logo-bases", bases, "Bases of a logo, the variant in their middle (--model)")
      ->check(CLI::Range(1, 201));
  scoring.add(verb, {.strands = Strands::both});
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  if (!verb.parse(argc, argv)) return 0;
  if (ism.models.empty() != ism.fasta.empty())
    throw_usage("report: logos need --model and --fasta-ref", "give both, or none of them");

  std::unique_ptr<kernels::Backend> backend;
  std::unique_ptr<Logos> drawing;
  AllelePicture picture;
  if (!ism.models.empty()) {
    ism.strands = scoring.strands();
    ism.batch = scoring.batch();
    require_model_folders(ism.models);
    backend = verb.make_backend();
    drawing = std::make_unique<Logos>(ism, scoring.strands_typed(), *backend, bases / 2, logos);
    picture = [&](const StrongAllele& allele) { return drawing->draw(allele); };
  }
  Report report = make_report(inputs, options, picture);
  if (verb.provenance()) report.provenance.push_back("bigbird " + bigbird_version() + ": " + verb.command());
  const std::string page = report_html(report);
  OutputSet outputs({{"--output", output}});
  if (!multiqc.empty()) write_files(multiqc, multiqc_files(report, multiqc), outputs);
  write_text_atomic(output, page);
  outputs.commit();
  return 0;
}

}  // namespace bigbird::apps
