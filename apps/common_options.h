// Which options --help shows of a verb that has many: those that most calls need. --help all shows the rest.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bigbird::apps {

// Long names without dashes, in the order in which they are declared; none for a verb whose options are few
// enough to be shown together. Required options and positionals are shown whatever the list says.
std::span<const std::string_view> common_options(const std::string& verb);

}  // namespace bigbird::apps
