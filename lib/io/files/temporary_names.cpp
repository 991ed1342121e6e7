// See temporary_names.h.
#include "lib/io/files/temporary_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"

namespace bigbird {
namespace {

// Processes of one name space have different numbers, until the machine starts anew.
const std::string& this_host() {
  static const std::string host = [] {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    std::error_code ignored;
    const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
    return sha256_bytes(fmt::format("{}\n{}\n{}", name.data(), boot, space)).substr(0, 12);
  }();
  return host;
}

// A process's state and its start in clock ticks since the machine's, from /proc.
struct ProcessStatus {
  char state = '?';
  std::uint64_t start = 0;
};
std::optional<ProcessStatus> process_status(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  ProcessStatus status;
  std::size_t at = name_end + 1;
  for (int field = 3; field <= 22; ++field) {
    const std::size_t begin = text.find_first_not_of(' ', at);
    at = text.find(' ', begin);
    if (begin == std::string::npos || at == std::string::npos) return std::nullopt;
    if (field == 3) status.state = text[begin];
    if (field == 22) std::from_chars(text.data() + begin, text.data() + at, status.start);
  }
  return status;
}

namespace fs = std::filesystem;

constexpr std::size_t most_name_bytes = 200;  // file systems take 255
constexpr std::array<std::string_view, 3> kinds{".tmp.", ".tmp-", ".old-"};
constexpr auto foreign_age = std::chrono::hours(24 * 30);
constexpr std::size_t most_folders = 1000;

// The process in what stands after NAME.tmp. and the like.
std::optional<ProcessIdentity> parse_writer(std::string_view text) {
  constexpr std::size_t host_digits = 12, random_digits = 16;
  constexpr std::string_view hex = "0123456789abcdef";
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dash = text.find('-');
    parts.push_back(text.substr(0, dash));
    if (dash == std::string_view::npos) break;
    text.remove_prefix(dash + 1);
  }
  if (parts.size() != 4 || parts[0].size() != host_digits || parts[3].size() != random_digits) return {};
  for (const std::string_view part : {parts[0], parts[3]}) {
    if (part.find_first_not_of(hex) != std::string_view::npos) return {};
  }
  ProcessIdentity writer{std::string(parts[0]), 0, 0};
  const auto read = [](std::string_view part, auto& number) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    return error == std::errc() && end == part.data() + part.size();
  };
  if (!read(parts[1], writer.pid) || !read(parts[2], writer.start)) return {};
  if (writer.pid < 1 || writer.pid > 0x7fffffff) return {};
  return writer;
}

struct Leftover {
  std::string target;  // beginning of its name, as it stands in the leftover's
  std::string path;
  bool set_aside = false;
};

std::string shortened(const std::string& name) {
  return name.substr(0, most_name_bytes);
}

void for_each_temporary(const std::string& folder,
                        const std::function<void(const Leftover&, const ProcessIdentity&)>& take) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    for (const std::string_view kind : kinds) {
      const std::size_t at = name.rfind(kind);
      if (at == std::string::npos || at == 0) continue;
      if (const auto writer = parse_writer(std::string_view(name).substr(at + kind.size())))
        take({name.substr(0, at), entry->path().string(), kind == ".old-"}, *writer);
    }
  }
}

std::vector<Leftover> find_leftovers(const std::string& folder) {
  std::vector<Leftover> found;
  for_each_temporary(folder, [&](const Leftover& leftover, const ProcessIdentity& writer) {
    if (is_on_this_host(writer)) {
      if (is_running(writer)) return;
    } else {
      struct stat status {};
      if (lstat(leftover.path.c_str(), &status) != 0) return;
      const auto changed = std::chrono::system_clock::from_time_t(status.st_mtime);
      if (std::chrono::system_clock::now() - changed < foreign_age) return;
    }
    found.push_back(leftover);
  });
  return found;
}

void remove_leftover(const Leftover& leftover) {
  std::error_code ignored;
  if (fs::remove_all(leftover.path, ignored) > 0 && !ignored) {
    log_info(fmt::format("{}: removed; a process that was killed left it", leftover.path));
  }
}

}  // namespace

ProcessIdentity this_process() {
  const std::optional<ProcessStatus> self = process_status(getpid());
  return {this_host(), getpid(), self ? self->start : 0};
}

bool is_on_this_host(const ProcessIdentity& process) {
  return process.host == this_host();
}

bool is_running(const ProcessIdentity& process) {
  if (kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) return false;
  const std::optional<ProcessStatus> status = process_status(process.pid);
  if (!status) return true;  // it exists, and nobody says more
  const bool same = process.start == 0 || status->start == process.start;
  return same && status->state != 'Z' && status->state != 'X';
}

std::string temporary_name(const std::string& target, const char* kind) {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    random = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  const fs::path path(target);
  const ProcessIdentity self = this_process();
  const std::string name = fmt::format("{}{}{}-{}-{}-{:016x}", shortened(path.filename().string()), kind,
                                       self.host, self.pid, self.start, random);
  return (path.parent_path() / name).string();
}

int create_new_file(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

void remove_leftovers(const std::string& target) {
  static std::mutex mutex;
  static std::unordered_map<std::string, std::vector<Leftover>> folders;
  const std::lock_guard lock(mutex);
  if (folders.size() > most_folders) folders.clear();
  const std::string folder = parent_folder(target);
  const auto [known, is_new] = folders.try_emplace(folder);
  if (is_new) known->second = find_leftovers(folder);
  const std::string name = shortened(fs::path(target).filename().string());
  std::error_code ignored;
  std::erase_if(known->second, [&](const Leftover& leftover) {
    if (leftover.target != name) return false;
    // A folder set aside is the only copy until the new one has its name.
    if (leftover.set_aside && !fs::exists(target, ignored)) return false;
    remove_leftover(leftover);
    return true;
  });
}

void remove_leftovers_of(const ProcessIdentity& process, const std::string& folder) {
  std::vector<Leftover> found;
  for_each_temporary(folder, [&](const Leftover& leftover, const ProcessIdentity& writer) {
    if (writer == process && !leftover.set_aside) found.push_back(leftover);
  });
  for (const Leftover& leftover : found) remove_leftover(leftover);
}

}  // namespace bigbird
