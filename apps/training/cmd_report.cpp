// `bigbird report`: what verbs have written as a page to look at, and as files for MultiQC.

#include <memory>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/genomics/ism.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/report/report_inputs.h"
#include "lib/report/sequence_logo.h"

namespace bigbird::apps {
namespace {

void write_files(const std::string& folder, const std::map<std::string, std::string>& files,
                 OutputSet& outputs) {
  outputs.make_folder(folder);
  for (const auto& [name, text] : files) {
    outputs.add({"--multiqc", folder + "/" + name});
    write_text_atomic(folder + "/" + name, text);
  }
}

struct ReportCommand {
  std::vector<std::string> inputs;
  std::string output, multiqc;
  ReportOptions options;
  IsmOptions ism;
  std::int64_t bases = 41;
  std::size_t logos = 50;
  ScoringOptions scoring;
};

void add_options(Verb& verb, ReportCommand& typed) {
  verb.add_required(
      "INPUT", typed.inputs,
      std::string("Inputs, any of: ") + report_kinds +
          ". Runs share their charts; summaries of `variants` and `promoter scan` are next to their outputs");
  verb.add_required("-o,--output FILE", typed.output, "HTML page to write");
  verb.add_option("--multiqc DIR", typed.multiqc,
                  "Folder for the same numbers as files *_mqc.json, which MultiQC reads");
  verb.add_option("--threshold", typed.options.threshold, "Lowest score that counts as positive");
  verb.add_count("--strongest", typed.options.strongest, "Variants and calls that are listed",
                 CLI::Range(0, 10'000));
  verb.add_option(
          "-m,--model MODEL", typed.ism.models,
          "Model that scored the variants: logos of the bases around the strongest, from every substitution")
      ->allow_extra_args(false);
  verb.add_option("-f,--fasta-ref FASTA", typed.ism.fasta, "Genome of the variants (--model)");
  verb.add_option("--logos", typed.logos, "Variants with a logo, from the strongest on (--model)",
                  CLI::Range(0, 1000));
  verb.add_option("--logo-bases", typed.bases, "Bases of a logo, the variant in their middle (--model)",
                  CLI::Range(1, 201));
  typed.scoring.add(verb, {.strands = usual_strands});
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
}

}  // namespace

int cmd_report(int argc, char** argv) {
  Verb verb(
      "report",
      "Make a page of what verbs have written: runs, evaluations, scored variants, scans, jobs in shards.",
      {"bigbird report demo-output/pretrain -o run.html",
       "bigbird report demo-output/pretrain demo-output/chromatin-run -o runs.html",
       "bigbird report demo-output/predictions.tsv demo-output/promoter.json -o evaluation.html",
       ("bigbird report demo-output/scored.vcf.gz -m demo-output/chromatin-run/final -f "
        "demo-output/genome/genome.fa.gz --logos 3 -o variants.html"),
       "bigbird report demo-output/scan.bw demo-output/calls.bed --multiqc multiqc -o scan.html",
       "bigbird report scored.vcf.gz.shards -o job.html"});
  ReportCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  auto& [inputs, output, multiqc, options, ism, bases, logos, scoring] = typed;
  if (ism.models.empty() != ism.fasta.empty())
    throw_usage("report: logos need --model and --fasta-ref", "give both, or none of them");

  std::unique_ptr<kernels::Backend> backend;
  AllelePicture picture;
  if (!ism.models.empty()) {
    ism.strands = scoring.strands();
    ism.batch = scoring.batch();
    backend = verb.make_backend(ism.models);
    picture = allele_logos(ism, scoring.strands_typed(verb), *backend, bases / 2, logos);
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
