// Bytes of a text file with a look ahead; see text_input.h.
#include "lib/io/text/text_input.h"

#include <fmt/format.h>

#include <cstring>

#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr std::size_t text_piece_size = 1 << 16;

}  // namespace

TextInput::TextInput(const std::string& path) : input_(path) {
  const std::string_view begin = peek(4);
  if (begin.substr(0, 3) == "\xEF\xBB\xBF") {
    take(3);
    return;
  }
  const bool utf16 = begin.substr(0, 2) == "\xFF\xFE" || begin.substr(0, 2) == "\xFE\xFF";
  const bool utf32 =
      begin == std::string_view("\xFF\xFE\0\0", 4) || begin == std::string_view("\0\0\xFE\xFF", 4);
  if (utf16 || utf32) {
    const char* name = utf32 ? "UTF-32" : "UTF-16";
    throw_bad_input(fmt::format("{}: is {}, not UTF-8", path, name),
                    fmt::format("convert it first: iconv -f {} -t UTF-8", name));
  }
  // What is too short for a gzip header reaches us as it is.
  if (begin.substr(0, 2) == "\x1F\x8B") {
    throw_bad_input(fmt::format("{}: compressed data are damaged or cut short", path),
                    "copy or download the file again");
  }
}

bool TextInput::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    if (end_ > begin_) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < text_piece_size) buffer_.resize(end_ + text_piece_size + end_ / 2);
  const std::size_t count = input_.read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += count;
  at_end_ = count == 0;
  return !at_end_;
}

std::string_view TextInput::peek(std::size_t size) {
  while (end_ - begin_ < size && fill()) {
  }
  return window().substr(0, size);
}

}  // namespace bigbird
