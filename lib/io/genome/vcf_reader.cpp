// Reading variant files; see vcf.h. Text is checked by vcf_text.cpp; htslib recognises and decompresses it,
// and decodes BCF.
#include <fmt/format.h>
#include <htslib/bgzf.h>
#include <htslib/hfile.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/htslib_handles.h"
#include "lib/io/genome/vcf_handles.h"

namespace bigbird {

VcfRecord::VcfRecord() = default;
VcfRecord::~VcfRecord() = default;
VcfRecord::VcfRecord(VcfRecord&&) noexcept = default;
VcfRecord& VcfRecord::operator=(VcfRecord&&) noexcept = default;

namespace {

// hts_open(), which ends the process over files of xz and bzip2, with the look at the first bytes that all
// readers take. `pipe` is open_pipe()'s descriptor of the path. Null with errno.
htsFile* open_known_format(const std::string& path, int pipe) {
  std::unique_ptr<hFILE, void (*)(hFILE*)> stored(pipe < 0 ? hopen(path.c_str(), "r") : hdopen(pipe, "r"),
                                                  [](hFILE* raw) { hclose_abruptly(raw); });
  if (!stored) return nullptr;
  std::array<char, 18> begin{};  // what htslib looks at itself: no more is waited for
  const ssize_t size = hpeek(stored.get(), begin.data(), begin.size());
  const std::string_view bytes(begin.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (!bytes.starts_with("\x1F\x8B")) refuse_other_formats(bytes, path);
  htsFile* opened = hts_hopen(stored.get(), path.c_str(), "r");
  if (opened != nullptr) (void)stored.release();
  return opened;
}

constexpr int too_long = -4;

// As hts_getline() of what is compressed, which takes lines of any length: 2 MB of gzip can hold 2 GB.
// too_long behind longest_line bytes.
int next_packed_line(BGZF* file, kstring_t* line) {
  line->l = 0;
  for (bool whole = false; !whole;) {
    const int first = bgzf_peek(file);
    if (first == -1 && line->l > 0) break;
    if (first < 0) return first;
    const char* const begin = static_cast<const char*>(file->uncompressed_block) + file->block_offset;
    const auto there = static_cast<std::size_t>(file->block_length - file->block_offset);
    const void* const end = std::memchr(begin, '\n', there);
    whole = end != nullptr;
    const std::size_t size =
        whole ? static_cast<std::size_t>(static_cast<const char*>(end) - begin) + 1 : there;
    if (line->l + size > longest_line) return too_long;
    if (ks_resize(line, line->l + size + 1) != 0) throw std::bad_alloc();
    if (bgzf_read(file, line->s + line->l, size) != static_cast<ssize_t>(size)) return -2;
    line->l += whole ? size - 1 : size;
  }
  if (line->l > 0 && line->s[line->l - 1] == '\r') --line->l;
  line->s[line->l] = '\0';
  return 0;
}

}  // namespace

void VcfReader::State::open() {
  if (path != "-" && folder_exists(path)) {
    throw_bad_input(fmt::format("{}: is a folder, not a file", path), "give the path of a file");
  }
  silence_htslib();
  const int pipe = open_pipe(path);
  errno = 0;
  file.reset(open_known_format(path, pipe));
  stop_if_asked();
  if (!file) {
    const int error = errno;
    if (path != "-" && !file_exists(path)) {
      throw_bad_input(fmt::format("{}: cannot read: {}", path, system_text(ENOENT)), "check the path");
    }
    for (const int known : {EACCES, EPERM, EMFILE, ENFILE, EIO, ENOMEM}) {
      if (error == known) throw_cannot_read(path, error);
    }
    throw_bad_input(fmt::format("{}: is neither VCF nor BCF", path),
                    "give a VCF (plain, gzip or BGZF), a BCF, or a table CHROM POS ID REF ALT");
  }
  is_bcf = file->format.format == bcf;
  switch (file->format.format) {
    case bcf:
    case vcf:
    case text_format:
    case unknown_format:
    case empty_format:
    case bed:
    case sam:
      break;
    default: {
      char* description = hts_format_description(&file->format);
      const std::string found = description != nullptr ? description : "another format";
      free(description);
      throw_bad_input(fmt::format("{}: is neither VCF nor BCF, but {}", path, found),
                      "give a VCF (plain, gzip or BGZF), a BCF, or a table CHROM POS ID REF ALT");
    }
  }
  if (hts_check_EOF(file.get()) == 0) {
    throw_bad_input(fmt::format("{}: BGZF file is cut short (its end-of-file block is missing)", path),
                    "copy or download the file again");
  }
}

void VcfReader::State::rest() {
  if (path == "-" || regions || !file || !file_is_regular(path)) return;
  BGZF* const blocks = compressed() != nullptr ? file->fp.bgzf : nullptr;
  if (blocks != nullptr && blocks->is_gzip) return;
  resting_at = blocks != nullptr ? bgzf_tell(blocks) : static_cast<std::int64_t>(htell(file->fp.hfile));
  file.reset();
}

void VcfReader::State::wake() {
  if (resting_at < 0) return;
  open();
  const std::int64_t place = std::exchange(resting_at, -1);
  const bool found = compressed() != nullptr ? bgzf_seek(file->fp.bgzf, place, SEEK_SET) == 0
                                             : hseek(file->fp.hfile, place, SEEK_SET) == place;
  if (!found) throw_bad_input(path + ": was changed while it was read", "let nothing write it meanwhile");
}

// A standard input that ended because the program was told to stop is no damaged file.
void VcfReader::State::stop_if_asked() const {
  if (path == "-") throw_if_cancelled();
}

std::string VcfReader::State::where() const {
  if (is_bcf) return fmt::format("{}: record {}", path, bcf_records);
  return fmt::format("{}:{}", path, line_number);
}

const BGZF* VcfReader::State::compressed() const {
  return is_bcf || file->format.compression != no_compression ? file->fp.bgzf : nullptr;
}

bool VcfReader::State::is_damaged() const {
  return compressed() != nullptr && compressed()->errcode != 0;
}

// What a stream shows only at its end: that its last block was missing.
void VcfReader::State::check_end() const {
  const BGZF* bgzf_file = compressed();
  if (bgzf_file == nullptr) {
    if (const int error = herrno(file->fp.hfile); error != 0) {
      throw_bad_input(fmt::format("{}: cannot read: {}", path, system_text(error)));
    }
    return;
  }
  if (is_damaged()) throw_damaged_compression(path);
  if (bgzf_file->is_compressed && !bgzf_file->is_gzip && bgzf_file->no_eof_block) {
    throw_bad_input(fmt::format("{}: BGZF stream is cut short (its end-of-file block is missing)", path),
                    "copy or download the file again");
  }
}

bool VcfReader::State::next_line() {
  if (std::exchange(has_line, false)) return true;
  for (;;) {
    const int code = compressed() != nullptr ? next_packed_line(file->fp.bgzf, &line.text)
                                             : hts_getline(file.get(), '\n', &line.text);
    stop_if_asked();
    if (code == too_long) throw_line_too_long(path, line_number, longest_line);
    // Damage in the middle of a line gives its first part.
    if (code < -1 || is_damaged()) throw_damaged_compression(path);
    if (line.text.l > longest_line) throw_line_too_long(path, line_number, longest_line);
    if (code == -1) {
      check_end();
      return false;
    }
    ++line_number;
    if (line_number == 1) drop_byte_order_mark();
    if (line.text.l == 0) {  // a few empty lines at the end are common
      if (blank_line == 0) blank_line = line_number;
      continue;
    }
    if (blank_line != 0) {
      throw_bad_input(fmt::format("{}:{}: an empty line among the records", path, blank_line),
                      "remove it: grep -v '^$' FILE");
    }
    return true;
  }
}

// Editors of other systems put one before the first line; htslib leaves it there.
void VcfReader::State::drop_byte_order_mark() {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (!std::string_view(line.text.s, line.text.l).starts_with(mark)) return;
  line.text.l -= mark.size();
  std::memmove(line.text.s, line.text.s + mark.size(), line.text.l + 1);
}

void VcfReader::State::read_text_header() {
  std::string first;
  while (next_line()) {
    const std::string_view text(line.text.s, line.text.l);
    if (!text.starts_with('#')) {
      has_line = true;
      first = text;
      break;
    }
    if (!add_header_line(header, text, where())) {
      has_line = next_line();
      break;
    }
  }
  if (line_number == 0) {
    throw_bad_input(fmt::format("{}: is empty", path),
                    "a VCF begins with ##fileformat=VCFv4.2; check what wrote the file");
  }
  finish_header(header, first);
}

void VcfReader::State::read_bcf_header() {
  bcf_header.reset(bcf_hdr_read(file.get()));
  stop_if_asked();
  TextBuffer text;
  if (!bcf_header || bcf_hdr_format(bcf_header.get(), 0, &text.text) != 0) {
    throw_bad_input(fmt::format("{}: the header of the BCF is damaged or cut short", path),
                    "copy or download the file again");
  }
  std::string_view rest(text.text.s, text.text.l);
  while (!rest.empty()) {
    const std::size_t newline = rest.find('\n');
    const std::string_view one = rest.substr(0, newline);
    if (one.starts_with('#')) add_header_line(header, one, path);
    if (newline == std::string_view::npos) break;
    rest.remove_prefix(newline + 1);
  }
  finish_header(header, {});
  bcf_record.reset(bcf_init());
}

bool VcfReader::State::next_text(VcfRecord& record) {
  for (;;) {
    if (regions) {
      const int code = regions->next_line(&line.text);
      if (code < -1) regions->throw_damaged(path);
      if (code == -1) return false;
    } else if (!next_line()) {
      return false;
    }
    const std::string_view text(line.text.s, line.text.l);
    // With an index, htslib does not count lines.
    record.where = regions ? fmt::format("{}: record {}", path, records + 1) : where();
    std::string whole = parse_record_line(text, header, record.where, record);
    if (regions && regions->seen_before(record.position)) continue;
    if (!record.line_) record.line_ = std::make_unique<VcfRecord::Line>();
    record.info = kept_info.empty() ? std::string() : info_value(whole, kept_info);
    record.line_->text = std::move(whole);
    record.line_->bcf.reset();
    return true;
  }
}

bool VcfReader::State::next_bcf(VcfRecord& record) {
  int code = 0;
  do {
    code = regions ? regions->next_record(bcf_record.get())
                   : bcf_read(file.get(), bcf_header.get(), bcf_record.get());
    if (code >= 0) ++bcf_records;
  } while (code >= 0 && regions && regions->seen_before(bcf_record->pos));
  if (code < 0) stop_if_asked();
  if (code == -1 && !regions) check_end();
  if (code == -1) return false;
  if (code < -1 && regions) regions->throw_damaged(path);
  if (code < -1 || bcf_record->errcode != 0 || bcf_unpack(bcf_record.get(), BCF_UN_FLT) != 0) {
    throw_bad_input(
        fmt::format("{}: record {}: damaged or cut short", path, bcf_records + (code < 0 ? 1U : 0U)),
        "copy or download the file again");
  }
  record.where = where();
  const char* chrom = bcf_seqname(bcf_header.get(), bcf_record.get());
  if (chrom == nullptr || bcf_record->n_allele == 0 || bcf_record->d.allele[0][0] == '\0') {
    throw_bad_input(record.where + ": has no contig or no REF", "check the file: bcftools view FILE");
  }
  record.chrom = chrom;
  record.position = bcf_record->pos;
  record.id = bcf_record->d.id != nullptr && bcf_record->d.id[0] != '\0' ? bcf_record->d.id : ".";
  record.ref = bcf_record->d.allele[0];
  record.alts.assign(bcf_record->d.allele + 1, bcf_record->d.allele + bcf_record->n_allele);
  if (record.alts.size() == 1 && record.alts[0] == ".") record.alts.clear();
  record.filter.clear();
  for (int i = 0; i < bcf_record->d.n_flt; ++i) {
    if (i > 0) record.filter += ';';
    record.filter += bcf_header->id[BCF_DT_ID][bcf_record->d.flt[i]].key;
  }
  if (record.filter.empty()) record.filter = ".";
  record.info.clear();
  if (!kept_info.empty()) {
    char* value = nullptr;
    int room = 0;
    const int size =
        bcf_get_info_string(bcf_header.get(), bcf_record.get(), kept_info.c_str(), &value, &room);
    if (size > 0) record.info = value;
    free(value);
    if (record.info == ".") record.info.clear();
  }
  const auto length = header.lengths.find(record.chrom);
  record.contig_length = length == header.lengths.end() ? 0 : length->second;
  if (!record.line_) record.line_ = std::make_unique<VcfRecord::Line>();
  record.line_->text.clear();
  record.line_->bcf.reset(bcf_dup(bcf_record.get()));
  return true;
}

VcfReader::VcfReader(const std::string& path, const std::vector<std::string>& regions)
    : state_(std::make_unique<State>()) {
  if (!regions.empty() && path == "-") {
    throw_usage("regions cannot be read from the standard input", "give an indexed file, or no regions");
  }
  state_->path = path;
  state_->open();
  if (state_->is_bcf) {
    state_->read_bcf_header();
  } else {
    state_->read_text_header();
  }
  if (regions.empty()) return;
  state_->regions = std::make_unique<VcfRegions>(state_->file.get(), path, state_->header,
                                                 state_->bcf_header.get(), regions);
}

VcfReader::~VcfReader() = default;

void VcfReader::keep_info(const std::string& key) {
  for (const std::string& line : state_->header.lines) {
    if (!line.starts_with("##INFO=<") || structured_value(line, "ID") != key) continue;
    if (structured_value(line, "Type") != "String") break;
    state_->kept_info = key;
    return;
  }
  throw_bad_input(fmt::format("{}: its header declares no INFO field {} of text", state_->path, key),
                  "see its fields: bcftools view -h FILE | grep '^##INFO'");
}

void VcfReader::rest() {
  state_->rest();
}

bool VcfReader::next(VcfRecord& record) {
  state_->wake();
  const bool found = state_->is_bcf ? state_->next_bcf(record) : state_->next_text(record);
  if (found) record.number = state_->records++;
  return found;
}

const std::vector<Contig>& VcfReader::contigs() const {
  return state_->header.contigs;
}
const std::vector<std::string>& VcfReader::build_hints() const {
  return state_->header.build_hints;
}
bool VcfReader::headerless() const {
  return state_->header.headerless;
}
const std::string& VcfReader::path() const {
  return state_->path;
}

}  // namespace bigbird
