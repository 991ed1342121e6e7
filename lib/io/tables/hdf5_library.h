// Private to lib/io: HDF5 files read through the C library, in the process that calls. It believes much of
// what a damaged file says, so Hdf5Reader (hdf5.h) lets a child process do this. A request and its answer are
// bytes, which is how they pass between the two.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bigbird {

enum class Hdf5Question : std::uint8_t {
  open,
  names,
  shape,
  chunk_of_last_axis,
  slab,
  floats,
  rows,
  integers,
  strings,
  attribute
};

struct Hdf5Request {
  Hdf5Question what = Hdf5Question::open;
  std::int64_t begin = 0;  // of a slab or of rows
  std::int64_t end = 0;
};

class Hdf5Library {
 public:
  // Error naming the file when it is no HDF5 file.
  explicit Hdf5Library(const std::string& path);
  ~Hdf5Library();
  Hdf5Library(const Hdf5Library&) = delete;
  Hdf5Library& operator=(const Hdf5Library&) = delete;

  // Numbers as they lie in memory, names and strings as bytes_of_texts(). `name`: of the dataset or
  // attribute. Errors as Hdf5Reader's.
  std::string answer(const Hdf5Request& request, const std::string& name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Strings of any bytes: their sizes and their text.
std::string bytes_of_texts(const std::vector<std::string>& texts);

}  // namespace bigbird
