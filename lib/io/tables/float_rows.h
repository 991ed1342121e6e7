// lib/io/tables holds tables of numbers in files: TSV, npy, HDF5, MATLAB, rows of floats in any of them. A
// format says here how it is read and written; what the numbers mean is known above.
//
// A matrix of float32 written row by row, its number of rows unknown until the end: .npy, .safetensors or
// HDF5. The first two allow blanks after their header, so its place is kept free and filled in at the end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "lib/io/files/file.h"
#include "lib/io/tables/hdf5.h"

namespace bigbird {

class FloatRowsWriter {
 public:
  // The suffix of `path` says the format: Error{usage} for any other than .npy, .safetensors, .h5 and .hdf5.
  // In the last three the matrix is tensor (dataset) `name`, and `metadata` is beside it (HDF5: attributes of
  // the file).
  FloatRowsWriter(const std::string& path, std::int64_t columns, std::map<std::string, std::string> metadata,
                  std::string name = "embeddings");

  // Any number of whole rows; large pieces are fastest.
  void write(std::span<const float> rows);
  std::int64_t rows() const { return rows_; }
  // The HDF5 file, to put datasets beside the matrix before commit(); null for the other formats.
  Hdf5Writer* hdf5() const { return hdf5_.get(); }
  // Puts the file in its place; without it nothing is left behind.
  void commit();

 private:
  std::string header(std::int64_t rows) const;

  std::unique_ptr<Hdf5Writer> hdf5_;  // this or file_
  std::unique_ptr<AtomicFile> file_;
  bool npy_ = false;
  std::int64_t columns_;
  std::string name_;
  std::map<std::string, std::string> metadata_;
  std::size_t header_size_ = 0;
  std::int64_t rows_ = 0;
};

}  // namespace bigbird
