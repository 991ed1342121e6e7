// Numbers as a page shows them: three significant digits. The full value stands in the title of its cell.
#pragma once

#include <cstdint>
#include <string>

namespace bigbird {

// "0.0279", "6.09", "18,400", "1e-06"; "no value" for what is not finite.
std::string three_digits(double value);
// "1,234,567".
std::string count_text(std::uint64_t count);
// A percentage: "12.5 %".
std::string percent_text(double share);
// A cell: where it is a number with a point or an exponent, or begins with one before a blank ("6.736138
// after update 120"), that number with three digits. Whole numbers, which are counts and positions, stay.
std::string shown_cell(const std::string& text);
// The whole text is a number, or begins with one before a blank.
bool begins_with_number(const std::string& text);

}  // namespace bigbird
