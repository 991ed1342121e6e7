// Private to lib/io: an index whose file was written later.
#pragma once

#include <string>

namespace bigbird {

// A warning, said once, when `index` is older than `path`. Times alone prove nothing: copies have odd ones.
void warn_if_older(const std::string& index, const std::string& path);

}  // namespace bigbird
