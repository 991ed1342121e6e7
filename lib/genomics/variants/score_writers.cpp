// Outputs of scored variants; see score_writers.h.
#include "lib/genomics/variants/score_writers.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/sha256.h"
#include "lib/io/tables/float_rows.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

constexpr const char* index_name = "profile_index";
constexpr const char* names_name = "profile_name";
constexpr const char* provenance_name = "provenance";

ScoreHdf5Contents contents_of(const Hdf5Reader& file) {
  ScoreHdf5Contents contents;
  const std::vector<std::string> stored = file.names();
  constexpr std::size_t with_background = 5;
  for (const std::string& name : matrix_names(with_background)) {
    if (std::find(stored.begin(), stored.end(), name) != stored.end()) contents.matrices.push_back(name);
  }
  contents.profile_index = file.read_int64(index_name);
  contents.profile_name = file.read_strings(names_name);
  contents.provenance = file.attribute(provenance_name);
  return contents;
}

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw_bad_input(path + ": " + what, "run this shard again");
}

// A shard that is read from its first row to its last.
class ShardRows {
 public:
  ShardRows(const std::string& path, const ScoreHdf5Contents& contents) : path_(path), contents_(contents) {}

  // Adds the next rows to all matrices of `out`, row by row.
  void copy(std::uint64_t rows, ScoreHdf5& out) {
    const auto begin = static_cast<std::int64_t>(taken_);
    taken_ += rows;
    const auto end = static_cast<std::int64_t>(taken_);
    const Hdf5Reader file(path_);
    values_.resize(contents_.matrices.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::vector<std::int64_t> shape = shape_of(file, i);
      if (end > shape[0]) refuse(path_, "fewer rows than its summary has");
      file.read_rows(contents_.matrices[i], begin, end, values_[i]);
    }
    const std::size_t columns = contents_.profile_index.size();
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < values_.size(); ++i)
        out.append(i, std::span(values_[i]).subspan(row * columns, columns));
    }
  }
  void finish() const {
    const Hdf5Reader file(path_);
    for (std::size_t i = 0; i < contents_.matrices.size(); ++i) {
      if (shape_of(file, i)[0] != static_cast<std::int64_t>(taken_))
        refuse(path_, "more rows than its summary has");
    }
  }

 private:
  std::vector<std::int64_t> shape_of(const Hdf5Reader& file, std::size_t matrix) const {
    std::vector<std::int64_t> shape = file.shape(contents_.matrices[matrix]);
    if (shape.size() != 2 || shape[1] != static_cast<std::int64_t>(contents_.profile_index.size()))
      refuse(path_, contents_.matrices[matrix] + " is not a matrix with a column for each profile");
    return shape;
  }

  std::string path_;
  const ScoreHdf5Contents& contents_;
  std::uint64_t taken_ = 0;
  std::vector<std::vector<float>> values_;
};

constexpr std::array<std::pair<const char*, VariantFormat>, 4> suffixes = {{{".tsv", VariantFormat::tsv},
                                                                            {".tsv.gz", VariantFormat::tsv},
                                                                            {".npy", VariantFormat::npy},
                                                                            {".h5", VariantFormat::h5}}};

VcfType vcf_type(VariantFormat format) {
  if (format == VariantFormat::vcf_gz) return VcfType::bgzf;
  return format == VariantFormat::bcf ? VcfType::bcf : VcfType::text;
}

std::vector<std::string> head_of_table(const VariantWriterOptions& options) {
  return options.comments_in_tables ? options.comments : std::vector<std::string>{};
}

std::vector<std::string> header_lines(const std::vector<std::string>& comments) {
  std::vector<std::string> lines;
  for (const std::string& comment : comments) lines.push_back("##" + comment);
  return lines;
}

class ScoredVcfWriter : public VariantWriter {
 public:
  ScoredVcfWriter(const VariantWriterOptions& options, const VcfReader& reader,
                  const std::vector<Contig>& contigs, const VariantColumns& columns)
      : columns_(columns),
        writer_(options.output, vcf_type(options.format), reader, contigs, columns.fields(),
                header_lines(options.comments)) {}

  void write(const VcfRecord& record, const std::vector<AlleleResult>& alleles) override {
    std::vector<VcfInfoValues> info;
    for (const VcfInfoField& field : columns_.fields()) {
      if (field.type == "Float") {
        info.emplace_back(std::vector<float>());
      } else if (field.type == "Integer") {
        info.emplace_back(std::vector<std::int32_t>());
      } else {
        info.emplace_back(std::vector<std::string>());
      }
    }
    // A record without ALT has no values with Number=A.
    for (std::size_t allele = 0; allele < record.alts.size(); ++allele) {
      std::vector<ColumnValue> values = columns_.values(alleles[allele]);
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::visit(
            [&](auto& value) {
              std::get<std::vector<std::decay_t<decltype(value)>>>(info[i]).push_back(std::move(value));
            },
            values[i]);
      }
    }
    writer_.write(record, info);
  }
  void close() override { writer_.close(); }

 private:
  const VariantColumns& columns_;
  VcfWriter writer_;
};

// A row for each ALT.
class ScoreTableWriter : public VariantWriter {
 public:
  // `numbered`: rows begin with their number. The first `columns` columns are written.
  ScoreTableWriter(const std::string& path, const std::vector<std::string>& comments,
                   const VariantColumns& columns, std::size_t count, bool numbered)
      : columns_(columns),
        count_(count),
        numbered_(numbered),
        out_(path),
        table_(out_, header(columns, count, numbered), comments) {}

  void write(const VcfRecord& record, const std::vector<AlleleResult>& alleles) override {
    for (std::size_t allele = 0; allele < alleles.size(); ++allele) {
      std::vector<std::string> fields = allele_fields(record, allele);
      if (numbered_) fields.insert(fields.begin(), std::to_string(row_++));
      fields.push_back(std::to_string(record.alts.empty() ? 0 : allele + 1));
      const std::vector<ColumnValue> values = columns_.values(alleles[allele]);
      for (std::size_t i = 0; i < count_; ++i) fields.push_back(column_text(values[i]));
      table_.row(fields);
    }
  }
  void close() override { out_.close(); }

 private:
  static std::vector<std::string> header(const VariantColumns& columns, std::size_t count, bool numbered) {
    std::vector<std::string> names = {"chrom", "pos", "id", "ref", "alt", "allele"};
    if (numbered) names.insert(names.begin(), "row");
    names.insert(names.end(), columns.names().begin(),
                 columns.names().begin() + static_cast<std::ptrdiff_t>(count));
    return names;
  }

  const VariantColumns& columns_;
  std::size_t count_;
  bool numbered_;
  OutputStream out_;
  TsvWriter table_;
  std::uint64_t row_ = 0;
};

// Matrices [ALTs, written profiles], NaN where an ALT was not scored, and OUT.rows.tsv.
class ScoreMatrixWriter : public VariantWriter {
 public:
  ScoreMatrixWriter(const VariantWriterOptions& options, const VariantColumns& columns)
      : per_profile_(options.values_per_profile),
        profiles_(options.written.size()),
        prefix_(variant_prefix(options.format, options.output)),
        rows_(prefix_ + ".rows.tsv", head_of_table(options), columns,
              columns.names().size() - profiles_ * per_profile_, true) {
    const auto width = static_cast<std::int64_t>(profiles_);
    if (options.format == VariantFormat::h5) {
      ScoreHdf5Contents contents;
      contents.matrices = matrix_names(per_profile_);
      for (const std::size_t profile : options.written) {
        contents.profile_index.push_back(static_cast<std::int64_t>(profile));
        contents.profile_name.push_back(options.profiles[profile].name);
      }
      for (const std::string& comment : options.comments) contents.provenance += comment + "\n";
      hdf5_ = std::make_unique<ScoreHdf5>(prefix_ + ".h5", contents);
    } else {
      for (const std::string& name : matrix_names(per_profile_)) {
        npy_.push_back(std::make_unique<FloatRowsWriter>(matrix_path(prefix_, name), width,
                                                         std::map<std::string, std::string>{}));
      }
    }
    buffers_.resize(per_profile_);
  }

  void write(const VcfRecord& record, const std::vector<AlleleResult>& alleles) override {
    rows_.write(record, alleles);
    for (const AlleleResult& allele : alleles) {
      const bool scored = allele.reason == SkipReason::none;
      for (std::size_t value = 0; value < per_profile_; ++value) {
        for (std::size_t profile = 0; profile < profiles_; ++profile) {
          buffers_[value].push_back(scored ? allele.values[profile * per_profile_ + value]
                                           : std::numeric_limits<float>::quiet_NaN());
        }
        if (!hdf5_) continue;
        hdf5_->append(value, buffers_[value]);
        buffers_[value].clear();
      }
    }
    if (buffers_[0].size() >= flush_at) flush();
  }
  void close() override {
    flush();
    if (hdf5_) hdf5_->commit();
    for (const auto& matrix : npy_) matrix->commit();
    rows_.close();
  }

 private:
  static constexpr std::size_t flush_at = std::size_t{1} << 18;

  void flush() {
    for (std::size_t value = 0; value < npy_.size(); ++value) {
      npy_[value]->write(buffers_[value]);
      buffers_[value].clear();
    }
  }

  std::size_t per_profile_;
  std::size_t profiles_;
  std::string prefix_;
  ScoreTableWriter rows_;
  std::unique_ptr<ScoreHdf5> hdf5_;
  std::vector<std::unique_ptr<FloatRowsWriter>> npy_;
  std::vector<std::vector<float>> buffers_;  // one for each matrix
};

}  // namespace

ScoreHdf5::ScoreHdf5(const std::string& path, const ScoreHdf5Contents& contents) : file_(path) {
  const auto width = static_cast<std::int64_t>(contents.profile_index.size());
  for (const std::string& name : contents.matrices) handles_.push_back(file_.add_matrix(name, width));
  file_.write_int64(index_name, contents.profile_index);
  file_.write_strings(names_name, contents.profile_name);
  if (!contents.provenance.empty()) file_.attribute(provenance_name, contents.provenance);
}

void ScoreHdf5::append(std::size_t matrix, std::span<const float> row) {
  file_.append(handles_[matrix], row);
}

void ScoreHdf5::commit() {
  file_.commit();
}

bool has_evalues(const std::string& path) {
  const std::vector<std::string> names = Hdf5Reader(path).names();
  return std::find(names.begin(), names.end(), "evalue") != names.end();
}

void merge_score_hdf5(const std::vector<ChunkedTable>& shards, const std::string& output) {
  const ScoreHdf5Contents contents = contents_of(Hdf5Reader(shards.front().path));
  std::vector<std::unique_ptr<ShardRows>> files;
  std::vector<std::size_t> chunks_of;
  std::vector<std::string> names;
  for (const ChunkedTable& shard : shards) {
    if (contents_of(Hdf5Reader(shard.path)) != contents)
      refuse(shard.path, "other matrices, profiles or provenance than " + shards.front().path);
    files.push_back(std::make_unique<ShardRows>(shard.path, contents));
    chunks_of.push_back(shard.rows.size());
    names.push_back(shard.path);
  }
  ScoreHdf5 out(output, contents);
  for_each_chunk_in_turn(chunks_of, names, [&](std::size_t shard, std::size_t within) {
    files[shard]->copy(shards[shard].rows[within], out);
  });
  for (const auto& file : files) file->finish();
  out.commit();
}

VariantFormat variant_format(const std::string& word, const std::string& output) {
  VariantFormat format = VariantFormat::vcf;
  if (word.empty()) {
    if (const auto type = vcf_type_of(output); type && *type != VcfType::text)
      format = *type == VcfType::bgzf ? VariantFormat::vcf_gz : VariantFormat::bcf;
    for (const auto& [suffix, meant] : suffixes) {
      if (has_suffix(output, suffix)) format = meant;
    }
  } else {
    format = parse_name(variant_format_names, word, message("choice of `format`"));
  }
  if (output == "-" && (format == VariantFormat::npy || format == VariantFormat::h5)) {
    throw_usage("matrices cannot go to stdout", "give a file with -o");
  }
  return format;
}

void require_indexable(VariantFormat format, const std::string& output) {
  if (output == "-" || (format != VariantFormat::vcf_gz && format != VariantFormat::bcf)) {
    throw_usage(output + " cannot have an index",
                "only files of VCF.gz and BCF have one: OUT.vcf.gz or OUT.bcf");
  }
}

const char* variant_format_word(VariantFormat format) {
  return find_name(variant_format_names, format);
}

std::string variant_prefix(VariantFormat format, const std::string& output) {
  const std::string_view suffix = format == VariantFormat::npy  ? ".npy"
                                  : format == VariantFormat::h5 ? ".h5"
                                                                : "";
  if (suffix.empty() || !has_suffix(output, suffix)) return output;
  return output.substr(0, output.size() - suffix.size());
}

std::string matrix_path(const std::string& prefix, const std::string& matrix) {
  return prefix + "." + matrix + ".npy";
}

std::vector<std::string> matrix_names(std::size_t values_per_profile) {
  std::vector<std::string> names = {"ref", "alt", "diff", "logfc", "evalue"};
  names.resize(values_per_profile);
  return names;
}

std::vector<std::string> score_files(VariantFormat format, const std::string& output,
                                     std::size_t values_per_profile) {
  const bool matrices = format == VariantFormat::npy || format == VariantFormat::h5;
  if (!matrices) return {output};
  const std::string prefix = variant_prefix(format, output);
  if (format == VariantFormat::h5) return {prefix + ".h5", prefix + ".rows.tsv"};
  std::vector<std::string> files = {prefix + ".rows.tsv"};
  for (const std::string& name : matrix_names(values_per_profile)) files.push_back(matrix_path(prefix, name));
  return files;
}

std::vector<std::string> allele_fields(const VcfRecord& record, std::size_t allele) {
  return {record.chrom, std::to_string(record.position + 1), text_field(record.id), record.ref,
          record.alts.empty() ? missing_field : text_field(record.alts[allele])};
}

std::unique_ptr<VariantWriter> make_variant_writer(const VariantWriterOptions& options,
                                                   const VcfReader& reader,
                                                   const std::vector<Contig>& contigs,
                                                   const VariantColumns& columns) {
  switch (options.format) {
    case VariantFormat::tsv:
      return std::make_unique<ScoreTableWriter>(options.output, head_of_table(options), columns,
                                                columns.names().size(), false);
    case VariantFormat::npy:
    case VariantFormat::h5:
      return std::make_unique<ScoreMatrixWriter>(options, columns);
    case VariantFormat::vcf:
    case VariantFormat::vcf_gz:
    case VariantFormat::bcf:
      break;
  }
  return std::make_unique<ScoredVcfWriter>(options, reader, contigs, columns);
}

std::string report_prefix(const std::string& report, VariantFormat format, const std::string& output) {
  if (!report.empty()) return report;
  return output == "-" ? "" : variant_prefix(format, output);
}

// A row for each allele that was not scored.
class VariantOutputs::SkippedTable {
 public:
  SkippedTable(const std::string& path, const std::vector<std::string>& comments)
      : out_(path), table_(out_, {"chrom", "pos", "id", "ref", "alt", "reason"}, comments) {}

  void write(const VcfRecord& record, const std::vector<AlleleResult>& alleles) {
    for (std::size_t allele = 0; allele < alleles.size(); ++allele) {
      if (alleles[allele].reason == SkipReason::none) continue;
      std::vector<std::string> fields = allele_fields(record, allele);
      fields.emplace_back(skip_reason_name(alleles[allele].reason));
      table_.row(fields);
      ++rows_;
    }
  }
  std::uint64_t rows() const { return rows_; }
  void close() { out_.close(); }

 private:
  OutputStream out_;
  TsvWriter table_;
  std::uint64_t rows_ = 0;
};

VariantOutputs::VariantOutputs(const VariantWriterOptions& options, const std::string& report,
                               const VcfReader& reader, const std::vector<Contig>& contigs,
                               const VariantColumns& columns)
    : report_(report),
      prefix_(variant_prefix(options.format, options.output)),
      files_(score_files(options.format, options.output, options.values_per_profile)),
      scores_(make_variant_writer(options, reader, contigs, columns)) {
  std::vector<OutputName> names;
  for (const std::string& file : files_) names.push_back({message("`output`"), file});
  if (!report_.empty()) {
    for (const char* suffix : {".skipped.tsv", ".summary.json"})
      names.push_back({message("`report`"), report_ + suffix});
    require_different(names);
    skipped_ = std::make_unique<SkippedTable>(report_ + ".skipped.tsv", head_of_table(options));
  }
}

void add_digests(const OutputSet& outputs, const std::vector<std::string>& files, const std::string& prefix,
                 VariantSummary& summary) {
  for (const std::string& file : files) {
    const FileDigest digest = digest_of_file(outputs.written_path(file));
    if (!digest.sha256.empty()) summary.scores.push_back({file.substr(prefix.size()), digest});
  }
}

VariantOutputs::~VariantOutputs() = default;

void VariantOutputs::write(const VcfRecord& record, const std::vector<AlleleResult>& alleles) {
  scores_->write(record, alleles);
  if (skipped_) skipped_->write(record, alleles);
}

std::vector<std::string> VariantOutputs::files() const {
  std::vector<std::string> files = files_;
  if (skipped_) files.insert(files.end(), {report_ + ".skipped.tsv", report_ + ".summary.json"});
  return files;
}

void VariantOutputs::close(VariantSummary summary, Scores scores, OutputSet& outputs) {
  if (scores == Scores::keep) scores_->close();
  if (!skipped_) return;
  if (scores == Scores::keep && prefix_ != "-") add_digests(outputs, files_, prefix_, summary);
  if (skipped_->rows() != summary.tally.skipped.total()) {
    throw_runtime("the counts of skipped alleles disagree");
  }
  skipped_->close();
  write_text_atomic(report_ + ".summary.json", summary_json(summary));
}

}  // namespace bigbird
