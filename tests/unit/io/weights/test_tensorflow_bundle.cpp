// Checkpoints of TensorFlow: what TensorFlow itself wrote, files made from the form's description, and files
// that lie or are cut.
#include "lib/io/weights/tensorflow_bundle.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "lib/io/files/crc32c.h"
#include "lib/io/files/proto_fields.h"
#include "lib/io/weights/safetensors.h"
#include "lib/io/weights/sorted_table.h"
#include "lib/io/weights/weight_files.h"
#include "tests/support/support.h"
#include "tests/support/tensorflow_bytes.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::bundle_entries;
using testing::bundle_entry;
using testing::bundle_header;
using testing::BundleTensor;
using testing::error_of;
using testing::expect_bad_input;
using testing::float_tensor;
using testing::proto_bytes;
using testing::proto_number;
using testing::table_bytes;
using testing::TableEntries;
using testing::TemporaryFolder;
using testing::write_bundle;

TEST(Crc32c, OfRfc3720) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
  const std::string text = "a text of more than sixteen bytes";
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))), crc32c(text)) << cut;
}

TEST(ProtoFields, VarintsOfMoreThan64BitsAndCutOnesAreRefused) {
  std::uint64_t value = 0;
  std::string_view most = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  EXPECT_TRUE(next_varint(most, value));
  EXPECT_EQ(value, UINT64_MAX);
  std::string_view more = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
  EXPECT_FALSE(next_varint(more, value));
  std::string_view cut = "\xff";
  EXPECT_FALSE(next_varint(cut, value));
  ProtoField field;
  for (std::string_view message : {std::string_view("\x0a\x05xx"), std::string_view("\x0d\x01\x02"),
                                   std::string_view("\x0b"), std::string_view("\x09\x01")}) {
    EXPECT_FALSE(next_field(message, field));
  }
}

class TensorFlowBundleTest : public ::testing::Test {
 protected:
  std::string prefix() const { return folder_ / "model.ckpt-7"; }
  // Files whose index holds `entries`.
  void expect_refused(const TableEntries& entries, const std::string& place, const std::string& what) {
    write_index(table_bytes(entries));
    expect_refused(place, what);
  }
  void write_index(const std::string& bytes) {
    std::filesystem::remove(prefix() + ".index");  // a new file is written faster than an old one again
    testing::write_text(prefix() + ".index", bytes);
  }
  void expect_refused(const std::string& place, const std::string& what) {
    expect_bad_input(error_of([&] { TensorFlowBundle bundle(prefix()); }), place, what);
  }
  TemporaryFolder folder_;
};

std::vector<float> floats_in(const StoredTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  read_floats(tensor, values);
  return values;
}

// Of several blocks, with keys that share beginnings, in two data files.
std::vector<BundleTensor> right_tensors() {
  std::vector<BundleTensor> tensors;
  for (int i = 10; i < 21; ++i) {
    const auto value = static_cast<float>(i);
    tensors.push_back(float_tensor("layer_" + std::to_string(i) + "/kernel", {2, 1}, {value, -value},
                                   static_cast<std::size_t>(i % 2)));
  }
  return tensors;
}

TEST_F(TensorFlowBundleTest, ReadsWhatTensorFlowWrote) {
  const std::string golden = testing::source_dir() / "tests/golden/tensorflow";
  for (const std::string name : {"saver", "sharded", "object"}) {
    SCOPED_TRACE(name);
    const TensorFlowBundle bundle(golden + "/" + name + ".index");
    bundle.check_numbers();
    const SafetensorsFile expected(golden + "/" + name + ".safetensors");
    std::size_t compared = 0;
    for (const StoredTensor& tensor : bundle.tensors()) {
      if (tensor.type == TensorType::bf16) {
        EXPECT_EQ(tensor.name, "other/bfloat16");
        EXPECT_EQ(floats_in(tensor), (std::vector<float>{1.5f, -2.0f, 0.0078125f}));
        continue;
      }
      ++compared;
      EXPECT_EQ(tensor.type, expected.info(tensor.name).type) << tensor.name;
      EXPECT_EQ(tensor.shape, expected.info(tensor.name).shape) << tensor.name;
      if (is_floating_point(tensor.type)) {
        EXPECT_EQ(floats_in(tensor), expected.floats(tensor.name)) << tensor.name;
      } else {
        EXPECT_EQ(read_integers(tensor), expected.integers(tensor.name)) << tensor.name;
      }
    }
    EXPECT_EQ(compared, expected.tensors().size());
    EXPECT_EQ(bundle.files().size(), name == "sharded" ? 3u : 2u);
  }
}

TEST_F(TensorFlowBundleTest, ReadsBlocksSharedKeysAndShardsByEveryName) {
  const std::vector<BundleTensor> tensors = right_tensors();
  write_bundle(prefix(), tensors, 2);
  for (const std::string& path : {prefix(), prefix() + ".index", prefix() + ".data-00001-of-00002"}) {
    const WeightFiles weights(path);
    EXPECT_EQ(weights.path(), prefix() + ".index");
    EXPECT_EQ(weights.files().size(), 3u);
    ASSERT_EQ(weights.tensors().size(), tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const StoredTensor& tensor = weights.tensors()[i];
      EXPECT_EQ(tensor.name, tensors[i].name);
      EXPECT_EQ(tensor.shape, tensors[i].shape);
      const auto value = static_cast<float>(10 + i);
      EXPECT_EQ(floats_in(tensor), (std::vector<float>{value, -value}));
    }
  }
}

TEST_F(TensorFlowBundleTest, WrongNumbersAreNamed) {
  write_bundle(prefix(), right_tensors(), 2);
  const std::string data = prefix() + ".data-00001-of-00002";
  std::string bytes = testing::read_text(data);
  bytes[9] = static_cast<char>(bytes[9] ^ 1);  // of the second one there
  testing::write_text(data, bytes);
  expect_bad_input(error_of([&] { WeightFiles weights(prefix()); }), "data-00001-of-00002",
                   "tensor layer_13/kernel has a wrong checksum");
  EXPECT_EQ(TensorFlowBundle(prefix()).tensors().size(), 11u) << "which only lists";
}

TEST_F(TensorFlowBundleTest, CutAndMissingDataAreNamed) {
  write_bundle(prefix(), right_tensors(), 2);
  const std::string data = prefix() + ".data-00000-of-00002";
  const std::string bytes = testing::read_text(data);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    testing::write_text(data, bytes.substr(0, size));
    expect_refused("data-00000-of-00002", "cut short: tensor layer_");
  }
  std::filesystem::remove(data);
  expect_refused("data-00000-of-00002", "the data file is missing");
}

TEST_F(TensorFlowBundleTest, EveryCutOfAnIndexIsAnError) {
  write_bundle(prefix(), right_tensors(), 2);
  const std::string bytes = testing::read_text(prefix() + ".index");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    write_index(bytes.substr(0, size));
    const auto error = error_of([&] { TensorFlowBundle bundle(prefix()); });
    ASSERT_TRUE(error.has_value()) << size;
    EXPECT_NE(error->message().find("model.ckpt-7.index"), std::string::npos) << error->message();
  }
}

// Blocks carry checksums: a changed byte is seen, but in the footer's padding.
TEST_F(TensorFlowBundleTest, EveryChangedByteOfAnIndexIsAnErrorOrPadding) {
  write_bundle(prefix(), right_tensors(), 2);
  const std::string bytes = testing::read_text(prefix() + ".index");
  for (std::size_t at = 0; at < bytes.size() - 48; ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    write_index(changed);
    EXPECT_TRUE(error_of([&] { TensorFlowBundle bundle(prefix()); }).has_value()) << at;
  }
}

TEST_F(TensorFlowBundleTest, TablesThatLieAreRefused) {
  const TableEntries right = bundle_entries(right_tensors(), 2);
  testing::write_bundle_data(prefix(), right_tensors(), 2);
  write_index(table_bytes(right, {.right_checksums = false}));
  expect_refused("model.ckpt-7.index", "the block at byte 0 has a wrong checksum");
  write_index(table_bytes(right, {.compression = 1}));
  expect_refused("model.ckpt-7.index", "compressed (snappy)");
  write_index(table_bytes(right, {.compression = 9}));
  expect_refused("model.ckpt-7.index", "compressed (type 9)");
  TableEntries twice = right;
  twice.push_back(twice.back());
  expect_refused(twice, "model.ckpt-7.index", "not in order");
  expect_refused({{"", bundle_header(1)}, {std::string(5000, 'x'), ""}}, "model.ckpt-7.index",
                 "a key of 5000 bytes");
  write_index(std::string(200, 'x'));
  expect_refused("model.ckpt-7.index", "no footer of a table");
  write_index("");
  expect_refused("model.ckpt-7.index", "too few for a footer");
}

// Keys of 4,096 bytes that cost three bytes each.
TEST_F(TensorFlowBundleTest, KeysThatGrowOutOfNothingAreBounded) {
  TableEntries entries{{"", bundle_header(1)}};
  const std::string shared(4090, 'k');
  for (int i = 100000; i < 120000; ++i) entries.emplace_back(shared + std::to_string(i), "");
  write_index(table_bytes(entries, {.entries_of_block = 100000, .restart_every = 100000}));
  std::size_t seen = 0;
  const MappedFile file(prefix() + ".index");
  expect_bad_input(error_of([&] {
                     read_sorted_table(file.bytes(), file.path(),
                                       [&](std::string_view, std::string_view) { ++seen; });
                   }),
                   "model.ckpt-7.index", "more than 64 MB of keys");
  EXPECT_LT(seen, 16400u);
}

TEST_F(TensorFlowBundleTest, EntriesThatLieAreRefused) {
  const BundleTensor a = float_tensor("a", {2}, {1, 2});
  testing::write_bundle_data(prefix(), {a});
  const std::string place = "model.ckpt-7.index";
  const auto with = [](const std::string& entry) {
    return TableEntries{{"", bundle_header(1)}, {"a", entry}};
  };
  expect_refused({{"a", bundle_entry(a, 0)}}, place, "no header");
  expect_refused({}, place, "no header");
  expect_refused({{"", proto_number(1, 0)}}, place, "a header of 0 data files");
  expect_refused({{"", proto_number(1, 1u << 30)}}, place, "a header of 1073741824 data files");
  expect_refused({{"", proto_number(1, 1) + proto_number(2, 1)}}, place, "big-endian");
  expect_refused({{"", proto_number(1, 1) + proto_bytes(3, proto_number(2, 2))}}, place, "version 2");
  expect_refused({{"", "\x0a\x7f"}}, place, "the header is damaged");
  expect_refused(with("\x0a\x7f"), place, "tensor a: its entry is damaged");
  expect_refused(with(bundle_entry(a, 4)), "data-00000-of-00001", "tensor a has 8 bytes at byte 4");
  expect_refused(with(bundle_entry(a, SIZE_MAX)), "data-00000-of-00001", "cut short");
  BundleTensor wrong = a;
  wrong.shape = {3};
  expect_refused(with(bundle_entry(wrong, 0)), place, "8 bytes for a shape");
  wrong.shape = {INT64_MAX, INT64_MAX};
  expect_refused(with(bundle_entry(wrong, 0)), place, "8 bytes for a shape");
  wrong.shape = {-1};
  expect_refused(with(bundle_entry(wrong, 0)), place, "its shape is damaged or not known");
  wrong.shape = std::vector<std::int64_t>(65, 1);
  expect_refused(with(bundle_entry(wrong, 0)), place, "its shape is damaged");
  expect_refused(with(bundle_entry(a, 0) + proto_bytes(2, proto_number(3, 1))), place,
                 "its shape is damaged");
  wrong = a;
  wrong.shard = 1;
  expect_refused(with(bundle_entry(wrong, 0)), place, "data file 1 of 1");
  wrong = a;
  wrong.type = 7;
  expect_refused(with(bundle_entry(wrong, 0)), place, "tensor a holds string");
  wrong.type = 99;
  expect_refused(with(bundle_entry(wrong, 0)), place, "tensor a holds 99");
  expect_refused(with(bundle_entry(a, 0) + proto_bytes(7, "")), place, "stored in slices");
  expect_refused({{"", bundle_header(1)}, {std::string("\0a\0", 3), bundle_entry(a, 0)}}, place,
                 "stored in slices");
  const std::string scope(100, 's');
  expect_refused({{"", bundle_header(1)}, {scope + "/kernel", bundle_entry(wrong, 0)}}, place,
                 "tensor ..." + scope.substr(30) + "/kernel holds 99");
  const std::string line("a\nb");
  expect_refused({{"", bundle_header(1)}, {line, bundle_entry(wrong, 0)}}, place, "tensor a?b holds 99");
}

TEST_F(TensorFlowBundleTest, AFileThatIsThereIsNoPrefix) {
  write_bundle(prefix(), right_tensors(), 2);
  EXPECT_EQ(TensorFlowBundle::prefix_of(prefix()), prefix());
  EXPECT_EQ(TensorFlowBundle::prefix_of(prefix() + ".data-00000-of-00002"), prefix());
  EXPECT_EQ(TensorFlowBundle::prefix_of(prefix() + ".data-0000-of-00002"), std::nullopt);
  EXPECT_EQ(TensorFlowBundle::prefix_of(folder_ / "other.index"), std::nullopt);
  EXPECT_EQ(TensorFlowBundle::prefix_of(folder_ / "other"), std::nullopt);
  testing::write_text(prefix(), "x");
  EXPECT_EQ(TensorFlowBundle::prefix_of(prefix()), std::nullopt);
}

}  // namespace
}  // namespace bigbird
