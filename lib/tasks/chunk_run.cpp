// See chunk_run.h.
#include "lib/tasks/chunk_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

// All that the chunks depend on.
Json identity_json(const ShardHeader& header) {
  Json json;
  json["kind"] = header.kind;
  json["run"] = header.identity;
  json["shard"] = {header.shard.index, header.shard.count};
  json["chunk"] = header.chunk;
  return json;
}

// All that an output depends on.
Json record_json(const ShardHeader& header) {
  Json json = identity_json(header);
  json["input"] = {{"bytes", header.input_file.bytes}, {"sha256", header.input_file.sha256}};
  json["output"] = Json::parse(header.output);
  return json;
}

ShardHeader filled_in(ShardHeader header, const std::string& input, const ChunkedWork& work) {
  header.shard = work.shard;
  header.chunk = work.chunk;
  if (work.tell || !work.shard.is_whole_run()) header.input_file = digest_of_file(input);
  return header;
}

FinishedChunks open_parts(const std::string& output, const ShardHeader& header, const std::string& input,
                          const ChunkedWork& work) {
  if (input == "-" && goes_on(work.restart)) {
    throw_usage("`resume`: the standard input cannot be read a second time", "give the input as a file");
  }
  // A folder of outputs can be made again as a file can.
  const bool is_kept = std::filesystem::is_directory(output) || chunks_can_be_kept(output, work.restart);
  if (!is_kept && !work.shard.is_whole_run()) {
    throw_usage(fmt::format("`shard` {}/{}: an output on stdout or a device cannot be merged",
                            work.shard.index, work.shard.count),
                "give a file as output");
  }
  if (!is_kept || input == "-") return {};
  return {output + ".parts", json_text(identity_json(header), 2) + "\n", work.restart};
}

// "../x/out.npy" beside "../x/out.h5" is "out.npy".
std::string name_beside(const std::string& output, const std::string& file) {
  return std::filesystem::path(file).lexically_relative(parent_folder(output)).string();
}

}  // namespace

ChunkRun::ChunkRun(const std::string& output, ShardHeader header, const std::string& input,
                   const ChunkedWork& work)
    : output_(output),
      header_(filled_in(std::move(header), input, work)),
      finished_(open_parts(output, header_, input, work)) {
  tell_ = work.tell && finished_.keeps();
  if (goes_on(work.restart) && is_recorded()) {
    whole_ = true;
    log_info(output + ": is whole already, and of this run");
    finished_.remove();
    return;
  }
  if (work.shard_asked) writer_ = std::make_unique<ShardFileWriter>(output, header_);
}

ChunkRun::~ChunkRun() = default;

std::optional<ChunkRun::Chunk> ChunkRun::open(std::uint64_t records, std::string_view digest) {
  Chunk chunk{chunks_++, std::string(digest), true, {}};
  records_ += records;
  input_digest_.update(digest.data(), digest.size());
  if (!header_.shard.takes(chunk.number)) return std::nullopt;
  if (auto stored = finished_.load(chunk.number, digest)) {
    chunk.is_wanted = false;
    chunk.bytes = std::move(*stored);
    resumed_records_ += records;
  }
  return chunk;
}

void ChunkRun::finish(const Chunk& chunk) {
  if (chunk.is_wanted) finished_.save(chunk.number, chunk.digest, chunk.bytes);
  if (writer_) writer_->add(chunk.bytes);
}

bool ChunkRun::begin(std::uint64_t records, std::string_view digest) {
  std::optional<Chunk> chunk = open(records, digest);
  if (!chunk) return false;
  at_hand_ = std::move(*chunk);
  if (!at_hand_.is_wanted) finish(at_hand_);
  return true;
}

void ChunkRun::made(std::string bytes) {
  at_hand_.bytes = std::move(bytes);
  finish(at_hand_);
  at_hand_.is_wanted = false;
}

void ChunkRun::close(const std::vector<std::string>& files, const std::function<void()>& finish) {
  if (resumed_records_ > 0) {
    log_info(fmt::format("{} of {} records were finished by the run before", resumed_records_, records_));
  }
  OutputSet outputs({{"", record_path()}});
  const std::vector<std::string> shard_file = {output_};
  for (const std::string& file : writer_ ? shard_file : files) outputs.add({"", file});
  finished_.use_for(finish);
  if (writer_) writer_->close(records_, input_digest_.finish());
  if (tell_) {
    Json json = record_json(header_);
    for (const std::string& file : writer_ ? shard_file : files) {
      const FileDigest digest = digest_of_file(outputs.written_path(file));
      json["files"][name_beside(output_, file)] = {{"bytes", digest.bytes}, {"sha256", digest.sha256}};
    }
    write_text_atomic(record_path(), json_text(json, 2) + "\n");
  }
  outputs.commit();
  finished_.remove();
}

bool ChunkRun::is_recorded() const {
  if (header_.input_file.sha256.empty() || !file_exists(record_path())) return false;
  try {
    Json json = Json::parse(read_file(record_path()));
    const Json files = json.at("files");
    json.erase("files");
    if (json != record_json(header_) || files.empty()) return false;
    for (const auto& [name, digest] : files.items()) {
      const FileDigest told{digest.at("bytes").get<std::uint64_t>(), digest.at("sha256").get<std::string>()};
      if (!file_has_digest(parent_folder(output_) + "/" + name, told)) return false;
    }
  } catch (const Json::exception&) {  // not written by a run that ended
    return false;
  }
  return true;
}

}  // namespace bigbird
