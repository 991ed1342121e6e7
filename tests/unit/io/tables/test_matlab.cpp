// Both kinds of MATLAB file give the same rows; damaged ones are refused.
#include <gtest/gtest.h>
#include <matio.h>

#include "lib/io/tables/matlab.h"
#include "tests/support/matlab_files.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;

// 40 rows x 3 x 5; the value says its place.
std::uint8_t value_at(std::size_t row, std::size_t j, std::size_t k) {
  return static_cast<std::uint8_t>(row * 6 + j * 101 + k * 31);
}

std::vector<testing::MatlabVariable> variables() {
  testing::MatlabVariable cube{"cube", {40, 3, 5}, {}}, table{"table", {40, 2}, {}};
  for (std::size_t k = 0; k < 5; ++k) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t row = 0; row < 40; ++row) cube.bytes.push_back(value_at(row, j, k));
    }
  }
  for (std::size_t i = 0; i < 80; ++i) table.bytes.push_back(static_cast<std::uint8_t>(i % 2));
  return {table, cube};
}

TEST(Matlab, RowsOfBothKindsAreTheSame) {
  const TemporaryFolder folder;
  testing::write_matlab73(folder / "new.mat", variables());
  testing::write_matlab5(folder / "old.mat", variables());
  for (const char* name : {"new.mat", "old.mat"}) {
    MatlabFile file((folder / name).string());
    EXPECT_EQ(file.by_slabs(), std::string(name) == "new.mat");
    EXPECT_EQ(file.rows_per_chunk("cube"), file.by_slabs() ? 7 : 0);
    ASSERT_EQ(file.arrays().size(), 2u);
    EXPECT_EQ(file.arrays()[0].name, "cube");
    EXPECT_EQ(file.arrays()[0].shape, (std::vector<std::int64_t>{40, 3, 5}));
    EXPECT_EQ(file.arrays()[1].shape, (std::vector<std::int64_t>{40, 2}));
    std::vector<std::uint8_t> rows;
    for (const auto& [begin, end] :
         std::vector<std::pair<std::size_t, std::size_t>>{{0, 40}, {33, 40}, {5, 6}, {9, 9}}) {
      file.read_rows("cube", static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end), rows);
      const std::size_t count = end - begin;
      ASSERT_EQ(rows.size(), count * 15);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t column = i / count;
        EXPECT_EQ(rows[i], value_at(begin + i % count, column % 3, column / 3)) << name << " " << i;
      }
      file.read_rows("table", 3, 5, rows);
      EXPECT_EQ(rows, (std::vector<std::uint8_t>{1, 0, 1, 0}));
    }
    expect_bad_input(error_of([&] { file.read_rows("absent", 0, 1, rows); }), name, "absent");
    EXPECT_TRUE(error_of([&] { file.read_rows("cube", 39, 41, rows); }).has_value());
  }
}

TEST(Matlab, RefusesOtherTypesAndOtherFiles) {
  const TemporaryFolder folder;
  double number = 1;
  std::size_t shape[2] = {1, 1};
  mat_t* file = Mat_CreateVer((folder / "double.mat").c_str(), nullptr, MAT_FT_MAT5);
  matvar_t* variable = Mat_VarCreate("x", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, shape, &number, 0);
  ASSERT_EQ(Mat_VarWrite(file, variable, MAT_COMPRESSION_NONE), 0);
  Mat_VarFree(variable);
  Mat_Close(file);
  std::vector<std::uint8_t> rows;
  MatlabFile opened((folder / "double.mat").string());
  expect_bad_input(error_of([&] { opened.read_rows("x", 0, 1, rows); }), "double.mat: x",
                   "not an array of uint8");
  testing::write_text(folder / "text.mat", "text");
  expect_bad_input(error_of([&] { MatlabFile((folder / "text.mat").string()); }), "text.mat",
                   "not a whole HDF5");
  testing::write_text(folder / "empty.mat", "");
  expect_bad_input(error_of([&] { MatlabFile((folder / "empty.mat").string()); }), "empty.mat",
                   "not a whole HDF5");
}

// matio believes the number, and would read what lies behind it as HDF5.
TEST(Matlab, AHeadOfOneVersionWithTheNumberOfAnotherIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder / "other.mat";
  testing::write_matlab5(path, {{"x", {2, 1}, {0, 1}}});
  std::string bytes = testing::read_text(path);
  ASSERT_EQ(bytes.substr(124, 4), std::string("\0\1IM", 4));
  bytes[125] = 2;
  testing::write_text(path, bytes);
  expect_bad_input(error_of([&] { MatlabFile(path.string()); }), "other.mat", "not the one of version 5");
}

// Rows are asked for by name: of two variables of one name the second would never be read.
TEST(Matlab, TwoVariablesOfOneNameAreRefused) {
  constexpr std::size_t header = 128;
  const TemporaryFolder folder;
  const auto path = folder / "twice.mat";
  testing::write_matlab5(path, {{"x\ny", {2, 1}, {0, 1}}});
  const std::string first = testing::read_text(path);
  std::vector<std::uint8_t> rows;
  MatlabFile(path.string()).read_rows("x\ny", 0, 2, rows);
  EXPECT_EQ(rows, (std::vector<std::uint8_t>{0, 1}));
  expect_bad_input(error_of([&] { MatlabFile(path.string()).read_rows("x\ny", 0, 3, rows); }), "twice.mat",
                   "x?y has no rows");
  testing::write_matlab5(path, {{"x\ny", {3, 1}, {1, 1, 1}}});
  testing::write_text(path, first + testing::read_text(path).substr(header));
  expect_bad_input(error_of([&] { MatlabFile(path.string()); }), "twice.mat",
                   "two variables are named 'x?y'");
}

TEST(Matlab, AFileThatIsCutShortOrDamagedIsRefused) {
  const TemporaryFolder folder;
  testing::MatlabVariable bits{"cube", {500, 4, 30}, std::vector<std::uint8_t>(60000)};
  for (std::size_t i = 0; i < bits.bytes.size(); ++i) {
    bits.bytes[i] = static_cast<std::uint8_t>(i * i * 2654435761U >> 20U & 1U);
  }
  for (const bool old : {true, false}) {
    const auto path = folder / "cut.mat";
    old ? testing::write_matlab5(path, {bits}) : testing::write_matlab73(path, {bits}, 100);
    const std::string whole = testing::read_text(path);
    std::vector<std::uint8_t> rows;
    const auto error = [&](const std::string& bytes) {
      testing::write_text(path, bytes);
      return error_of([&] { MatlabFile(path.string()).read_rows("cube", 0, 500, rows); });
    };
    for (std::size_t part = 0; part < 12; ++part) {
      expect_bad_input(error(whole.substr(0, whole.size() * part / 12)), "cut.mat", "");
    }
    expect_bad_input(error(whole.substr(0, whole.size() - 1)), "cut.mat", "");
    std::string damaged = whole;
    damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 4);
    expect_bad_input(error(damaged), "cut.mat", "");
    EXPECT_FALSE(error(whole).has_value());
    EXPECT_EQ(rows, bits.bytes);
  }
}

// The two numbers of an uncompressed variable's extents, changed: 2^30 elements, and more than any number.
TEST(Matlab, ExtentsThatTheFileCannotHoldAreRefusedBeforeMemoryIsTaken) {
  const TemporaryFolder folder;
  const auto path = folder / "lie.mat";
  std::size_t shape[2] = {40, 3};
  std::vector<std::uint8_t> bytes(120, 1);
  mat_t* file = Mat_CreateVer(path.c_str(), nullptr, MAT_FT_MAT5);
  matvar_t* variable = Mat_VarCreate("x", MAT_C_UINT8, MAT_T_UINT8, 2, shape, bytes.data(), 0);
  ASSERT_EQ(Mat_VarWrite(file, variable, MAT_COMPRESSION_NONE), 0);
  Mat_VarFree(variable);
  Mat_Close(file);
  const std::string whole = testing::read_text(path);
  const std::string extents("\x28\0\0\0\x03\0\0\0", 8);
  const std::size_t at = whole.find(extents);
  ASSERT_NE(at, std::string::npos);
  std::vector<std::uint8_t> rows;
  MatlabFile(path.string()).read_rows("x", 0, 40, rows);
  EXPECT_EQ(rows, bytes);
  for (const std::string& lie : {std::string("\0\x80\0\0\0\x80\0\0", 8), std::string(8, '\xff')}) {
    std::string damaged = whole;
    damaged.replace(at, 8, lie);
    testing::write_text(path, damaged);
    expect_bad_input(error_of([&] { MatlabFile(path.string()).read_rows("x", 0, 1, rows); }), "lie.mat", "");
  }
  std::string damaged = whole;
  damaged.replace(at, 4, std::string("\x79\0\0\0", 4));
  testing::write_text(path, damaged);
  expect_bad_input(error_of([&] { MatlabFile(path.string()).read_rows("x", 0, 1, rows); }), "lie.mat: x",
                   "extents 121 x 3 in a file whose largest variable");
}

}  // namespace
}  // namespace bigbird
