// The rules for comments and documents: what they cite exists, and a tool that refills text has not torn
// them. Every function judges one text, so that the tests can show it small bad ones as well as the whole
// tree.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace bigbird::policy {

// docs/*.md by their paths from the root, each with the numbers of its headings ("1.3"; none where they have
// none).
using Headings = std::map<std::string, std::set<std::string>>;

// The numbers that the headings of a Markdown page begin with.
std::set<std::string> heading_numbers(const std::string& markdown);
Headings headings_of(const std::filesystem::path& root);

// Citations that do not resolve, as "path:line: what is wrong": pages of docs that are not there, section
// numbers that the page does not have ("docs/specification.md 1.3"), specifications that are cited without
// their page. Citations are found across the ends of comment lines.
std::vector<std::string> citation_violations(const std::string& path, const std::string& text,
                                             const Headings& headings);

// Relative links of a Markdown page that lead to no file under the root.
std::vector<std::string> link_violations(const std::string& path, const std::string& markdown,
                                         const std::filesystem::path& root);

// Comment lines and texts that a refill has torn, or that nobody has filled: a line of prose that stops far
// before the limit although the next word had room; a comment line beyond the limit; a row of a table that
// was run into the row before it, or whose last words stand in a line of their own in the middle of it; a
// literal cut into short pieces.
std::vector<std::string> torn_text(const std::string& path, const std::string& text);

// Lines of a page that is kept short: more than `lines` of them, or one of more than `columns` characters.
std::vector<std::string> size_violations(const std::string& path, const std::string& text, std::size_t lines,
                                         std::size_t columns);

// Scripts, pages and sources that may cite docs, relative to the root, sorted.
std::vector<std::string> citing_files(const std::filesystem::path& root);

}  // namespace bigbird::policy
