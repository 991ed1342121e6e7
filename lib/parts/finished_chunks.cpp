// Shards and finished chunks; see finished_chunks.h. The file of a chunk: magic, digest of its input (64
// letters), the bytes that were saved, FNV-1a of all that.
#include "lib/parts/finished_chunks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/hash.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

constexpr std::string_view magic = "bigbird finished chunk 1\n";
constexpr std::uint64_t most_shards = 100'000;

// The number that all of `text` is; 0 where it is none.
std::uint64_t whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? number : 0;
}

}  // namespace

Shard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const Shard shard{whole_number(text.substr(0, slash)), whole_number(text.substr(slash + 1))};
    if (shard.index >= 1 && shard.index <= shard.count && shard.count <= most_shards) return shard;
  }
  throw_usage(message("`shard` {}: no shard", text), "I/N with I from 1 to N: 2/10");
}

bool goes_on(Restart restart) {
  return restart == Restart::resume || restart == Restart::automatic;
}

bool chunks_can_be_kept(const std::string& output, Restart restart) {
  const bool is_file =
      output != "-" && (!std::filesystem::exists(output) || std::filesystem::is_regular_file(output));
  if (!is_file && goes_on(restart)) {
    throw_usage(message("`resume`: nothing is kept of a run to stdout or a device"), "give a file as output");
  }
  return is_file;
}

FinishedChunks::FinishedChunks(const std::string& folder, const std::string& identity, Restart restart)
    : folder_(folder),
      identity_(identity),
      resumed_(goes_on(restart)),
      strict_(restart != Restart::automatic) {
  lease_.emplace(folder_ + ".lease", strict_ ? LeaseBusy::refuse : LeaseBusy::wait);
  if (folder_is_empty(folder_)) return;
  if (is_of_no_run()) {
    discard_folder(folder_);
    return;
  }
  const auto is_this_run = [&] {
    return file_exists(identity_path()) && read_file(identity_path()) == identity;
  };
  switch (restart) {
    case Restart::refuse:
      throw_usage(folder_ + ": finished parts of a run that did not end",
                  message("`resume` goes on from them, `force` begins anew"));
    case Restart::resume:
      if (!is_this_run()) {
        throw_bad_input(folder_ + ": finished parts of another run (another model, input, genome or options)",
                        message("give the options of that run, or `force` to begin anew"));
      }
      made_ = true;
      return;
    case Restart::automatic:
      made_ = is_this_run();
      if (made_) return;
      log_warning(folder_ + ": finished parts of another run, removed");
      discard_folder(folder_);
      return;
    case Restart::force:
      discard_folder(folder_);
  }
}

// Parts, whole or begun, without the run that they are of.
bool FinishedChunks::is_of_no_run() const {
  if (!folder_exists(folder_)) return false;
  const std::vector<std::string> names = names_in(folder_);
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("chunk-") || name.starts_with("run.json.tmp.");
  });
}

std::string FinishedChunks::path(std::uint64_t chunk) const {
  return fmt::format("{}/chunk-{:08}", folder_, chunk);
}

std::optional<std::string> FinishedChunks::load(std::uint64_t chunk, std::string_view input_digest) const {
  if (!resumed_ || !file_exists(path(chunk))) return std::nullopt;
  const std::string stored = read_file(path(chunk));
  std::string_view bytes = stored;
  std::uint64_t checksum = 0;
  bool whole = bytes.size() >= magic.size() + input_digest.size() + sizeof checksum;
  if (whole) {
    std::memcpy(&checksum, bytes.data() + bytes.size() - sizeof checksum, sizeof checksum);
    bytes.remove_suffix(sizeof checksum);
    whole = bytes.starts_with(magic) && checksum == fnv1a_64(bytes);
  }
  if (!whole) {
    log_warning(path(chunk) + ": the part is damaged, and made again");
    return std::nullopt;
  }
  bytes.remove_prefix(magic.size());
  if (!bytes.starts_with(input_digest)) {
    if (!strict_) return std::nullopt;
    throw_bad_input(path(chunk) + ": the part is of other records than the input's",
                    message("resume with the same input, or begin anew with `force`"));
  }
  bytes.remove_prefix(input_digest.size());
  return std::string(bytes);
}

void FinishedChunks::save(std::uint64_t chunk, std::string_view input_digest, std::string_view bytes) {
  if (!keeps()) return;
  lease_->check();
  if (!made_) {
    AtomicFolder folder(folder_);
    write_text_atomic(folder.file("run.json"), identity_);
    folder.commit();
    made_ = true;
  }
  std::string stored(magic);
  stored.append(input_digest).append(bytes);
  const std::uint64_t checksum = fnv1a_64(stored);
  stored.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  write_text_atomic(path(chunk), stored, Synced::no);
  sync_in_time();
}

// All of the file system at once: each of many small files by itself takes as long.
void FinishedChunks::sync_in_time() {
  const auto begin = std::chrono::steady_clock::now();
  if (begin < next_sync_) return;
  const int descriptor = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    const int error = syncfs(descriptor) != 0 ? errno : 0;
    close(descriptor);
    if (error != 0 && error != EINVAL && error != ENOTSUP) throw_cannot_write(folder_, error);
  }
  const auto end = std::chrono::steady_clock::now();
  next_sync_ =
      end + std::max<std::chrono::steady_clock::duration>(std::chrono::seconds(1), 9 * (end - begin));
}

void FinishedChunks::use_for(const std::function<void()>& put_in_place) const {
  try {
    put_in_place();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::bad_input) remove();
    throw;
  }
}

void FinishedChunks::remove() const {
  if (keeps()) discard_folder(folder_);
}

}  // namespace bigbird
