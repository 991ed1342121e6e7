// What the fuzzers of chain, .npy, MATLAB and HDF5 files do with their bytes; the suite's short runs do the
// same. Each reads what there is to read, and returns whether all of it was read. An Error, in one line, is a
// right answer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/genome/chain.h"
#include "lib/io/tables/hdf5.h"
#include "lib/io/tables/matlab.h"
#include "lib/io/tables/npy.h"
#include "tests/fuzz/fuzz_file.h"

namespace bigbird::fuzz {

template <typename Read>
bool read_or_refused(const Read& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    if (error.message().find('\n') != std::string::npos) std::abort();
    return false;
  }
}

template <typename Read>
bool file_read_or_refused(const char* suffix, const std::uint8_t* data, std::size_t size, const Read& read) {
  bool whole = false;
  with_file(suffix, data, size,
            [&](const std::string& path) { whole = read_or_refused([&] { read(path); }); });
  return whole;
}

inline bool chain(const std::uint8_t* data, std::size_t size) {
  return file_read_or_refused(".chain", data, size, [](const std::string& path) {
    const ChainFile chain(path);
    for (std::size_t i = 0; i < std::min<std::size_t>(chain.from().size(), 20); ++i) {
      const Contig& contig = chain.from()[i];
      for (const std::int64_t at :
           {std::int64_t{0}, std::int64_t{105}, contig.length / 2, contig.length - 1}) {
        for (const std::int64_t end : {at, at + 1, at + 20, contig.length}) {
          const Lifted lifted = chain.lift_interval(contig.name, at, std::max(at, end), 0.5);
          if (!lifted.ok()) continue;
          const auto target = chain.to().find(lifted.chrom);
          if (!target || lifted.begin < 0 || lifted.begin > lifted.end) std::abort();
          if (lifted.end > chain.to()[*target].length) std::abort();
        }
      }
    }
  });
}

inline bool npy(const std::uint8_t* data, std::size_t size) {
  return file_read_or_refused(".npy", data, size, [](const std::string& path) {
    const NpyMatrix matrix(path);
    if (matrix.rows() == 0 || matrix.columns() == 0) return;
    const std::size_t last_row = matrix.rows() - 1, last = matrix.columns() - 1;
    volatile double sum = matrix.number(0, 0) + matrix.number(last_row, last);
    if (matrix.type() == NpyMatrix::Type::uint8) sum = sum + matrix.byte(last_row, last);
    const std::array<std::uint32_t, 2> rows{
        0, static_cast<std::uint32_t>(std::min<std::size_t>(last_row, 1000))};
    const std::size_t columns = std::min<std::size_t>(matrix.columns(), 8);
    std::vector<double> out(columns * rows.size());
    matrix.gather(matrix.columns() - columns, matrix.columns(), rows, rows.size(), out.data());
  });
}

inline bool matlab(const std::uint8_t* data, std::size_t size) {
  return file_read_or_refused(".mat", data, size, [](const std::string& path) {
    MatlabFile file(path);
    std::vector<std::uint8_t> out;
    for (const MatlabArray& array : file.arrays()) {
      if (array.shape.empty()) continue;
      file.rows_per_chunk(array.name);
      file.read_rows(array.name, 0, std::min<std::int64_t>(array.shape.front(), 3), out);
    }
  });
}

inline bool hdf5(const std::uint8_t* data, std::size_t size) {
  return file_read_or_refused(".h5", data, size, [](const std::string& path) {
    const Hdf5Reader file(path);
    file.attribute("made");
    for (const std::string& name : file.names()) {
      const std::vector<std::int64_t> shape = file.shape(name);
      file.chunk_of_last_axis(name);
      std::vector<std::uint8_t> slab;
      // At most one of these fits its type.
      int read = read_or_refused([&] { file.read_strings(name); }) ? 1 : 0;
      read += read_or_refused([&] { file.read_floats(name); }) ? 1 : 0;
      read += read_or_refused([&] { file.read_int64(name); }) ? 1 : 0;
      if (!shape.empty()) {
        read_or_refused([&] { file.read_slab(name, 0, std::min<std::int64_t>(shape.back(), 3), slab); });
      }
      if (read == 0) throw_bad_input(path + ": nothing of a dataset is read");
    }
  });
}

}  // namespace bigbird::fuzz
