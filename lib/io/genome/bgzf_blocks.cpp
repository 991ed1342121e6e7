// Blocks of BGZF files; see bgzf_blocks.h.
#include "lib/io/genome/bgzf_blocks.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <limits>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/htslib_handles.h"

namespace bigbird {
namespace {

constexpr std::int64_t most_in_block = 1 << 16;
// Gzip's header with an extra field of BGZF's six bytes, at least two of data, and checksum and length.
constexpr std::int64_t least_stored = 28;
constexpr std::size_t sampled_blocks = 256;
constexpr std::size_t index_entry = 16;
constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

std::uint64_t little_endian(const unsigned char* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = count; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

}  // namespace

std::optional<BgzfBlock> bgzf_block_at(const RandomFile& file, std::int64_t offset) {
  constexpr std::size_t header_size = 18;
  std::array<unsigned char, header_size> header{};
  if (offset < 0 || file.read(offset, header.data(), header_size) != header_size) return std::nullopt;
  // The field of BGZF is the only extra one in what bgzip, samtools and htsjdk write, as htslib asks.
  constexpr std::array<unsigned char, 4> magic = {0x1f, 0x8b, 0x08, 0x04};
  constexpr std::array<unsigned char, 6> field = {0x06, 0x00, 'B', 'C', 0x02, 0x00};
  if (!std::equal(magic.begin(), magic.end(), header.begin()) ||
      !std::equal(field.begin(), field.end(), header.begin() + 10)) {
    return std::nullopt;
  }
  BgzfBlock block;
  block.stored = static_cast<std::int64_t>(little_endian(header.data() + 16, 2)) + 1;
  std::array<unsigned char, 4> length{};
  if (block.stored < least_stored || offset + block.stored > file.size() ||
      file.read(offset + block.stored - 4, length.data(), length.size()) != length.size()) {
    return std::nullopt;
  }
  block.content = static_cast<std::int64_t>(little_endian(length.data(), 4));
  if (block.content > most_in_block) return std::nullopt;
  return block;
}

void BgzfBlocks::misfit(const std::string& what) const {
  const std::string& path = file_->path();
  throw_bad_input(
      fmt::format("{0}.gzi: does not fit {0}: {1}", path, what),
      fmt::format("make the index again: samtools faidx {0} (or remove it: it is made anew)", path));
}

BgzfBlocks BgzfBlocks::of_index(const std::string& path) {
  BgzfBlocks blocks(path);
  blocks.read_index(path + ".gzi");
  // A few blocks, the empty one at the end among them, need not be listed; a file that grew is not read on.
  constexpr std::int64_t most_unlisted = 4;
  blocks.check_samples();
  blocks.walk(most_unlisted);
  return blocks;
}

BgzfBlocks BgzfBlocks::of_file(const std::string& path) {
  BgzfBlocks blocks(path);
  blocks.begins_.push_back({});
  blocks.walk(no_limit);
  return blocks;
}

void BgzfBlocks::read_index(const std::string& index) {
  const RandomFile file(index);
  std::array<unsigned char, 8> head{};
  const bool has_head = file.read(0, head.data(), head.size()) == head.size();
  const std::uint64_t count = little_endian(head.data(), 8);
  const auto most = static_cast<std::uint64_t>(file_->size() / least_stored);
  if (!has_head || count > most || file.size() != static_cast<std::int64_t>(8 + count * index_entry)) {
    misfit(fmt::format("{} bytes for a list of {} blocks", file.size(), has_head ? count : 0));
  }
  begins_.reserve(static_cast<std::size_t>(count) + 1);
  begins_.push_back({});
  std::vector<unsigned char> piece(std::size_t{4096} * index_entry);
  for (std::int64_t at = 8; at < file.size();) {
    const std::size_t size = file.read(at, piece.data(), piece.size()) / index_entry * index_entry;
    if (size == 0) misfit("it was cut meanwhile");
    for (std::size_t i = 0; i < size; i += index_entry) {
      const std::uint64_t stored = little_endian(piece.data() + i, 8);
      const std::uint64_t content = little_endian(piece.data() + i + 8, 8);
      const Begin& last = begins_.back();
      // samtools and bgzip leave the first block out; others list it.
      if (begins_.size() == 1 && stored == 0 && content == 0) continue;
      if (stored >= static_cast<std::uint64_t>(file_->size())) {
        misfit(fmt::format("block {} is at byte {} of {}", begins_.size(), stored, file_->size()));
      }
      const Begin begin{static_cast<std::int64_t>(stored), static_cast<std::int64_t>(content)};
      if (begin.stored - last.stored < least_stored || begin.stored - last.stored > most_in_block ||
          begin.content < last.content || begin.content - last.content > most_in_block) {
        misfit(fmt::format("block {} does not follow the one before it", begins_.size()));
      }
      begins_.push_back(begin);
    }
    at += static_cast<std::int64_t>(size);
  }
}

bool BgzfBlocks::block_fits(std::size_t i) const {
  const auto block = bgzf_block_at(*file_, begins_[i].stored);
  if (!block) return false;
  if (i + 1 == begins_.size()) return begins_[i].content + block->content == content_size_;
  std::int64_t stored_end = begins_[i].stored + block->stored;
  while (stored_end < begins_[i + 1].stored) {  // empty blocks need not be listed
    const auto empty = bgzf_block_at(*file_, stored_end);
    if (!empty || empty->content != 0) return false;
    stored_end += empty->stored;
  }
  return stored_end == begins_[i + 1].stored && begins_[i].content + block->content == begins_[i + 1].content;
}

void BgzfBlocks::check_samples() const {
  const std::size_t count = begins_.size() - 1;  // the last one is walked from
  const std::size_t step = std::max<std::size_t>(1, count / sampled_blocks);
  for (std::size_t i = 0; i < count; i += step) {
    if (!block_fits(i)) misfit(fmt::format("block {} is not at byte {}", i, begins_[i].stored));
  }
}

void BgzfBlocks::walk(std::int64_t most) {
  for (std::int64_t walked = 0;; ++walked) {
    const Begin begin = begins_.back();
    const auto block = bgzf_block_at(*file_, begin.stored);
    if (!block && most == no_limit) throw_damaged_compression(file_->path());
    if (!block) misfit(fmt::format("no block is at byte {}", begin.stored));
    const Begin next{begin.stored + block->stored, begin.content + block->content};
    content_size_ = next.content;
    if (next.stored == file_->size()) return;
    if (walked == most) misfit(fmt::format("the file goes on after byte {}", next.stored));
    begins_.push_back(next);
  }
}

std::int64_t BgzfBlocks::virtual_offset(std::int64_t place) const {
  const auto after =
      std::upper_bound(begins_.begin(), begins_.end(), place,
                       [](std::int64_t wanted, const Begin& begin) { return wanted < begin.content; });
  const auto block = static_cast<std::size_t>(after - begins_.begin()) - 1;
  if (!block_fits(block)) misfit(fmt::format("block {} is not at byte {}", block, begins_[block].stored));
  return begins_[block].stored << 16 | (place - begins_[block].content);
}

void warn_if_older(const std::string& index, const std::string& path) {
  struct stat of_index {};
  struct stat of_file {};
  if (stat(index.c_str(), &of_index) != 0 || stat(path.c_str(), &of_file) != 0) return;
  if (of_index.st_mtime < of_file.st_mtime) {
    log_warning_once(fmt::format("{} is older than {}: make it again if the file changed", index, path));
  }
}

}  // namespace bigbird
