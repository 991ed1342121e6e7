// Tabix indexes; see tabix.h.
#include "lib/io/genome/tabix.h"

#include <htslib/tbx.h>

#include <memory>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/htslib_handles.h"

namespace bigbird {

void build_vcf_index(const std::string& path) {
  if (tbx_index_build(path.c_str(), 0, &tbx_conf_vcf) != 0) {
    throw_runtime(path + ": the tabix index could not be written",
                  "check that the folder is writable: tabix -p vcf " + path);
  }
}

std::optional<std::uint64_t> records_in_index(const std::string& path) {
  if (!file_exists(path + ".csi") && !file_exists(path + ".tbi")) return std::nullopt;
  silence_htslib();
  const std::unique_ptr<hts_idx_t, decltype(&hts_idx_destroy)> index(
      hts_idx_load3(path.c_str(), nullptr, HTS_FMT_TBI, HTS_IDX_SILENT_FAIL), &hts_idx_destroy);
  if (!index) return std::nullopt;
  std::uint64_t total = 0;
  for (int contig = 0; contig < hts_idx_nseq(index.get()); ++contig) {
    std::uint64_t mapped = 0;
    std::uint64_t unmapped = 0;
    if (hts_idx_get_stat(index.get(), contig, &mapped, &unmapped) == 0) total += mapped + unmapped;
  }
  if (total == 0) return std::nullopt;
  return total;
}

}  // namespace bigbird
