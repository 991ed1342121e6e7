// The folder of the user for what can be made again: tables of products, packed weights.
#pragma once

#include <functional>
#include <string>

namespace bigbird {

// The program's part of $XDG_CACHE_HOME, or of $HOME/.cache (XDG Base Directory Specification); "" without
// either. `variable(name)` is null where there is none.
std::string user_cache_folder(const std::function<const char*(const char*)>& variable);

// Whether what a file of a cache says may be believed: nobody but this user and root could have written it
// (it is theirs, and not everybody may write it). A folder that several users share, such as one in /tmp, may
// hold files of others under the names that are looked for. False too where there is no such file.
bool may_be_trusted(const std::string& path);

}  // namespace bigbird
