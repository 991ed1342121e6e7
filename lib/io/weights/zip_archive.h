// Zip containers as torch.save writes them: every entry stored, not compressed. The reader trusts nothing in
// the central directory. Format: PKWARE's APPNOTE 6.3.9, sections 4.3 and 4.5.3 (zip64).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/io/files/file.h"

namespace bigbird {

struct ZipEntry {
  std::string name;
  std::uint32_t crc32 = 0;   // of its bytes
  std::uint64_t header = 0;  // where its local header begins in the file
  std::uint64_t begin = 0;   // where its bytes begin in the file
  std::uint64_t size = 0;
};

// Memory-mapped. Error{bad_input} naming file and entry: no zip container, one in several parts, entries that
// are compressed, encrypted, overlapping, listed twice, beyond the end, or whose names escape (absolute,
// "..", backslashes), local headers that disagree with the directory, more than a million entries.
class ZipArchive {
 public:
  explicit ZipArchive(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(const std::string& name) const;  // nullptr when absent
  std::span<const std::byte> bytes(const ZipEntry& entry) const;
  // The bytes after a check against the entry's CRC; Error naming the entry when they differ.
  std::span<const std::byte> checked_bytes(const ZipEntry& entry) const;

 private:
  MappedFile file_;
  std::vector<ZipEntry> entries_;  // in the directory's order
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace bigbird
