// Tabix indexes; see tabix.h.
#include "lib/io/genome/tabix.h"

#include <htslib/tbx.h>

#include "lib/core/error.h"
#include "lib/io/genome/table_index.h"

namespace bigbird {

void build_vcf_index(const std::string& path) {
  if (tbx_index_build(path.c_str(), 0, &tbx_conf_vcf) != 0) {
    throw_runtime(path + ": the tabix index could not be written",
                  "check that the folder is writable: tabix -p vcf " + path);
  }
}

std::optional<std::uint64_t> records_in_index(const std::string& path) {
  const auto index = table_index_beside(path);
  if (!index) return std::nullopt;
  try {
    return read_table_index(*index, path).records;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    return std::nullopt;  // whoever reads by it says what is wrong with it
  }
}

}  // namespace bigbird
