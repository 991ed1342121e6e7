// Reading a FASTA at any place; see fasta_bytes.h.
#include "lib/io/genome/fasta_bytes.h"

#include <utility>

namespace bigbird {

FastaBytes::FastaBytes(const std::string& path, std::shared_ptr<const BgzfBlocks> blocks)
    : path_(path), blocks_(std::move(blocks)) {
  if (blocks_) {
    handle_ = open_bgzf(path);
    size_ = blocks_->content_size();
  } else {
    plain_ = std::make_unique<RandomFile>(path);
    size_ = plain_->size();
  }
}

void FastaBytes::seek(std::int64_t place) {
  if (!blocks_) {
    place_ = place;
    return;
  }
  const std::int64_t wanted = blocks_->virtual_offset(place);
  // The block that is there already need not be decompressed again.
  constexpr std::int64_t in_block = 0xffff;
  if (handle_->block_length > 0 && handle_->block_address == wanted >> 16 &&
      (wanted & in_block) < handle_->block_length) {
    handle_->block_offset = static_cast<int>(wanted & in_block);
    return;
  }
  if (bgzf_seek(handle_.get(), wanted, SEEK_SET) != 0) throw_damaged_compression(path_);
}

std::size_t FastaBytes::read(char* buffer, std::size_t size) {
  if (plain_) {
    const std::size_t count = plain_->read(place_, buffer, size);
    place_ += static_cast<std::int64_t>(count);
    return count;
  }
  const ssize_t count = bgzf_read(handle_.get(), buffer, size);
  if (count < 0) throw_damaged_compression(path_);
  return static_cast<std::size_t>(count);
}

}  // namespace bigbird
