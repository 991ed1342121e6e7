// Sequential input and output, BGZF and gzip seen through; see file.h.
#include <fmt/format.h>
#include <htslib/bgzf.h>
#include <htslib/hts.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/io/files/bgzf_writer.h"
#include "lib/io/files/file.h"
#include "lib/io/files/htslib_handles.h"

namespace bigbird {
namespace {

constexpr std::size_t buffer_size = 1 << 18;
// zlib's own default: the bytes of a BGZF depend on it, so it is part of reproducibility.
constexpr int bgzf_level = 6;

}  // namespace

struct InputStream::Handle {
  BgzfHandle bgzf;
  bool is_bgzf = false;  // as it begins
  std::string begin;     // read to know what the file is, and not handed out yet
  bool begun = false;
  std::int64_t resting_at = -1;  // where to go on: the file is closed meanwhile
  bool by_lines = false;         // who writes a pipe may pause
};

InputStream::InputStream(const std::string& path) : handle_(std::make_unique<Handle>()), path_(path) {
  if (path != "-" && folder_exists(path)) {
    throw_bad_input(fmt::format("{}: is a folder, not a file", path), "give the path of a file");
  }
  handle_->bgzf = open_bgzf(path);
  handle_->is_bgzf = bgzf_compression(handle_->bgzf.get()) == bgzf;
  handle_->by_lines = comes_as_it_is_written(path);
}

InputStream::~InputStream() = default;
InputStream::InputStream(InputStream&&) noexcept = default;
InputStream& InputStream::operator=(InputStream&&) noexcept = default;

void InputStream::rest() {
  BGZF* const file = handle_->bgzf.get();
  if (path_ == "-" || file == nullptr || bgzf_compression(file) == gzip || !file_is_regular(path_)) return;
  handle_->resting_at = bgzf_tell(file);
  handle_->bgzf.reset();
}

std::size_t InputStream::read_bytes(char* buffer, std::size_t size) {
  if (handle_->resting_at >= 0) {
    handle_->bgzf = open_bgzf(path_);
    if (bgzf_seek(handle_->bgzf.get(), std::exchange(handle_->resting_at, -1), SEEK_SET) != 0)
      throw_bad_input(path_ + ": was changed while it was read", "let nothing write it meanwhile");
  }
  BGZF* const file = handle_->bgzf.get();
  const ssize_t count =
      handle_->by_lines ? read_next_line(file, buffer, size) : bgzf_read(file, buffer, size);
  if (path_ == "-") throw_if_cancelled();
  if (count < 0) throw_damaged_compression(path_);
  if (count == 0 && size > 0 && handle_->is_bgzf) require_bgzf_end(handle_->bgzf.get(), path_);
  return static_cast<std::size_t>(count);
}

void InputStream::look_at_begin() {
  std::string& begin = handle_->begin;
  begin.resize(format_bytes);
  std::size_t size = 0;
  while (size < format_bytes) {
    const std::size_t count = read_bytes(begin.data() + size, format_bytes - size);
    size += count;
    // Who writes a pipe line by line is not waited for: the first line tells.
    if (count == 0 || handle_->by_lines) break;
  }
  begin.resize(size);
  handle_->begun = true;
  // What is too short for a gzip header reaches us as it is.
  const bool stored = bgzf_compression(handle_->bgzf.get()) == no_compression;
  if (stored && begin.starts_with("\x1F\x8B")) throw_damaged_compression(path_);
  refuse_other_formats(begin, path_);
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (begin.starts_with(byte_order_mark)) begin.erase(0, byte_order_mark.size());
}

std::size_t InputStream::read(char* buffer, std::size_t size) {
  if (!handle_->begun) look_at_begin();
  std::string& begin = handle_->begin;
  if (begin.empty()) return read_bytes(buffer, size);
  const std::size_t count = begin.copy(buffer, size);
  begin.erase(0, count);
  return count;
}

std::string InputStream::read_all() {
  std::string content;
  std::string piece(buffer_size, '\0');
  while (const std::size_t count = read(piece.data(), piece.size())) content.append(piece, 0, count);
  return content;
}

LineReader::LineReader(const std::string& path, std::size_t longest) : input_(path), longest_(longest) {}

LineReader::LineReader(const std::string& path, Descriptor descriptor)
    : input_(path), descriptor_(descriptor) {
  if (descriptor_ == Descriptor::rest) input_.rest();
}

void throw_line_too_long(const std::string& path, std::uint64_t line_number, std::size_t longest) {
  throw_bad_input(fmt::format("{}:{}: a line of more than {} bytes", path, line_number + 1, longest),
                  "check that the file is text and has its line ends: head -c 200 FILE");
}

std::string LineReader::where() const {
  return fmt::format("{}:{}", input_.path(), line_number_);
}

bool LineReader::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < buffer_size) buffer_.resize(end_ + buffer_size + end_ / 2);
  const std::size_t count = input_.read(buffer_.data() + end_, buffer_.size() - end_);
  if (descriptor_ == Descriptor::rest) input_.rest();
  end_ += count;
  at_end_ = count == 0;
  return !at_end_;
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = 0;
  const char* newline = nullptr;
  for (;;) {
    const char* start = buffer_.data() + begin_;
    if (end_ > begin_ + searched) {
      newline = static_cast<const char*>(std::memchr(start + searched, '\n', end_ - begin_ - searched));
    }
    if (newline != nullptr) break;
    searched = end_ - begin_;
    if (searched > longest_) throw_line_too_long(path(), line_number_, longest_);
    if (!fill()) break;
  }
  const char* start = buffer_.data() + begin_;
  std::size_t length = newline != nullptr ? static_cast<std::size_t>(newline - start) : end_ - begin_;
  if (newline == nullptr && length == 0) return false;
  begin_ += length + (newline != nullptr ? 1 : 0);
  if (length > 0 && start[length - 1] == '\r') --length;
  line = std::string_view(start, length);
  ++line_number_;
  return true;
}

struct OutputStream::Handle {
  std::unique_ptr<AtomicFile> file;            // for any other path
  std::unique_ptr<ParallelBgzfWriter> packed;  // for a path ending in .gz
  std::string buffer;
};

namespace {

void write_standard_output(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t count = ::write(STDOUT_FILENO, data, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw_runtime(fmt::format("standard output: cannot write: {}", system_text(errno)),
                    "check the space left where the output goes");
    }
    data += count;
    size -= static_cast<std::size_t>(count);
  }
}

}  // namespace

OutputStream::OutputStream(const std::string& path) : handle_(std::make_unique<Handle>()), path_(path) {
  handle_->buffer.reserve(buffer_size * 2);
  if (path == "-") return;
  if (has_suffix(path, ".gz")) {
    handle_->packed = std::make_unique<ParallelBgzfWriter>(path, bgzf_level);
  } else {
    handle_->file = std::make_unique<AtomicFile>(path);
  }
}

OutputStream::~OutputStream() = default;

void OutputStream::write(std::string_view text) {
  Handle& handle = *handle_;
  handle.buffer.append(text);
  if (handle.buffer.size() >= buffer_size) flush();
}

void OutputStream::flush() {
  Handle& handle = *handle_;
  if (handle.packed) {
    handle.packed->write(handle.buffer);
  } else if (handle.file) {
    handle.file->write(handle.buffer.data(), handle.buffer.size());
  } else {
    write_standard_output(handle.buffer.data(), handle.buffer.size());
  }
  handle.buffer.clear();
}

void OutputStream::close() {
  Handle& handle = *handle_;
  flush();
  if (handle.packed) handle.packed->close();
  if (handle.file) handle.file->commit();
}

}  // namespace bigbird
