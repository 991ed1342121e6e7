// See tensorflow_bytes.h.
#include "tests/support/tensorflow_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "lib/io/files/crc32c.h"

namespace bigbird::testing {
namespace {

std::string fixed32(std::uint32_t value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string block_bytes(const TableEntries& entries, std::size_t restart_every) {
  std::string bytes, last;
  std::vector<std::uint32_t> restarts;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& [key, value] = entries[i];
    std::size_t shared = 0;
    if (i % restart_every == 0) {
      restarts.push_back(static_cast<std::uint32_t>(bytes.size()));
    } else {
      while (shared < std::min(key.size(), last.size()) && key[shared] == last[shared]) ++shared;
    }
    bytes += proto_varint(shared) + proto_varint(key.size() - shared) + proto_varint(value.size()) +
             key.substr(shared) + value;
    last = key;
  }
  if (restarts.empty()) restarts.push_back(0);
  for (const std::uint32_t restart : restarts) bytes += fixed32(restart);
  return bytes + fixed32(static_cast<std::uint32_t>(restarts.size()));
}

// Returns its place as the table writes it.
std::string append_block(std::string& table, const std::string& block, char compression, bool right) {
  const std::string place = proto_varint(table.size()) + proto_varint(block.size());
  const std::string with_type = block + compression;
  table += with_type + fixed32(masked_crc32c(crc32c(with_type)) ^ (right ? 0u : 1u));
  return place;
}

// The table ends with a block that nobody needs, that of the places, and where the two lie.
std::string with_footer(std::string table, const TableEntries& places) {
  std::string footer = append_block(table, block_bytes({}, 1), 0, true);
  footer += append_block(table, block_bytes(places, 1), 0, true);
  footer.resize(40, '\0');
  const std::uint64_t magic = 0xdb4775248b80fb57;
  std::string end(sizeof magic, '\0');
  std::memcpy(end.data(), &magic, sizeof magic);
  return table + footer + end;
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

std::string table_bytes(const TableEntries& entries, const TableForm& form) {
  std::string table;
  TableEntries places;
  for (std::size_t first = 0; first < entries.size(); first += form.entries_of_block) {
    const std::size_t last = std::min(entries.size(), first + form.entries_of_block);
    const TableEntries part(entries.begin() + static_cast<std::ptrdiff_t>(first),
                            entries.begin() + static_cast<std::ptrdiff_t>(last));
    places.emplace_back(part.back().first, append_block(table, block_bytes(part, form.restart_every),
                                                        form.compression, form.right_checksums));
  }
  return with_footer(std::move(table), places);
}

std::string table_of_block(const std::string& block) {
  std::string table;
  const std::string place = append_block(table, block, 0, true);
  return with_footer(std::move(table), {{"last", place}});
}

std::string proto_varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  return bytes + static_cast<char>(value);
}
std::string proto_number(int field, std::uint64_t value) {
  return proto_varint(static_cast<std::uint64_t>(field) << 3) + proto_varint(value);
}
std::string proto_bytes(int field, const std::string& bytes) {
  return proto_varint(static_cast<std::uint64_t>(field) << 3 | 2) + proto_varint(bytes.size()) + bytes;
}
std::string proto_fixed32(int field, std::uint32_t value) {
  return proto_varint(static_cast<std::uint64_t>(field) << 3 | 5) + fixed32(value);
}

std::string bundle_header(std::size_t shards) {
  return proto_number(1, shards) + proto_bytes(3, proto_number(1, 1));
}

std::string bundle_entry(const BundleTensor& tensor, std::size_t offset) {
  std::string shape;
  for (const std::int64_t size : tensor.shape)
    shape += proto_bytes(2, proto_number(1, static_cast<std::uint64_t>(size)));
  std::string entry = proto_number(1, static_cast<std::uint64_t>(tensor.type)) + proto_bytes(2, shape);
  // What is 0 is not written.
  if (tensor.shard > 0) entry += proto_number(3, tensor.shard);
  if (offset > 0) entry += proto_number(4, offset);
  if (!tensor.bytes.empty()) entry += proto_number(5, tensor.bytes.size());
  return entry + proto_fixed32(6, masked_crc32c(crc32c(tensor.bytes)));
}

BundleTensor float_tensor(const std::string& name, const std::vector<std::int64_t>& shape,
                          const std::vector<float>& values, std::size_t shard) {
  std::string bytes(values.size() * sizeof(float), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return {name, 1, shape, bytes, shard};
}

TableEntries bundle_entries(const std::vector<BundleTensor>& tensors, std::size_t shards) {
  TableEntries entries{{"", bundle_header(shards)}};
  std::vector<std::size_t> offsets(shards);
  for (const BundleTensor& tensor : tensors) {
    std::size_t& offset = offsets.at(tensor.shard);
    entries.emplace_back(tensor.name, bundle_entry(tensor, offset));
    offset += tensor.bytes.size();
  }
  return entries;
}

void write_bundle_data(const std::string& prefix, const std::vector<BundleTensor>& tensors,
                       std::size_t shards) {
  std::vector<std::string> data(shards);
  for (const BundleTensor& tensor : tensors) data.at(tensor.shard) += tensor.bytes;
  for (std::size_t shard = 0; shard < shards; ++shard)
    write_file(fmt::format("{}.data-{:05}-of-{:05}", prefix, shard, shards), data[shard]);
}

void write_bundle(const std::string& prefix, const std::vector<BundleTensor>& tensors, std::size_t shards) {
  write_bundle_data(prefix, tensors, shards);
  write_file(prefix + ".index", table_bytes(bundle_entries(tensors, shards)));
}

}  // namespace bigbird::testing
