// See environment.h.
#include "lib/core/environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace bigbird {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;

std::optional<std::int64_t> positive_number(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 1) return std::nullopt;
  return number;
}

}  // namespace

std::optional<SlurmGrant> slurm_grant() {
  return slurm_grant([](const char* name) { return static_cast<const char*>(std::getenv(name)); });
}

std::optional<SlurmGrant> slurm_grant(const std::function<const char*(const char*)>& variable) {
  const char* const job = variable("SLURM_JOB_ID");
  if (job == nullptr || *job == '\0') return std::nullopt;
  SlurmGrant grant;
  grant.job = job;
  const char* const array = variable("SLURM_ARRAY_JOB_ID");
  const char* const task = variable("SLURM_ARRAY_TASK_ID");
  if (array != nullptr && task != nullptr) grant.job = std::string(array) + "_" + task;
  const auto threads = positive_number(variable("SLURM_CPUS_PER_TASK"));
  if (threads && *threads <= std::numeric_limits<int>::max()) grant.threads = static_cast<int>(*threads);
  std::optional<std::int64_t> megabytes = positive_number(variable("SLURM_MEM_PER_NODE"));
  if (!megabytes) {
    megabytes = positive_number(variable("SLURM_MEM_PER_CPU"));
    const std::int64_t cpus = positive_number(variable("SLURM_CPUS_ON_NODE")).value_or(threads.value_or(1));
    if (megabytes && __builtin_mul_overflow(*megabytes, cpus, &*megabytes)) megabytes.reset();
  }
  std::int64_t bytes = 0;
  if (megabytes && !__builtin_mul_overflow(*megabytes, mebibyte, &bytes)) {
    grant.memory = static_cast<std::size_t>(bytes);
  }
  grant.end = positive_number(variable("SLURM_JOB_END_TIME"));
  return grant;
}

std::optional<GrantedThreads> granted_threads() {
  return granted_threads([](const char* name) { return static_cast<const char*>(std::getenv(name)); });
}

std::optional<GrantedThreads> granted_threads(const std::function<const char*(const char*)>& variable) {
  // A number, and of a batch system the variable that is set in its jobs alone.
  struct Place {
    const char* number;
    const char* job;
  };
  constexpr Place places[] = {{"OMP_NUM_THREADS", nullptr}, {"SLURM_CPUS_PER_TASK", "SLURM_JOB_ID"},
                              {"PBS_NUM_PPN", "PBS_JOBID"}, {"NCPUS", "PBS_JOBID"},
                              {"NSLOTS", "JOB_ID"},         {"LSB_DJOB_NUMPROC", "LSB_JOBID"}};
  for (const Place& place : places) {
    const char* const text = variable(place.number);
    if (text == nullptr || (place.job != nullptr && variable(place.job) == nullptr)) continue;
    const std::string all = text;
    const std::string first = all.substr(0, all.find(','));
    const std::optional<std::int64_t> number = positive_number(first.c_str());
    if (number && *number <= std::numeric_limits<int>::max())
      return GrantedThreads{static_cast<int>(*number), place.number};
  }
  return std::nullopt;
}

std::string user_cache_folder(const std::function<const char*(const char*)>& variable) {
  const auto word = [&](const char* name) {
    const char* const value = variable(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::string folder = word("XDG_CACHE_HOME");
  if (folder.empty() && !word("HOME").empty()) folder = word("HOME") + "/.cache";
  return folder.empty() ? "" : folder + "/bigbird";
}

bool may_be_trusted(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  return (status.st_uid == geteuid() || status.st_uid == 0) && (status.st_mode & S_IWOTH) == 0;
}

}  // namespace bigbird
