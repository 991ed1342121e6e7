// Outputs of numbers; see chunked_numbers.h.
#include "lib/parts/chunked_numbers.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"

namespace bigbird {
namespace {

// All that the chunks depend on.
std::string numbers_identity(const ShardHeader& header) {
  nlohmann::basic_json<OrderedMap> json;
  json["kind"] = header.kind;
  json["run"] = header.identity;
  json["shard"] = {header.shard.index, header.shard.count};
  json["chunk"] = header.chunk;
  return json_text(json, 2) + "\n";
}

}  // namespace

ChunkedNumbers::ChunkedNumbers(const std::string& output, ShardHeader header, const std::string& input,
                               const ChunkedWork& work)
    : parts_(work), output_(output), header_(std::move(header)) {
  header_.shard = work.shard;
  header_.chunk = work.chunk;
  if (work.tell || !work.shard.is_whole_run()) header_.input_file = digest_of_file(input);
  parts_.keep_chunks_beside({output}, input, numbers_identity(header_));
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
