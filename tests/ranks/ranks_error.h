// What tests of ranks share: the words of an error.
#pragma once

#include <functional>
#include <string>

#include "kernels/ranks/ranks.h"

namespace bigbird::testing {

// "message\nhint" of the RanksError that `work` throws; "no error".
inline std::string ranks_error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const kernels::RanksError& error) {
    return std::string(error.what()) + "\n" + error.hint();
  }
  return "no error";
}

}  // namespace bigbird::testing
