// See zip_archive.h.
#include "lib/io/weights/zip_archive.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "lib/core/error.h"
#include "lib/io/weights/stored_tensor.h"

namespace bigbird {
namespace {

constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::uint32_t directory_signature = 0x02014b50;
constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::uint32_t end64_signature = 0x06064b50;
constexpr std::uint32_t locator64_signature = 0x07064b50;
constexpr std::size_t local_size = 30, directory_size = 46, end_size = 22, end64_size = 56,
                      locator64_size = 20;
constexpr std::size_t longest_comment = 65535;
constexpr std::uint64_t most_entries = 1'000'000;
constexpr std::uint16_t zip64_field = 1;
constexpr std::uint16_t encrypted_flag = 1;

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw_bad_input(fmt::format("{}: {}", path, what),
                  "the file is damaged or not as torch.save writes it; copy or save it again");
}

// Little-endian numbers of a file, every access checked.
class Bytes {
 public:
  Bytes(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  template <typename Number>
  Number number(std::uint64_t at) const {
    Number value;
    std::memcpy(&value, part(at, sizeof value).data(), sizeof value);
    return value;
  }
  std::uint16_t u16(std::uint64_t at) const { return number<std::uint16_t>(at); }
  std::uint32_t u32(std::uint64_t at) const { return number<std::uint32_t>(at); }
  std::uint64_t u64(std::uint64_t at) const { return number<std::uint64_t>(at); }
  std::span<const std::byte> part(std::uint64_t at, std::uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) damaged(path_, "the zip container is cut short");
    return bytes_.subspan(at, size);
  }
  std::string text(std::uint64_t at, std::uint64_t size) const {
    const std::span<const std::byte> range = part(at, size);
    return {reinterpret_cast<const char*>(range.data()), range.size()};
  }
  std::uint64_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  const std::string& path_;
};

// Where the directory lies, and how many entries it has.
struct Directory {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::uint64_t entries = 0;
  std::uint64_t end_record = 0;  // no entry reaches this far
};

Directory find_directory(const Bytes& file, const std::string& path) {
  if (file.size() < end_size) damaged(path, "too short for a zip container");
  std::uint64_t at = file.size() - end_size;
  const std::uint64_t lowest = at > longest_comment ? at - longest_comment : 0;
  while (file.u32(at) != end_signature || at + end_size + file.u16(at + 20) != file.size()) {
    if (at == lowest) damaged(path, "no zip directory at its end; the file is cut short");
    --at;
  }
  if (file.u16(at + 4) != 0 || file.u16(at + 6) != 0) damaged(path, "a zip container in several parts");
  Directory directory{file.u32(at + 16), file.u32(at + 12), file.u16(at + 10), at};
  const bool wide =
      directory.begin == 0xffffffffu || directory.size == 0xffffffffu || directory.entries == 0xffffu;
  if (wide && at >= locator64_size && file.u32(at - locator64_size) == locator64_signature) {
    const std::uint64_t record = file.u64(at - locator64_size + 8);
    if (record > at || file.u32(record) != end64_signature || record + end64_size > at) {
      damaged(path, "the zip64 directory record is not where it should be");
    }
    directory = {file.u64(record + 48), file.u64(record + 40), file.u64(record + 32), record};
  }
  if (directory.entries > most_entries)
    damaged(path, fmt::format("{} zip entries are too many", directory.entries));
  if (directory.begin > directory.end_record || directory.size > directory.end_record - directory.begin) {
    damaged(path, "the zip directory is beyond the end");
  }
  return directory;
}

void check_name(const std::string& name, const std::string& path) {
  bool escapes = name.empty() || name.front() == '/' || name.find('\\') != std::string::npos ||
                 name.find('\0') != std::string::npos;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    escapes = escapes || name.compare(begin, end - begin, "..") == 0;
    begin = end + 1;
  }
  if (escapes) damaged(path, fmt::format("zip entry '{}' escapes from the container", one_line_name(name)));
}

// The zip64 extra field holds those of size, stored size and header place that did not fit, in this order.
void read_zip64(const Bytes& file, std::uint64_t extra, std::uint64_t extra_size, std::uint64_t& size,
                std::uint64_t& stored_size, std::uint64_t& header) {
  std::uint64_t at = extra;
  const std::uint64_t end = extra + extra_size;
  while (at + 4 <= end) {
    const std::uint16_t id = file.u16(at), length = file.u16(at + 2);
    at += 4;
    if (id != zip64_field) {
      at += length;
      continue;
    }
    const std::uint64_t field_end = std::min<std::uint64_t>(at + length, end);
    for (std::uint64_t* value : {&size, &stored_size, &header}) {
      if (*value != 0xffffffffu || at + 8 > field_end) continue;
      *value = file.u64(at);
      at += 8;
    }
    return;
  }
}

}  // namespace

ZipArchive::ZipArchive(const std::string& path) : file_(path) {
  const Bytes file(file_.bytes(), path);
  const Directory directory = find_directory(file, path);
  std::uint64_t at = directory.begin;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (at + directory_size > directory.begin + directory.size || file.u32(at) != directory_signature) {
      damaged(path, fmt::format("zip directory entry {} is damaged", i));
    }
    const std::uint16_t flags = file.u16(at + 8), method = file.u16(at + 10);
    const std::uint64_t name_size = file.u16(at + 28), extra_size = file.u16(at + 30),
                        comment_size = file.u16(at + 32);
    std::uint64_t stored_size = file.u32(at + 20);
    ZipEntry entry{file.text(at + directory_size, name_size), file.u32(at + 16), file.u32(at + 42), 0,
                   file.u32(at + 24)};
    read_zip64(file, at + directory_size + name_size, extra_size, entry.size, stored_size, entry.header);
    check_name(entry.name, path);
    const std::string name = one_line_name(entry.name);
    if ((flags & encrypted_flag) != 0) damaged(path, fmt::format("zip entry '{}' is encrypted", name));
    if (method != 0 || stored_size != entry.size) {
      damaged(path, fmt::format("zip entry '{}' is compressed; torch.save never does this", name));
    }
    if (entry.header > directory.begin || file.u32(entry.header) != local_signature ||
        file.u16(entry.header + 8) != method) {
      damaged(path, fmt::format("zip entry '{}' has no local header where the directory has it", name));
    }
    const std::uint64_t local_name_size = file.u16(entry.header + 26);
    if (file.text(entry.header + local_size, local_name_size) != entry.name) {
      damaged(path, fmt::format("zip entry '{}' has another name in its local header", name));
    }
    entry.begin = entry.header + local_size + local_name_size + file.u16(entry.header + 28);
    if (entry.begin > directory.begin || entry.size > directory.begin - entry.begin) {
      damaged(path, fmt::format("zip entry '{}' reaches beyond the end", name));
    }
    if (!by_name_.emplace(entry.name, entries_.size()).second) {
      damaged(path, fmt::format("zip entry '{}' is listed twice", name));
    }
    entries_.push_back(std::move(entry));
    at += directory_size + name_size + extra_size + comment_size;
  }
  if (at > directory.begin + directory.size) damaged(path, "the last zip directory entry is damaged");
  std::vector<std::size_t> order(entries_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return entries_[a].header < entries_[b].header; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const ZipEntry &before = entries_[order[i - 1]], &after = entries_[order[i]];
    if (after.header < before.begin + before.size) {
      damaged(path, fmt::format("zip entries '{}' and '{}' overlap", one_line_name(before.name),
                                one_line_name(after.name)));
    }
  }
}

const ZipEntry* ZipArchive::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

std::span<const std::byte> ZipArchive::bytes(const ZipEntry& entry) const {
  return file_.bytes().subspan(entry.begin, entry.size);
}

std::span<const std::byte> ZipArchive::checked_bytes(const ZipEntry& entry) const {
  const std::span<const std::byte> data = bytes(entry);
  if (crc32_z(0, reinterpret_cast<const unsigned char*>(data.data()), data.size()) != entry.crc32) {
    damaged(path(), fmt::format("zip entry '{}' does not match its checksum", one_line_name(entry.name)));
  }
  return data;
}

}  // namespace bigbird
