// The program as it tells of itself: its verbs, and what --help of each says of an option.
#pragma once

#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/policy/lines.h"
#include "tests/support/support.h"

namespace bigbird::policy {

// Asked once.
inline const testing::RunResult& asked(const std::string& words) {
  static std::map<std::string, testing::RunResult> known;
  if (known.count(words) == 0) {
    std::istringstream in(words);
    known[words] = testing::run_bigbird({std::istream_iterator<std::string>(in), {}});
  }
  return known.at(words);
}

// In the order of `bigbird --help`: lines that start with two blanks.
inline std::vector<std::string> listed_verbs() {
  std::vector<std::string> verbs;
  for (const std::string& line : lines_of(asked("--help").out)) {
    if (line.rfind("  ", 0) == 0) verbs.push_back(line.substr(2, line.find("  ", 2) - 2));
  }
  return verbs;
}

inline std::set<std::string> known_verbs() {
  const std::vector<std::string> verbs = listed_verbs();
  return {verbs.begin(), verbs.end()};
}

inline const std::string& help_of(const std::string& verb) {
  return asked(verb + " --help all").out;
}

// The line of --help that begins with this option or argument, empty where the verb has none.
inline std::string option_line(const std::string& help, const std::string& option) {
  for (const std::string& line : lines_of(help)) {
    const std::string begin = "  " + option;
    if (line.rfind(begin, 0) == 0 &&
        (line.size() == begin.size() || line[begin.size()] == ' ' || line[begin.size()] == ','))
      return line;
  }
  return {};
}

}  // namespace bigbird::policy
