// The rules of the house that a compiler does not check: who may include whom, who may print, sizes, opening
// comments. One function judges one file, so that the tests can show it small bad files as well as the whole
// tree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace bigbird::policy {

// Every violation in one source file as "path:line: what is wrong"; empty for a good file. `path` is relative
// to the repository, with forward slashes: the rules depend on the room it names.
std::vector<std::string> violations(const std::string& path, const std::string& text);

// All .h, .cpp, .cuh and .cu files of the rooms, relative to the root, sorted.
std::vector<std::string> source_files(const std::filesystem::path& root);

// The same text with comments and literals blanked out; lines and columns stay.
std::string code_only(const std::string& text);

}  // namespace bigbird::policy
