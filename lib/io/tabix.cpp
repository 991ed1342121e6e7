// Tabix indexes; see tabix.h.
#include "lib/io/tabix.h"

#include <htslib/tbx.h>

#include "lib/core/error.h"

namespace bigbird {

void build_vcf_index(const std::string& path) {
  if (tbx_index_build(path.c_str(), 0, &tbx_conf_vcf) != 0) {
    throw_runtime(path + ": the tabix index could not be written",
                  "check that the folder is writable: tabix -p vcf " + path);
  }
}

}  // namespace bigbird
