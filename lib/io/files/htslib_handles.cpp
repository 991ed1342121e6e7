// Opening files through htslib; see htslib_handles.h.
#include "lib/io/files/htslib_handles.h"

#include <fmt/format.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/hts_log.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <string_view>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/io/files/content_format.h"
#include "lib/io/files/pipe_open.h"

namespace bigbird {

void silence_htslib() {
  static std::once_flag once;
  std::call_once(once, [] { hts_set_log_level(HTS_LOG_OFF); });
}

BgzfHandle open_bgzf(const std::string& path) {
  silence_htslib();
  const int pipe = open_pipe(path);
  errno = 0;
  BgzfHandle handle(pipe < 0 ? bgzf_open(path.c_str(), "r") : bgzf_dopen(pipe, "r"));
  if (path == "-") throw_if_cancelled();
  if (!handle) {
    const int error = errno;
    throw_bad_input(
        fmt::format("{}: cannot read: {}", path, error != 0 ? system_text(error) : "unknown reason"),
        error == ENOENT ? "check the path" : "check that it is a file that you may read");
  }
  constexpr int cannot_seek = 2;
  const int ends = bgzf_check_EOF(handle.get());
  const int compression = bgzf_compression(handle.get());
  if (compression == no_compression && ends != cannot_seek) {
    // Where the bytes do not come through an InputStream (a FASTA at random places), it is told here.
    std::array<char, format_bytes> begin{};
    const ssize_t size = hpeek(handle->fp, begin.data(), begin.size());
    const std::string_view bytes(begin.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    // What is too short for a gzip header is taken for text.
    if (bytes.starts_with("\x1F\x8B")) throw_damaged_compression(path);
    refuse_other_formats(bytes, path);
  }
  if (compression == bgzf && ends == 0) {
    throw_bad_input(fmt::format("{}: BGZF file is cut short (its end-of-file block is missing)", path),
                    "copy or download the file again");
  }
  return handle;
}

void require_bgzf_end(const BGZF* handle, const std::string& path) {
  // After a member of plain gzip, htslib no longer looks for the block.
  if (handle->no_eof_block == 0 && handle->is_gzip == 0) return;
  throw_bad_input(fmt::format("{}: BGZF stream is cut short (its end-of-file block is missing)", path),
                  "copy or download the file again, or run again what writes the stream");
}

void throw_damaged_compression(const std::string& path) {
  throw_bad_input(fmt::format("{}: compressed data are damaged or cut short", path),
                  "copy or download the file again");
}

}  // namespace bigbird
