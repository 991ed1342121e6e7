// Lines through a tabix index; see indexed_table.h.
#include "lib/io/genome/indexed_table.h"

#include <htslib/hts.h>
#include <htslib/tbx.h>

#include <cstdlib>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/htslib_handles.h"
#include "lib/io/genome/vcf_handles.h"

namespace bigbird {

bool has_table_index(const std::string& path) {
  return file_exists(path + ".tbi") || file_exists(path + ".csi");
}

struct IndexedTable::Handles {
  HtsFileHandle file;
  std::unique_ptr<tbx_t, TabixDeleter> index;
  std::unique_ptr<hts_itr_t, IteratorDeleter> lines;
  TextBuffer line;
};

IndexedTable::IndexedTable(const std::string& path) : path_(path), handles_(std::make_unique<Handles>()) {
  silence_htslib();
  handles_->file.reset(hts_open(path.c_str(), "r"));
  if (handles_->file) handles_->index.reset(tbx_index_load3(path.c_str(), nullptr, HTS_IDX_SILENT_FAIL));
  if (!handles_->index || handles_->file->format.compression != bgzf) {
    throw_bad_input(path + ": its index cannot be read, or is not of this file",
                    "make it again: bgzip FILE && tabix -s 1 -b 2 -e 2 FILE.gz, or remove it");
  }
  int count = 0;
  const char** names = tbx_seqnames(handles_->index.get(), &count);
  for (int i = 0; i < count; ++i) contigs_.emplace_back(names[i]);
  std::free(names);
}

IndexedTable::~IndexedTable() = default;

void IndexedTable::query(std::size_t contig, std::int64_t begin, std::int64_t end) {
  const int id = tbx_name2id(handles_->index.get(), contigs_[contig].c_str());
  handles_->lines.reset(tbx_itr_queryi(handles_->index.get(), id, begin, end));
}

bool IndexedTable::next(std::string_view& line) {
  if (!handles_->lines) return false;
  const int code =
      tbx_itr_next(handles_->file.get(), handles_->index.get(), handles_->lines.get(), &handles_->line.text);
  if (code < -1) throw_damaged_compression(path_);
  line = {handles_->line.text.s, code < 0 ? 0 : handles_->line.text.l};
  return code >= 0;
}

}  // namespace bigbird
