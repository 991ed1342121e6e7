// BGZF written by all threads; see bgzf_writer.h.
#include "lib/io/files/bgzf_writer.h"

#include <htslib/bgzf.h>

#include <algorithm>
#include <cstddef>

#include "kernels/parallel.h"
#include "lib/core/error.h"

namespace bigbird {
namespace {

// as bgzip cuts, so that a block always fits into 64 KiB compressed
constexpr std::size_t block_bytes = 0xff00;
constexpr std::size_t blocks_per_batch = 128;  // 8 MiB in flight
constexpr std::size_t batch_bytes = block_bytes * blocks_per_batch;

void append_u64(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>((value >> shift) & 0xff));
}

}  // namespace

ParallelBgzfWriter::ParallelBgzfWriter(const std::string& path, int level) : file_(path), level_(level) {}

void ParallelBgzfWriter::write(std::string_view text) {
  size_ += text.size();
  while (!text.empty()) {
    const std::size_t taken = std::min(text.size(), batch_bytes - pending_.size());
    pending_.append(text.substr(0, taken));
    text.remove_prefix(taken);
    if (pending_.size() == batch_bytes) compress(batch_bytes);
  }
}

void ParallelBgzfWriter::compress(std::size_t bytes) {
  const std::size_t blocks = (bytes + block_bytes - 1) / block_bytes;
  std::vector<std::string> compressed(blocks);
  kernels::parallel_for(blocks, [&](std::size_t block) {
    const std::size_t begin = block * block_bytes;
    const std::size_t size = std::min(block_bytes, bytes - begin);
    std::string& out = compressed[block];
    out.resize(BGZF_MAX_BLOCK_SIZE);
    std::size_t length = out.size();
    if (bgzf_compress(out.data(), &length, pending_.data() + begin, size, level_) != 0) {
      throw_runtime(file_.path() + ": a block could not be compressed");
    }
    out.resize(length);
  });
  for (const std::string& block : compressed) {
    block_offsets_.push_back(file_.size());
    file_.write(block.data(), block.size());
  }
  pending_.erase(0, bytes);
}

void ParallelBgzfWriter::close() {
  if (!pending_.empty()) compress(pending_.size());
  // An empty block marks the end: readers take its absence for a file cut short.
  std::string end(BGZF_MAX_BLOCK_SIZE, '\0');
  std::size_t length = end.size();
  if (bgzf_compress(end.data(), &length, nullptr, 0, level_) != 0) {
    throw_runtime(file_.path() + ": the end block could not be made");
  }
  file_.write(end.data(), length);
  file_.commit();
}

std::string ParallelBgzfWriter::gzi() const {
  std::string out;
  append_u64(out, block_offsets_.empty() ? 0 : block_offsets_.size() - 1);
  for (std::size_t block = 1; block < block_offsets_.size(); ++block) {
    append_u64(out, block_offsets_[block]);
    append_u64(out, block * block_bytes);
  }
  return out;
}

}  // namespace bigbird
