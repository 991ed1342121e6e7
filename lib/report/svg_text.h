// Text inside SVG documents and pages.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>

#include "lib/core/unicode.h"

namespace bigbird {

// With the letters that SVG gives a meaning to written as entities; letters that XML does not know (controls)
// as the replacement character.
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
        if (static_cast<unsigned char>(letter) < 0x20 && letter != '\n' && letter != '\t') {
          result += "\xEF\xBF\xBD";
        } else {
          result += letter;
        }
    }
  }
  return result;
}

// The whole text is a number.
inline bool is_number_text(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// The first letters of a name that has more, and an ellipsis.
inline std::string svg_shortened(const std::string& name, std::size_t most_letters) {
  const CodePointIndex index(name);
  if (index.size() <= most_letters) return name;
  return std::string(index.slice(0, most_letters - 1)) + "…";
}

// The opening of a document of its own, with what screen readers and viewers say of it. `attributes`: more of
// the element, each with a blank before it. No text in it is escaped yet.
inline std::string svg_opening(double width, double height, std::string_view title,
                               std::string_view description, std::string_view attributes = {},
                               double widest = 0) {
  // A picture that is wider is shown smaller.
  const double scale = widest > 0 && width > widest ? widest / width : 1;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {2:.0f} {3:.0f}\" "
      "role=\"img\" font-family=\"Helvetica, Arial, sans-serif\"{4}>\n<title>{5}</title>\n<desc>{6}</desc>\n"
      "<rect width=\"{2:.0f}\" height=\"{3:.0f}\" fill=\"white\"/>\n",
      width * scale, height * scale, width, height, attributes, svg_escaped(title), svg_escaped(description));
}

}  // namespace bigbird
