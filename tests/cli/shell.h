// A line of a shell that runs the program, for tests of what only a shell can ask: variables, pipes,
// descriptors.
#pragma once

#include <string>

#include "tests/support/support.h"

namespace bigbird::testing {

// For redirections that run_bigbird cannot make. "$bigbird" is the program.
inline RunResult run_shell(const std::string& script) {
  return run_program({"sh", "-c", "bigbird='" + bigbird_binary() + "'\n" + script});
}

}  // namespace bigbird::testing
