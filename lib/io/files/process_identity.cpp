// See process_identity.h.
#include "lib/io/files/process_identity.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

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

}  // namespace bigbird
