// .npy files: the bytes that NumPy's format version 1.0 asks for.
#include "lib/io/tables/npy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

TEST(Npy, HeaderAndData) {
  const testing::TemporaryFolder folder;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  write_npy(folder / "x.npy", values, {2, 3});
  const std::string bytes = testing::read_text(folder / "x.npy");
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\0", 8));
  const std::size_t header =
      static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  EXPECT_EQ((10 + header) % 64, 0u) << "the data must be aligned";
  const std::string text = bytes.substr(10, header);
  EXPECT_EQ(text.substr(0, text.find_last_not_of(" \n") + 1),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3,), }");
  EXPECT_EQ(text.back(), '\n');
  ASSERT_EQ(bytes.size(), 10 + header + 24);
  float last = 0;
  std::memcpy(&last, bytes.data() + bytes.size() - 4, 4);
  EXPECT_EQ(last, 6.0f);
}

TEST(Npy, ValuesMustFillTheShape) {
  const testing::TemporaryFolder folder;
  testing::expect_message(testing::error_of([&] {
                            write_npy(folder / "x.npy", std::vector<float>(5), {2, 3});
                          }),
                          "x.npy", "do not fill");
  EXPECT_FALSE(std::filesystem::exists(folder / "x.npy"));
}

}  // namespace
}  // namespace bigbird
