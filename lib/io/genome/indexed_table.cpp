// Tabix indexes, and lines through them; see indexed_table.h.
#include "lib/io/genome/indexed_table.h"

#include <fmt/format.h>
#include <htslib/hts.h>
#include <htslib/tbx.h>
#include <htslib/vcf.h>

#include <cstdio>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/htslib_handles.h"
#include "lib/io/genome/table_index.h"
#include "lib/io/genome/vcf_handles.h"

namespace bigbird {

bool has_table_index(const std::string& path) {
  return table_index_beside(path).has_value();
}

struct IndexedTable::Handles {
  HtsFileHandle file;
  std::unique_ptr<tbx_t, TabixDeleter> index;
  std::unique_ptr<hts_itr_t, IteratorDeleter> lines;
  TextBuffer line;
  std::string hint;  // how the index is made
};

IndexedTable::IndexedTable(const std::string& path) : path_(path), handles_(std::make_unique<Handles>()) {
  silence_htslib();
  const std::string index = table_index_beside(path).value_or(path + ".tbi");
  handles_->file.reset(hts_open(path.c_str(), "r"));
  if (!handles_->file || handles_->file->format.compression != bgzf) {
    throw_bad_input(fmt::format("{}: has an index, {}, but is not a BGZF file", path, index),
                    "make both again: bgzip FILE && tabix -s 1 -b 2 -e 2 FILE.gz, or remove the index");
  }
  const TableIndex checked = read_table_index(index, path);
  check_table_index(checked, nullptr);
  handles_->hint = table_index_hint(checked);
  handles_->index.reset(tbx_index_load3(path.c_str(), index.c_str(), HTS_IDX_SILENT_FAIL));
  if (!handles_->index) {
    throw_bad_input(fmt::format("{}: cannot be read as an index of {}", index, path),
                    table_index_hint(checked));
  }
  contigs_ = checked.names;
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
  if (code < -1) {
    throw_bad_input(
        path_ +
            ": what its index points to is not a line of a table: the data are damaged, or the index is of another file",
        handles_->hint);
  }
  line = {handles_->line.text.s, code < 0 ? 0 : handles_->line.text.l};
  return code >= 0;
}

void build_vcf_index(const std::string& path) {
  if (tbx_index_build(path.c_str(), 0, &tbx_conf_vcf) != 0) {
    throw_runtime(path + ": the tabix index could not be written",
                  "check that the folder is writable: tabix -p vcf " + path);
  }
}

void write_variant_index(const std::string& path) {
  silence_htslib();
  constexpr int smallest_bin_bits = 14;  // as bcftools index has it
  constexpr int not_saved = -4;          // of htslib
  const std::string index = path + ".csi";
  std::remove(index.c_str());  // of what the file held before
  AtomicFile file(index);
  const int code = bcf_index_build3(path.c_str(), file.written_path().c_str(), smallest_bin_bits, 0);
  if (code == not_saved)
    throw_runtime(index + ": cannot be written", "the scores are whole; then: bcftools index " + path);
  if (code != 0) {
    throw_bad_input(path + ": its records are not sorted by position, so it has no index",
                    "the scores are whole; sort them, or their input: bcftools sort " + path);
  }
  file.commit();
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
