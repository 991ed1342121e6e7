// Bytes of a text file with a look ahead; see text_input.h.
#include "lib/io/text/text_input.h"

#include <cstring>

namespace bigbird {
namespace {

constexpr std::size_t text_piece_size = 1 << 16;

}  // namespace

TextInput::TextInput(const std::string& path) : input_(path) {
  fill();  // a file that is no text is refused here
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
