// What the tests of the text metrics share: a list of metrics against the official script's output.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/metrics/metric_list.h"

namespace bigbird {

// The same keys in the same order, and the same numbers to 1e-12.
inline void expect_metrics(const MetricList& metrics,
                           const std::vector<std::pair<std::string, double>>& expected) {
  ASSERT_EQ(metrics.size(), expected.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    EXPECT_EQ(metrics[i].name, expected[i].first);
    EXPECT_NEAR(metrics[i].value, expected[i].second, 1e-12) << metrics[i].name;
  }
}

// The message of the Error that `call` throws; "" for none.
template <typename Call>
std::string error_message(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

}  // namespace bigbird
