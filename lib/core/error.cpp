// Text of files in messages; see error.h.
#include "lib/core/error.h"

namespace bigbird {

std::string text_for_message(std::string_view text, std::size_t code_points) {
  std::string shown;
  std::size_t count = 0;
  char before = 0;
  for (const char byte : text) {
    const bool begins = (static_cast<unsigned char>(byte) & 0xC0) != 0x80;  // a character, in UTF-8
    if (begins && ++count > code_points) return shown + "...";
    const bool control = static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F;
    // U+0080 to U+009F, of which some terminals take U+009B for ESC [.
    const bool second_set = before == '\xC2' && static_cast<unsigned char>(byte) < 0xA0 && !begins;
    if (second_set) shown.pop_back();
    shown += control || second_set ? '?' : byte;
    before = byte;
  }
  return shown;
}

}  // namespace bigbird
