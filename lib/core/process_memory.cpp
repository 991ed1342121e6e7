// Memory and cost of the process, memory of the machine; see process_memory.h.
#include "lib/core/process_memory.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "lib/core/environment.h"

namespace bigbird {
namespace {

// 123 of "NAME:   123 kB" in a /proc file; 0 where there is none.
std::size_t proc_number(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  std::string word;
  while (in >> word) {
    if (word == name + ":") {
      std::size_t number = 0;
      in >> number;
      return number;
    }
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

std::size_t proc_field(const std::string& file, const std::string& name) {
  return proc_number(file, name) * 1024;  // of kB
}

// The number in a control file; nothing when there is none or it says "max".
std::optional<std::size_t> control_value(const std::string& file) {
  std::ifstream in(file);
  std::size_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

// Page cache is charged to a group but given back on demand: it counts as room.
std::size_t reclaimable_of(const std::string& folder) {
  std::ifstream in(folder + "/memory.stat");
  std::string name;
  std::size_t value = 0;
  while (in >> name >> value) {
    if (name == "inactive_file" || name == "total_inactive_file") return value;
  }
  return 0;
}

// Room under the limits of a group and its parents.
void tighten(std::size_t& room, const std::string& mount, std::string group, const char* limit_file,
             const char* usage_file) {
  for (;;) {
    const std::string folder = mount + group;
    const auto limit = control_value(folder + "/" + limit_file);
    const auto usage = control_value(folder + "/" + usage_file);
    if (limit && usage) {
      const std::size_t used = *usage - std::min(*usage, reclaimable_of(folder));
      room = std::min(room, *limit - std::min(*limit, used));
    }
    if (group.empty()) return;
    group.erase(group.find_last_of('/'));
  }
}

const std::chrono::steady_clock::time_point process_start = std::chrono::steady_clock::now();

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

ResidentMemory resident_memory() {
  const std::string status = "/proc/self/status";
  ResidentMemory memory;
  memory.anonymous = proc_field(status, "RssAnon") + proc_field(status, "RssShmem");
  memory.file = proc_field(status, "RssFile");
  memory.peak = proc_field(status, "VmHWM");
  return memory;
}

std::size_t available_memory() {
  std::size_t room = proc_field("/proc/meminfo", "MemAvailable");
  if (room == 0) return 0;
  // Lines "ID:CONTROLLERS:/GROUP"; version 2 has ID 0 and no controllers. Inside a container the group may be
  // named from outside and not exist here: the root of the mount then holds the container's own limit.
  std::ifstream in("/proc/self/cgroup");
  std::string line;
  while (std::getline(in, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group == "/" || group.find("/..") != std::string::npos) group.clear();
    if (controllers.empty()) tighten(room, "/sys/fs/cgroup", group, "memory.max", "memory.current");
    if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      tighten(room, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes");
    }
  }
  if (const std::optional<SlurmGrant> grant = slurm_grant(); grant && grant->memory) {
    room = std::min(room, *grant->memory - std::min(*grant->memory, resident_memory().anonymous));
  }
  return room;
}

std::optional<ProcessLimit> process_limit() {
  struct Known {
    decltype(RLIMIT_AS) resource;
    const char* option;
    const char* used;  // in /proc/self/status
  };
  std::optional<ProcessLimit> tightest;
  for (const Known& known : {Known{RLIMIT_AS, "-v", "VmSize"}, Known{RLIMIT_DATA, "-d", "VmData"}}) {
    rlimit limit{};
    if (getrlimit(known.resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    const auto bytes = static_cast<std::size_t>(limit.rlim_cur);
    const std::size_t room = bytes - std::min(bytes, proc_field("/proc/self/status", known.used));
    if (!tightest || room < tightest->room)
      tightest = {fmt::format("ulimit {} {}", known.option, bytes / 1024), room};
  }
  return tightest;
}

std::size_t stacks_to_come(int threads) {
  const std::size_t running = proc_number("/proc/self/status", "Threads");
  const auto wanted = static_cast<std::size_t>(std::max(threads, 1));
  std::size_t of_one = std::size_t{8} << 20;
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &of_one);
    pthread_attr_destroy(&attributes);
  }
  return (wanted - std::min(wanted, running)) * of_one;
}

std::string memory_hint() {
  const std::optional<ProcessLimit> limit = process_limit();
  if (!limit) return "use a smaller batch or model, or a machine with more";
  return fmt::format("raise the limit of the process ({}), or use a smaller batch or model", limit->name);
}

ProcessCost process_cost() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  // Not ru_maxrss: a process that a large program started inherits that one's size there.
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - process_start).count(),
          seconds(usage.ru_utime) + seconds(usage.ru_stime), resident_memory().peak};
}

}  // namespace bigbird
