// Outputs of numbers; see chunked_numbers.h.
#include "lib/parts/chunked_numbers.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/hash.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/parts/json_fields.h"
#include "lib/parts/merge.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

constexpr std::string_view shard_first_line = "bigbird shard 1\n";
constexpr const char* run_again = "run this shard again";

Json header_json(const ShardHeader& header) {
  Json json;
  json["kind"] = header.kind;
  json["shard"] = header.shard;
  json["chunk"] = header.chunk;
  json["run"] = header.identity;
  if (!header.input_file.sha256.empty()) json["input"] = header.input_file;
  json["output"] = Json::parse(header.output);
  return json;
}

ShardHeader header_of(const Json& json) {
  ShardHeader header;
  json.at("kind").get_to(header.kind);
  json.at("shard").get_to(header.shard);
  json.at("chunk").get_to(header.chunk);
  json.at("run").get_to(header.identity);
  if (json.contains("input")) json.at("input").get_to(header.input_file);
  header.output = json_text(json.at("output"));
  return header;
}

// The pieces of a mapped file, one behind the other.
class Pieces {
 public:
  Pieces(const MappedFile& file, std::size_t at) : file_(file), at_(at) {}

  bool at_end() const { return at_ == file_.size(); }
  std::string_view next() {
    const std::uint64_t size = number();
    if (size > file_.size() - at_) refuse("is cut short");
    const std::string_view part(reinterpret_cast<const char*>(file_.data()) + at_,
                                static_cast<std::size_t>(size));
    at_ += part.size();
    if (number() != fnv1a_64(part)) refuse("is damaged");
    return part;
  }
  Json next_json() {
    const std::string_view text = next();
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) refuse("is damaged");
    return json;
  }

 private:
  std::uint64_t number() {
    std::uint64_t value = 0;
    if (file_.size() - at_ < sizeof value) refuse("is cut short");
    std::memcpy(&value, file_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  [[noreturn]] void refuse(const char* what) const {
    throw_bad_input(fmt::format("{}: {}", file_.path(), what), run_again);
  }

  const MappedFile& file_;
  std::size_t at_;
};

Pieces pieces_of(const MappedFile& file) {
  const std::string_view begin(reinterpret_cast<const char*>(file.data()),
                               std::min(file.size(), shard_first_line.size()));
  if (begin != shard_first_line) {
    throw_bad_input(file.path() + ": no shard", message("give what runs with `shard` I/N wrote"));
  }
  return {file, shard_first_line.size()};
}

ShardHeader header_at(Pieces& pieces, const std::string& path) {
  try {
    return header_of(pieces.next_json());
  } catch (const Json::exception& error) {
    throw_bad_input(fmt::format("{}: not written by bigbird: {}", path, json_problem(error)), run_again);
  }
}

// All that the chunks depend on.
Json numbers_identity(const ShardHeader& header) {
  Json json;
  json["kind"] = header.kind;
  json["run"] = header.identity;
  json["shard"] = {header.shard.index, header.shard.count};
  json["chunk"] = header.chunk;
  return json;
}

// But for the files.
Json record_json(const ShardHeader& header) {
  Json json = numbers_identity(header);
  json["input"] = header.input_file;
  json["output"] = Json::parse(header.output);
  return json;
}

// "../x/out.npy" beside "../x/out.h5" is "out.npy".
std::string name_beside(const std::string& output, const std::string& file) {
  return std::filesystem::path(file).lexically_relative(parent_folder(output)).string();
}

std::string run_record_path(const std::string& output) {
  return output + ".run.json";
}

void write_run_record(const std::string& output, const ShardHeader& header,
                      const std::vector<std::string>& files, const OutputSet& outputs) {
  Json json = record_json(header);
  for (const std::string& file : files)
    json["files"][name_beside(output, file)] = digest_of_file(outputs.written_path(file));
  write_text_atomic(run_record_path(output), json_text(json, 2) + "\n");
}

bool is_recorded_whole(const std::string& output, const ShardHeader& header) {
  if (header.input_file.sha256.empty() || !file_exists(run_record_path(output))) return false;
  try {
    Json json = Json::parse(read_file(run_record_path(output)));
    const Json files = json.at("files");
    json.erase("files");
    if (json != record_json(header) || files.empty()) return false;
    for (const auto& [name, digest] : files.items()) {
      if (!file_has_digest(parent_folder(output) + "/" + name, digest.get<FileDigest>())) return false;
    }
  } catch (const Json::exception&) {  // not written by a run that ended
    return false;
  }
  return true;
}

}  // namespace

ShardFileWriter::ShardFileWriter(const std::string& path, const ShardHeader& header) : file_(path) {
  file_.write(shard_first_line.data(), shard_first_line.size());
  put(json_text(header_json(header)));
}

void ShardFileWriter::put(std::string_view part) {
  const std::uint64_t size = part.size(), checksum = fnv1a_64(part);
  file_.write(&size, sizeof size);
  file_.write(part.data(), part.size());
  file_.write(&checksum, sizeof checksum);
}

void ShardFileWriter::add(std::string_view chunk) {
  put(chunk);
  ++chunks_;
}

void ShardFileWriter::close(std::uint64_t records, const std::string& input_digest) {
  put(json_text(Json{{"chunks", chunks_}, {"records", records}, {"sha256", input_digest}}));
  file_.commit();
}

bool is_shard_file(const std::string& path) {
  if (!file_exists(path)) return false;
  const MappedFile file(path);
  return file.size() >= shard_first_line.size() &&
         std::memcmp(file.data(), shard_first_line.data(), shard_first_line.size()) == 0;
}

ShardHeader read_shard_header(const std::string& path) {
  const MappedFile file(path);
  Pieces pieces = pieces_of(file);
  return header_at(pieces, path);
}

struct MergedShards::Opened {
  MappedFile file;
  ShardHeader header;
  std::vector<std::string_view> chunks;
  std::uint64_t records = 0;
  std::string input_digest;

  explicit Opened(const std::string& path) : file(path) {
    Pieces pieces = pieces_of(file);
    header = header_at(pieces, path);
    std::string_view last;
    while (!pieces.at_end()) {
      throw_if_cancelled();
      if (last.data() != nullptr) chunks.push_back(last);
      last = pieces.next();
    }
    try {
      const Json end = Json::parse(last);
      records = end.at("records").get<std::uint64_t>();
      input_digest = end.at("sha256").get<std::string>();
      if (end.at("chunks").get<std::uint64_t>() != chunks.size())
        throw_bad_input(path + ": is cut short", run_again);
    } catch (const Json::exception&) {  // the last part is a chunk
      throw_bad_input(path + ": is cut short", run_again);
    }
  }
};

ShardContents MergedShards::contents_of(const std::string& path) {
  const Opened shard(path);
  return {shard.header, shard.chunks.size(), shard.records};
}

MergedShards::MergedShards(const std::vector<std::string>& paths) {
  std::vector<Opened> opened;
  std::vector<ShardFacts> facts;
  for (const std::string& path : paths) {
    const Opened& shard = opened.emplace_back(path);
    facts.push_back(shard_facts(path, shard.header, "of other verbs", shard.records, shard.input_digest));
  }
  std::uint64_t chunks = 0;
  for (const std::size_t i : order_of_shards(facts)) {
    chunks += opened[i].chunks.size();
    shards_.push_back(std::move(opened[i]));
  }
  require_every_chunk(paths.front(), records(), header().chunk, chunks);
}

MergedShards::~MergedShards() = default;

const ShardHeader& MergedShards::header() const {
  return shards_.front().header;
}

std::uint64_t MergedShards::records() const {
  return shards_.front().records;
}

void MergedShards::for_each(const std::function<void(std::string_view, const std::string&)>& take) const {
  std::vector<std::size_t> chunks_of;
  std::vector<std::string> names;
  for (const Opened& shard : shards_) {
    chunks_of.push_back(shard.chunks.size());
    names.push_back(shard.file.path());
  }
  for_each_chunk_in_turn(chunks_of, names, [&](std::size_t shard, std::size_t chunk) {
    take(shards_[shard].chunks[chunk], names[shard]);
  });
}

ChunkedNumbers::ChunkedNumbers(const std::string& output, ShardHeader header, const std::string& input,
                               const ChunkedWork& work)
    : parts_(work), output_(output), header_(std::move(header)) {
  header_.shard = work.shard;
  header_.chunk = work.chunk;
  if (work.tell || !work.shard.is_whole_run()) header_.input_file = digest_of_file(input);
  parts_.keep_chunks_beside({output}, input, json_text(numbers_identity(header_), 2) + "\n");
  tell_ = work.tell && parts_.keeps();
  whole_ = goes_on(work.restart) && is_recorded_whole(output, header_);
  if (whole_) parts_.leave_whole(output);
  if (whole_ || !work.shard_asked) return;
  writer_ = std::make_unique<ShardFileWriter>(output, header_);
  parts_.copy_bytes_to([this](std::string_view bytes) { writer_->add(bytes); });
}

void ChunkedNumbers::close(const std::vector<std::string>& files, const std::function<void()>& finish) {
  const std::vector<std::string> written = writer_ ? std::vector<std::string>{output_} : files;
  std::vector<std::string> together = {run_record_path(output_)};
  together.insert(together.end(), written.begin(), written.end());
  parts_.close(together, [&](OutputSet& outputs) {
    finish();
    if (writer_) writer_->close(parts_.records(), parts_.input_digest());
    if (tell_) write_run_record(output_, header_, written, outputs);
  });
}

}  // namespace bigbird
