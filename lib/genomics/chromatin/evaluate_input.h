// What `chromatin evaluate` compares: a matrix of predicted scores and the labels of the same bins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/genomics/chromatin/dataset.h"
#include "lib/inference/model_task.h"
#include "lib/io/genome/excluded_regions.h"
#include "lib/io/tables/npy.h"

namespace bigbird {

// Scores [rows, columns], a row per bin and a column per profile; higher is more positive. A row of NaN is a
// bin that was not predicted.
class PredictionMatrix {
 public:
  // By suffix: .npy (memory-mapped), .h5 or .hdf5 (its one matrix of `columns` columns, held in memory), or
  // else a TSV table, "-" too, whose last `columns` columns are the scores ("." or nan: none; held in memory,
  // 8 bytes each). Error{bad_input} naming the file: another number of columns, a field that is no number.
  PredictionMatrix(const std::string& path, std::size_t columns);
  // Scores that were computed just now, last index fastest; `name` stands for the path in messages.
  PredictionMatrix(std::string name, std::vector<float> values, std::size_t columns);

  const std::string& path() const { return path_; }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  // out[(column - begin) * stride + i] = score(rows[i], column) of the columns [begin, end).
  void gather(std::size_t begin, std::size_t end, std::span<const std::uint32_t> rows, std::size_t stride,
              double* out) const;

 private:
  void read_hdf5();
  void read_tsv();

  std::string path_;
  NpyMatrix npy_;
  std::vector<float> floats_;
  std::vector<double> numbers_;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
};

// Number of columns of the matrix in a .npy file, or of the scores that any other file holds when nothing
// says how many profiles there are: nothing then.
std::optional<std::size_t> stored_columns(const std::string& path);

// Labels of the bins to be scored.
class ChromatinLabels {
 public:
  // `path`: a folder of `chromatin build`, with the bins of `split` (all of them without it); or a .npy
  // matrix, uint8 or bool, a row per bin: one byte per profile, or packed as labels.npy of such a folder. A
  // matrix alone has no split and no names; `columns`, how many profiles it is for, tells which of the two it
  // is. Error naming the file: wrong widths, values other than 0 and 1, a split without bins.
  ChromatinLabels(const std::string& path, std::optional<Split> split, std::optional<std::size_t> columns);

  const std::string& path() const { return path_; }
  const std::vector<Profile>& profiles() const { return profiles_; }
  // Rows of the stored labels, all of them.
  std::size_t stored_rows() const { return matrix_.rows(); }
  // Those to be scored, ascending.
  const std::vector<std::uint32_t>& rows() const { return kept_; }
  // Bins that touch a region are not scored from now on; how many they are. Error{usage} where a matrix alone
  // was given, {bad_input} where no bin is left.
  std::size_t leave_out(const ExcludedRegions& excluded);
  bool at(std::size_t row, std::size_t profile) const {
    return packed_ ? ((matrix_.byte(row, profile / 8) >> (profile % 8)) & 1) != 0
                   : matrix_.byte(row, profile) != 0;
  }
  // The rows of `predictions` that belong to rows(): as many rows as the split has are taken in order, as
  // many as stored_rows() one by one. Error when it has neither number. Where the file, or STEM.rows.tsv
  // beside a .npy file, names places (chrom, start), they must be those of the bins.
  std::vector<std::uint32_t> rows_of(const PredictionMatrix& predictions) const;

 private:
  struct Place {
    std::uint32_t contig;
    std::int64_t begin;
    std::int64_t end;
  };
  void read_bins(const std::string& bed, std::optional<Split> split);
  void check_values() const;
  void check_places(const std::string& predictions, std::span<const std::uint32_t> prediction_rows) const;

  std::string path_;
  std::vector<Profile> profiles_;
  NpyMatrix matrix_;
  bool packed_ = false;
  std::vector<std::uint32_t> rows_;  // of the split
  std::vector<std::uint32_t> kept_;  // of these, those to be scored
  std::vector<bool> left_out_;       // of rows_; empty: none
  std::vector<std::string> contigs_;
  std::vector<Place> places_;  // of rows_; empty when a matrix alone was given
};

}  // namespace bigbird
