// safetensors: round trips, the 16-bit formats, and headers that lie.
#include "lib/io/weights/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::expect_message;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

std::string file_bytes(const std::string& header, const std::string& data, std::uint64_t claimed) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &claimed, 8);
  return bytes + header + data;
}
std::string file_bytes(const std::string& header, const std::string& data) {
  return file_bytes(header, data, header.size());
}

TEST(Safetensors, RoundTripsEveryType) {
  const TemporaryFolder folder;
  const std::array<float, 6> f32{1, -2.5f, 0, 1e30f, -0.0f, 3};
  const std::array<double, 2> f64{0.1, -1e10};
  const std::array<std::uint16_t, 3> f16{0x3c00, 0xc000, 0x0001};
  const std::array<std::uint16_t, 2> bf16{0x3f80, 0xc040};
  const std::array<std::int64_t, 2> i64{-1, std::int64_t{1} << 40};
  const std::array<std::int32_t, 1> i32{-7};
  const std::array<std::uint8_t, 3> u8{0, 128, 255};
  const std::string path = folder / "x.safetensors";
  write_safetensors(path,
                    {{"f32", TensorType::f32, {2, 3}, f32.data()},
                     {"u8", TensorType::u8, {3}, u8.data()},
                     {"f64", TensorType::f64, {2}, f64.data()},
                     {"f16", TensorType::f16, {3, 1}, f16.data()},
                     {"bf16", TensorType::bf16, {2}, bf16.data()},
                     {"i64", TensorType::i64, {1, 2}, i64.data()},
                     {"i32", TensorType::i32, {}, i32.data()},
                     {"none", TensorType::f32, {0, 4}, nullptr}},
                    {{"format", "pt"}, {"step", "12"}});
  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("step"), "12");
  ASSERT_EQ(file.tensors().size(), 8u);
  EXPECT_EQ(file.tensors()[1].name, "u8") << "the order of the bytes is the order given";
  EXPECT_EQ(file.info("f32").shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(file.floats("f32"), std::vector<float>(f32.begin(), f32.end()));
  EXPECT_EQ(file.float_view("f32")[3], 1e30f);
  EXPECT_EQ(file.floats("f64"), (std::vector<float>{0.1f, -1e10f}));
  EXPECT_EQ(file.floats("f16"), (std::vector<float>{1, -2, 0x1.0p-24f}));
  EXPECT_EQ(file.floats("bf16"), (std::vector<float>{1, -3}));
  EXPECT_EQ(file.integers("i64"), (std::vector<std::int64_t>{-1, std::int64_t{1} << 40}));
  EXPECT_EQ(file.integers("i32"), std::vector<std::int64_t>{-7});
  EXPECT_EQ(file.integers("u8"), (std::vector<std::int64_t>{0, 128, 255}));
  EXPECT_TRUE(file.floats("none").empty());
  EXPECT_FALSE(file.has("f33"));
}

TEST(Safetensors, HeaderIsPaddedSoThatDataAreAligned) {
  const TemporaryFolder folder;
  const float value = 1;
  for (const char* name : {"a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh"}) {
    write_safetensors(folder / "x", {{name, TensorType::f32, {1}, &value}});
    const std::string bytes = read_text(folder / "x");
    EXPECT_EQ((bytes.size() - 4) % 8, 0u);
    EXPECT_EQ(SafetensorsFile(folder / "x").float_view(name)[0], 1.0f);
  }
}

TEST(Safetensors, MisalignedDataAreStillRead) {
  const TemporaryFolder folder;
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} )";
  ASSERT_NE(header.size() % 4, 0u);
  const float value = 2.5f;
  write_text(folder / "x", file_bytes(header, std::string(reinterpret_cast<const char*>(&value), 4)));
  const SafetensorsFile file(folder / "x");
  EXPECT_EQ(file.floats("a"), std::vector<float>{2.5f});
  EXPECT_TRUE(error_of([&] { file.float_view("a"); }).has_value());
}

TEST(Safetensors, HalfPrecisionIsExact) {
  EXPECT_EQ(float16_to_float(0x0000), 0.0f);
  EXPECT_TRUE(std::signbit(float16_to_float(0x8000)));
  EXPECT_EQ(float16_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(float16_to_float(0x0400), 0x1.0p-14f);
  EXPECT_EQ(float16_to_float(0x83ff), -0x1.ff8p-15f);
  EXPECT_EQ(float16_to_float(0x3555), 0.333251953125f);
  EXPECT_EQ(float16_to_float(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(float16_to_float(0x7e00)));
  EXPECT_EQ(bfloat16_to_float(0x7f80), std::numeric_limits<float>::infinity());
  EXPECT_EQ(bfloat16_to_float(0x0001), 0x1.0p-133f);
}

TEST(Safetensors, WrongUseIsAnErrorNamingFileAndTensor) {
  const TemporaryFolder folder;
  const std::array<float, 2> value{1, 2};
  const std::int64_t id = 1;
  write_safetensors(folder / "x",
                    {{"w", TensorType::f32, {2}, value.data()}, {"ids", TensorType::i64, {1}, &id}});
  const SafetensorsFile file(folder / "x");
  expect_bad_input(error_of([&] { (void)file.info("v"); }), "x", "no tensor named v");
  expect_message(error_of([&] { (void)file.floats("ids"); }), "x", "tensor ids holds I64");
  expect_message(error_of([&] { (void)file.integers("w"); }), "x", "tensor w holds F32");
  std::array<float, 3> out{};
  expect_bad_input(error_of([&] { file.read_floats("w", out); }), "x",
                   "tensor w has 2 values where 3 are expected");
  expect_message(error_of([&] {
                   write_safetensors(folder / "y", {{"w", TensorType::f32, {2}, value.data()},
                                                    {"w", TensorType::f32, {2}, value.data()}});
                 }),
                 "y", "given twice");
}

TEST(Safetensors, FullDiskIsNoticed) {
  const std::vector<float> values(1 << 20);
  const auto error = error_of([&] {
    write_safetensors("/dev/full", {{"w", TensorType::f32, {1 << 20}, values.data()}});
  });
  expect_message(error, "/dev/full", "No space left");
  EXPECT_EQ(error->kind(), ErrorKind::runtime);
}

struct Lie {
  std::string bytes;
  const char* what;
};

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets,
                const std::string& data) {
  return file_bytes(
      R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}", data);
}

std::string two(const std::string& first, const std::string& second, std::size_t data) {
  return file_bytes(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
                        R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}",
                    std::string(data, 'x'));
}

TEST(SafetensorsBadInput, HeadersThatLie) {
  const std::string four(4, 'x');
  const Lie lies[] = {
      {"", "too short"},
      {"1234567", "too short"},
      {file_bytes("{}", "", 3), "a header of 3 bytes in a file of 10 bytes"},
      {file_bytes("{}", "", 100'000'001), "at most 100 MB"},
      {file_bytes("{}", "", ~std::uint64_t{0}), "at most 100 MB"},
      {file_bytes("", ""), "not valid JSON"},
      {file_bytes("{", ""), "not valid JSON"},
      {file_bytes("[]", ""), "not a JSON object"},
      {file_bytes("{\"a\xff\":1}", ""), "not valid JSON"},
      {file_bytes(std::string(100000, '['), ""), "nested too deeply"},
      {file_bytes("{}", four), "4 bytes after the last tensor"},
      {file_bytes(R"({"t":1})", ""), "tensor t: needs dtype"},
      {file_bytes(R"({"t":{"dtype":"F32","shape":[1]}})", four), "tensor t: needs dtype"},
      {file_bytes(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", four),
       "tensor t: needs dtype"},
      {file_bytes(R"({"__metadata__":{"a":1}})", ""), "__metadata__"},
      {file_bytes(R"({"__metadata__":[]})", ""), "__metadata__"},
      {one("F31", "[1]", "[0,4]", four), "tensor t: unknown dtype F31"},
      {one("F4", "[8]", "[0,4]", four), "tensor t holds F4, which is not read; F64, F32, F16 and BF16 are"},
      {one("F32", "[2]", "[0,4]", four), "tensor t: 4 bytes of data for a shape that takes 8"},
      {one("F32", "[1]", "[0,8]", four), "tensor t: offsets 0-8 are outside"},
      {one("F32", "[1]", "[8,4]", four), "tensor t: offsets 8-4 are outside"},
      {one("F32", "[1]", "[0,4,4]", four), "tensor t: needs dtype"},
      {one("F32", "[1]", "[-4,0]", four), "tensor t: offset is not a whole number"},
      {one("F32", "[1]", "[0.0,4]", four), "tensor t: offset is not a whole number"},
      {one("F32", "[1]", "[0,18446744073709551620]", four), "tensor t: offset is not a whole number"},
      {one("F32", "[-1]", "[0,4]", four), "tensor t: shape is not a whole number"},
      {one("F32", "[4294967296,4294967296]", "[0,4]", four), "tensor t: impossible shape"},
      {one("F32", "[4611686018427387905]", "[0,4]", four), "tensor t: impossible shape"},
      {one("U8", "[18446744073709551615]", "[0,4]", four), "tensor t: impossible shape"},
      {two("[0,4]", "[0,4]", 4), "tensor b: its bytes overlap"},
      {two("[0,4]", "[2,6]", 6), "tensor b: its bytes overlap"},
      {two("[0,4]", "[5,9]", 9), "tensor b: there are unused bytes"},
      {two("[1,5]", "[5,9]", 9), "tensor a: there are unused bytes"},
      {file_bytes(
           R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
           four),
       "tensor a is listed twice"},
      {file_bytes("{\"line\\nend\\u0007\":1}", ""), "tensor line?end?:"},
  };
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.what);
    const TemporaryFolder folder;
    write_text(folder / "x.safetensors", lie.bytes);
    expect_bad_input(error_of([&] { SafetensorsFile{folder / "x.safetensors"}; }), "x.safetensors", lie.what);
  }
}

TEST(SafetensorsBadInput, EveryCutOfAFileIsRefused) {
  const TemporaryFolder folder;
  const std::array<float, 4> values{1, 2, 3, 4};
  write_safetensors(folder / "x",
                    {{"a", TensorType::f32, {3}, values.data()}, {"b", TensorType::f32, {1}, values.data()}});
  const std::string whole = read_text(folder / "x");
  for (std::size_t kept = 0; kept < whole.size(); ++kept) {
    write_text(folder / "cut", whole.substr(0, kept));
    expect_bad_input(error_of([&] { SafetensorsFile{folder / "cut"}; }), "cut", "");
  }
}

// A name is looked up once, not compared with all before it.
TEST(SafetensorsBadInput, AHeaderOfManyNamesIsRead) {
  constexpr std::size_t count = 60'000;
  const TemporaryFolder folder;
  const std::uint8_t byte = 7;
  std::vector<TensorToWrite> tensors(count, {{}, TensorType::u8, {1}, &byte});
  std::map<std::string, std::string> metadata;
  for (std::size_t i = 0; i < count; ++i) {
    tensors[i].name = "encoder.layer." + std::to_string(count - i);
    metadata.emplace(std::to_string(i), "");
  }
  write_safetensors(folder / "x", tensors, metadata);
  const SafetensorsFile file(folder / "x");
  ASSERT_EQ(file.tensors().size(), count);
  EXPECT_EQ(file.metadata().size(), count);
  EXPECT_EQ(file.tensors().front().name, "encoder.layer.60000");
  EXPECT_EQ(file.info("encoder.layer.1").begin, count - 1);
}

TEST(SafetensorsBadInput, ManyObjectsInAMemberAreRefusedAtTheFirst) {
  const TemporaryFolder folder;
  std::string header = "{\"__metadata__\":{\"0\":{}";
  for (int i = 1; i < 500'000; ++i) header += ",\"" + std::to_string(i) + "\":{}";
  write_text(folder / "x", file_bytes(header + "}}", ""));
  expect_bad_input(error_of([&] { SafetensorsFile{folder / "x"}; }), "x", "nested too deeply");
}

}  // namespace
}  // namespace bigbird
