// Records of regions through .tbi and .csi; see vcf_handles.h. The bounds are checked here, because htslib
// clamps them without a word.
#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/region.h"
#include "lib/io/genome/table_index.h"
#include "lib/io/genome/vcf_handles.h"

namespace bigbird {
namespace {

constexpr std::int64_t tbi_end = std::int64_t{1} << 29;
// Where the header gives no length, a region is not checked against one.
constexpr std::int64_t unknown_length = std::numeric_limits<std::int32_t>::max();

std::vector<std::string> contigs_of(const bcf_hdr_t* header) {
  std::vector<std::string> names;
  for (int i = 0; header != nullptr && i < header->n[BCF_DT_CTG]; ++i) {
    const char* name = header->id[BCF_DT_CTG][i].key;
    names.emplace_back(name == nullptr ? "" : name);
  }
  return names;
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
  const auto index_path = table_index_beside(path);
  const bool is_bcf = bcf_header != nullptr;
  if (!index_path || (is_bcf && has_suffix(*index_path, ".tbi"))) {
    throw_bad_input(fmt::format("{}: regions need an index ({}), and there is none", path,
                                is_bcf ? ".csi" : ".tbi or .csi"),
                    fmt::format("make it: bcftools index {}", path));
  }
  index_name_ = *index_path;
  const TableIndex index = read_table_index(index_name_, path);
  const std::vector<std::string> bcf_contigs = contigs_of(bcf_header);
  check_table_index(index, is_bcf ? &bcf_contigs : nullptr);
  if (is_bcf) {
    index_.reset(bcf_index_load3(path.c_str(), index_name_.c_str(), HTS_IDX_SILENT_FAIL));
  } else {
    tabix_.reset(tbx_index_load3(path.c_str(), index_name_.c_str(), HTS_IDX_SILENT_FAIL));
  }
  hint_ = table_index_hint(index);
  if (index_ == nullptr && tabix_ == nullptr) {
    throw_bad_input(fmt::format("{}: cannot be read as an index of {}", index_name_, path), hint_);
  }
  std::vector<Contig> contigs = header.contigs;
  for (const std::string& name : index.names) {
    if (!header.lengths.contains(name)) contigs.push_back({name, 0});
  }
  const bool is_tbi = !index.is_csi;
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

void VcfRegions::throw_damaged(const std::string& path) const {
  throw_bad_input(
      fmt::format(
          "{}: what {} points to is not a record: the data are damaged, or the index is of another file",
          path, index_name_),
      hint_);
}

int VcfRegions::next_line(kstring_t* line) {
  return next([&] { return hts_itr_next(hts_get_bgzfp(file_), iterator_.get(), line, tabix_.get()); });
}

int VcfRegions::next_record(bcf1_t* record) {
  return next([&] { return hts_itr_next(hts_get_bgzfp(file_), iterator_.get(), record, nullptr); });
}

}  // namespace bigbird
