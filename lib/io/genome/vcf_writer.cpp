// Writing variant files; see vcf.h. Text goes out as it came in but for the INFO column; the parts of a BCF
// record are encoded by htslib and laid out here (VCF 4.3 specification, section 6.3), because htslib's own
// writer compresses with one thread and is leaked when the disk is full.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <unordered_set>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/bgzf_writer.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/vcf_handles.h"

namespace bigbird {
namespace {

constexpr std::size_t vcf_buffer_size = 1 << 18;
constexpr int vcf_bgzf_level = 6;
constexpr const char* version_line = "##fileformat=VCFv4.2";
constexpr std::int32_t missing_integer = std::numeric_limits<std::int32_t>::min();

bool is_missing(float value) {
  return std::isnan(value);
}
bool is_missing(std::int32_t value) {
  return value == missing_integer;
}
bool is_missing(const std::string& value) {
  return value.empty();
}

// As htslib prints them, so that a BCF that is made from the text reads the same.
std::string text_of(float value) {
  return fmt::format("{:.6g}", value);
}
std::string text_of(std::int32_t value) {
  return fmt::format("{}", value);
}
std::string text_of(const std::string& value) {
  return value;
}

template <typename T>
bool all_missing(const std::vector<T>& values) {
  return std::all_of(values.begin(), values.end(), [](const T& value) { return is_missing(value); });
}

template <typename T>
std::string joined(const std::vector<T>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ',';
    text += is_missing(values[i]) ? "." : text_of(values[i]);
  }
  return text;
}

void append_u32(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>((value >> shift) & 0xff));
}

// The lines of the output's header, the line of column names last.
std::vector<std::string> output_header(const VcfHeader& input, bool with_contigs,
                                       const std::vector<Contig>& contigs,
                                       const std::vector<VcfInfoField>& fields,
                                       const std::vector<std::string>& lines) {
  std::vector<std::string> header = {version_line};
  for (const std::string& line : input.lines) {
    if (line.starts_with("##fileformat=")) {  // the first counts, wherever it stands
      if (header.front() == version_line && line.starts_with("##fileformat=VCFv")) header.front() = line;
      continue;
    }
    const bool replaced = line.starts_with("##INFO=<") &&
                          std::any_of(fields.begin(), fields.end(), [&](const VcfInfoField& field) {
                            return structured_value(line, "ID") == field.id;
                          });
    if (!replaced) header.push_back(line);
  }
  if (with_contigs) {
    for (const Contig& contig : contigs)
      header.push_back(fmt::format("##contig=<ID={},length={}>", contig.name, contig.length));
  }
  for (const VcfInfoField& field : fields) {
    header.push_back(fmt::format("##INFO=<ID={},Number={},Type={},Description=\"{}\">", field.id,
                                 field.number, field.type, field.description));
  }
  header.insert(header.end(), lines.begin(), lines.end());
  header.push_back(input.columns);
  return header;
}

}  // namespace

std::optional<VcfType> vcf_type_of(const std::string& path) {
  if (has_suffix(path, ".vcf")) return VcfType::text;
  if (has_suffix(path, ".vcf.gz") || has_suffix(path, ".vcf.bgz")) return VcfType::bgzf;
  if (has_suffix(path, ".bcf")) return VcfType::bcf;
  return std::nullopt;
}

struct VcfWriter::State {
  VcfType type = VcfType::text;
  std::string path;
  std::vector<VcfInfoField> fields;
  std::vector<std::string> ids;
  const VcfReader::State* input = nullptr;
  // One of the two.
  std::unique_ptr<AtomicFile> plain;
  std::unique_ptr<ParallelBgzfWriter> packed;
  std::string buffer;
  TextBuffer formatted;
  BcfHeaderHandle header;  // BCF

  void begin_bcf(const std::vector<std::string>& lines);
  void warn_of_lost_lines(const std::vector<std::string>& lines);
  void put(std::string_view text);
  void flush();
  void write_text(const VcfRecord& record, const std::vector<VcfInfoValues>& values);
  void write_bcf(const VcfRecord& record, const std::vector<VcfInfoValues>& values);
  BcfRecordHandle encoded(const VcfRecord& record);
  void remove_fields(bcf1_t* record) const;
};

void VcfWriter::State::begin_bcf(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  header.reset(bcf_hdr_init("r"));
  if (!header || bcf_hdr_parse(header.get(), text.data()) != 0 || bcf_hdr_sync(header.get()) != 0) {
    throw_bad_input(fmt::format("{}: its header cannot be written as BCF", input->path),
                    message("write VCF instead (`format` z), or mend the header: bcftools view -h FILE"));
  }
  warn_of_lost_lines(lines);
  formatted.text.l = 0;
  if (bcf_hdr_format(header.get(), 1, &formatted.text) != 0) throw_runtime("a BCF header cannot be made");
  buffer = "BCF\2\2";
  append_u32(buffer, formatted.text.l + 1);
  buffer.append(formatted.text.s, formatted.text.l + 1);  // with its 0
}

// htslib drops lines of a header that are none, and the second line of an ID.
void VcfWriter::State::warn_of_lost_lines(const std::vector<std::string>& lines) {
  formatted.text.l = 0;
  if (bcf_hdr_format(header.get(), 0, &formatted.text) != 0) throw_runtime("a BCF header cannot be made");
  const auto without_blanks = [](std::string_view line) {
    std::string text(line);
    std::erase_if(text, [](char letter) { return letter == ' ' || letter == '\t' || letter == '\r'; });
    return text;
  };
  std::unordered_set<std::string> kept;
  std::string_view rest(formatted.text.s, formatted.text.l);
  while (!rest.empty()) {
    const std::size_t newline = std::min(rest.find('\n'), rest.size());
    kept.insert(without_blanks(rest.substr(0, newline)));
    rest.remove_prefix(std::min(newline + 1, rest.size()));
  }
  std::vector<std::string> lost;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(lost),
               [&](const std::string& line) { return kept.count(without_blanks(line)) == 0; });
  if (lost.empty()) return;
  log_warning(fmt::format("{}: BCF does not keep {} line{} of its header, such as {}", input->path,
                          lost.size(), lost.size() == 1 ? "" : "s", text_for_message(lost.front())));
}

void VcfWriter::State::put(std::string_view text) {
  buffer += text;
  if (buffer.size() >= vcf_buffer_size) flush();
}

void VcfWriter::State::flush() {
  if (packed) {
    packed->write(buffer);
  } else {
    plain->write(buffer.data(), buffer.size());
  }
  buffer.clear();
}

void VcfWriter::State::write_text(const VcfRecord& record, const std::vector<VcfInfoValues>& values) {
  std::string line = record.line_->text;
  if (record.line_->bcf) {
    formatted.text.l = 0;
    if (vcf_format(input->bcf_header.get(), record.line_->bcf.get(), &formatted.text) != 0) {
      throw_bad_input(record.where + ": cannot be written as text", "check the file: bcftools view FILE");
    }
    line.assign(formatted.text.s, formatted.text.l);
    while (line.ends_with('\n')) line.pop_back();
  }
  std::string added;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::visit(
        [&](const auto& list) {
          if (all_missing(list)) return;
          if (!added.empty()) added += ';';
          added += fields[i].id + '=' + joined(list);
        },
        values[i]);
  }
  put(with_info(line, ids, added) + '\n');
}

// Takes the fields of an earlier run out, so that the new ones stand at the end as they do in text.
void VcfWriter::State::remove_fields(bcf1_t* record) const {
  bool removed = false;
  for (const std::string& id : ids) {
    if (bcf_get_info(header.get(), record, id.c_str()) == nullptr) continue;
    bcf_update_info(header.get(), record, id.c_str(), nullptr, 0, BCF_HT_STR);
    removed = true;
  }
  if (!removed) return;
  // htslib only marks them.
  bcf_info_t* end = std::remove_if(record->d.info, record->d.info + record->n_info,
                                   [](const bcf_info_t& info) { return info.vptr == nullptr; });
  record->n_info = static_cast<unsigned>(end - record->d.info) & 0xffffU;
}

BcfRecordHandle VcfWriter::State::encoded(const VcfRecord& record) {
  BcfRecordHandle result;
  if (record.line_->bcf) {
    result.reset(bcf_dup(record.line_->bcf.get()));
    if (bcf_translate(header.get(), input->bcf_header.get(), result.get()) != 0) {
      throw_bad_input(record.where + ": does not fit the header of its file",
                      "check the file: bcftools view FILE");
    }
    remove_fields(result.get());
    return result;
  }
  result.reset(bcf_init());
  formatted.text.l = 0;
  const std::string line = with_info(record.line_->text, ids, {});  // of another type, perhaps
  kputsn(line.data(), line.size(), &formatted.text);
  const int code = vcf_parse(&formatted.text, header.get(), result.get());
  if ((result->errcode & BCF_ERR_CTG_UNDEF) != 0) {
    throw_bad_input(fmt::format("{}: contig {} is not declared in the header, which BCF needs", record.where,
                                record.chrom),
                    message("write VCF instead (`format` z)"));
  }
  if ((result->errcode & BCF_ERR_TAG_UNDEF) != 0) {
    throw_bad_input(
        record.where + ": a FILTER, INFO or FORMAT name is not declared in the header, which BCF needs",
        message("write VCF instead (`format` z)"));
  }
  const bool fits = record.position <= std::numeric_limits<std::int32_t>::max() - 1;
  if (code != 0 || result->errcode != 0 || !fits) {
    throw_bad_input(record.where + ": cannot be written as BCF",
                    message("write VCF instead (`format` z), or check the line: bcftools view FILE"));
  }
  formatted.text.l = 0;
  const bool is_text = vcf_format(header.get(), result.get(), &formatted.text) == 0;
  const std::string changed =
      is_text ? changed_value(line, {formatted.text.s, formatted.text.l}) : "the line cannot be read back";
  if (!changed.empty()) {
    throw_bad_input(
        fmt::format("{}: {} in BCF: it does not fit its declaration in the header", record.where, changed),
        message(
            "write VCF instead (`format` z), which keeps it, or mend the value or its Type in the header"));
  }
  return result;
}

void VcfWriter::State::write_bcf(const VcfRecord& record, const std::vector<VcfInfoValues>& values) {
  const BcfRecordHandle result = encoded(record);
  bcf1_t* line = result.get();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const char* id = fields[i].id.c_str();
    int code = 0;
    if (std::visit([](const auto& list) { return all_missing(list); }, values[i])) continue;
    if (const auto* reals = std::get_if<std::vector<float>>(&values[i])) {
      std::vector<float> coded = *reals;
      for (float& value : coded) {
        if (is_missing(value)) bcf_float_set_missing(value);
      }
      code = bcf_update_info_float(header.get(), line, id, coded.data(), static_cast<int>(coded.size()));
    } else if (const auto* numbers = std::get_if<std::vector<std::int32_t>>(&values[i])) {
      code =
          bcf_update_info_int32(header.get(), line, id, numbers->data(), static_cast<int>(numbers->size()));
    } else {
      const std::string text = joined(std::get<std::vector<std::string>>(values[i]));
      code = bcf_update_info_string(header.get(), line, id, text.c_str());
    }
    if (code < 0) throw_runtime(fmt::format("{}: {} cannot be added", record.where, fields[i].id));
  }
  // A copy is packed: the changes are in `shared`.
  const BcfRecordHandle packed_line(bcf_dup(line));
  const kstring_t& shared = packed_line->shared;
  const kstring_t& indiv = packed_line->indiv;
  std::uint32_t quality = 0;
  std::memcpy(&quality, &packed_line->qual, sizeof quality);
  std::string out;
  append_u32(out, shared.l + 24);
  append_u32(out, indiv.l);
  append_u32(out, static_cast<std::uint64_t>(packed_line->rid));
  append_u32(out, static_cast<std::uint64_t>(packed_line->pos));
  append_u32(out, static_cast<std::uint64_t>(packed_line->rlen));
  append_u32(out, quality);
  append_u32(out, std::uint64_t{packed_line->n_allele} << 16 | packed_line->n_info);
  append_u32(out, std::uint64_t{packed_line->n_fmt} << 24 | packed_line->n_sample);
  out.append(shared.s, shared.l);
  out.append(indiv.s, indiv.l);
  put(out);
}

VcfWriter::VcfWriter(const std::string& path, VcfType type, const VcfReader& reader,
                     const std::vector<Contig>& contigs, const std::vector<VcfInfoField>& fields,
                     const std::vector<std::string>& lines)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.type = type;
  state.path = path;
  state.fields = fields;
  for (const VcfInfoField& field : fields) state.ids.push_back(field.id);
  state.input = reader.state_.get();
  const VcfHeader& input = state.input->header;
  const bool with_contigs = input.contigs.empty() && (input.headerless || type == VcfType::bcf);
  const std::vector<std::string> header = output_header(input, with_contigs, contigs, fields, lines);
  if (type == VcfType::text) {
    state.plain = std::make_unique<AtomicFile>(path);
  } else {
    state.packed = std::make_unique<ParallelBgzfWriter>(path, vcf_bgzf_level);
  }
  if (type == VcfType::bcf) {
    state.begin_bcf(header);
    return;
  }
  for (const std::string& line : header) state.put(line + '\n');
}

VcfWriter::~VcfWriter() = default;

void VcfWriter::write(const VcfRecord& record, const std::vector<VcfInfoValues>& values) {
  if (!record.line_ || values.size() != state_->fields.size()) {
    throw_runtime(
        "a variant record to be written was not read from a file, or its values do not fit the fields");
  }
  if (state_->type == VcfType::bcf) {
    state_->write_bcf(record, values);
  } else {
    state_->write_text(record, values);
  }
}

void VcfWriter::close() {
  State& state = *state_;
  state.flush();
  if (state.packed) {
    state.packed->close();
  } else {
    state.plain->commit();
  }
}

}  // namespace bigbird
