// See product_table.h.
#include "kernels/product_table.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace bigbird::kernels {

namespace {

constexpr std::string_view first_form = "##products=1", second_form = "##products=2";
constexpr std::size_t key_columns = 8;

std::string microseconds_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find('\t', begin);
    cells.push_back(line.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return cells;
    begin = end + 1;
  }
}

bool is_size(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0;
}

double time_of(std::string_view text) {
  std::size_t used = 0;
  double value = -1;
  try {
    value = std::stod(std::string(text), &used);
  } catch (const std::logic_error&) {  // no number, or too large a one
  }
  if (used != text.size() || !(value >= 0)) throw std::invalid_argument("a time that is not a number");
  return value;
}

void read_line(std::string_view line, std::size_t number, ProductTable& table) {
  constexpr std::string_view device = "##device=", library = "##library=";
  if (number == 1) {
    if (line != first_form && line != second_form)
      throw std::invalid_argument("this is not a table of products");
  } else if (line.substr(0, device.size()) == device) {
    table.device = line.substr(device.size());
  } else if (line.substr(0, library.size()) == library) {
    table.library = line.substr(library.size());
  } else if (line.empty() || line[0] != '#') {
    const std::vector<std::string_view> cells = cells_of(line);
    if (cells.size() != key_columns + 3)
      throw std::invalid_argument("a product has " + std::to_string(key_columns + 3) + " columns, not " +
                                  std::to_string(cells.size()));
    for (std::size_t i = key_columns - 3; i < key_columns; ++i) {
      if (!is_size(cells[i])) throw std::invalid_argument("a size that is not a number above 0");
    }
    if (cells[key_columns].empty()) throw std::invalid_argument("a product without an algorithm");
    const std::string key(
        line.substr(0, static_cast<std::size_t>(cells[key_columns].data() - line.data()) - 1));
    const ProductTable::Choice choice{std::string(cells[key_columns]), time_of(cells[key_columns + 1]),
                                      time_of(cells[key_columns + 2])};
    if (!table.choices.emplace(key, choice).second)
      throw std::invalid_argument("a product that was there before");
  }
}

}  // namespace

std::string ProductTable::text() const {
  const bool second = std::any_of(choices.begin(), choices.end(), [](const auto& row) {
    return row.second.algorithm == split || row.first.find("\tbias_gradient\t") != std::string::npos;
  });
  std::string text(second ? second_form : first_form);
  text += "\n##device=" + device + "\n##library=" + library + "\n#" + product_key_columns +
          "\talgorithm\tmicroseconds\tof_the_first_choice\n";
  for (const auto& [key, choice] : choices) {
    text += key + "\t" + choice.algorithm + "\t" + microseconds_text(choice.microseconds) + "\t" +
            microseconds_text(choice.first_microseconds) + "\n";
  }
  return text;
}

std::string ProductTable::digest() const {
  if (empty()) return {};
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  const auto add = [&hash](const std::string& text) {
    for (const char letter : text + "\n") hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  };
  add(device);
  add(library);
  for (const auto& [key, choice] : choices) {
    add(key);
    add(choice.algorithm);
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

ProductTable parse_product_table(const std::string& text) {
  ProductTable table;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    ++number;
    try {
      if (end == std::string::npos) throw std::invalid_argument("the file is cut short");
      read_line(std::string_view(text).substr(begin, end - begin), number, table);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("line " + std::to_string(number) + ": " + error.what());
    }
    begin = end + 1;
  }
  if (number == 0) throw std::invalid_argument("line 1: this is not a table of products");
  if (table.device.empty() || table.library.empty())
    throw std::invalid_argument("line " + std::to_string(number) + ": it names no device or no library");
  return table;
}

}  // namespace bigbird::kernels
