// Reading a chromatin data set; see dataset.h.
#include "lib/genomics/chromatin/dataset.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

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
    throw_bad_input(fmt::format("{}: a bin of {} bases at {} is not in a window of {}", path,
                                window.target_length, window.target_offset, window.length),
                    folder_hint);
  }
  return manifest;
}

std::string reference_path(const std::string& folder, const std::string& fasta) {
  if (!fasta.empty()) return fasta;
  return find_beside(read_manifest(folder).reference, folder, folder + "/manifest.json",
                     message("name the genome of the data set: `fasta`"));
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
      throw_bad_input(fmt::format("{}: {}-{} is not a bin of {} bases on {}, which has {}", reader.where(),
                                  record.begin, record.end, manifest.window.target_length, name, length),
                      "bins.bed.gz and the genome must be the build's");
    }
    bin.begin = record.begin;
    bin.split = parse_split_side(record.name, reader.where());
    bins.push_back(bin);
  }
  if (bins.size() != manifest.bins) {
    throw_bad_input(fmt::format("{}: {} bins where manifest.json has {}", path, bins.size(), manifest.bins),
                    "the parts of a data set must come from the same build");
  }
  if (bins.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw_bad_input(fmt::format("{}: more bins than can be counted: {}", path, bins.size()));
  }
  return bins;
}

// Of what is written here: room for any shape, and a multiple of 64 as the format wants.
constexpr std::size_t written_header_size = 128;
constexpr std::size_t preamble_size = 10;  // magic, version, header length: version 1
constexpr std::size_t flush_size = 1 << 20;
constexpr const char* rebuild_hint = "make the data set again, or save the matrix as uint8 in C order";

std::size_t stride_of(std::size_t profiles) {
  return (profiles + 7) / 8;
}

std::string npy_header(std::size_t rows, std::size_t stride) {
  std::string text =
      fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({}, {}), }}", rows, stride);
  text.resize(written_header_size - preamble_size - 1, ' ');
  text += '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(text.size() & 0xff);
  start += static_cast<char>(text.size() >> 8);
  return start + text;
}

// What follows KEY in the header's dictionary, blanks skipped.
std::string_view value_of(std::string_view header, std::string_view key) {
  std::size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  at = header.find(':', at);
  if (at == std::string_view::npos) return {};
  at = header.find_first_not_of(' ', at + 1);
  return at == std::string_view::npos ? std::string_view() : header.substr(at);
}

// "(12, 3)..." -> {12, 3}.
std::optional<std::pair<std::size_t, std::size_t>> shape_of(std::string_view text) {
  std::pair<std::size_t, std::size_t> shape;
  if (text.empty() || text.front() != '(') return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto rows = std::from_chars(text.data() + 1, end, shape.first);
  if (rows.ec != std::errc()) return std::nullopt;
  const char* next = rows.ptr;
  while (next != end && (*next == ',' || *next == ' ')) ++next;
  const auto columns = std::from_chars(next, end, shape.second);
  if (columns.ec != std::errc() || columns.ptr == end || *columns.ptr != ')') return std::nullopt;
  return shape;
}

std::vector<Profile> not_empty(std::vector<Profile> profiles) {
  if (profiles.empty()) throw_bad_input("a chromatin data set without a profile", "list at least one track");
  return profiles;
}

bool is_absolute(const std::string& path) {
  return path.starts_with('/');
}

}  // namespace

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

std::string ChromatinDataset::window_sequence(Fasta& fasta, std::size_t row, std::int64_t shift) const {
  const ChromatinBin& bin = bins_.at(row);
  const std::int64_t last = fasta.contigs()[bin.contig].length - window_.length;
  const std::int64_t begin = std::clamp<std::int64_t>(bin.begin - window_.target_offset + shift, 0, last);
  return fasta.fetch(bin.contig, begin, begin + window_.length);
}

std::string ChromatinDataset::stretch_sequence(Fasta& fasta, std::size_t row, std::size_t bins,
                                               std::int64_t shift, std::int64_t& before) const {
  const ChromatinBin &first = bins_.at(row), &last = bins_.at(row + bins - 1);
  const std::int64_t begin = std::max<std::int64_t>(first.begin - window_.target_offset + shift, 0);
  const std::int64_t end = std::min(last.begin - window_.target_offset + window_.length + shift,
                                    fasta.contigs()[first.contig].length);
  before = first.begin - begin;
  return fasta.fetch(first.contig, begin, end);
}

LabelMatrix::LabelMatrix(const std::string& path, std::size_t rows, std::size_t profiles)
    : file_(path), rows_(rows), profiles_(profiles), stride_(stride_of(profiles)) {
  const std::string_view bytes(reinterpret_cast<const char*>(file_.data()), file_.size());
  const auto byte = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<std::uint8_t>(bytes[at]));
  };
  std::size_t header_begin = preamble_size, header_size = 0;
  if (bytes.size() >= 12 && bytes.starts_with("\x93NUMPY")) {
    header_size = byte(8) | byte(9) << 8;
    if (byte(6) > 1) {  // versions 2 and 3: a length of four bytes
      header_size |= byte(10) << 16 | byte(11) << 24;
      header_begin = 12;
    }
  }
  if (header_size == 0 || header_size > bytes.size() - header_begin) {
    throw_bad_input(path + ": not a .npy file", rebuild_hint);
  }
  const std::string_view header = bytes.substr(header_begin, header_size);
  const std::string_view type = value_of(header, "'descr'");
  const auto shape = shape_of(value_of(header, "'shape'"));
  if (!(type.starts_with("'|u1'") || type.starts_with("'u1'")) ||
      !value_of(header, "'fortran_order'").starts_with("False") || !shape) {
    throw_bad_input(path + ": not a matrix of uint8 in C order", rebuild_hint);
  }
  if (shape->first != rows || shape->second != stride_) {
    throw_bad_input(fmt::format("{}: {} rows of {} bytes, where {} bins and {} profiles take {} of {}", path,
                                shape->first, shape->second, rows, profiles, rows, stride_),
                    "labels.npy, bins.bed.gz and profiles.tsv must come from the same build");
  }
  offset_ = header_begin + header_size;
  // The product cannot overflow: rows are lines of a file that was read, the stride comes from another.
  if (bytes.size() - offset_ != rows * stride_) {
    throw_bad_input(
        fmt::format("{}: {} bytes of labels where {} are due", path, bytes.size() - offset_, rows * stride_),
        "the file was cut short or has grown; make the data set again");
  }
}

std::span<const std::uint8_t> LabelMatrix::row(std::size_t row) const {
  return {reinterpret_cast<const std::uint8_t*>(file_.data()) + offset_ + row * stride_, stride_};
}

bool LabelMatrix::at(std::size_t row_index, std::size_t profile) const {
  return (row(row_index)[profile / 8] >> (profile % 8) & 1) != 0;
}

void LabelMatrix::unpack(std::size_t row_index, std::span<float> out) const {
  const std::span<const std::uint8_t> packed = row(row_index);
  if (out.size() != profiles_) throw_runtime("a row of labels is unpacked into another number of profiles");
  for (std::size_t k = 0; k < profiles_; ++k) out[k] = static_cast<float>(packed[k / 8] >> (k % 8) & 1);
}

LabelMatrixWriter::LabelMatrixWriter(const std::string& path, std::size_t profiles)
    : file_(path), stride_(stride_of(profiles)), header_size_(written_header_size) {
  buffer_.reserve(flush_size + stride_);
  const std::string room = npy_header(0, stride_);
  file_.write(room.data(), room.size());
}

void LabelMatrixWriter::write(std::span<const std::uint8_t> packed_row) {
  if (packed_row.size() != stride_) throw_runtime(file_.path() + ": a row of labels of another size");
  buffer_.append(reinterpret_cast<const char*>(packed_row.data()), packed_row.size());
  ++rows_;
  if (buffer_.size() >= flush_size) flush();
}

void LabelMatrixWriter::flush() {
  file_.write(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void LabelMatrixWriter::commit() {
  flush();
  const std::string header = npy_header(rows_, stride_);
  if (pwrite(file_.descriptor(), header.data(), header.size(), 0) != static_cast<ssize_t>(header_size_)) {
    throw_runtime(file_.path() + ": cannot write its header", "check the space left on the disk");
  }
  file_.commit();
}

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
    table.row({std::to_string(k), profiles_[k].name, text_field(profiles_[k].group), count(Split::train),
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

std::string find_beside(const std::string& path, const std::string& folder, const std::string& where,
                        const std::string& hint) {
  if (is_absolute(path)) {
    if (file_exists(path)) return path;
    throw_bad_input(fmt::format("{}: the file {} that it names is not there", where, path), hint);
  }
  const std::string beside = folder == "." ? path : folder + "/" + path;
  if (file_exists(beside)) return beside;
  if (file_exists(path)) return path;
  throw_bad_input(fmt::format("{}: the file {} that it names is neither {} nor, from the working folder, {}",
                              where, path, folder == "." ? "./" + path : beside, path),
                  hint);
}

std::string path_from_folder(const std::string& path, const std::string& folder) {
  if (is_absolute(path)) return path;
  // Folders by their own names, not those of links to them: ".." leads out of the folder itself. The file
  // keeps its name, because an index may lie beside a link to it.
  const auto canonical = [](const std::string& place) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(place));
  };
  const std::filesystem::path file = canonical(parent_folder(path)) / std::filesystem::path(path).filename();
  return file.lexically_relative(canonical(folder)).string();
}

}  // namespace bigbird
