// What `bigbird demo` does; see demo.h.
#include "lib/report/demo.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "lib/core/error.h"
#include "lib/genomics/ism.h"
#include "lib/genomics/variants/run.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/region.h"
#include "lib/io/tables/tsv.h"
#include "lib/report/sequence_logo.h"

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

struct RankedVariant {
  DemoVariant variant;
  double e = 0.0;
  double effect = 0.0;
};

std::vector<DemoVariant> strongest_of(const std::string& table) {
  constexpr std::array<const char*, 8> names = {"chrom", "pos", "ref", "alt", "profile", "diff", "lfc", "e"};
  TsvReader rows(table);
  std::array<std::size_t, names.size()> at{};
  for (std::size_t i = 0; i < names.size(); ++i) at[i] = rows.column(names[i]);
  std::vector<RankedVariant> ranked;
  std::vector<std::string_view> fields;
  while (rows.next(fields)) {
    const auto text = [&](std::size_t i) { return std::string(fields[at[i]]); };
    if (text(7) == ".") continue;  // it was not scored
    const auto number = [&](std::size_t i) { return parse_number(fields[at[i]], rows.where(), names[i]); };
    const auto integer = [&](std::size_t i) { return parse_integer(fields[at[i]], rows.where(), names[i]); };
    ranked.push_back({{text(0), text(2), text(3), integer(1), static_cast<std::size_t>(integer(4)), text(5),
                       text(6), text(7)},
                      number(7),
                      std::abs(number(5) * number(6))});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const RankedVariant& a, const RankedVariant& b) {
    return a.e != b.e ? a.e < b.e : a.effect > b.effect;
  });
  std::vector<DemoVariant> strongest;
  for (RankedVariant& one : ranked) {
    if (strongest.size() < most_demo_variants) strongest.push_back(std::move(one.variant));
  }
  return strongest;
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
    variants.scoring.input = "strain.vcf.gz";
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
    ism.profiles = std::to_string(first.profile);
    ism.value = IsmValue::log_fold_change;
    const IsmResult effects = mutate_region(ism, backend);
    write_text_atomic("effects.svg", sequence_logo_svg(ism_logo(effects, 0, ism.value)));
    write_ism("effects.tsv", effects, options.provenance);
  }
  folder.commit();
  return result;
}

}  // namespace bigbird
