// Genomes and what lies on them; see describe_parts.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/data/token_shards.h"
#include "lib/describe/describe_parts.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/track.h"
#include "lib/io/genome/vcf.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

// The "##" lines of a VCF, without the signs. A BCF has the same text behind its magic number and a length.
std::vector<std::string> header_of_variants(const std::string& path) {
  InputStream in(path);
  std::string text;
  char buffer[1 << 16];
  const auto whole = [&text] { return text.find("\n#CHROM") != std::string::npos; };
  constexpr std::size_t most = std::size_t{1} << 26;
  for (std::size_t size = 1; size > 0 && text.size() < most && !whole();) {
    size = in.read(buffer, sizeof buffer);
    text.append(buffer, size);
    if (!text.starts_with("#") && !text.starts_with("BCF")) break;  // no header
  }
  if (text.starts_with("BCF")) text.erase(0, std::min<std::size_t>(9, text.size()));
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size() && text.compare(at, 2, "##") == 0;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at + 2, end - at - 2));
    at = end + 1;
  }
  return lines;
}

// Which BED it is, by what wrote it and by its columns.
std::string kind_of_bed(const std::string& command, int columns, std::uint64_t blocks,
                        const std::string& path) {
  const auto by = [&command](const char* verb) {
    return command.starts_with(std::string("bigbird ") + verb);
  };
  if (columns == 12 && blocks > 0) return "documents";
  if (path.find(".narrowPeak") != std::string::npos) return "peaks";
  if (by("promoter scan")) return "called promoters";
  if (by("chromatin build") || by("chromatin import-deepsea")) return "bins";
  if (by("simulate")) return "transcription start sites";
  if (by("liftover")) return "lifted intervals";
  if (by("copies")) return "near-copies";
  if (by("tokenize")) return "tokens of a genome";
  return "intervals";
}

std::string next_of_bed(const std::string& kind) {
  if (kind == "documents") return "bigbird train-bpe, then tokenize";
  if (kind == "transcription start sites") return "bigbird promoter build";
  if (kind == "near-copies") return "bigbird promoter evaluate, variants evaluate and others exclude them";
  if (kind == "bins") return "it belongs to the data set of its folder: bigbird info FOLDER";
  if (kind == "intervals") return "bigbird embed, chromatin predict and promoter predict take such windows";
  return {};
}

}  // namespace

std::string describe_shards(const std::string& prefix) {
  const TokenShards shards(prefix);
  const auto per = [](std::uint64_t amount, std::uint64_t count) {
    return count == 0 ? 0.0 : static_cast<double>(amount) / static_cast<double>(count);
  };
  Json json = {{"kind", "shards"},
               {"path", prefix},
               {"shards", shards.shard_count()},
               {"documents", shards.document_count()},
               {"sentences", shards.sentence_count()},
               {"tokens", shards.token_count()},
               {shards.is_text() ? "bytes" : "bases", shards.base_count()},
               {"tokens_per_sentence", per(shards.token_count(), shards.sentence_count())},
               {shards.is_text() ? "bytes_per_token" : "bases_per_token",
                per(shards.base_count(), shards.token_count())},
               {"tokenizer_sha256", shards.tokenizer_digest()}};
  if (file_exists(prefix + ".json")) {
    const Json sidecar = Json::parse(read_file(prefix + ".json"), nullptr, false);
    json["provenance"] = sidecar.is_object() ? sidecar.value("provenance", Json()) : Json();
  }
  json["next"] = "bigbird pretrain or evaluate, with the tokenizer of this digest";
  return json_text(json);
}

std::string describe_bed(const std::string& path) {
  std::vector<std::string> comments;
  const std::string provenance = provenance_of_text(path, &comments);
  BedReader reader(path);
  std::uint64_t records = 0, blocks = 0, reverse = 0, bases = 0, documents = 0;
  std::int64_t shortest = 0, longest = 0;
  std::vector<std::string> chromosomes;
  std::set<std::string> known;
  int columns = 0;
  for (BedRecord record; reader.next(record); ++records) {
    throw_if_cancelled();
    const std::int64_t length = record.end - record.begin;
    shortest = records == 0 ? length : std::min(shortest, length);
    longest = std::max(longest, length);
    bases += static_cast<std::uint64_t>(length);
    blocks += record.blocks.size();
    documents += record.columns == 12 ? 1 : 0;
    reverse += record.strand == '-' ? 1 : 0;
    columns = std::max(columns, record.columns);
    if (known.insert(record.chrom).second) chromosomes.push_back(record.chrom);
  }
  if (reader.line_number() == 0 && command_of(provenance).empty()) return describe_empty(path);
  const bool all_documents = records > 0 && documents == records;
  const std::string kind =
      kind_of_bed(command_of(provenance), all_documents ? columns : std::min(columns, 11), blocks, path);
  Json json = {{"kind", kind},
               {"path", path},
               {"records", records},
               {"sentences", blocks},
               {"bases", bases},
               {"shortest", shortest},
               {"longest", longest},
               {"reverse_strand", reverse},
               {"chromosomes", chromosomes},
               {"provenance", Json::parse(provenance)}};
  if (const std::string next = next_of_bed(kind); !next.empty()) json["next"] = next;
  return json_text(json);
}

// Far above any genome, so that no sum of lengths overflows.
constexpr std::int64_t longest_contig = std::int64_t{1} << 40;

std::string describe_bedgraph(const std::string& path) {
  std::vector<std::string> comments;
  const std::string provenance = provenance_of_text(path, &comments);
  LineReader lines(path);
  std::vector<std::string_view> fields;
  std::set<std::string, std::less<>> chromosomes;
  std::uint64_t intervals = 0;
  std::int64_t bases = 0;
  double lowest = 0, highest = 0, sum = 0;
  for (std::string_view line; lines.next(line);) {
    throw_if_cancelled();
    if (is_bed_header(line)) continue;
    split_tabs(line, fields);
    if (fields.size() != 4) {
      throw_bad_input(fmt::format("{}: {} columns where a bedGraph has 4", lines.where(), fields.size()),
                      "is the file whole, and its columns apart by tabs?");
    }
    const std::int64_t begin = parse_integer(fields[1], lines.where(), "the start");
    const std::int64_t end = parse_integer(fields[2], lines.where(), "the end");
    if (begin < 0 || end < begin || end > longest_contig) {
      throw_bad_input(fmt::format("{}: from {} to {} is not an interval", lines.where(), begin, end),
                      "a bedGraph is 0-based and half-open: 0 <= start <= end");
    }
    const double value = parse_number(fields[3], lines.where(), "the value");
    lowest = intervals == 0 ? value : std::min(lowest, value);
    highest = intervals == 0 ? value : std::max(highest, value);
    sum += value * static_cast<double>(end - begin);
    bases += end - begin;
    if (chromosomes.find(fields[0]) == chromosomes.end()) chromosomes.emplace(fields[0]);
    ++intervals;
  }
  if (lines.line_number() == 0) return describe_empty(path);
  Json json = {{"kind", "track"},
               {"path", path},
               {"format", "bedGraph"},
               {"intervals", intervals},
               {"bases", bases},
               {"lowest", lowest},
               {"highest", highest},
               {"mean", bases > 0 ? Json(sum / static_cast<double>(bases)) : Json()},
               {"chromosomes", chromosomes}};
  for (const std::string& comment : comments) {
    const std::size_t equals = comment.find('=');
    if (!comment.starts_with("bigbird_") && equals != std::string::npos)
      json["settings"][comment.substr(0, equals)] = comment.substr(equals + 1);
  }
  json["provenance"] = Json::parse(provenance);
  json["next"] = "a genome browser shows it";
  return json_text(json);
}

std::string describe_bigwig(const std::string& path) {
  {
    // The last number of the file is the first one again: else its end is missing.
    const MappedFile file(path);
    if (file.size() < 8 || std::memcmp(file.data(), file.data() + file.size() - 4, 4) != 0) {
      throw_bad_input(fmt::format("{}: it has no end after {} bytes: cut short", path, file.size()),
                      "copy or make it again");
    }
  }
  const std::unique_ptr<TrackReader> reader = open_bigwig(path);
  std::int64_t bases = 0;
  Json lengths = Json::object();
  for (const Contig& contig : reader->contigs()) {
    bases += contig.length;
    lengths[contig.name] = contig.length;
  }
  return json_text(Json{{"kind", "track"},
                        {"path", path},
                        {"format", "bigWig"},
                        {"sequences", reader->contigs().size()},
                        {"bases_of_sequences", bases},
                        {"lengths", lengths},
                        {"provenance", Json::parse(provenance_of_lines(provenance_beside(path)))},
                        {"next", "a genome browser shows it; bigbird variants takes conservation from one"}});
}

std::string describe_variants(const std::string& path) {
  VcfReader reader(path);
  const std::vector<std::string> header = header_of_variants(path);
  std::set<std::string> fields;
  for (const std::string& line : header) {
    const std::string info = "INFO=<ID=BB_";
    if (line.starts_with(info)) fields.insert(line.substr(info.size() - 3, line.find(',') - info.size() + 3));
  }
  std::uint64_t records = 0, alleles = 0;
  std::set<std::string> chromosomes;
  for (VcfRecord record; reader.next(record); ++records) {
    throw_if_cancelled();
    alleles += record.alts.size();
    chromosomes.insert(record.chrom);
  }
  if (records == 0 && header.empty()) return describe_empty(path);
  // Of several runs over one file the last one's lines stand last.
  const std::string provenance = provenance_of_lines(header);
  const std::string command = command_of(provenance);
  const bool scored = !fields.empty();
  return json_text(Json{{"kind", scored                                    ? "scored variants"
                                 : command.starts_with("bigbird liftover") ? "lifted variants"
                                                                           : "variants"},
                        {"path", path},
                        {"records", records},
                        {"alleles", alleles},
                        {"chromosomes", chromosomes},
                        {"contigs_of_header", reader.contigs().size()},
                        {"score_fields", fields},
                        {"provenance", Json::parse(provenance)},
                        {"next", scored ? "bigbird variants evaluate" : "bigbird variants"}});
}

std::string describe_genome(const std::string& path) {
  Json json = {{"kind", "genome"}, {"path", path}};
  std::int64_t bases = 0;
  Json contigs = Json::object();
  for (const Contig& contig : load_fai(path)) {
    bases += contig.length;
    contigs[contig.name] = contig.length;
  }
  json["sequences"] = contigs.size();
  json["bases"] = bases;
  json["lengths"] = contigs;
  return json_text(json);
}

}  // namespace bigbird
