// HDF5 files, as far as the toolkit writes and reads them: matrices that grow row by row, slabs of stored
// arrays, strings beside them. Through the HDF5 C library, which only lib/io includes. The library is not
// safe for concurrent calls: one thread at a time uses these classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bigbird {

// Written under a temporary name; at `path` whole or not at all. Errors: runtime with the system's reason for
// a write that fails; usage for a device or pipe.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(const std::string& path);
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  // A float32 matrix [rows, columns] that grows; chunked by rows, compressed (deflate 4, shuffle). Returns
  // its handle.
  std::size_t add_matrix(const std::string& name, std::int64_t columns);
  // Any number of whole rows.
  void append(std::size_t matrix, std::span<const float> rows);
  // A whole dataset of variable-length UTF-8 strings [n].
  void write_strings(const std::string& name, const std::vector<std::string>& values);
  void write_int64(const std::string& name, std::span<const std::int64_t> values);
  // A string attribute of the file itself.
  void attribute(const std::string& name, const std::string& value);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Stored arrays, read whole or by slabs along the last axis (the fastest one). Error naming the file and the
// dataset when one is missing, of another type, or damaged, or keeps its values in other files (external
// storage, virtual datasets); links into other files are not followed. The library runs in a child process,
// which lives as long as the reader: where a damaged file makes it crash, that is such an Error too.
class Hdf5Reader {
 public:
  // Error naming the file when it is no HDF5 file.
  explicit Hdf5Reader(const std::string& path);
  ~Hdf5Reader();
  Hdf5Reader(const Hdf5Reader&) = delete;
  Hdf5Reader& operator=(const Hdf5Reader&) = delete;

  std::vector<std::string> names() const;  // datasets at the top, by name
  std::vector<std::int64_t> shape(const std::string& name) const;
  // How many elements of the last axis are stored (and compressed) together; 0 when the array is in one
  // piece. Slabs of whole multiples read nothing twice.
  std::int64_t chunk_of_last_axis(const std::string& name) const;
  // Elements [..., begin, end) of the last axis, all of the others: row-major, last axis fastest. Integers
  // only; one outside 0..255 is an Error.
  void read_slab(const std::string& name, std::int64_t begin, std::int64_t end,
                 std::vector<std::uint8_t>& out) const;
  std::vector<float> read_floats(const std::string& name) const;
  // Rows [begin, end) of a matrix of floats.
  void read_rows(const std::string& name, std::int64_t begin, std::int64_t end,
                 std::vector<float>& out) const;
  std::vector<std::int64_t> read_int64(const std::string& name) const;
  std::vector<std::string> read_strings(const std::string& name) const;
  // A string attribute of the file itself; empty when there is none.
  std::string attribute(const std::string& name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bigbird
