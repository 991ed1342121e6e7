// Letters of sequences; see base_letters.h.
#include "lib/io/genome/base_letters.h"

#include <fmt/format.h>

#include "lib/core/log.h"

namespace bigbird {

BasesRead read_bases(std::string& letters) {
  BasesRead read;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::uint8_t letter = base_letters[static_cast<std::uint8_t>(letters[i])];
    if (letter == not_a_base) {
      read.bad = i;
      return read;
    }
    if ((letter & base_flag) != 0) ++read.replaced;
    letters[i] = static_cast<char>(letter & ~base_flag);
  }
  return read;
}

void warn_of_replaced_letters(const std::string& where, std::uint64_t count) {
  if (count == 0) return;
  log_warning(fmt::format("{}: {} IUPAC letter{} other than A C G T N {} read as N", where, count,
                          count == 1 ? "" : "s", count == 1 ? "was" : "were"));
}

}  // namespace bigbird
