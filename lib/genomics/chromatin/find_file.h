// Files that a manifest or a list names: they are looked for from the folder of that file first and then from
// the working folder, so that a data set is used from anywhere, and one whose paths were written from another
// folder still is.
//
//   const std::string genome =
//       find_beside(manifest.reference, folder, folder + "/manifest.json", "give the genome");
#pragma once

#include <string>

namespace bigbird {

// The path that opens the file `path` is meant to be: an absolute one as it is, else folder/path where there
// is such a file, else path. Error{bad_input} that names both places where neither is there: `where` says who
// names the file ("DIR/manifest.json", "peaks.tsv:3").
std::string find_beside(const std::string& path, const std::string& folder, const std::string& where,
                        const std::string& hint);

// How a file of `folder` names `path`, a path from the working folder, so that it is found from `folder`:
// "../genome.fa". Absolute paths stay as they are. The folder need not be there yet.
std::string path_from_folder(const std::string& path, const std::string& folder);

}  // namespace bigbird
