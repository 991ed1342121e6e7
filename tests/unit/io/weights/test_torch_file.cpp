// PyTorch weight files: what torch itself wrote, every layout of a tensor, and files that lie or bite.
#include "lib/io/weights/torch_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lib/io/weights/safetensors.h"
#include "tests/support/support.h"
#include "tests/support/torch_bytes.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::PickleWriter;
using testing::TemporaryFolder;
using testing::torch_bytes;
using testing::torch_parts;
using testing::zip_bytes;
using testing::ZipPart;

class TorchFileTest : public ::testing::Test {
 protected:
  std::string write(const std::string& bytes) {
    const std::string path = folder_ / "pytorch_model.bin";
    std::filesystem::remove(path);  // a new file is written faster than an old one again
    testing::write_text(path, bytes);
    return path;
  }
  void expect_refused(const std::string& bytes, const std::string& what) {
    const std::string path = write(bytes);
    expect_bad_input(error_of([&] { TorchFile file(path); }), "pytorch_model.bin", what);
  }
  // A file whose pickle is PROTO 2 and then `body`.
  void expect_pickle_refused(const std::string& body, const std::string& what) {
    expect_refused(zip_bytes(torch_parts("\x80\x02" + body, {std::string(24, 'x')})), what);
  }
  TemporaryFolder folder_;
};

// A right file of two entries to spoil.
std::vector<ZipPart> parts() {
  return torch_parts({{"a", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"b", {1}, {7}}});
}

std::vector<float> floats_of(const StoredTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  read_floats(tensor, values);
  return values;
}

void expect_equal_to_safetensors(const std::string& file) {
  const std::string golden = testing::source_dir() / "tests/golden";
  const TorchFile torch(golden + "/" + file);
  const SafetensorsFile expected(golden + "/torch_weights.safetensors");
  ASSERT_EQ(torch.tensors().size(), expected.tensors().size());
  for (const StoredTensor& tensor : torch.tensors()) {
    SCOPED_TRACE(tensor.name);
    const TensorInfo& info = expected.info(tensor.name);
    EXPECT_EQ(tensor.type, info.type);
    EXPECT_EQ(tensor.shape, info.shape);
    if (is_floating_point(tensor.type)) {
      EXPECT_EQ(floats_of(tensor), expected.floats(tensor.name));
    } else {
      EXPECT_EQ(read_integers(tensor), expected.integers(tensor.name));
    }
  }
}

TEST_F(TorchFileTest, ReadsWhatTorchWroteAsSafetensorsHoldsIt) {
  expect_equal_to_safetensors("torch_weights.bin");
}

TEST_F(TorchFileTest, ReadsProtocolFourWithItsFramesAndMemo) {
  expect_equal_to_safetensors("torch_weights_protocol4.bin");
}

TEST_F(TorchFileTest, LegacyFileIsRefusedWithTheLineThatConvertsIt) {
  const auto error =
      error_of([] { TorchFile(testing::source_dir() / "tests/golden/torch_weights_legacy.bin"); });
  expect_bad_input(error, "torch_weights_legacy.bin", "before 1.6");
  EXPECT_NE(error->hint().find("save_file"), std::string::npos) << error->hint();
}

TEST_F(TorchFileTest, OwnBytesAreReadInOrder) {
  const TorchFile file(write(zip_bytes(parts())));
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_EQ(file.tensors()[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(floats_of(file.tensors()[0]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(floats_of(file.tensors()[1]), std::vector<float>{7});
}

TEST_F(TorchFileTest, Zip64RecordsAreRead) {
  std::vector<ZipPart> wide = parts();
  for (ZipPart& part : wide) part.zip64 = true;
  const TorchFile file(write(zip_bytes(wide, true)));
  EXPECT_EQ(floats_of(file.tensors().at(1)), std::vector<float>{7});
}

TEST_F(TorchFileTest, ZipEntriesThatLieAreRefused) {
  const auto spoiled = [](std::size_t part, const auto& spoil) {
    std::vector<ZipPart> list = parts();
    spoil(list.at(part));
    return zip_bytes(list);
  };
  expect_refused(spoiled(2, [](ZipPart& p) { p.method = 8; }), "'archive/data/0' is compressed");
  expect_refused(spoiled(2, [](ZipPart& p) { p.flags = 1; }), "'archive/data/0' is encrypted");
  expect_refused(spoiled(2, [](ZipPart& p) { p.name = "archive/../../data/0"; }), "escapes");
  expect_refused(spoiled(2, [](ZipPart& p) { p.name = "/etc/passwd"; }), "escapes");
  expect_refused(spoiled(2, [](ZipPart& p) { p.name = "archive\\data"; }), "escapes");
  expect_refused(spoiled(2, [](ZipPart& p) { p.name = "archive/version"; }), "listed twice");
  expect_refused(spoiled(2, [](ZipPart& p) { p.local_name = "archive/data/9"; }),
                 "another name in its local header");
  expect_refused(spoiled(2, [](ZipPart& p) { p.size_change = 1 << 20; }), "reaches beyond the end");
  expect_refused(spoiled(2, [](ZipPart& p) { p.size_change = 40; }), "overlap");
  expect_refused(spoiled(2, [](ZipPart& p) { p.header_change = 7; }), "no local header");
  expect_refused(spoiled(0, [](ZipPart& p) { p.crc_change = 1; }), "does not match its checksum");
  expect_refused(spoiled(0, [](ZipPart& p) { p.name = "archive/pickle"; }), "without a pickle");
  expect_refused(spoiled(4, [](ZipPart& p) { p.name = "archive/constants.pkl"; }), "TorchScript");
  expect_refused(spoiled(1, [](ZipPart& p) { p.bytes = "big"; }), "byte order 'big'");
}

TEST_F(TorchFileTest, NoContainerAtAllIsRefused) {
  const std::string whole = zip_bytes(parts());
  expect_refused("", "no zip container");
  expect_refused("hello", "no zip container");
  expect_refused("PK", "too short");
  expect_refused(whole.substr(0, whole.size() - 30), "no zip directory");
  expect_refused(whole + "x", "no zip directory");
}

TEST_F(TorchFileTest, EveryCutOfAFileIsAnError) {
  const std::string whole = torch_bytes({{"a", {2}, {1, 2}}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string path = write(whole.substr(0, size));
    EXPECT_TRUE(error_of([&] { TorchFile file(path); }).has_value()) << size << " bytes";
  }
}

TEST_F(TorchFileTest, CodeInThePickleIsNamedAndNotRun) {
  expect_pickle_refused(PickleWriter().global("builtins", "eval").raw("(").text("1").raw("tR.").bytes(),
                        "asks for builtins.eval, and only tensors are read (byte 2, opcode GLOBAL)");
  expect_pickle_refused(PickleWriter().text("os").text("system").raw("\x93.").bytes(), "asks for os.system");
  expect_pickle_refused(std::string("ios\nsystem\n."), "opcode INST");
  expect_pickle_refused(PickleWriter().global("collections", "OrderedDict").raw(")\x81.").bytes(),
                        "opcode NEWOBJ");
  expect_pickle_refused("\x82\x01.", "opcode EXT1");
  expect_pickle_refused("P0\n.", "opcode PERSID");
  expect_pickle_refused("\xff.", "opcode 0xff");
  expect_pickle_refused(PickleWriter().global("torch", "FloatStorage").raw(")R.").bytes(),
                        "torch.FloatStorage is called");
}

TEST_F(TorchFileTest, BombsAreRefused) {
  expect_pickle_refused("X\xff\xff\xff\x7f", "a text of 2147483647 bytes");
  expect_pickle_refused(std::string("\x8d\xff\xff\xff\xff\xff\xff\xff\xff", 9),
                        "a text of 18446744073709551615");
  expect_pickle_refused(std::string(2'000, '('), "nested deeper than 1,000");
  expect_pickle_refused(std::string(200'000, ']'), "deeper than 100,000");
  std::string many;
  for (int i = 0; i < 1'100'000; ++i) many += "N0";
  expect_pickle_refused(many, "more than a million values");
  expect_pickle_refused(std::string("Nr\xff\xff\xff\x7f", 6), "a memo place");
  expect_pickle_refused("\x8a\x09" + std::string(9, '\1'), "more than 64 bits");
}

TEST_F(TorchFileTest, ASelfContainingDictionaryEndsInAnError) {
  expect_pickle_refused(
      PickleWriter().raw(std::string("}q\0", 3)).text("me").raw(std::string("h\0s.", 4)).bytes(),
      "'me' in the dictionary is not a tensor");
}

TEST_F(TorchFileTest, BrokenStacksAreRefused) {
  expect_pickle_refused(".", "more than one value");
  expect_pickle_refused("}}.", "more than one value");
  expect_pickle_refused("R", "the stack is empty");
  expect_pickle_refused("(0", "the stack is empty");
  expect_pickle_refused("t", "there is no mark");
  expect_pickle_refused("h\x05", "memo place 5 is empty");
  expect_pickle_refused("}(NU", "opcode SHORT_BINSTRING");
  expect_pickle_refused("}(Nu", "a key without a value");
  expect_pickle_refused("NNNs", "a dictionary was expected");
  expect_pickle_refused("N.", "a dictionary of tensors was expected");
  expect_pickle_refused("}NNs.", "a text as key was expected");
  expect_pickle_refused("}", "cut short");
  expect_refused(zip_bytes(torch_parts("\x80\x06}.", {})), "protocol 6");
}

TEST_F(TorchFileTest, TensorsMustFitTheirStorage) {
  const auto one = [](const PickleWriter& tensor) {
    return PickleWriter().raw("}").text("w").raw(tensor.bytes()).raw("s.").bytes();
  };
  const auto of = [](std::int64_t offset, std::vector<std::int64_t> shape,
                     std::vector<std::int64_t> strides) {
    return PickleWriter().tensor("FloatStorage", "0", 6, offset, shape, strides);
  };
  const std::string good =
      zip_bytes(torch_parts("\x80\x02" + one(of(0, {2, 3}, {3, 1})), {std::string(24, 'x')}));
  EXPECT_EQ(TorchFile(write(good)).tensors().size(), 1u);
  expect_pickle_refused(one(of(1, {2, 3}, {3, 1})), "tensor w reaches beyond its storage of 6 elements");
  expect_pickle_refused(one(of(0, {2, 3}, {4, 1})), "reaches beyond");
  expect_pickle_refused(one(of(0, {7}, {0})), "reaches beyond");
  expect_pickle_refused(one(of(0, {INT64_MAX, 2}, {0, 1})), "reaches beyond");
  expect_pickle_refused(one(of(0, {2, 2}, {INT64_MAX, 1})), "impossible stride");
  expect_pickle_refused(one(of(0, {2, 2}, {std::int64_t{1} << 47, std::int64_t{1} << 47})), "reaches beyond");
  // Axes of one element: their strides count for nothing, and are summed all the same.
  expect_pickle_refused(one(of(0, {2, 1}, {2, INT64_MAX})),
                        "tensor w: impossible stride 9223372036854775807");
  const std::string stepped = one(of(5, {1, 1}, {5000, 5000}));  // of w[5::5000]
  EXPECT_EQ(floats_of(TorchFile(write(zip_bytes(torch_parts("\x80\x02" + stepped, {std::string(24, '\0')}))))
                          .tensors()[0]),
            std::vector<float>{0});
  // Nothing is read of a tensor without elements, but where it begins is a place in memory.
  const std::string empty = one(of(6, {0, 3}, {3, 1}));
  EXPECT_EQ(
      TorchFile(write(zip_bytes(torch_parts("\x80\x02" + empty, {std::string(24, 'x')})))).tensors().size(),
      1u);
  expect_pickle_refused(one(of(7, {0, 3}, {3, 1})), "reaches beyond");
  expect_pickle_refused(one(of(INT64_MAX, {0}, {1})), "tensor w reaches beyond its storage of 6 elements");
  expect_pickle_refused(one(of(-1, {1}, {1})), "is negative");
  expect_pickle_refused(one(of(0, {-1}, {1})), "is negative");
  expect_pickle_refused(one(of(0, {2, 3}, {1})), "different lengths");
  expect_pickle_refused(one(PickleWriter().tensor("FloatStorage", "0", 7, 0, {1}, {1})),
                        "24 bytes for a storage of 7 F32 elements");
  expect_pickle_refused(one(PickleWriter().tensor("FloatStorage", "1", 6, 0, {1}, {1})),
                        "storage 1 is missing");
  expect_pickle_refused(one(PickleWriter().tensor("QInt8Storage", "0", 24, 0, {1}, {1})),
                        "torch.QInt8Storage");
}

TEST_F(TorchFileTest, ANameTwiceIsRefused) {
  const PickleWriter tensor = PickleWriter().tensor("FloatStorage", "0", 6, 0, {1}, {1});
  expect_pickle_refused(
      PickleWriter().raw("}(").text("w").raw(tensor.bytes()).text("w").raw(tensor.bytes()).raw("u.").bytes(),
      "tensor w is listed twice");
}

}  // namespace
}  // namespace bigbird
