// Private to lib/io: the content of a FASTA, plain or BGZF, from any place on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/io/files/htslib_handles.h"
#include "lib/io/genome/bgzf_blocks.h"

namespace bigbird {

class FastaBytes {
 public:
  // `blocks`: of BGZF; null for a plain file.
  FastaBytes(const std::string& path, std::shared_ptr<const BgzfBlocks> blocks);

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }
  // What read() gives next. `place` is within the content. Error{bad_input} as BgzfBlocks::virtual_offset.
  void seek(std::int64_t place);
  // Up to `size` bytes; fewer only at the end. Error{bad_input} for damaged data.
  std::size_t read(char* buffer, std::size_t size);

 private:
  std::string path_;
  std::shared_ptr<const BgzfBlocks> blocks_;
  BgzfHandle handle_;                  // of BGZF
  std::unique_ptr<RandomFile> plain_;  // of a plain file
  std::int64_t place_ = 0;             // in it
  std::int64_t size_ = 0;
};

}  // namespace bigbird
