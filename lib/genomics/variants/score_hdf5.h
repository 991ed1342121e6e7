// Scores of variants as HDF5: matrices [ALTs, profiles] and the names of their columns; written, and put
// together of shards. The bytes depend on the rows alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/io/tables/hdf5.h"
#include "lib/parts/merge.h"

namespace bigbird {

// What stands beside the rows.
struct ScoreHdf5Contents {
  std::vector<std::string> matrices;        // names, in their order
  std::vector<std::int64_t> profile_index;  // of each column, in the model
  std::vector<std::string> profile_name;
  std::string provenance;  // lines; empty for none

  bool operator==(const ScoreHdf5Contents&) const = default;
};

class ScoreHdf5 {
 public:
  // Errors as Hdf5Writer.
  ScoreHdf5(const std::string& path, const ScoreHdf5Contents& contents);

  // One row of a matrix, by its number in the contents; the matrices take theirs in turn.
  void append(std::size_t matrix, std::span<const float> row);
  void commit();

 private:
  Hdf5Writer file_;
  std::vector<std::size_t> handles_;
};

// Whether the file holds E-values, which a background gives.
bool has_evalues(const std::string& path);

// One file of those of all shards, in the order of the run. Error{bad_input} naming the shard that has other
// columns, matrices or rows than its summary and the first shard say.
void merge_score_hdf5(const std::vector<ChunkedTable>& shards, const std::string& output);

}  // namespace bigbird
