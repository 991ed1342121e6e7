// Private to lib/io: where the blocks of a BGZF file lie, in the file and in its content. Read here and not
// by htslib, which ends the process over a damaged .gzi and believes one that belongs to another file.
// Formats: the section on BGZF of the SAM specification, bgzip(1) (.gzi).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/io/files/file.h"

namespace bigbird {

struct BgzfBlock {
  std::int64_t stored = 0;   // bytes in the file, with header and checksum
  std::int64_t content = 0;  // bytes that it holds
};

// The block that begins at `offset`; nothing where none does, or where it reaches beyond the file.
std::optional<BgzfBlock> bgzf_block_at(const RandomFile& file, std::int64_t offset);

class BgzfBlocks {
 public:
  // FILE.gzi, held against the file: its size, the order of what it lists, the blocks at 256 of the places
  // that it names, and all from the last one to the end. Error{bad_input} naming the index, and the command
  // that makes it.
  static BgzfBlocks of_index(const std::string& path);
  // Without an index: from block to block through the whole file. Error{bad_input} for a damaged file.
  static BgzfBlocks of_file(const std::string& path);

  // Bytes of the whole content.
  std::int64_t content_size() const { return content_size_; }
  // The virtual offset (htslib's) of a place within the content. Error{bad_input} naming the index when the
  // block there is not the one that the index lists.
  std::int64_t virtual_offset(std::int64_t place) const;

 private:
  struct Begin {
    std::int64_t stored = 0;   // in the file
    std::int64_t content = 0;  // in its content
  };

  explicit BgzfBlocks(const std::string& path) : file_(std::make_unique<RandomFile>(path)) {}
  void read_index(const std::string& index);
  void check_samples() const;
  // Lists the blocks from the last listed one to the end of the file, at most `most` of them.
  void walk(std::int64_t most);
  bool block_fits(std::size_t i) const;
  [[noreturn]] void misfit(const std::string& what) const;

  std::unique_ptr<RandomFile> file_;
  std::vector<Begin> begins_;  // ascending; the first is 0, 0
  std::int64_t content_size_ = 0;
};

// A warning, said once, when `index` is older than `path`. Times alone prove nothing: copies have odd ones.
void warn_if_older(const std::string& index, const std::string& path);

}  // namespace bigbird
