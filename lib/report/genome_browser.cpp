// Addresses of UCSC's pages; see genome_browser.h. Their form:
// https://genome.ucsc.edu/goldenPath/help/customTrack.html.
#include "lib/report/genome_browser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "lib/core/error.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {
namespace {

constexpr std::int64_t shown_around = 100;  // bases on each side

// Of S288C R64, by UCSC's names; lengths are those of sacCer3.
struct YeastChromosome {
  std::string_view name;
  std::int64_t length;
};
constexpr std::array<YeastChromosome, 16> yeast_r64{{
    {"chrI", 230218},
    {"chrII", 813184},
    {"chrIII", 316620},
    {"chrIV", 1531933},
    {"chrV", 576874},
    {"chrVI", 270161},
    {"chrVII", 1090940},
    {"chrVIII", 562643},
    {"chrIX", 439888},
    {"chrX", 745751},
    {"chrXI", 666816},
    {"chrXII", 1078177},
    {"chrXIII", 924431},
    {"chrXIV", 784333},
    {"chrXV", 1091291},
    {"chrXVI", 948066},
}};

struct BrowserContig {
  std::string_view database;
  std::string name;
};

std::optional<BrowserContig> browser_contig(const Contig& contig) {
  const std::string assembly = assembly_of(contig);
  if (!assembly.empty())
    return BrowserContig{assembly == "GRCh37" ? "hg19" : "hg38", "chr" + canonical_contig_name(contig.name)};
  const auto yeast = std::find_if(yeast_r64.begin(), yeast_r64.end(), [&](const YeastChromosome& each) {
    return each.name == contig.name && each.length == contig.length;
  });
  if (yeast != yeast_r64.end()) return BrowserContig{"sacCer3", contig.name};
  return std::nullopt;
}

}  // namespace

GenomeBrowser GenomeBrowser::of_fasta(const std::string& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path + ".fai", error)) return GenomeBrowser({});
  try {
    return GenomeBrowser(load_fai(path));
  } catch (const Error&) {  // an index of another file: no reason to be without a report
    return GenomeBrowser({});
  }
}

std::string GenomeBrowser::link(std::string_view contig, std::int64_t begin, std::int64_t end) const {
  const auto index = contigs_.find(contig);
  if (!index || begin < 0 || end <= begin || end > contigs_[*index].length) return {};
  const auto place = browser_contig(contigs_[*index]);
  if (!place) return {};
  const std::int64_t first = std::max<std::int64_t>(0, begin - shown_around) + 1;
  const std::int64_t last = std::min(contigs_[*index].length, end + shown_around);
  return fmt::format(
      "https://genome.ucsc.edu/cgi-bin/hgTracks?db={0}&position={1}:{2}-{3}&highlight={0}.{1}:{4}-{5}",
      place->database, place->name, first, last, begin + 1, end);
}

}  // namespace bigbird
