// A logo of substitutions; see ism_logo.h.
#include "lib/report/ism_logo.h"

#include <fmt/format.h>

#include "lib/io/genome/region.h"

namespace bigbird {

SequenceLogo ism_logo(const IsmResult& result, std::size_t selected, IsmValue value) {
  SequenceLogo logo;
  const std::size_t profile = result.selected[selected];
  const std::string& group = result.profiles[profile].group;
  logo.title = format_region(result.chrom, result.begin, result.end);
  logo.subtitle = fmt::format(
      "profile {}: {}{} · {} of each substitution, {}", profile, result.profiles[profile].name,
      group == "." ? "" : " (" + group + ")",
      value == IsmValue::difference ? "difference of the prediction" : "log2 fold change of the odds",
      result.strands == Strands::both ? "mean of both strands" : name_of(result.strands) + " strand");
  logo.contig = result.chrom;
  logo.first_position = result.begin + 1;
  logo.bases = result.bases;
  for (std::size_t base = 0; base < result.bases.size(); ++base) {
    const auto effects = result.at(selected, base);
    logo.effects.insert(logo.effects.end(), effects.begin(), effects.end());
  }
  return logo;
}

}  // namespace bigbird
