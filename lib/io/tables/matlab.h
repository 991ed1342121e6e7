// Arrays of unsigned bytes in MATLAB's files: version 7.3, which is HDF5 with its axes reversed, and versions
// 5 to 7 (matio). One interface for both: rows are along MATLAB's first axis, which is the fastest one in
// either file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bigbird {

struct MatlabArray {
  std::string name;
  std::vector<std::int64_t> shape;  // as MATLAB prints it: rows first
};

class MatlabFile {
 public:
  // Error naming the file when it is of neither kind.
  explicit MatlabFile(const std::string& path);
  ~MatlabFile();
  MatlabFile(MatlabFile&&) noexcept;
  MatlabFile& operator=(MatlabFile&&) noexcept;

  const std::string& path() const;
  // True for version 7.3, which is read by slabs. A variable of version 5 is compressed in one stream whose
  // every stretch holds a bit of every row: the first read_rows() unpacks all of it into memory (1 byte an
  // element; the last variable read is kept).
  bool by_slabs() const;
  const std::vector<MatlabArray>& arrays() const;  // of any type; by name
  // Rows that are compressed together (7.3); 0 where that does not matter.
  std::int64_t rows_per_chunk(const std::string& name) const;
  // Rows [begin, end): element (row, j, k) of a [rows, J, K] array is out[(j + J * k) * (end - begin) + row -
  // begin]. Error naming file and variable: not there, no unsigned bytes, damaged or cut short.
  void read_rows(const std::string& name, std::int64_t begin, std::int64_t end,
                 std::vector<std::uint8_t>& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bigbird
