// Reads predictions and labels for the evaluation; see evaluate_input.h.
#include "lib/genomics/chromatin/evaluate_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/hdf5.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

constexpr const char* parts_hint =
    "labels.npy, bins.bed.gz and profiles.tsv of one `bigbird chromatin build` belong together";

bool is_hdf5(const std::string& path) {
  return has_suffix(path, ".h5") || has_suffix(path, ".hdf5");
}

// Takes the place of the suffix, as the verbs that write matrices do.
std::string rows_table(const std::string& path) {
  return path.substr(0, path.rfind('.')) + ".rows.tsv";
}

template <typename Stored>
void gather_rows(const std::vector<Stored>& values, std::size_t columns, std::size_t begin, std::size_t end,
                 std::span<const std::uint32_t> rows, std::size_t stride, double* out) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Stored* from = values.data() + rows[i] * columns;
    for (std::size_t column = begin; column < end; ++column) {
      out[(column - begin) * stride + i] = static_cast<double>(from[column]);
    }
  }
}

}  // namespace

PredictionMatrix::PredictionMatrix(const std::string& path, std::size_t columns)
    : path_(path), columns_(columns) {
  if (has_suffix(path, ".npy")) {
    npy_ = NpyMatrix(path);
    rows_ = npy_.rows();
    if (npy_.columns() != columns) {
      throw_bad_input(fmt::format("{}: {} columns for {} profiles", path, npy_.columns(), columns),
                      "predictions and labels must be of the same profiles, in the same order");
    }
  } else if (is_hdf5(path)) {
    read_hdf5();
  } else {
    read_tsv();
  }
  if (rows_ == 0) throw_bad_input(fmt::format("{}: no predictions", path), "the file has no rows");
  if (rows_ > std::numeric_limits<std::uint32_t>::max()) {
    throw_bad_input(fmt::format("{}: {} rows are too many", path, rows_));
  }
}

PredictionMatrix::PredictionMatrix(std::string name, std::vector<float> values, std::size_t columns)
    : path_(std::move(name)),
      floats_(std::move(values)),
      rows_(floats_.size() / columns),
      columns_(columns) {}

void PredictionMatrix::read_hdf5() {
  const Hdf5Reader file(path_);
  std::vector<std::string> found;
  for (const std::string& name : file.names()) {
    const std::vector<std::int64_t> shape = file.shape(name);
    if (shape.size() == 2 && shape[1] == static_cast<std::int64_t>(columns_)) found.push_back(name);
  }
  if (found.size() != 1) {
    throw_bad_input(fmt::format("{}: {} matrices of {} columns at its top", path_, found.size(), columns_),
                    "one matrix with a column per profile is read");
  }
  floats_ = file.read_floats(found.front());
  rows_ = floats_.size() / columns_;
}

void PredictionMatrix::read_tsv() {
  TsvReader table(path_);
  if (table.columns().size() < columns_) {
    throw_bad_input(fmt::format("{}: {} columns for {} profiles", path_, table.columns().size(), columns_),
                    "the last columns of the table are the scores, one per profile");
  }
  const std::size_t first = table.columns().size() - columns_;
  std::vector<std::string_view> fields;
  while (table.next(fields)) {
    for (std::size_t column = first; column < fields.size(); ++column) {
      const std::string_view text = fields[column];
      numbers_.push_back(is_missing(text) ? std::numeric_limits<double>::quiet_NaN()
                                          : parse_number(text, table.where(), table.columns()[column]));
    }
    ++rows_;
  }
}

void PredictionMatrix::gather(std::size_t begin, std::size_t end, std::span<const std::uint32_t> rows,
                              std::size_t stride, double* out) const {
  if (npy_.rows() > 0) return npy_.gather(begin, end, rows, stride, out);
  if (!floats_.empty()) return gather_rows(floats_, columns_, begin, end, rows, stride, out);
  gather_rows(numbers_, columns_, begin, end, rows, stride, out);
}

std::optional<std::size_t> stored_columns(const std::string& path) {
  if (!has_suffix(path, ".npy")) return std::nullopt;
  return NpyMatrix(path).columns();
}

ChromatinLabels::ChromatinLabels(const std::string& path, std::optional<Split> split,
                                 std::optional<std::size_t> columns)
    : path_(path) {
  if (folder_exists(path)) {
    matrix_ = NpyMatrix(path + "/labels.npy");
    profiles_ = read_profiles(path + "/profiles.tsv");
    packed_ = true;
    read_bins(path + "/bins.bed.gz", split);
  } else {
    if (split) {
      throw_usage(fmt::format("{}: a matrix by itself has no splits", path),
                  message("give `labels` the folder of the data set, or leave `split` out"));
    }
    matrix_ = NpyMatrix(path);
    const std::size_t profiles = columns.value_or(matrix_.columns());
    packed_ = matrix_.columns() != profiles;
    for (std::size_t i = 0; i < profiles; ++i) profiles_.push_back({fmt::format("profile{}", i), "."});
    rows_.resize(matrix_.rows());
    std::iota(rows_.begin(), rows_.end(), 0U);
  }
  const std::size_t width = packed_ ? (profiles_.size() + 7) / 8 : profiles_.size();
  if (matrix_.columns() != width || matrix_.type() != NpyMatrix::Type::uint8) {
    throw_bad_input(fmt::format("{}: {} columns of {} are not the labels of {} profiles", matrix_.path(),
                                matrix_.columns(), matrix_.type_name(), profiles_.size()),
                    "labels are uint8, a byte per profile or packed eight to a byte, the lowest bit first");
  }
  if (rows_.empty()) {
    throw_bad_input(fmt::format("{}: no bins to score", path),
                    split ? fmt::format("none of its bins is in split {}", split_side_name(*split))
                          : std::string("the label matrix has no rows"));
  }
  if (!packed_) check_values();
  kept_ = rows_;
}

std::size_t ChromatinLabels::leave_out(const ExcludedRegions& excluded) {
  if (places_.empty()) {
    throw_usage(fmt::format("{}: a matrix by itself has no places", path_),
                message("for `exclude` give `labels` the folder of the data set"));
  }
  left_out_.assign(rows_.size(), false);
  kept_.clear();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    left_out_[i] = excluded.touch(contigs_[places_[i].contig], places_[i].begin, places_[i].end);
    if (!left_out_[i]) kept_.push_back(rows_[i]);
  }
  if (kept_.empty()) {
    throw_bad_input(fmt::format("{}: all {} bins touch an excluded region", path_, rows_.size()),
                    message("give `exclude` regions that leave some of them"));
  }
  return rows_.size() - kept_.size();
}

void ChromatinLabels::check_values() const {
  for (const std::uint32_t row : rows_) {
    for (std::size_t profile = 0; profile < profiles_.size(); ++profile) {
      if (matrix_.byte(row, profile) > 1) {
        throw_bad_input(fmt::format("{}: row {}, column {}: label {} is neither 0 nor 1", path_, row, profile,
                                    matrix_.byte(row, profile)),
                        "rows and columns count from 0");
      }
    }
  }
}

void ChromatinLabels::read_bins(const std::string& bed, std::optional<Split> split) {
  LineReader lines(bed);
  std::unordered_map<std::string, std::uint32_t> ids;
  std::vector<std::string_view> fields;
  std::string_view line;
  std::size_t row = 0;
  while (lines.next(line)) {
    if (line.empty() || line.front() == '#') continue;
    split_tabs(line, fields);
    if (fields.size() < 4)
      throw_bad_input(fmt::format("{}: no split in column 4", lines.where()), parts_hint);
    if (!split || parse_split_side(fields[3], lines.where()) == *split) {
      const auto [found, fresh] =
          ids.emplace(std::string(fields[0]), static_cast<std::uint32_t>(contigs_.size()));
      if (fresh) contigs_.emplace_back(fields[0]);
      places_.push_back({found->second, parse_integer(fields[1], lines.where(), "the start"),
                         parse_integer(fields[2], lines.where(), "the end")});
      rows_.push_back(static_cast<std::uint32_t>(row));
    }
    ++row;
  }
  if (row != matrix_.rows()) {
    throw_bad_input(fmt::format("{}: {} bins, but labels.npy has {} rows", bed, row, matrix_.rows()),
                    parts_hint);
  }
}

std::vector<std::uint32_t> ChromatinLabels::rows_of(const PredictionMatrix& predictions) const {
  std::vector<std::uint32_t> rows;
  if (predictions.rows() == rows_.size()) {
    rows.resize(rows_.size());
    std::iota(rows.begin(), rows.end(), 0U);
  } else if (predictions.rows() == stored_rows()) {
    rows = rows_;
    log_info(fmt::format("{}: a row for every bin of {}; {} of them are scored", predictions.path(), path_,
                         kept_.size()));
  } else {
    throw_bad_input(
        fmt::format("{}: {} rows of predictions for {} bins{}", predictions.path(), predictions.rows(),
                    rows_.size(),
                    stored_rows() == rows_.size() ? "" : fmt::format(" (of {} in all)", stored_rows())),
        message("a row of predictions per bin, in the order of bins.bed.gz; `split` chooses the bins"));
  }
  if (!places_.empty()) check_places(predictions.path(), rows);
  if (left_out_.empty()) return rows;
  std::vector<std::uint32_t> kept;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!left_out_[i]) kept.push_back(rows[i]);
  }
  return kept;
}

void ChromatinLabels::check_places(const std::string& predictions,
                                   std::span<const std::uint32_t> rows) const {
  std::size_t next = 0;
  const auto check = [&](std::string_view chrom, std::int64_t begin, const std::string& where) {
    const Place& place = places_[next++];
    if (chrom == contigs_[place.contig] && begin == place.begin) return;
    throw_bad_input(fmt::format("{}: predicted at {}:{} (start, 0-based), but the labels are of {}:{}", where,
                                chrom, begin, contigs_[place.contig], place.begin),
                    "the rows of the predictions must be the bins of the labels, in their order");
  };
  std::string source = predictions;
  if (is_hdf5(predictions)) {
    const Hdf5Reader file(predictions);
    const std::vector<std::string> names = file.names();
    for (const char* name : {"chrom", "start"}) {
      if (std::find(names.begin(), names.end(), name) == names.end()) return;
    }
    const std::vector<std::string> chroms = file.read_strings("chrom");
    const std::vector<std::int64_t> starts = file.read_int64("start");
    const std::size_t stored = std::min(chroms.size(), starts.size());
    while (next < rows.size() && rows[next] < stored) {
      const std::uint32_t row = rows[next];
      check(chroms[row], starts[row], fmt::format("{}, row {}", predictions, row));
    }
  } else {
    if (has_suffix(predictions, ".npy")) source = rows_table(predictions);
    if (!file_exists(source)) return;
    TsvReader table(source);
    if (!table.has_column("chrom") || !table.has_column("start")) return;
    const std::size_t chrom = table.column("chrom"), start = table.column("start");
    std::vector<std::string_view> fields;
    for (std::size_t row = 0; next < rows.size() && table.next(fields); ++row) {
      if (row != rows[next]) continue;
      check(fields[chrom], parse_integer(fields[start], table.where(), "the start"), table.where());
    }
  }
  if (next != rows.size()) {
    throw_bad_input(fmt::format("{}: places of {} rows where {} are due", source, next, rows.size()),
                    "it belongs to other predictions; remove it or predict again");
  }
}

}  // namespace bigbird
