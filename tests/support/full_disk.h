// A writer on a disk that is full: whatever fits, it ends with an Error and leaves nothing behind.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "lib/core/error.h"

namespace bigbird::testing {

// `write` makes the file `path`, alone in its folder. It is called once to learn the size, then in processes
// whose files may not grow beyond parts of it.
inline void expect_nothing_left_on_a_full_disk(const std::filesystem::path& path,
                                               const std::function<void()>& write) {
  write();
  const auto whole = static_cast<rlim_t>(std::filesystem::file_size(path));
  std::filesystem::remove(path);
  for (rlim_t part = 0; part < 6; ++part) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlim_t limit = part == 5 ? whole - 1 : whole * part / 5;
      const rlimit size = {limit, limit};
      if (setrlimit(RLIMIT_FSIZE, &size) != 0) _exit(3);
      int status = 1;
      try {
        write();
      } catch (const Error& error) {
        status = error.kind() == ErrorKind::runtime ? 0 : 2;
      }
      std::exit(status);  // libraries that tidy up at the end must survive that too
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "part " << part << " status " << status;
    EXPECT_TRUE(std::filesystem::is_empty(path.parent_path())) << "part " << part;
  }
}

}  // namespace bigbird::testing
