// Private to lib/io: HDF5 files read through the C library, in the process that calls. It believes much of
// what a damaged file says, so Hdf5Reader (hdf5.h) lets a child process do this. A request and its answer are
// bytes, which is how they pass between the two. And what the writer shares: owning handles for the
// identifiers of the C library, and its errors as text.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
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

// Once per process: no error traces on stderr, no work at exit (after a full disk it would never end).
void quiet_hdf5();
// What the library says of its last failure, the innermost cause first; clears it.
std::string hdf5_reason();

// Closes an identifier with the call that its kind wants.
template <herr_t (*Close)(hid_t)>
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  explicit Hdf5Handle(hid_t id) : id_(id) {}
  ~Hdf5Handle() { close(); }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }

  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  // False when the library could not.
  bool close() { return id_ < 0 || Close(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_ = -1;
};

using Hdf5File = Hdf5Handle<H5Fclose>;
using Hdf5Dataset = Hdf5Handle<H5Dclose>;
using Hdf5Space = Hdf5Handle<H5Sclose>;
using Hdf5Type = Hdf5Handle<H5Tclose>;
using Hdf5Properties = Hdf5Handle<H5Pclose>;
using Hdf5Attribute = Hdf5Handle<H5Aclose>;

// Variable-length UTF-8.
Hdf5Type hdf5_string_type();

}  // namespace bigbird
