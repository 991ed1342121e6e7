// Text inside an SVG document.
#pragma once

#include <string>
#include <string_view>

namespace bigbird {

// With the letters that SVG gives a meaning to written as entities.
inline std::string svg_escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

}  // namespace bigbird
