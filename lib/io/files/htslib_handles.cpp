// Opening files through htslib; see htslib_handles.h.
#include "lib/io/files/htslib_handles.h"

#include <fmt/format.h>
#include <htslib/hts.h>
#include <htslib/hts_log.h>

#include <cerrno>
#include <mutex>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
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
  const bool is_bgzf = bgzf_compression(handle.get()) == bgzf;
  if (is_bgzf && bgzf_check_EOF(handle.get()) == 0) {
    throw_bad_input(fmt::format("{}: BGZF file is cut short (its end-of-file block is missing)", path),
                    "copy or download the file again");
  }
  return handle;
}

void throw_damaged_compression(const std::string& path) {
  throw_bad_input(fmt::format("{}: compressed data are damaged or cut short", path),
                  "copy or download the file again");
}

}  // namespace bigbird
