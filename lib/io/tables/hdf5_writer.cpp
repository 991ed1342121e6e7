// Writing HDF5; see hdf5.h.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/hdf5.h"
#include "lib/io/tables/hdf5_library.h"

namespace bigbird {

void quiet_hdf5() {
  static std::once_flag once;
  std::call_once(once, [] {
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  });
}

std::string hdf5_reason() {
  std::string reason;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* error, void* out) -> herr_t {
        if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
        return 0;
      },
      &reason);
  H5Eclear2(H5E_DEFAULT);
  // The system's own words stand between quotes inside a longer line of addresses and sizes.
  const std::string mark = "error message = '";
  if (const std::size_t begin = reason.find(mark); begin != std::string::npos) {
    const std::size_t end = reason.find('\'', begin + mark.size());
    reason = reason.substr(begin + mark.size(), end - begin - mark.size());
  }
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  return reason.empty() ? "the HDF5 library gives no reason" : reason;
}

Hdf5Type hdf5_string_type() {
  Hdf5Type type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

namespace {

constexpr std::int64_t chunk_bytes = 1 << 18;  // of a matrix, before compression; HDF5 caches 1 MiB of them
constexpr unsigned deflate_level = 4;

struct Matrix {
  Hdf5Dataset dataset;
  std::string name;
  hsize_t columns = 0, chunk_rows = 0, rows = 0;
  std::vector<float> pending;  // rows of an unfinished chunk
};

// Without the time of creation, which would make equal work leave other bytes.
hid_t dataset_properties() {
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(properties, false);
  return properties;
}

}  // namespace

struct Hdf5Writer::State {
  explicit State(const std::string& path) : file(path) {}

  [[noreturn]] void fail(const std::string& what) {
    throw_runtime(fmt::format("{}: HDF5: cannot write {}: {}", file.path(), what, hdf5_reason()),
                  "check the space left on the disk and your rights in the folder; nothing was left there");
  }

  void write_rows(Matrix& matrix, std::span<const float> values) {
    const hsize_t count = values.size() / matrix.columns;
    if (count == 0) return;
    const hsize_t shape[2] = {matrix.rows + count, matrix.columns};
    const hsize_t begin[2] = {matrix.rows, 0};
    const hsize_t size[2] = {count, matrix.columns};
    if (H5Dset_extent(matrix.dataset.get(), shape) < 0) fail(matrix.name);
    const Hdf5Space place(H5Dget_space(matrix.dataset.get()));
    const Hdf5Space memory(H5Screate_simple(2, size, nullptr));
    if (!place || !memory ||
        H5Sselect_hyperslab(place.get(), H5S_SELECT_SET, begin, nullptr, size, nullptr) < 0 ||
        H5Dwrite(matrix.dataset.get(), H5T_NATIVE_FLOAT, memory.get(), place.get(), H5P_DEFAULT,
                 values.data()) < 0) {
      fail(matrix.name);
    }
    matrix.rows += count;
  }

  void write_whole(const std::string& name, hid_t stored, hid_t memory, hsize_t count, const void* values) {
    const Hdf5Space space(H5Screate_simple(1, &count, nullptr));
    const Hdf5Properties properties(dataset_properties());
    const Hdf5Dataset dataset(
        H5Dcreate2(h5.get(), name.c_str(), stored, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT));
    if (!dataset) fail(name);
    if (count > 0 && H5Dwrite(dataset.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) fail(name);
  }

  AtomicFile file;
  Hdf5File h5;  // before the matrices, so that it is closed after them
  std::vector<Matrix> matrices;
};

Hdf5Writer::Hdf5Writer(const std::string& path) : state_(std::make_unique<State>(path)) {
  if (state_->file.direct()) {
    throw_usage(path + ": HDF5 is written to a regular file only", "give the name of a file");
  }
  quiet_hdf5();
  state_->h5 =
      Hdf5File(H5Fcreate(state_->file.written_path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  if (!state_->h5) state_->fail("the file");
}

Hdf5Writer::~Hdf5Writer() = default;

std::size_t Hdf5Writer::add_matrix(const std::string& name, std::int64_t columns) {
  if (columns <= 0) throw_runtime(fmt::format("{}: matrix {} has no columns", state_->file.path(), name));
  Matrix matrix;
  matrix.name = name;
  matrix.columns = static_cast<hsize_t>(columns);
  matrix.chunk_rows = static_cast<hsize_t>(std::clamp<std::int64_t>(chunk_bytes / (4 * columns), 1, 4096));
  const hsize_t shape[2] = {0, matrix.columns};
  const hsize_t longest[2] = {H5S_UNLIMITED, matrix.columns};
  const hsize_t chunk[2] = {matrix.chunk_rows, matrix.columns};
  const Hdf5Space space(H5Screate_simple(2, shape, longest));
  const Hdf5Properties properties(dataset_properties());
  H5Pset_chunk(properties.get(), 2, chunk);
  H5Pset_shuffle(properties.get());
  H5Pset_deflate(properties.get(), deflate_level);
  matrix.dataset = Hdf5Dataset(H5Dcreate2(state_->h5.get(), name.c_str(), H5T_IEEE_F32LE, space.get(),
                                          H5P_DEFAULT, properties.get(), H5P_DEFAULT));
  if (!matrix.dataset) state_->fail(name);
  state_->matrices.push_back(std::move(matrix));
  return state_->matrices.size() - 1;
}

void Hdf5Writer::append(std::size_t handle, std::span<const float> rows) {
  Matrix& matrix = state_->matrices.at(handle);
  if (rows.size() % matrix.columns != 0) {
    throw_runtime(fmt::format("{}: {}: not a whole number of rows", state_->file.path(), matrix.name));
  }
  // Whole chunks only, so that each is compressed once.
  const std::size_t whole = matrix.chunk_rows * matrix.columns;
  if (!matrix.pending.empty()) {
    const std::size_t taken = std::min(rows.size(), whole - matrix.pending.size());
    matrix.pending.insert(matrix.pending.end(), rows.begin(),
                          rows.begin() + static_cast<std::ptrdiff_t>(taken));
    rows = rows.subspan(taken);
    if (matrix.pending.size() < whole) return;
    state_->write_rows(matrix, matrix.pending);
    matrix.pending.clear();
  }
  const std::size_t direct = rows.size() / whole * whole;
  state_->write_rows(matrix, rows.first(direct));
  matrix.pending.assign(rows.begin() + static_cast<std::ptrdiff_t>(direct), rows.end());
}

void Hdf5Writer::write_strings(const std::string& name, const std::vector<std::string>& values) {
  std::vector<const char*> pointers;
  pointers.reserve(values.size());
  for (const std::string& value : values) pointers.push_back(value.c_str());
  const Hdf5Type type = hdf5_string_type();
  state_->write_whole(name, type.get(), type.get(), pointers.size(), pointers.data());
}

void Hdf5Writer::write_int64(const std::string& name, std::span<const std::int64_t> values) {
  state_->write_whole(name, H5T_STD_I64LE, H5T_NATIVE_INT64, values.size(), values.data());
}

void Hdf5Writer::attribute(const std::string& name, const std::string& value) {
  const Hdf5Type type = hdf5_string_type();
  const Hdf5Space space(H5Screate(H5S_SCALAR));
  const Hdf5Attribute attribute(
      H5Acreate2(state_->h5.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  const char* text = value.c_str();
  if (!attribute || H5Awrite(attribute.get(), type.get(), &text) < 0) state_->fail("attribute " + name);
}

void Hdf5Writer::commit() {
  for (Matrix& matrix : state_->matrices) {
    state_->write_rows(matrix, matrix.pending);
    matrix.pending.clear();
    if (!matrix.dataset.close()) state_->fail(matrix.name);
  }
  if (H5Fflush(state_->h5.get(), H5F_SCOPE_GLOBAL) < 0 || !state_->h5.close()) state_->fail("the file");
  state_->file.commit();
}

}  // namespace bigbird
