// .npy matrices: types, orders and header versions as NumPy writes them, and what is refused.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "lib/io/tables/npy.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

template <typename Value>
std::string npy_bytes(const std::string& descr, const std::string& order, const std::string& shape,
                      const std::vector<Value>& values, char version = 1) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header += std::string(128 - header.size(), ' ');
  header.back() = '\n';
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += std::string(1, '\0');
  bytes += std::string("\x80\0", 2);
  if (version > 1) bytes += std::string("\0\0", 2);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
  return bytes;
}

TEST(NpyMatrix, ReadsTypesAndOrders) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  testing::write_text(path, npy_bytes<double>("<f8", "False", "(2, 3)", {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(NpyMatrix(path).number(1, 0), 4);
  testing::write_text(path, npy_bytes<double>("<f8", "True", "(2, 3)", {1, 4, 2, 5, 3, 6}, 2));
  const NpyMatrix matrix(path);
  EXPECT_EQ(matrix.rows(), 2u);
  EXPECT_EQ(matrix.columns(), 3u);
  EXPECT_EQ(matrix.number(1, 0), 4);
  EXPECT_EQ(matrix.number(0, 2), 3);
  std::vector<double> columns(4);
  matrix.gather(1, 3, std::vector<std::uint32_t>{1, 0}, 2, columns.data());
  EXPECT_EQ(columns, (std::vector<double>{5, 2, 6, 3}));
  testing::write_text(path, npy_bytes<std::uint8_t>("|b1", "False", "(3,)", {0, 1, 1}));
  const NpyMatrix bytes(path);
  EXPECT_EQ(bytes.type(), NpyMatrix::Type::uint8);
  EXPECT_EQ(bytes.rows(), 3u);
  EXPECT_EQ(bytes.columns(), 1u);
  EXPECT_EQ(bytes.byte(2, 0), 1);
  write_npy(path, std::vector<float>{0.5F, 0.25F}, {1, 2});
  EXPECT_EQ(NpyMatrix(path).number(0, 1), 0.25);
}

TEST(NpyMatrix, RefusesWhatItCannotRead) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  const auto refused = [&](const std::string& bytes, const std::string& what) {
    testing::write_text(path, bytes);
    testing::expect_bad_input(testing::error_of([&] { NpyMatrix matrix(path); }), "x.npy", what);
  };
  refused("#chrom\tstart\tend\n", "not a .npy file");
  refused(npy_bytes<std::int64_t>("<i8", "False", "(2,)", {1, 2}), "'<i8'");
  refused(npy_bytes<float>(">f4", "False", "(2,)", {1, 2}), "'>f4'");
  refused(npy_bytes<float>("<f4", "False", "(1, 1, 2)", {1, 2}), "3 axes");
  refused(npy_bytes<float>("<f4", "False", "(2, x)", {1, 2}), "whole numbers");
  refused(npy_bytes<float>("<f4", "False", "(3, 1)", {1, 2}), "8 bytes of values");
  refused(npy_bytes<float>("<f4", "False", "(4611686018427387904, 4)", {}), "0 bytes of values");
  refused(npy_bytes<float>("<f4", "False", "(1, 1)", {1, 2}), "8 bytes of values");
  refused(npy_bytes<float>("<f4", "False", "(1, 1)", {1}).substr(0, 60), "cut short");
}

}  // namespace
}  // namespace bigbird
