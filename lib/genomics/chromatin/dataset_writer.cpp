// Writing a chromatin data set; see dataset.h.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/genomics/chromatin/dataset.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

std::vector<Profile> not_empty(std::vector<Profile> profiles) {
  if (profiles.empty()) throw_bad_input("a chromatin data set without a profile", "list at least one track");
  return profiles;
}

}  // namespace

ChromatinDatasetWriter::ChromatinDatasetWriter(const std::string& output, bool replace,
                                               std::vector<Contig> contigs, std::vector<Profile> profiles,
                                               const ModelWindow& window, std::vector<std::string> comments)
    : folder_(output, replace),
      contigs_(std::move(contigs)),
      profiles_(not_empty(std::move(profiles))),
      window_(window),
      comments_(std::move(comments)),
      bed_(folder_.file("bins.bed.gz")),
      labels_(folder_.file("labels.npy"), profiles_.size()),
      contig_used_(contigs_.size()),
      positives_(profiles_.size()) {
  for (const std::string& comment : comments_) bed_.write("##" + comment + "\n");
}

void ChromatinDatasetWriter::write(const ChromatinBin& bin, std::span<const std::uint8_t> packed) {
  const auto split = static_cast<std::size_t>(bin.split);
  const auto append_number = [&](std::int64_t value) {
    char digits[24];
    line_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  };
  labels_.write(packed);  // checks the size
  line_ = contigs_.at(bin.contig).name;
  line_ += '\t';
  append_number(bin.begin);
  line_ += '\t';
  append_number(bin.begin + window_.target_length);
  line_ += '\t';
  line_ += split_side_name(bin.split);
  line_ += '\n';
  bed_.write(line_);
  contig_used_[bin.contig] = true;
  ++bins_[split];
  for (std::size_t byte = 0; byte < packed.size(); ++byte) {
    for (unsigned bits = packed[byte]; bits != 0; bits &= bits - 1) {
      ++positives_.at(byte * 8 + static_cast<std::size_t>(std::countr_zero(bits)))[split];
    }
  }
}

void ChromatinDatasetWriter::write_profiles() const {
  OutputStream out(folder_.file("profiles.tsv"));
  TsvWriter table(out, {"index", "name", "group", "train", "valid", "test", "none"}, comments_);
  for (std::size_t k = 0; k < profiles_.size(); ++k) {
    const auto count = [&](Split split) {
      return std::to_string(positives_[k][static_cast<std::size_t>(split)]);
    };
    table.row({std::to_string(k), profiles_[k].name, profiles_[k].group, count(Split::train),
               count(Split::valid), count(Split::test), count(Split::none)});
  }
  out.close();
}

std::string ChromatinDatasetWriter::manifest(const std::string& reference,
                                             const std::string& facts_json) const {
  nlohmann::basic_json<OrderedMap> json;
  json["kind"] = "chromatin data set";
  json["reference"] = reference;
  json["window"] = {{"length", window_.length},
                    {"target_offset", window_.target_offset},
                    {"target_length", window_.target_length},
                    {"edge", "shift"},
                    {"coordinates", "0-based half-open; sequences on the forward strand"}};
  json["profiles"] = profiles_.size();
  json["bins"] = bins_[0] + bins_[1] + bins_[2] + bins_[3];
  for (const Split split : {Split::train, Split::valid, Split::test, Split::none}) {
    json["bins_by_split"][split_side_name(split)] = bins_[static_cast<std::size_t>(split)];
  }
  json.update(nlohmann::basic_json<OrderedMap>::parse(facts_json));
  json["contigs"] = nlohmann::basic_json<OrderedMap>::object();
  for (std::size_t i = 0; i < contigs_.size(); ++i) {
    if (contig_used_[i]) json["contigs"][contigs_[i].name] = contigs_[i].length;
  }
  return json_text(json, 2) + "\n";
}

void ChromatinDatasetWriter::commit(const std::string& reference, const std::string& facts_json) {
  bed_.close();
  labels_.commit();
  write_profiles();
  write_text_atomic(folder_.file("manifest.json"), manifest(reference, facts_json));
  folder_.commit();
}

}  // namespace bigbird
