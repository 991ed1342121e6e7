// Writers of predictions; see predict_run.h.
#include "lib/genomics/chromatin/predict_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/track.h"
#include "lib/io/tables/float_rows.h"
#include "lib/io/tables/hdf5.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

const std::vector<std::string> place_columns = {"chrom",      "start", "end",     "name", "window_start",
                                                "window_end", "shift", "n_share", "cut",  "status"};

std::vector<std::string> place_fields(const PredictedRow& row) {
  const bool known = row.status != PredictionStatus::short_contig;
  return {row.chrom,
          std::to_string(row.begin),
          std::to_string(row.end),
          text_field(row.name),
          std::to_string(row.window_begin),
          std::to_string(row.window_end),
          std::to_string(row.shift),
          known ? fmt::format("{:.6g}", row.n_share) : missing_field,
          row.cut ? "1" : "0",
          name_of(row.status)};
}

std::vector<std::string> table_columns(const PredictionColumns& columns) {
  std::vector<std::string> names = place_columns;
  const std::vector<std::string> labels = profile_labels(columns.profiles);
  for (const std::size_t index : columns.selected) names.push_back(labels[index]);
  return names;
}

// "p.rows.tsv" of "p.npy".
std::string rows_path(const std::string& path) {
  return path.substr(0, path.rfind('.')) + ".rows.tsv";
}

// Of a folder of tracks.
constexpr const char* track_table = "tracks.tsv";
std::string track_name(PredictionFormat format, std::size_t index) {
  return fmt::format("{}.{}", index, format == PredictionFormat::bigwig ? "bw" : "bedgraph");
}

class TableSink : public PredictionSink {
 public:
  TableSink(const std::string& path, const PredictionColumns& columns,
            const std::vector<std::string>& comments)
      : out_(path), table_(out_, table_columns(columns), comments), width_(columns.selected.size()) {}

  void add(const PredictedRow& row, std::span<const float> values) override {
    std::vector<std::string> fields = place_fields(row);
    for (const float value : values) fields.push_back(fmt::format("{:.9g}", value));
    if (values.empty()) fields.resize(fields.size() + width_, missing_field);
    table_.row(fields);
  }
  void close() override { out_.close(); }

 private:
  OutputStream out_;
  TsvWriter table_;
  std::size_t width_;
};

class MatrixSink : public PredictionSink {
 public:
  MatrixSink(const std::string& path, const PredictionColumns& columns)
      : matrix_(path, static_cast<std::int64_t>(columns.selected.size()), {}),
        missing_(columns.selected.size(), std::numeric_limits<float>::quiet_NaN()) {}

  void add(const PredictedRow&, std::span<const float> values) override {
    const std::span<const float> row = values.empty() ? std::span<const float>(missing_) : values;
    buffer_.insert(buffer_.end(), row.begin(), row.end());
    if (buffer_.size() >= (std::size_t{1} << 18)) flush();
  }
  void close() override {
    flush();
    matrix_.commit();
  }

 private:
  void flush() {
    matrix_.write(buffer_);
    buffer_.clear();
  }

  FloatRowsWriter matrix_;
  std::vector<float> missing_;
  std::vector<float> buffer_;
};

// The index is put in its place after the matrix: an index never stands beside a matrix that is not there.
class IndexedMatrixSink : public PredictionSink {
 public:
  IndexedMatrixSink(const std::string& path, const PredictionColumns& columns,
                    const std::vector<std::string>& comments)
      : matrix_(path, columns), out_(rows_path(path)), index_(out_, place_columns, comments) {}

  void add(const PredictedRow& row, std::span<const float> values) override {
    matrix_.add(row, values);
    index_.row(place_fields(row));
  }
  void close() override {
    matrix_.close();
    out_.close();
  }

 private:
  MatrixSink matrix_;
  OutputStream out_;
  TsvWriter index_;
};

class Hdf5Sink : public PredictionSink {
 public:
  Hdf5Sink(const std::string& path, const PredictionColumns& columns,
           const std::vector<std::string>& comments)
      : file_(path),
        matrix_(file_.add_matrix("predictions", static_cast<std::int64_t>(columns.selected.size()))),
        missing_(columns.selected.size(), std::numeric_limits<float>::quiet_NaN()) {
    std::vector<std::string> names, groups;
    std::vector<std::int64_t> indices;
    for (const std::size_t index : columns.selected) {
      names.push_back(columns.profiles[index].name);
      groups.push_back(columns.profiles[index].group);
      indices.push_back(static_cast<std::int64_t>(index));
    }
    file_.write_int64("profile_index", indices);
    file_.write_strings("profile_name", names);
    file_.write_strings("profile_group", groups);
    if (!comments.empty()) file_.attribute("provenance", fmt::format("{}", fmt::join(comments, "\n")));
  }

  void add(const PredictedRow& row, std::span<const float> values) override {
    const std::span<const float> numbers = values.empty() ? std::span<const float>(missing_) : values;
    buffer_.insert(buffer_.end(), numbers.begin(), numbers.end());
    if (buffer_.size() >= (std::size_t{1} << 18)) flush();
    chroms_.push_back(row.chrom);
    begins_.push_back(row.begin);
    ends_.push_back(row.end);
    statuses_.push_back(name_of(row.status));
  }
  void close() override {
    flush();
    file_.write_strings("chrom", chroms_);
    file_.write_int64("start", begins_);
    file_.write_int64("end", ends_);
    file_.write_strings("status", statuses_);
    file_.commit();
  }

 private:
  void flush() {
    file_.append(matrix_, buffer_);
    buffer_.clear();
  }

  Hdf5Writer file_;
  std::size_t matrix_;
  std::vector<float> missing_;
  std::vector<float> buffer_;
  std::vector<std::string> chroms_, statuses_;
  std::vector<std::int64_t> begins_, ends_;
};

class TrackSink : public PredictionSink {
 public:
  TrackSink(const std::string& path, PredictionFormat kind, const PredictionColumns& columns,
            const std::vector<Contig>& contigs, const std::vector<std::string>& comments) {
    const TrackFormat format = kind == PredictionFormat::bigwig ? TrackFormat::bigwig : TrackFormat::bedgraph;
    if (columns.selected.size() == 1) {
      tracks_.push_back(make_track_writer(path, format, contigs, comments));
      return;
    }
    if (path == "-") {
      throw_usage(message("`output` -: several tracks go into a folder"),
                  message("choose one profile (`profiles` K), or give a folder"));
    }
    folder_.emplace(path);
    OutputStream out(folder_->file(track_table));
    TsvWriter table(out, {"index", "name", "group", "file"}, comments);
    for (const std::size_t index : columns.selected) {
      const std::string file = track_name(kind, index);
      const Profile& profile = columns.profiles[index];
      table.row({std::to_string(index), profile.name, text_field(profile.group), file});
      tracks_.push_back(make_track_writer(folder_->file(file), format, contigs, comments));
    }
    out.close();
  }

  void add(const PredictedRow& row, std::span<const float> values) override {
    for (std::size_t i = 0; i < values.size(); ++i)
      tracks_[i]->add(row.contig, row.begin, row.end, values[i]);
  }
  void close() override {
    for (const auto& track : tracks_) track->close();
    if (folder_) folder_->commit();
  }

 private:
  std::optional<AtomicFolder> folder_;
  std::vector<std::unique_ptr<TrackWriter>> tracks_;
};

void require_suffix(const std::string& path, std::initializer_list<const char*> suffixes,
                    const char* format) {
  for (const char* suffix : suffixes) {
    if (has_suffix(path, suffix)) return;
  }
  throw_usage(message("`output` {}: a path that ends in {} is needed for `format` {}", path,
                      *suffixes.begin(), format));
}

}  // namespace

PredictionFormat parse_prediction_format(const std::string& name) {
  return parse_name(prediction_format_names, name, message("choice of `format`"));
}

const char* name_of(PredictionFormat format) {
  return find_name(prediction_format_names, format);
}

bool is_track(PredictionFormat format) {
  return format == PredictionFormat::bedgraph || format == PredictionFormat::bigwig;
}

std::unique_ptr<PredictionSink> make_prediction_sink(PredictionFormat format, const std::string& path,
                                                     const PredictionColumns& columns,
                                                     const std::vector<Contig>& contigs,
                                                     const std::vector<std::string>& comments) {
  switch (format) {
    case PredictionFormat::tsv:
      return std::make_unique<TableSink>(path, columns, comments);
    case PredictionFormat::npy:
      require_suffix(path, {".npy"}, "npy");
      return std::make_unique<IndexedMatrixSink>(path, columns, comments);
    case PredictionFormat::h5:
      require_suffix(path, {".h5", ".hdf5"}, "h5");
      return std::make_unique<Hdf5Sink>(path, columns, comments);
    case PredictionFormat::bedgraph:
    case PredictionFormat::bigwig:
      break;
  }
  if (contigs.empty()) {
    throw_usage("tracks need places in a genome",
                message("give `fasta` GENOME with `regions` BED, or `data` DIR"));
  }
  return std::make_unique<TrackSink>(path, format, columns, contigs, comments);
}

std::vector<std::string> prediction_files(PredictionFormat format, const std::string& path,
                                          const PredictionColumns& columns) {
  if (path == "-") return {};
  if (format == PredictionFormat::npy) return {path, rows_path(path)};
  if (!is_track(format) || columns.selected.size() == 1) return {path};
  std::vector<std::string> files = {path + "/" + track_table};
  for (const std::size_t index : columns.selected) files.push_back(path + "/" + track_name(format, index));
  return files;
}

std::unique_ptr<PredictionSink> make_matrix_sink(const std::string& path, const PredictionColumns& columns) {
  return std::make_unique<MatrixSink>(path, columns);
}

}  // namespace bigbird
