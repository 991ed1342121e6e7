// A matrix of float32 written row by row, its number of rows unknown until the end: .npy or .safetensors.
// Both formats allow blanks after their header, so its place is kept free and filled in at the end.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "lib/io/file.h"

namespace bigbird {

class FloatRowsWriter {
 public:
  // The suffix of `path` says the format: Error{usage} for any other than .npy and .safetensors. The matrix
  // is tensor "embeddings" of a safetensors file, which carries `metadata` too.
  FloatRowsWriter(const std::string& path, std::int64_t columns, std::map<std::string, std::string> metadata);

  // Any number of whole rows; large pieces are fastest.
  void write(std::span<const float> rows);
  std::int64_t rows() const { return rows_; }
  // Puts the file in its place; without it nothing is left behind.
  void commit();

 private:
  std::string header(std::int64_t rows) const;

  AtomicFile file_;
  bool npy_;
  std::int64_t columns_;
  std::map<std::string, std::string> metadata_;
  std::size_t header_size_ = 0;
  std::int64_t rows_ = 0;
};

}  // namespace bigbird
