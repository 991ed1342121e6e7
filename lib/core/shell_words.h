// Words as a shell reads them.
#pragma once

#include <string>

namespace bigbird {

// A word as it must be typed in bash, on one line: quoted where it holds anything but letters, digits and a
// few signs; as $'...' where it holds control characters, so that no newline of a name ends a comment or a
// here-document.
std::string shell_word(const std::string& word);

}  // namespace bigbird
