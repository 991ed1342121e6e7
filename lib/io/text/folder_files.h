// Private to lib/io/text: what lies in a folder, in an order that depends on names only (bytes compared).
// What begins with a dot is left out. Error{bad_input} for a folder that cannot be read.
#pragma once

#include <string>
#include <vector>

namespace bigbird {

// NAME.txt or NAME.txt.gz.
bool is_text_file_name(const std::string& name);
// Names of the text files in a folder, not of those below it.
std::vector<std::string> text_files_in(const std::string& folder);
// Names of the folders in a folder.
std::vector<std::string> folders_in(const std::string& folder);
// Paths, relative to it, of all files in a folder and in those below it; links to folders are not followed.
std::vector<std::string> files_below(const std::string& folder);

}  // namespace bigbird
