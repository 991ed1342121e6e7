// Reading HDF5 through its library; see hdf5_library.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/hdf5_library.h"

namespace bigbird {
namespace {

// Deflate makes at most 1032 bytes of one, and strings of variable length take 16 bytes: an array that is
// much larger than its file allows is a damaged number, and no memory is taken for it.
constexpr hsize_t most_expansion = 1100;
constexpr hsize_t always_allowed = hsize_t{1} << 24;

// Room for the chunks of a slab that a read touches more than once.
constexpr std::size_t cache_bytes = std::size_t{64} << 20;

// Links may lead to other files. None is opened: what is read is the file that was named.
void stay_in_file(const Hdf5Properties& access) {
  H5Pset_elink_cb(
      access.get(),
      [](const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) -> herr_t {
        return -1;
      },
      nullptr);
}

std::string unread_reason() {
  return "cannot be read, or holds a value that its reader's type does not: " + hdf5_reason();
}

// Of a value that the asked type does not hold, HDF5 makes the nearest one without a word: of a byte 255 for
// 300 and 0 for -1, of an integer 0 for 0.5. With this the read fails. Infinities and NaN of floats, and the
// rounding of integers to floats, are as they are.
Hdf5Properties exact_transfer() {
  Hdf5Properties transfer(H5Pcreate(H5P_DATASET_XFER));
  H5Pset_type_conv_cb(
      transfer.get(),
      [](H5T_conv_except_t what, hid_t, hid_t to, void*, void*, void*) -> H5T_conv_ret_t {
        const bool is_special =
            what == H5T_CONV_EXCEPT_PINF || what == H5T_CONV_EXCEPT_NINF || what == H5T_CONV_EXCEPT_NAN;
        if (what == H5T_CONV_EXCEPT_PRECISION || (is_special && H5Tget_class(to) == H5T_FLOAT))
          return H5T_CONV_UNHANDLED;
        return H5T_CONV_ABORT;
      },
      nullptr);
  return transfer;
}

template <typename Value>
std::string bytes_of(const std::vector<Value>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

}  // namespace

struct Hdf5Library::State {
  std::string path;
  std::size_t file_bytes = 0;
  Hdf5File h5;

  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    throw_bad_input(fmt::format("{}: {}: {}", path, text_for_message(name), what),
                    "h5ls -v shows what the file holds; fetch it again if it is damaged");
  }

  Hdf5Dataset open(const std::string& name) const {
    const Hdf5Properties properties(H5Pcreate(H5P_DATASET_ACCESS));
    H5Pset_chunk_cache(properties.get(), 10007, cache_bytes, 1.0);
    stay_in_file(properties);
    Hdf5Dataset dataset(H5Dopen2(h5.get(), name.c_str(), properties.get()));
    if (!dataset) {
      H5Eclear2(H5E_DEFAULT);
      fail(name, "no such dataset");
    }
    const Hdf5Properties stored(H5Dget_create_plist(dataset.get()));
    if (H5Pget_external_count(stored.get()) != 0 || H5Pget_layout(stored.get()) == H5D_VIRTUAL) {
      fail(name, "its values are in other files, which are not read");
    }
    return dataset;
  }

  std::vector<hsize_t> extents(const std::string& name, const Hdf5Dataset& dataset) const {
    const Hdf5Space space(H5Dget_space(dataset.get()));
    const int rank = H5Sget_simple_extent_ndims(space.get());
    std::vector<hsize_t> sizes(static_cast<std::size_t>(std::max(rank, 0)));
    if (!sizes.empty()) H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr);
    hsize_t bytes = 1;
    const bool empty = std::find(sizes.begin(), sizes.end(), hsize_t{0}) != sizes.end();
    for (const hsize_t size : sizes) {
      const bool fits = size <= static_cast<hsize_t>(std::numeric_limits<std::int64_t>::max());
      if (!fits || (!empty && __builtin_mul_overflow(bytes, size, &bytes))) {
        fail(name, fmt::format("impossible extents ({})", fmt::join(sizes, " x ")));
      }
    }
    const Hdf5Type stored(H5Dget_type(dataset.get()));
    const bool lies = __builtin_mul_overflow(bytes, H5Tget_size(stored.get()), &bytes) ||
                      (bytes > always_allowed && bytes / most_expansion > file_bytes);
    if (!empty && lies) {
      fail(name, fmt::format("extents {} in a file of {} bytes", fmt::join(sizes, " x "), file_bytes));
    }
    // The library reads past the end of an array in one piece that is shorter than its extents.
    const Hdf5Properties properties(H5Dget_create_plist(dataset.get()));
    const hsize_t held = H5Dget_storage_size(dataset.get());
    const bool fixed = H5Tis_variable_str(stored.get()) <= 0;  // a string takes more room than its pointer
    if (!empty && H5Pget_layout(properties.get()) != H5D_CHUNKED && held != 0 &&
        (fixed ? held != bytes : held < bytes)) {
      fail(name,
           fmt::format("extents {} take {} bytes, {} are stored", fmt::join(sizes, " x "), bytes, held));
    }
    return sizes;
  }

  std::size_t elements(const std::string& name, const Hdf5Dataset& dataset) const {
    std::size_t count = 1;
    for (const hsize_t size : extents(name, dataset)) count *= static_cast<std::size_t>(size);
    return count;
  }

  // The whole dataset in memory type `type`.
  template <typename Value>
  std::vector<Value> whole(const std::string& name, hid_t type) const {
    const Hdf5Dataset dataset = open(name);
    const Hdf5Type stored(H5Dget_type(dataset.get()));
    const H5T_class_t kind = H5Tget_class(stored.get());
    if (kind != H5T_INTEGER && kind != H5T_FLOAT) fail(name, "holds no numbers");
    std::vector<Value> values(elements(name, dataset));
    const Hdf5Properties transfer = exact_transfer();
    if (!values.empty() &&
        H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, transfer.get(), values.data()) < 0) {
      fail(name, unread_reason());
    }
    return values;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> links;
    H5Literate(
        h5.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr,
        [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
          static_cast<std::vector<std::string>*>(out)->emplace_back(name);
          return 0;
        },
        &links);
    std::vector<std::string> found;
    const Hdf5Properties access(H5Pcreate(H5P_LINK_ACCESS));
    stay_in_file(access);
    for (const std::string& name : links) {
      const hid_t object = H5Oopen(h5.get(), name.c_str(), access.get());
      if (object < 0) continue;
      if (H5Iget_type(object) == H5I_DATASET) found.push_back(name);
      H5Oclose(object);
    }
    H5Eclear2(H5E_DEFAULT);
    return found;
  }

  std::vector<std::int64_t> shape(const std::string& name) const {
    const std::vector<hsize_t> sizes = extents(name, open(name));
    return {sizes.begin(), sizes.end()};
  }

  std::int64_t chunk_of_last_axis(const std::string& name) const {
    const Hdf5Dataset dataset = open(name);
    std::vector<hsize_t> chunk(extents(name, dataset).size());
    const Hdf5Properties properties(H5Dget_create_plist(dataset.get()));
    if (chunk.empty() || H5Pget_layout(properties.get()) != H5D_CHUNKED) return 0;
    H5Pget_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data());
    return static_cast<std::int64_t>(chunk.back());
  }

  std::vector<std::uint8_t> slab(const std::string& name, std::int64_t begin, std::int64_t end) const {
    const Hdf5Dataset dataset = open(name);
    const Hdf5Type stored(H5Dget_type(dataset.get()));
    if (H5Tget_class(stored.get()) != H5T_INTEGER) fail(name, "holds no integers");
    std::vector<hsize_t> sizes = extents(name, dataset);
    if (sizes.empty() || begin < 0 || end < begin || static_cast<hsize_t>(end) > sizes.back()) {
      fail(name, fmt::format("holds no elements {}-{}", begin, end));
    }
    std::vector<hsize_t> first(sizes.size(), 0);
    first.back() = static_cast<hsize_t>(begin);
    sizes.back() = static_cast<hsize_t>(end - begin);
    hsize_t count = 1;
    for (const hsize_t size : sizes) count *= size;
    std::vector<std::uint8_t> out(count);
    if (count == 0) return out;
    const Hdf5Space place(H5Dget_space(dataset.get()));
    const Hdf5Properties transfer = exact_transfer();
    const Hdf5Space memory(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr));
    if (H5Sselect_hyperslab(place.get(), H5S_SELECT_SET, first.data(), nullptr, sizes.data(), nullptr) < 0 ||
        H5Dread(dataset.get(), H5T_NATIVE_UINT8, memory.get(), place.get(), transfer.get(), out.data()) < 0) {
      fail(name, unread_reason());
    }
    return out;
  }

  std::vector<float> rows(const std::string& name, std::int64_t begin, std::int64_t end) const {
    const Hdf5Dataset dataset = open(name);
    const Hdf5Type stored(H5Dget_type(dataset.get()));
    if (H5Tget_class(stored.get()) != H5T_FLOAT) fail(name, "holds no floating-point numbers");
    std::vector<hsize_t> sizes = extents(name, dataset);
    if (sizes.size() != 2 || begin < 0 || end < begin || static_cast<hsize_t>(end) > sizes[0])
      fail(name, fmt::format("is not a matrix with rows {}-{}", begin, end));
    const std::array<hsize_t, 2> first{static_cast<hsize_t>(begin), 0};
    sizes[0] = static_cast<hsize_t>(end - begin);
    std::vector<float> out(sizes[0] * sizes[1]);
    if (out.empty()) return out;
    const Hdf5Space place(H5Dget_space(dataset.get()));
    const Hdf5Properties transfer = exact_transfer();
    const Hdf5Space memory(H5Screate_simple(2, sizes.data(), nullptr));
    if (H5Sselect_hyperslab(place.get(), H5S_SELECT_SET, first.data(), nullptr, sizes.data(), nullptr) < 0 ||
        H5Dread(dataset.get(), H5T_NATIVE_FLOAT, memory.get(), place.get(), transfer.get(), out.data()) < 0) {
      fail(name, unread_reason());
    }
    return out;
  }

  std::vector<std::string> strings(const std::string& name) const {
    const Hdf5Dataset dataset = open(name);
    const Hdf5Type stored(H5Dget_type(dataset.get()));
    if (H5Tis_variable_str(stored.get()) <= 0) fail(name, "holds no strings of variable length");
    std::vector<char*> pointers(elements(name, dataset));
    std::vector<std::string> values;
    if (pointers.empty()) return values;
    if (H5Dread(dataset.get(), stored.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()) < 0) {
      fail(name, "cannot be read: " + hdf5_reason());
    }
    values.reserve(pointers.size());
    for (const char* text : pointers) values.emplace_back(text == nullptr ? "" : text);
    const Hdf5Space space(H5Dget_space(dataset.get()));
    H5Dvlen_reclaim(stored.get(), space.get(), H5P_DEFAULT, pointers.data());
    return values;
  }

  std::string attribute(const std::string& name) const {
    if (H5Aexists(h5.get(), name.c_str()) <= 0) return {};
    const Hdf5Attribute attribute(H5Aopen(h5.get(), name.c_str(), H5P_DEFAULT));
    const Hdf5Type type = hdf5_string_type();
    const Hdf5Space space(attribute ? H5Aget_space(attribute.get()) : -1);
    char* text = nullptr;  // for one string: the library would write as many as the attribute has
    if (!attribute || H5Sget_simple_extent_npoints(space.get()) != 1 ||
        H5Aread(attribute.get(), type.get(), &text) < 0) {
      fail("attribute " + name, "is not a single string of variable length");
    }
    const std::string value = text == nullptr ? "" : text;
    H5free_memory(text);
    return value;
  }
};

Hdf5Library::Hdf5Library(const std::string& path) : state_(std::make_unique<State>()) {
  quiet_hdf5();
  state_->path = path;
  state_->file_bytes = MappedFile(path).size();  // a missing file is said as everywhere
  const Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_file_locking(access.get(), false, true);  // locks fail on some network file systems
  state_->h5 = Hdf5File(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
  if (!state_->h5) {
    throw_bad_input(fmt::format("{}: not a whole HDF5 file: {}", path, hdf5_reason()),
                    "check that the path is right and that the file is complete");
  }
}

Hdf5Library::~Hdf5Library() = default;

std::string Hdf5Library::answer(const Hdf5Request& request, const std::string& name) const {
  switch (request.what) {
    case Hdf5Question::open:
      return {};
    case Hdf5Question::names:
      return bytes_of_texts(state_->names());
    case Hdf5Question::shape:
      return bytes_of(state_->shape(name));
    case Hdf5Question::chunk_of_last_axis:
      return bytes_of(std::vector<std::int64_t>{state_->chunk_of_last_axis(name)});
    case Hdf5Question::slab:
      return bytes_of(state_->slab(name, request.begin, request.end));
    case Hdf5Question::floats:
      return bytes_of(state_->whole<float>(name, H5T_NATIVE_FLOAT));
    case Hdf5Question::rows:
      return bytes_of(state_->rows(name, request.begin, request.end));
    case Hdf5Question::integers:
      return bytes_of(state_->whole<std::int64_t>(name, H5T_NATIVE_INT64));
    case Hdf5Question::strings:
      return bytes_of_texts(state_->strings(name));
    case Hdf5Question::attribute:
      return state_->attribute(name);
  }
  return {};
}

std::string bytes_of_texts(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) {
    const std::uint64_t size = text.size();
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes += text;
  }
  return bytes;
}

}  // namespace bigbird
