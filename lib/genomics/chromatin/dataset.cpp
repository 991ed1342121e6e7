// Reading a chromatin data set; see dataset.h.
#include "lib/genomics/chromatin/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/names.h"
#include "lib/genomics/chromatin/find_file.h"
#include "lib/io/genome/bed.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<Split, const char*>, 4> split_names{
    {{Split::none, "none"}, {Split::train, "train"}, {Split::valid, "valid"}, {Split::test, "test"}}};
constexpr const char* folder_hint = "give a folder written by `bigbird chromatin build` or import-deepsea";

struct Manifest {
  std::string reference;
  ModelWindow window;
  std::uint64_t bins = 0;
  std::unordered_map<std::string, std::int64_t> contigs;  // lengths
};

Manifest read_manifest(const std::string& folder) {
  const std::string path = folder + "/manifest.json";
  if (!file_exists(path)) {
    throw_bad_input(fmt::format("{}: no chromatin data set: it has no manifest.json", folder), folder_hint);
  }
  Manifest manifest;
  try {
    const auto json = nlohmann::json::parse(read_file(path));
    manifest.reference = json.at("reference").get<std::string>();
    const auto& window = json.at("window");
    manifest.window = {"chromatin", window.at("length").get<std::int64_t>(),
                       window.at("target_offset").get<std::int64_t>(),
                       window.at("target_length").get<std::int64_t>()};
    if (const auto edge = window.at("edge").get<std::string>(); edge != "shift") {
      throw_bad_input(
          fmt::format("{}: a rule \"{}\" for windows at the edge of a contig is not known", path, edge),
          "the rule is \"shift\": such windows move inwards");
    }
    manifest.bins = json.at("bins").get<std::uint64_t>();
    for (const auto& [name, length] : json.at("contigs").items()) {
      manifest.contigs[name] = length.get<std::int64_t>();
    }
  } catch (const nlohmann::json::exception& error) {
    throw_bad_input(fmt::format("{}: {}", path, json_problem(error)), folder_hint);
  }
  const ModelWindow& window = manifest.window;
  if (window.length < 1 || window.target_length < 1 || window.target_offset < 0 ||
      window.target_offset > window.length - window.target_length) {
    throw_bad_input(fmt::format("{}: a bin of {} bases at {} does not lie in a window of {}", path,
                                window.target_length, window.target_offset, window.length),
                    folder_hint);
  }
  return manifest;
}

std::string reference_path(const std::string& folder, const std::string& fasta) {
  if (!fasta.empty()) return fasta;
  return find_beside(read_manifest(folder).reference, folder, folder + "/manifest.json",
                     message("say where the genome of the data set is: `fasta`"));
}

std::vector<ChromatinBin> read_bins(const std::string& path, const Manifest& manifest, const Fasta& fasta) {
  const ContigNames names(fasta.contigs());
  std::vector<ChromatinBin> bins;
  bins.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(manifest.bins, std::uint64_t{1} << 28)));
  BedReader reader(path, 4);
  BedRecord record;
  std::string name;
  ChromatinBin bin;
  std::int64_t length = 0;
  while (reader.next(record)) {
    if (record.chrom != name) {
      name = record.chrom;
      const auto built_on = manifest.contigs.find(name);
      bin.contig = static_cast<std::uint32_t>(names.require(name, reader.where()));
      length = names[bin.contig].length;
      if (built_on != manifest.contigs.end() && built_on->second != length) {
        throw_bad_input(fmt::format("{}: {} has {} bases there and {} in {}", path, name, built_on->second,
                                    length, fasta.path()),
                        message("give the genome that the data set was built on: `fasta` FASTA"));
      }
      if (length < manifest.window.length) {
        throw_bad_input(fmt::format("{}: {} is shorter than the window of {} bases", reader.where(), name,
                                    manifest.window.length));
      }
    }
    if (record.end - record.begin != manifest.window.target_length || record.end > length) {
      throw_bad_input(fmt::format("{}: {}-{} is no bin of {} bases on {}, which has {}", reader.where(),
                                  record.begin, record.end, manifest.window.target_length, name, length),
                      "bins.bed.gz and the genome must be those of the build");
    }
    bin.begin = record.begin;
    bin.split = parse_split_side(record.name, reader.where());
    bins.push_back(bin);
  }
  if (bins.size() != manifest.bins) {
    throw_bad_input(fmt::format("{}: {} bins where manifest.json says {}", path, bins.size(), manifest.bins),
                    "the parts of a data set must come from the same build");
  }
  if (bins.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw_bad_input(fmt::format("{}: more bins than can be counted: {}", path, bins.size()));
  }
  return bins;
}

}  // namespace

const char* split_side_name(Split split) {
  return find_name(split_names, split);
}

Split parse_split_side(std::string_view word, const std::string& where) {
  if (const auto side = find_value(split_names, word)) return *side;
  throw_bad_input(fmt::format("{}: not a side of a split: {}", where, word.substr(0, 40)),
                  "sides are train, valid, test and none");
}

ChromatinDataset::ChromatinDataset(const std::string& folder, const std::string& fasta)
    : folder_(folder), fasta_(reference_path(folder, fasta)) {
  const Manifest manifest = read_manifest(folder);
  window_ = manifest.window;
  profiles_ = read_profiles(folder + "/profiles.tsv");
  if (profiles_.empty()) throw_bad_input(folder + "/profiles.tsv: no profile", folder_hint);
  bins_ = read_bins(folder + "/bins.bed.gz", manifest, fasta_);
  labels_ = LabelMatrix(folder + "/labels.npy", bins_.size(), profiles_.size());
}

std::vector<std::uint32_t> ChromatinDataset::rows(Split split) const {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    if (bins_[i].split == split) rows.push_back(static_cast<std::uint32_t>(i));
  }
  return rows;
}

std::string ChromatinDataset::window_sequence(Fasta& fasta, std::size_t row) const {
  const ChromatinBin& bin = bins_.at(row);
  const std::int64_t last = fasta.contigs()[bin.contig].length - window_.length;
  const std::int64_t begin = std::clamp<std::int64_t>(bin.begin - window_.target_offset, 0, last);
  return fasta.fetch(bin.contig, begin, begin + window_.length);
}

}  // namespace bigbird
