// Private to lib/io: owning handles of htslib objects, opened so that htslib itself stays silent, damage is
// an Error, and so is what no reader takes as it is; bytes of pipes as they come.
#pragma once

#include <htslib/bgzf.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

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

// As many first bytes as refuse_other_formats() looks at.
constexpr std::size_t format_bytes = 512;

// Error{bad_input} that names the form and the command that makes it readable, for a file that begins with
// `begin` (less than format_bytes of a shorter file): xz, bzip2, zstd, lz4, lzip, compress, zip, 7z, rar,
// tar; UTF-16 and UTF-32 with their byte order marks; 2bit, bigWig and bigBed.
void refuse_other_formats(std::string_view begin, const std::string& path);

// A descriptor of a pipe that somebody writes to, the caller's; -1 for a path that is no pipe, or that cannot
// be opened. Error{interrupted} once a stop is requested while nobody writes: open() itself waits for a
// writer, and goes on after a signal.
int open_pipe(const std::string& path);

// Whether the path is a pipe, a terminal or a device, the standard input ("-") too.
bool comes_as_it_is_written(const std::string& path);

// As bgzf_read, which waits until it has all that was asked for; of input that is not compressed no more than
// the next line, with its end: of a pipe whose writer pauses, the lines that are there can be handed on.
// Calls of one file are all of this function.
ssize_t read_next_line(BGZF* file, char* buffer, std::size_t size);

}  // namespace bigbird
