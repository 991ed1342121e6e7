// Records of regions through .tbi and .csi; see vcf_handles.h. The bounds are checked here, because htslib
// clamps them without a word.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/region.h"
#include "lib/io/genome/vcf_handles.h"

namespace bigbird {
namespace {

constexpr std::int64_t tbi_end = std::int64_t{1} << 29;
// Where the header gives no length, a region is not checked against one.
constexpr std::int64_t unknown_length = std::numeric_limits<std::int32_t>::max();

void warn_if_older(const std::string& index, const std::string& path) {
  struct stat of_index {};
  struct stat of_file {};
  if (stat(index.c_str(), &of_index) != 0 || stat(path.c_str(), &of_file) != 0) return;
  if (of_index.st_mtime < of_file.st_mtime) {
    log_warning_once(fmt::format("{} is older than {}: make it again if the file changed", index, path));
  }
}

[[noreturn]] void throw_no_index(const std::string& path) {
  for (const char* suffix : {".csi", ".tbi"}) {
    if (file_exists(path + suffix)) {
      throw_bad_input(fmt::format("{}{}: cannot be read as an index of {}", path, suffix, path),
                      fmt::format("make it again: bcftools index -f {}", path));
    }
  }
  throw_bad_input(fmt::format("{}: regions need an index (.tbi or .csi), and there is none", path),
                  fmt::format("make it: bcftools index {}", path));
}

}  // namespace

VcfRegions::VcfRegions(htsFile* file, const std::string& path, const VcfHeader& header,
                       const bcf_hdr_t* bcf_header, const std::vector<std::string>& regions)
    : file_(file) {
  if (file->format.compression != bgzf) {
    throw_bad_input(
        fmt::format("{}: regions need a BGZF file with an index", path),
        fmt::format("make both: bcftools view -O z -o {0}.gz {0} && bcftools index {0}.gz", path));
  }
  std::vector<Contig> contigs = header.contigs;
  if (bcf_header == nullptr) {
    tabix_.reset(tbx_index_load3(path.c_str(), nullptr, HTS_IDX_SILENT_FAIL));
    if (tabix_ == nullptr) throw_no_index(path);
    int count = 0;
    const char** names = tbx_seqnames(tabix_.get(), &count);
    for (int i = 0; i < count; ++i) {
      if (!header.lengths.contains(names[i])) contigs.push_back({names[i], 0});
    }
    free(names);
  } else {
    index_.reset(bcf_index_load3(path.c_str(), nullptr, HTS_IDX_SILENT_FAIL));
    if (index_ == nullptr) throw_no_index(path);
  }
  const bool is_tbi = tabix_ != nullptr && hts_idx_fmt(tabix_->idx) == HTS_FMT_TBI;
  warn_if_older(path + (is_tbi ? ".tbi" : ".csi"), path);
  for (Contig& contig : contigs) {
    if (contig.length <= 0) contig.length = unknown_length;
  }
  const ContigNames names(contigs);
  std::vector<Region> asked;
  for (const std::string& text : regions) {
    const std::vector<Region> listed = parse_regions(text, names);
    asked.insert(asked.end(), listed.begin(), listed.end());
  }
  for (const Region& region : asked) {
    const Contig& contig = names[region.contig];
    if (is_tbi && region.begin >= tbi_end) {
      throw_bad_input(fmt::format("region {}: beyond {} bp, where a .tbi index ends",
                                  format_region(contig.name, region.begin, region.end), tbi_end),
                      fmt::format("make a .csi index and remove the .tbi: bcftools index -c {}", path));
    }
    const int id = tabix_ != nullptr ? tbx_name2id(tabix_.get(), contig.name.c_str())
                                     : bcf_hdr_name2id(bcf_header, contig.name.c_str());
    if (id < 0) continue;  // known to the header, without records
    const bool to_the_end = region.end == contig.length;
    queries_.push_back({id, region.begin, to_the_end ? unknown_length : region.end});
  }
  std::sort(queries_.begin(), queries_.end(), [](const Query& left, const Query& right) {
    return left.contig != right.contig ? left.contig < right.contig : left.begin < right.begin;
  });
  std::vector<Query> merged;
  for (const Query& query : queries_) {
    if (!merged.empty() && merged.back().contig == query.contig && query.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, query.end);
    } else {
      merged.push_back(query);
    }
  }
  queries_ = std::move(merged);
}

bool VcfRegions::open_next() {
  iterator_.reset();
  if (opened_ == queries_.size()) return false;
  const Query& query = queries_[opened_];
  const bool same = opened_ > 0 && queries_[opened_ - 1].contig == query.contig;
  previous_end_ = same ? queries_[opened_ - 1].end : -1;
  ++opened_;
  iterator_.reset(tabix_ != nullptr
                      ? hts_itr_query(tabix_->idx, query.contig, query.begin, query.end, tbx_readrec)
                      : hts_itr_query(index_.get(), query.contig, query.begin, query.end, bcf_readrec));
  if (iterator_ == nullptr) throw_runtime("an index of a variant file could not be searched");
  return true;
}

template <typename Step>
int VcfRegions::next(const Step& step) {
  if (iterator_ == nullptr && !open_next()) return -1;
  for (;;) {
    const int code = step();
    if (code != -1) return code;
    if (!open_next()) return -1;
  }
}

int VcfRegions::next_line(kstring_t* line) {
  return next([&] { return hts_itr_next(hts_get_bgzfp(file_), iterator_.get(), line, tabix_.get()); });
}

int VcfRegions::next_record(bcf1_t* record) {
  return next([&] { return hts_itr_next(hts_get_bgzfp(file_), iterator_.get(), record, nullptr); });
}

}  // namespace bigbird
