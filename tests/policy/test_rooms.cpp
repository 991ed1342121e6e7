// The rooms are what docs/architecture.md says that they are: the table, their sizes, the first lines of each
// folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/policy/lines.h"
#include "tests/policy/policy.h"
#include "tests/support/support.h"

namespace bigbird::policy {
namespace {

constexpr std::size_t longest_cell = 150;
constexpr std::size_t most_lines_of_a_room = 20000;

// The cells of the table of rooms, row by row.
std::vector<std::vector<std::string>> table_of_rooms() {
  const std::string page = testing::read_text(testing::source_dir() / "docs/architecture.md");
  const std::size_t begin = page.find("## Rooms\n");
  std::istringstream lines(page.substr(begin, page.find("\n## ", begin) - begin));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) != 0) continue;
    rows.emplace_back();
    std::istringstream cells(line.substr(2));
    for (std::string cell; std::getline(cells, cell, '|');) {
      cell.erase(cell.find_last_not_of(' ') + 1);
      rows.back().push_back(cell.substr(std::min(cell.find_first_not_of(' '), cell.size())));
    }
  }
  return rows;
}

// The folders of lib and kernels, each with its headers in their order.
std::map<std::string, std::vector<std::string>> headers_of_rooms() {
  std::map<std::string, std::vector<std::string>> folders;
  for (const std::string& file : source_files(testing::source_dir())) {
    const bool here = file.rfind("lib/", 0) == 0 || file.rfind("kernels/", 0) == 0;
    if (here && file.substr(file.size() - 2) == ".h")
      folders[file.substr(0, file.rfind('/'))].push_back(file);
  }
  return folders;
}

TEST(Rooms, TheTableHasEachAndIsReadAtAGlance) {
  std::set<std::string> named;
  for (const std::vector<std::string>& row : table_of_rooms()) {
    ASSERT_EQ(row.size(), 2u) << row.front();
    named.insert(row[0]);
    EXPECT_LE(row[1].size(), longest_cell) << row[0];
  }
  std::vector<std::string> missing;
  for (const auto& [folder, headers] : headers_of_rooms()) {
    const bool row_of_its_own =
        std::count(folder.begin(), folder.end(), '/') <= 2 && folder != "kernels/cpu/levels";
    if (row_of_its_own && named.count("`" + folder + "`") == 0) missing.push_back(folder);
  }
  EXPECT_EQ(joined(missing), "") << "folders without a row in docs/architecture.md";
}

TEST(Rooms, EachFolderTellsAtItsFirstHeaderWhatLivesThere) {
  std::vector<std::string> without;
  for (const auto& [folder, headers] : headers_of_rooms()) {
    const std::string text = testing::read_text(testing::source_dir() / headers.front());
    if (text.rfind("// " + folder + " holds ", 0) != 0) without.push_back(headers.front());
  }
  EXPECT_EQ(joined(without), "") << "the first lines of a folder's first header begin `// FOLDER holds `";
}

TEST(Rooms, NoneIsTooLarge) {
  std::map<std::string, std::size_t> lines;
  for (const std::string& file : source_files(testing::source_dir())) {
    if (file.rfind("lib/", 0) != 0) continue;
    const std::string text = testing::read_text(testing::source_dir() / file);
    lines[file.substr(0, file.find('/', 4))] +=
        static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  for (const auto& [room, count] : lines) EXPECT_LE(count, most_lines_of_a_room) << room;
}

}  // namespace
}  // namespace bigbird::policy
