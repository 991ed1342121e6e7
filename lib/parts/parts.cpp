// The engine of work in parts; see parts.h.
#include "lib/parts/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/core/error.h"
#include "lib/core/log.h"

namespace bigbird {

void Parts::keep_chunks(const std::string& folder, const std::string& identity) {
  finished_ = FinishedChunks(folder, identity, work_.restart);
}

void Parts::keep_chunks_beside(const std::vector<std::string>& outputs, const std::string& input,
                               const std::string& identity) {
  if (input == "-" && goes_on(work_.restart)) {
    throw_usage(message("`resume`: the standard input cannot be read a second time"),
                "give the input as a file");
  }
  const bool are_files = std::all_of(outputs.begin(), outputs.end(), [&](const std::string& output) {
    // A folder of outputs can be made again as a file can.
    return std::filesystem::is_directory(output) || chunks_can_be_kept(output, work_.restart);
  });
  if (!are_files && !work_.shard.is_whole_run()) {
    throw_usage(message("`shard` {}/{}: an output on stdout or a device cannot be merged", work_.shard.index,
                        work_.shard.count),
                "give a file as output");
  }
  if (are_files && input != "-") keep_chunks(outputs.front() + ".parts", identity);
}

void Parts::leave_whole(const std::string& output) const {
  log_info(output + ": is whole already, and of this run");
  finished_.remove();
}

std::optional<ChunkPlace> Parts::next_place(ChunkKey key) {
  const std::uint64_t number = chunks_++;
  records_ += key.records;
  input_digest_.update(key.digest.data(), key.digest.size());
  if (!work_.shard.takes(number)) return std::nullopt;
  taken_records_ += key.records;
  return ChunkPlace{number, std::move(key), finished_.path(number), true};
}

void Parts::take_bytes(const ChunkPlace& place, const std::string& bytes) {
  if (place.is_new) finished_.save(place.number, place.key.digest, bytes);
  if (take_bytes_) take_bytes_(bytes);
}

void Parts::close(const std::vector<std::string>& files, const std::function<void(OutputSet&)>& put,
                  const std::string& note) {
  if (resumed_records_ > 0) {
    log_info(
        fmt::format("{} of {} records were finished by the run before{}", resumed_records_, records_, note));
  }
  OutputSet outputs({});
  for (const std::string& file : files) outputs.add({"", file});
  finished_.use_for([&] { put(outputs); });
  outputs.commit();
  finished_.remove();
}

}  // namespace bigbird
