// Owning handles for the identifiers of the HDF5 C library, and its errors as text. For lib/io's HDF5 files
// only.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <utility>

namespace bigbird {

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
