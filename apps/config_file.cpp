// Reading and writing options as TOML; see config_file.h.
#include "apps/config_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/old_names.h"
#include "lib/core/unicode.h"

namespace bigbird::apps {
namespace {

// Numbers and booleans stand without quotes in TOML.
bool is_bare(const std::string& value) {
  if (value == "true" || value == "false") return true;
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() && std::isfinite(number);
}

// The text of a file, read from its begin to its end.
class Reader {
 public:
  explicit Reader(std::string text) : text_(std::move(text)) {}

  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  char take() { return text_[at_++]; }
  void skip_blanks() {
    while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == '\r')) ++at_;
  }
  // Blanks, line ends and comments: between the values of a list.
  void skip_space() {
    for (skip_blanks(); peek() == '\n' || peek() == '#'; skip_blanks())
      peek() == '#' ? skip_line() : void(++at_);
  }
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }
  // Up to one of `ends` or the end of the line, without the blanks at its end.
  std::string word(std::string_view ends) {
    const std::size_t begin = at_;
    while (!at_end() && peek() != '\n' && ends.find(peek()) == std::string_view::npos) ++at_;
    std::size_t end = at_;
    while (end > begin && (text_[end - 1] == ' ' || text_[end - 1] == '\t' || text_[end - 1] == '\r')) --end;
    return text_.substr(begin, end - begin);
  }
  // A string with its quotes, of either kind.
  std::string quoted() {
    const char quote = take();
    std::string value;
    while (!at_end() && peek() != quote && peek() != '\n') {
      const char letter = take();
      if (letter != '\\' || quote == '\'') {
        value += letter;
      } else {
        escape(value);
      }
    }
    if (at_end() || peek() == '\n')
      throw CLI::ConfigError("a string without its closing " + std::string(1, quote));
    take();
    return value;
  }

 private:
  void escape(std::string& value) {
    constexpr std::string_view names = "\"\\bfnrt", meant = "\"\\\b\f\n\r\t";
    const std::size_t known = names.find(peek());
    if (!at_end() && known != std::string_view::npos) {
      value += meant[known];
      ++at_;
      return;
    }
    std::uint32_t code = 0;
    if (peek() == 'u' && at_ + 5 <= text_.size()) {
      const char* const end = text_.data() + at_ + 5;
      const auto parsed = std::from_chars(text_.data() + at_ + 1, end, code, 16);
      if (parsed.ec == std::errc() && parsed.ptr == end) {
        append_utf8(value, static_cast<char32_t>(code));
        at_ += 5;
        return;
      }
    }
    value += '\\';  // a path that somebody typed
  }

  std::string text_;
  std::size_t at_ = 0;
};

std::vector<std::string> read_list(Reader& reader) {
  std::vector<std::string> values;
  reader.take();
  while (true) {
    reader.skip_space();
    if (reader.at_end()) throw CLI::ConfigError("a list without its closing ]");
    if (reader.peek() == ']') break;
    if (reader.peek() == ',') {
      reader.take();
      continue;
    }
    const bool is_string = reader.peek() == '"' || reader.peek() == '\'';
    values.push_back(is_string ? reader.quoted() : reader.word(",]#"));
  }
  reader.take();
  return values;
}

std::vector<std::string> read_value(Reader& reader) {
  reader.skip_blanks();
  if (reader.peek() == '[') return read_list(reader);
  if (reader.peek() == '"' || reader.peek() == '\'') return {reader.quoted()};
  // Bare words, as CLI11 has them: several with commas or blanks between them.
  const std::string bare = reader.word("#");
  if (bare.find(',') != std::string::npos) return CLI::detail::split_up(bare, ',');
  return bare.find(' ') == std::string::npos ? std::vector{bare} : CLI::detail::split_up(bare);
}

}  // namespace

std::string toml_value(const std::string& value) {
  if (is_bare(value)) return value;
  std::string text = "\"";
  for (const char letter : value) {
    switch (letter) {
      case '"':
      case '\\':
        text += '\\';
        text += letter;
        break;
      case '\n':
        text += "\\n";
        break;
      case '\r':
        text += "\\r";
        break;
      case '\t':
        text += "\\t";
        break;
      default:
        text += static_cast<unsigned char>(letter) < 0x20 ? fmt::format("\\u{:04x}", static_cast<int>(letter))
                                                          : std::string(1, letter);
    }
  }
  return text + '"';
}

std::string toml_values(const std::vector<std::string>& values) {
  if (values.size() == 1) return toml_value(values.front());
  std::vector<std::string> items;
  for (const std::string& value : values) items.push_back(toml_value(value));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

bool ConfigFile::is_flag_off(const CLI::ConfigItem& item) const {
  if (!item.parents.empty() || item.inputs != std::vector<std::string>{"false"}) return false;
  const CLI::Option* const option = app_.get_option_no_throw("--" + item.name);
  return option != nullptr && option->get_expected_max() == 0 && option->get_fnames().empty();
}

std::vector<CLI::ConfigItem> ConfigFile::from_config(std::istream& input) const {
  Reader reader({std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()});
  std::vector<CLI::ConfigItem> read;
  std::vector<std::string> section;
  while (true) {
    reader.skip_space();
    if (reader.at_end()) return read;
    if (reader.peek() == ';') {
      reader.skip_line();
      continue;
    }
    if (reader.peek() == '[') {
      reader.take();
      section = {reader.word("]#")};
      reader.skip_line();
      continue;
    }
    CLI::ConfigItem item;
    item.parents = section;
    item.name = reader.peek() == '"' || reader.peek() == '\'' ? reader.quoted() : reader.word("=#");
    reader.skip_blanks();
    if (reader.peek() == '=') {
      reader.take();
      item.inputs = read_value(reader);
      reader.skip_blanks();
      if (!reader.at_end() && reader.peek() != '\n' && reader.peek() != '#')
        throw CLI::ConfigError("'" + item.name + "': there is more after its value: " + reader.word(""));
    } else {
      item.inputs = {"true"};
    }
    reader.skip_line();
    if (use_name_of_today(verb_, item) && !is_flag_off(item)) read.push_back(std::move(item));
  }
}

}  // namespace bigbird::apps
