// Private to lib/io: HDF5 files read through the C library, in the process that calls. It believes much of
// what a damaged file says, so Hdf5Reader (hdf5.h) lets a child process do this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bigbird {

// Members as those of Hdf5Reader.
class Hdf5Library {
 public:
  explicit Hdf5Library(const std::string& path);
  ~Hdf5Library();
  Hdf5Library(const Hdf5Library&) = delete;
  Hdf5Library& operator=(const Hdf5Library&) = delete;

  std::vector<std::string> names() const;
  std::vector<std::int64_t> shape(const std::string& name) const;
  std::int64_t chunk_of_last_axis(const std::string& name) const;
  void read_slab(const std::string& name, std::int64_t begin, std::int64_t end,
                 std::vector<std::uint8_t>& out) const;
  std::vector<float> read_floats(const std::string& name) const;
  void read_rows(const std::string& name, std::int64_t begin, std::int64_t end,
                 std::vector<float>& out) const;
  std::vector<std::int64_t> read_int64(const std::string& name) const;
  std::vector<std::string> read_strings(const std::string& name) const;
  std::string attribute(const std::string& name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bigbird
