// See score_hdf5.h.
#include "lib/genomics/variants/score_hdf5.h"

#include <algorithm>
#include <memory>

#include "lib/core/error.h"
#include "lib/genomics/variants/score_writers.h"

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
      if (end > shape[0]) refuse(path_, "fewer rows than its summary says");
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
        refuse(path_, "more rows than its summary says");
    }
  }

 private:
  std::vector<std::int64_t> shape_of(const Hdf5Reader& file, std::size_t matrix) const {
    std::vector<std::int64_t> shape = file.shape(contents_.matrices[matrix]);
    if (shape.size() != 2 || shape[1] != static_cast<std::int64_t>(contents_.profile_index.size()))
      refuse(path_, contents_.matrices[matrix] + " is no matrix with a column for each profile");
    return shape;
  }

  std::string path_;
  const ScoreHdf5Contents& contents_;
  std::uint64_t taken_ = 0;
  std::vector<std::vector<float>> values_;
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

}  // namespace bigbird
