// Opening files through htslib; see htslib_handles.h.
#include "lib/io/files/htslib_handles.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/hts_log.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <string_view>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

using namespace std::string_view_literals;

struct ForeignFormat {
  std::string_view magic;
  std::string_view name;
  std::string_view hint;
};

// Of two that fit, the first.
constexpr ForeignFormat foreign_formats[] = {
    {"\xFD"
     "7zXZ\0"sv,
     "xz", "unpack it first (xz -dc FILE > NEW), or read it as -: xz -dc FILE | bigbird ... -"},
    {"\x28\xB5\x2F\xFD"sv, "zstd",
     "unpack it first (zstd -dc FILE > NEW), or read it as -: zstd -dc FILE | bigbird ... -"},
    {"\x04\x22\x4D\x18"sv, "lz4",
     "unpack it first (lz4 -dc FILE > NEW), or read it as -: lz4 -dc FILE | bigbird ... -"},
    {"LZIP\x01"sv, "lzip",
     "unpack it first (lzip -dc FILE > NEW), or read it as -: lzip -dc FILE | bigbird ... -"},
    {"\x1F\x9D"sv, "compress (.Z)",
     "unpack it first (gzip -dc FILE > NEW), or read it as -: gzip -dc FILE | bigbird ... -"},
    {"7z\xBC\xAF\x27\x1C"sv, "7z",
     "unpack it first (7z x FILE), or read it as -: 7z x -so FILE | bigbird ... -"},
    {"Rar!\x1A\x07"sv, "rar", "unpack it first: unrar x FILE"},
    {"\x1A\x41\x27\x43"sv, "2bit", "make a FASTA of it: twoBitToFa FILE genome.fa"},
    {"\x43\x27\x41\x1A"sv, "2bit", "make a FASTA of it: twoBitToFa FILE genome.fa"},
    {"\x26\xFC\x8F\x88"sv, "bigWig", "make text of it: bigWigToBedGraph FILE track.bedgraph"},
    {"\xEB\xF2\x89\x87"sv, "bigBed", "make text of it: bigBedToBed FILE regions.bed"},
    {"\xFF\xFE\0\0"sv, "UTF-32", "convert it first: iconv -f UTF-32 -t UTF-8 FILE > NEW"},
    {"\0\0\xFE\xFF"sv, "UTF-32", "convert it first: iconv -f UTF-32 -t UTF-8 FILE > NEW"},
    {"\xFF\xFE"sv, "UTF-16", "convert it first: iconv -f UTF-16 -t UTF-8 FILE > NEW"},
    {"\xFE\xFF"sv, "UTF-16", "convert it first: iconv -f UTF-16 -t UTF-8 FILE > NEW"},
};

[[noreturn]] void refuse_format(const std::string& path, std::string_view name, std::string_view hint) {
  throw_bad_input(fmt::format("{}: is {}, which is not read", path, name), std::string(hint));
}

bool is_bzip2(std::string_view begin) {
  if (begin.size() < 10 || !begin.starts_with("BZh") || begin[3] < '1' || begin[3] > '9') return false;
  // The first block, or the end of a file of nothing.
  return begin.substr(4, 6) == "1AY&SY" || begin.substr(4, 6) == "\x17\x72\x45\x38\x50\x90";
}

}  // namespace

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
    if (errno != 0) throw_cannot_read(path, errno);
    throw_bad_input(path + ": cannot read: unknown reason", "check that it is a file that you may read");
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

void refuse_other_formats(std::string_view begin, const std::string& path) {
  for (const ForeignFormat& format : foreign_formats) {
    if (begin.starts_with(format.magic)) {
      const bool text = format.name.starts_with("UTF");
      if (text)
        throw_bad_input(fmt::format("{}: is {}, not UTF-8", path, format.name), std::string(format.hint));
      refuse_format(path, format.name, format.hint);
    }
  }
  if (is_bzip2(begin)) {
    refuse_format(path, "bzip2",
                  "unpack it first (bzip2 -dc FILE > NEW), or read it as -: bzip2 -dc FILE | bigbird ... -");
  }
  if (begin.starts_with("PK\x03\x04") || begin.starts_with("PK\x05\x06")) {
    constexpr std::size_t first_name = 30;
    const bool office = begin.substr(std::min(first_name, begin.size())).starts_with("[Content_Types].xml");
    refuse_format(path, office ? "an Office file (.xlsx, .docx)" : "a zip archive",
                  office ? "save it as CSV or text, in UTF-8"
                         : "unpack it first (unzip FILE), or read it as -: unzip -p FILE | bigbird ... -");
  }
  constexpr std::size_t tar_magic = 257;
  if (begin.size() > tar_magic && begin.substr(tar_magic).starts_with("ustar")) {
    refuse_format(path, "a tar archive",
                  "take the files out of it first (tar -xf FILE), or read one as -: tar -xOf FILE NAME | "
                  "bigbird ... -");
  }
  if (begin.starts_with("\x1F\x8B")) {
    throw_bad_input(fmt::format("{}: is packed by gzip twice", path),
                    "unpack it once: gzip -dc FILE > NEW.gz");
  }
}

int open_pipe(const std::string& path) {
  struct stat status {};
  if (path == "-" || stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return -1;
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return -1;  // whoever opens the path then says why
  constexpr int milliseconds = 100;
  // Before the first writer comes there is neither something to read nor an end.
  for (pollfd waiting{descriptor, POLLIN, 0}; poll(&waiting, 1, milliseconds) <= 0;) {
    try {
      throw_if_cancelled();
    } catch (const Error&) {
      close(descriptor);
      throw;
    }
  }
  const int flags = fcntl(descriptor, F_GETFL);
  fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK);
  return descriptor;
}

bool comes_as_it_is_written(const std::string& path) {
  struct stat status = {};
  const int failed = path == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(path.c_str(), &status);
  return failed == 0 && !S_ISREG(status.st_mode);
}

ssize_t read_next_line(BGZF* file, char* buffer, std::size_t size) {
  if (file->is_compressed != 0) return bgzf_read(file, buffer, size);
  if (size > 1) return hgetdelim(buffer, size, '\n', file->fp);  // it puts a NUL behind what it has read
  const int letter = size == 0 ? EOF : hgetc(file->fp);
  if (letter == EOF) return 0;
  *buffer = static_cast<char>(letter);
  return 1;
}

}  // namespace bigbird
