// Which profiles of a model get numbers of their own: the words of every scoring verb, ascending and each
// once.
#include "lib/inference/model_task.h"

#include <gtest/gtest.h>

#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using Indices = std::vector<std::size_t>;
const std::vector<Profile> four_profiles = {{"a", "TF"}, {"b", "TF"}, {"a", "DHS"}, {"c", "HM"}};

TEST(WrittenProfiles, AscendingAndEachOnce) {
  EXPECT_EQ(written_profiles("3,0-1,1", four_profiles, 2), (Indices{0, 1, 3}));
  EXPECT_EQ(written_profiles("c,a", four_profiles, 2), (Indices{0, 2, 3}));
  EXPECT_EQ(written_profiles("all", four_profiles, 2), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(written_profiles("none", four_profiles, 9), Indices{});
}

TEST(WrittenProfiles, WithoutAListAllOfFew) {
  EXPECT_EQ(written_profiles("", four_profiles, 4), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(written_profiles("", four_profiles, 3), Indices{});
}

TEST(WrittenProfiles, WhatIsNoProfileIsNamed) {
  testing::expect_message(testing::error_of([] { written_profiles("0,7", four_profiles, 4); }), "0,7",
                          "there is no profile 7");
}

}  // namespace
}  // namespace bigbird
