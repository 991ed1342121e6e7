// See sorted_table.h.
#include "lib/io/weights/sorted_table.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <optional>

#include "lib/core/error.h"
#include "lib/io/files/crc32c.h"
#include "lib/io/files/proto_fields.h"

namespace bigbird {
namespace {

constexpr std::uint64_t table_magic = 0xdb4775248b80fb57;
constexpr std::size_t footer_bytes = 48;  // two places, padded to 40 bytes, and the magic number
constexpr std::size_t trailer_bytes = 5;  // of a block: its compression, and the checksum of both
constexpr std::size_t most_key_bytes = 4096;
constexpr std::size_t most_bytes_of_keys = 64u << 20;

[[noreturn]] void refuse_table(const std::string& path, const std::string& what) {
  throw_bad_input(fmt::format("{}: {}", path, what),
                  "the file is cut short, damaged or no index of a TensorFlow checkpoint; copy it again");
}

std::uint32_t fixed32_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Where a block lies; its trailer follows it.
struct BlockPlace {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

bool take_place(std::string_view& from, BlockPlace& place) {
  return next_varint(from, place.offset) && next_varint(from, place.size);
}

class SortedTable {
 public:
  SortedTable(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  template <typename Take>
  void read(const Take& take) {
    if (bytes_.size() < footer_bytes)
      refuse_table(path_, fmt::format("{} bytes, too few for a footer", bytes_.size()));
    std::string_view footer = bytes_.substr(bytes_.size() - footer_bytes);
    std::uint64_t magic = 0;
    std::memcpy(&magic, footer.data() + footer.size() - sizeof magic, sizeof magic);
    if (magic != table_magic) refuse_table(path_, "no footer of a table at its end");
    footer.remove_suffix(sizeof magic);
    BlockPlace further, places;
    if (!take_place(footer, further) || !take_place(footer, places))
      refuse_table(path_, "the footer does not have the places of the blocks");
    block(further);  // of filters and the like, which are not needed
    std::uint64_t reached = 0;
    std::optional<std::string> last_key, last_place;
    each_entry(places, last_place, [&](std::string_view, std::string_view value) {
      BlockPlace place;
      if (!take_place(value, place) || !value.empty()) refuse_table(path_, "the place of a block is damaged");
      // In order and apart, so that no block is read twice.
      if (place.offset < reached)
        refuse_table(path_, fmt::format("the block at byte {} is in another", place.offset));
      each_entry(place, last_key, take);
      reached = place.offset + place.size + trailer_bytes;
    });
  }

 private:
  // The bytes of a block, checked.
  std::string_view block(const BlockPlace& place) const {
    const std::uint64_t before_footer = bytes_.size() - footer_bytes;
    if (place.offset > before_footer || place.size > before_footer - place.offset ||
        before_footer - place.offset - place.size < trailer_bytes) {
      refuse_table(path_, fmt::format("a block of {} bytes at byte {} of {}", place.size, place.offset,
                                      bytes_.size()));
    }
    const auto size = static_cast<std::size_t>(place.size);
    const std::string_view with_type = bytes_.substr(static_cast<std::size_t>(place.offset), size + 1);
    const std::uint32_t stored = fixed32_at(bytes_, static_cast<std::size_t>(place.offset) + size + 1);
    if (masked_crc32c(crc32c(with_type)) != stored)
      refuse_table(path_, fmt::format("the block at byte {} has a wrong checksum", place.offset));
    if (const char type = with_type.back(); type != 0) {
      throw_bad_input(fmt::format("{}: the block at byte {} is compressed ({}), which is not read", path_,
                                  place.offset, type == 1 ? "snappy" : fmt::format("type {}", +type)),
                      "save the checkpoint again with TensorFlow 1.2 or later, which does not compress it");
    }
    return with_type.substr(0, size);
  }

  template <typename Take>
  void each_entry(const BlockPlace& place, std::optional<std::string>& last_key, const Take& take) {
    std::string_view left = block(place);
    const auto refuse = [&] {
      refuse_table(path_, fmt::format("an entry of the block at byte {} is damaged", place.offset));
    };
    // Places to begin at in between, and their number: not needed to read on.
    constexpr std::size_t number_bytes = sizeof(std::uint32_t);
    if (left.size() < number_bytes) refuse();
    const std::uint64_t restarts = fixed32_at(left, left.size() - number_bytes);
    if (restarts > left.size() / number_bytes - 1) refuse();
    left.remove_suffix((static_cast<std::size_t>(restarts) + 1) * number_bytes);
    std::string key;
    while (!left.empty()) {
      std::uint64_t shared = 0, fresh = 0, size = 0;
      if (!next_varint(left, shared) || !next_varint(left, fresh) || !next_varint(left, size)) refuse();
      if (shared > key.size() || fresh > left.size() || size > left.size() - fresh) refuse();
      if (shared + fresh > most_key_bytes)
        refuse_table(path_,
                     fmt::format("a key of {} bytes in the block at byte {}", shared + fresh, place.offset));
      key.resize(static_cast<std::size_t>(shared));
      key += left.substr(0, static_cast<std::size_t>(fresh));
      left.remove_prefix(static_cast<std::size_t>(fresh));
      key_bytes_ += key.size();
      if (key_bytes_ > most_bytes_of_keys) refuse_table(path_, "more than 64 MB of keys");
      if (last_key && key <= *last_key) {
        refuse_table(path_, fmt::format("the keys of the block at byte {} are not in order", place.offset));
      }
      take(key, left.substr(0, static_cast<std::size_t>(size)));
      left.remove_prefix(static_cast<std::size_t>(size));
      last_key = key;
    }
  }

  std::string_view bytes_;
  const std::string& path_;
  std::size_t key_bytes_ = 0;
};

}  // namespace

void read_sorted_table(std::span<const std::byte> bytes, const std::string& path,
                       const std::function<void(std::string_view key, std::string_view value)>& take) {
  SortedTable({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path).read(take);
}

}  // namespace bigbird
