// Scores of variants in HDF5: shards become the bytes of one file, and what does not fit together is refused.
#include "lib/genomics/variants/score_writers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

class ScoreHdf5Files : public ::testing::Test {
 protected:
  static ScoreHdf5Contents contents() {
    return {{"ref", "alt", "diff", "logfc"}, {0, 4, 7}, {"CTCF", "DNase", "EZH2"}, "bigbird_command=x\n"};
  }
  // Rows that hold their number, the matrix and the column; every seventh was not scored.
  std::string write(const std::string& name, const std::vector<int>& rows,
                    const ScoreHdf5Contents& with = contents()) const {
    ScoreHdf5 file(path(name), with);
    for (const int row : rows) {
      for (std::size_t matrix = 0; matrix < with.matrices.size(); ++matrix) {
        std::vector<float> values;
        for (std::size_t column = 0; column < with.profile_index.size(); ++column)
          values.push_back(row % 7 == 3 ? std::nanf("")
                                        : static_cast<float>(row) + 0.1f * static_cast<float>(matrix) +
                                              0.01f * static_cast<float>(column));
        file.append(matrix, values);
      }
    }
    file.commit();
    return path(name);
  }
  static std::vector<int> from_to(int first, int last) {
    std::vector<int> rows;
    for (int row = first; row < last; ++row) rows.push_back(row);
    return rows;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string bytes(const std::string& name) const { return testing::read_text(folder_ / name); }

  testing::TemporaryFolder folder_;
};

TEST_F(ScoreHdf5Files, ShardsBecomeTheBytesOfOneFile) {
  // More rows than HDF5 chunks hold (the last matrix of a wide model has few), in chunks of unlike size.
  write("whole.h5", from_to(0, 40'000));
  std::vector<int> first = from_to(0, 15'000), second = from_to(15'000, 15'001);
  const std::vector<int> third = from_to(15'001, 40'000);
  first.insert(first.end(), third.begin(), third.end());
  const std::string one = write("1.h5", first), two = write("2.h5", second);
  merge_score_hdf5({{one, {15'000, 24'999}}, {two, {1}}}, path("merged.h5"));
  EXPECT_TRUE(bytes("merged.h5") == bytes("whole.h5"));
  EXPECT_FALSE(has_evalues(path("merged.h5")));
}

TEST_F(ScoreHdf5Files, WhatDoesNotFitIsRefused) {
  const std::string one = write("1.h5", from_to(0, 10)), two = write("2.h5", from_to(10, 15));
  const auto refused = [&](const std::vector<ChunkedTable>& shards, const std::string& words) {
    const auto merge = [&] { merge_score_hdf5(shards, path("merged.h5")); };
    expect_bad_input(error_of(merge), shards.back().path, words);
    EXPECT_FALSE(std::filesystem::exists(path("merged.h5")));
  };
  refused({{one, {10}}, {two, {6}}}, "fewer rows");
  refused({{one, {10}}, {two, {4}}}, "more rows");
  ScoreHdf5Contents other = contents();
  other.profile_name[1] = "FAIRE";
  refused({{one, {10}}, {write("other.h5", from_to(0, 5), other), {5}}}, "other matrices");
  other = contents();
  other.matrices.emplace_back("evalue");
  EXPECT_TRUE(has_evalues(write("evalues.h5", from_to(0, 5), other)));
  refused({{one, {10}}, {path("evalues.h5"), {5}}}, "other matrices");
  testing::write_text(folder_ / "no.h5", "text");
  refused({{one, {10}}, {path("no.h5"), {5}}}, "not a whole HDF5 file");
}

}  // namespace
}  // namespace bigbird
