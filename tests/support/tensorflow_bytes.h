// Checkpoints of TensorFlow, made byte by byte from the form's description: sorted tables and messages that
// are right, and every way to make them wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bigbird::testing {

using TableEntries = std::vector<std::pair<std::string, std::string>>;

struct TableForm {
  std::size_t entries_of_block = 4;
  std::size_t restart_every = 2;  // entries between keys that are whole
  char compression = 0;           // the byte of every data block
  bool right_checksums = true;
};
// A table of these entries in the order given.
std::string table_bytes(const TableEntries& entries, const TableForm& form = {});

// One whose only block of entries has these bytes, whatever they are.
std::string table_of_block(const std::string& block);

std::string proto_varint(std::uint64_t value);
// Fields of messages: a varint, bytes, four bytes.
std::string proto_number(int field, std::uint64_t value);
std::string proto_bytes(int field, const std::string& bytes);
std::string proto_fixed32(int field, std::uint32_t value);

struct BundleTensor {
  std::string name;
  int type = 1;  // types.proto: 1 float, 3 int32, 9 int64, 14 bfloat16, 19 half
  std::vector<std::int64_t> shape;
  std::string bytes;
  std::size_t shard = 0;
};
std::string bundle_header(std::size_t shards);
// Of a tensor whose bytes lie at `offset` of its data file.
std::string bundle_entry(const BundleTensor& tensor, std::size_t offset);
BundleTensor float_tensor(const std::string& name, const std::vector<std::int64_t>& shape,
                          const std::vector<float>& values, std::size_t shard = 0);

// Index (with its header) and data files of ascending names.
TableEntries bundle_entries(const std::vector<BundleTensor>& tensors, std::size_t shards = 1);
void write_bundle(const std::string& prefix, const std::vector<BundleTensor>& tensors,
                  std::size_t shards = 1);
// The data files of write_bundle(), behind any index.
void write_bundle_data(const std::string& prefix, const std::vector<BundleTensor>& tensors,
                       std::size_t shards = 1);

}  // namespace bigbird::testing
