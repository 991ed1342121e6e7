// How threads wait; see waiting_threads.h. Measured in docs/command-line.md 5.3: on cores that others use
// too, threads that spin double the CPU time of short passes; on cores of their own nothing is gained by it.
#include "apps/waiting_threads.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/parallel.h"

namespace bigbird::apps {
namespace {

constexpr std::array<const char*, 3> said_by = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};

// "-@ 1", "-@1", "--threads 1", "--threads=1", BIGBIRD_THREADS=1; the command line wins.
bool asks_for_one_thread(const std::vector<std::string_view>& words) {
  const char* set = std::getenv("BIGBIRD_THREADS");
  std::string_view threads = set == nullptr ? "" : set;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") break;
    for (const std::string_view option : {"-@", "--threads=", "--threads"}) {
      if (words[i] == option && i + 1 < words.size()) {
        threads = words[i + 1];
        break;
      }
      if (option != "--threads" && words[i].size() > option.size() && words[i].starts_with(option)) {
        threads = words[i].substr(option.size());
        break;
      }
    }
  }
  return threads == "1";
}

// Whether what was typed may come to work at all, as far as its words tell.
bool may_work(const std::vector<std::string_view>& words) {
  const auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (words.empty() || words[0].starts_with("-")) return false;
  for (const char* verb : {"help", "man", "completion", "info"}) {
    if (words[0] == verb) return false;
  }
  return !has("-h") && !has("--help");
}

std::string own_path() {
  std::string path(4096, '\0');
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(size < 0 || static_cast<std::size_t>(size) == path.size() ? 0 : static_cast<std::size_t>(size));
  return path;
}

}  // namespace

#if defined(BIGBIRD_STD_THREADS)
void let_waiting_threads_sleep(int, char**) {}
#else
void let_waiting_threads_sleep(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
  const bool is_said = std::any_of(said_by.begin(), said_by.end(),
                                   [](const char* name) { return std::getenv(name) != nullptr; });
  if (is_said || !may_work(words) || asks_for_one_thread(words) || kernels::thread_count() == 1) return;
  const std::string path = own_path();
  if (path.empty() || setenv("OMP_WAIT_POLICY", "passive", 0) != 0) return;
  execv(path.c_str(), argv);  // returns where it cannot be done
}
#endif

}  // namespace bigbird::apps
