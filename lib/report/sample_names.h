// What MultiQC is to call the files and runs of a report. It knows a sample by its name alone: two with one
// name, from one report or from two, become one, and the first is lost without a word.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace bigbird {

// Text as it may stand in MultiQC's pages, which take it for HTML: < > & and quotes become look-alikes,
// control characters blanks.
std::string multiqc_text(const std::string& text);

// A name for each of `paths` (equal ones count once). It is the path below the working folder, or the whole
// path of what lies elsewhere, but at least the last folder and the file; folders are set apart by blanks,
// because MultiQC cuts names at slashes, and the suffixes of files that it would cut are left out. Of paths
// that would have one name all get the whole path, and their suffixes.
std::map<std::string, std::string> sample_names(const std::vector<std::string>& paths);

}  // namespace bigbird
