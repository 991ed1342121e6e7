// Words as a shell reads them.
#pragma once

#include <string>

namespace bigbird::apps {

// A word as it must be typed in a shell: quoted where it holds anything but letters, digits and a few signs.
std::string shell_word(const std::string& word);

}  // namespace bigbird::apps
