// What `bigbird demo` does; see demo.h.
#include "lib/report/demo.h"

#include <cmath>
#include <filesystem>
#include <system_error>

#include "lib/core/error.h"
#include "lib/genomics/ism.h"
#include "lib/genomics/variants/run.h"
#include "lib/inference/model_task.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/region.h"
#include "lib/report/report_inputs.h"
#include "lib/report/sequence_logo.h"
#include "lib/report/strongest_alleles.h"

namespace bigbird {
namespace {

constexpr std::int64_t demo_reach = 30;  // bases of the logo to either side of the variant
constexpr std::size_t most_demo_variants = 5;

// Works in a folder, and goes back at the end of the scope.
class InFolder {
 public:
  explicit InFolder(const std::string& path) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  ~InFolder() {
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
  }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  std::filesystem::path before_;
};

// By E-value, of equal ones the larger effects first.
std::vector<DemoVariant> strongest_of(const std::string& path) {
  VariantTable table(path);
  const std::size_t difference = table.column("diff"), fold_change = table.column("lfc"),
                    e = table.column("e"), profile = table.column("profile");
  StrongestAlleles strongest(most_demo_variants);
  VariantRow row;
  while (table.next(row)) {
    const double effect = number_in(row, difference, table) * number_in(row, fold_change, table);
    strongest.take(row, {-number_in(row, e, table), std::abs(effect)});
  }
  std::vector<DemoVariant> variants;
  for (const RankedAllele& one : strongest.rows()) {
    const VariantRow& at = one.row;
    variants.push_back({at.chrom, at.ref, at.alt, at.position + 1, at.fields[profile], at.fields[difference],
                        at.fields[fold_change], at.fields[e]});
  }
  return variants;
}

// The one VCF of a folder. Error{environment}: there is none.
std::string variants_of(const std::string& folder) {
  for (const std::string& name : names_in(folder)) {
    if (name.ends_with(".vcf.gz")) return name;
  }
  throw_environment(folder + ": no file *.vcf.gz", "install the program anew, with its models");
}

// What `bigbird report scored.tsv` makes of the scores, with logos of the strongest.
void write_page(const std::string& tracks, const std::string& fasta, kernels::Backend& backend) {
  IsmOptions ism;
  ism.models = {tracks};
  ism.fasta = fasta;
  ism.strands = Strands::both;
  const AllelePicture picture = allele_logos(ism, false, backend, demo_logo_bases / 2, demo_logos);
  write_text_atomic("report.html", report_html(make_report({"scored.tsv"}, {}, picture)));
}

}  // namespace

DemoResult run_demo(const DemoOptions& options, SequenceScorer& scorer, kernels::Backend& backend) {
  AtomicFolder folder(std::filesystem::absolute(options.output).string(), options.replace);
  for (const auto& file : std::filesystem::directory_iterator(options.model + "/demo"))
    std::filesystem::copy_file(file.path(), folder.file(file.path().filename().string()));
  DemoResult result;
  {
    const InFolder inside(folder.path());
    VariantRunOptions variants;
    result.variants = variants_of(".");
    variants.scoring.input = result.variants;
    variants.scoring.fasta = "genome.fa.gz";
    variants.background = options.model + "/background.safetensors";
    variants.output = "scored.tsv";
    variants.format = VariantFormat::tsv;
    variants.provenance = options.provenance;
    result.tally = run_variants(variants, scorer).tally;
    result.strongest = strongest_of(variants.output);

    const DemoVariant& first = result.strongest.front();  // a run that scored nothing has thrown
    IsmOptions ism;
    ism.models = {options.model + "/tracks"};
    ism.fasta = variants.scoring.fasta;
    ism.region = result.drawn =
        format_region(first.chrom, first.position - 1 - demo_reach, first.position + demo_reach);
    const auto drawn = find_profile(scorer.profiles(), first.profile);
    ism.profiles = std::to_string(drawn.value_or(0));
    ism.value = IsmValue::log_fold_change;
    const IsmResult effects = mutate_region(ism, backend);
    write_text_atomic("effects.svg", sequence_logo_svg(ism_logo(effects, 0, ism.value)));
    write_ism("effects.tsv", effects, {});
    write_page(options.model + "/tracks", variants.scoring.fasta, backend);
    for (const char* table : {"scored.tsv", "effects.tsv"}) {
      if (!options.provenance.empty())
        write_text_atomic(provenance_path(table), provenance_json(options.provenance) + "\n");
    }
  }
  folder.commit();
  return result;
}

}  // namespace bigbird
