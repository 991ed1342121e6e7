// Private to lib/io: owning handles of htslib objects, opened so that htslib itself stays silent and damage
// is an Error.
#pragma once

#include <htslib/bgzf.h>

#include <memory>
#include <string>

namespace bigbird {

struct BgzfCloser {
  void operator()(BGZF* handle) const { bgzf_close(handle); }
};
using BgzfHandle = std::unique_ptr<BGZF, BgzfCloser>;

// htslib logs to stderr by itself; the library never prints.
void silence_htslib();

// Opens a path or "-" for reading: plain, gzip or BGZF by content. Error when it cannot be opened, and, for
// BGZF in a regular file, when its end-of-file block is missing.
BgzfHandle open_bgzf(const std::string& path);

// At the end of what open_bgzf() opened and found to be BGZF: Error when its last block was not the
// end-of-file block. Where the input cannot seek (a pipe, the standard input, a FIFO), this is known only
// here.
void require_bgzf_end(const BGZF* handle, const std::string& path);

// The Error for compressed data that cannot be read.
[[noreturn]] void throw_damaged_compression(const std::string& path);

}  // namespace bigbird
