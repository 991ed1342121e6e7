// MATLAB files; see matlab.h. Version 5: "MAT-File Format", The MathWorks; through matio.
#include "lib/io/tables/matlab.h"

#include <fmt/format.h>
#include <matio.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <string_view>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/hdf5.h"

namespace bigbird {
namespace {

struct CloseMat {
  void operator()(mat_t* file) const { Mat_Close(file); }
};
using MatHandle = std::unique_ptr<mat_t, CloseMat>;
struct FreeVariable {
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};
using VariableHandle = std::unique_ptr<matvar_t, FreeVariable>;

// matio prints its complaints, and ends the process after some, unless it is given another listener.
void quiet_matio() {
  static std::once_flag once;
  std::call_once(once, [] { Mat_LogInitFunc("bigbird", [](int, char*) {}); });
}

[[noreturn]] void throw_damaged(const std::string& path, const std::string& name, const std::string& what) {
  throw_bad_input(fmt::format("{}: {}: {}", path, name, what),
                  "check that the file is complete (its size and checksum), and fetch it again");
}

// matio gives stale bytes for what is cut off or damaged, and no error. So the file is walked first: its
// elements must end where it ends, and every compressed one must unpack to its end with the right checksum.
// Returns the bytes of the largest one, unpacked: no variable has more.
std::uint64_t check_version5(const MappedFile& file) {
  constexpr std::size_t header = 128, tag = 8;
  constexpr std::uint32_t compressed = 15;
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  const auto damaged = [&] { throw_damaged(file.path(), "MATLAB", "the file is damaged or cut short"); };
  if (file.size() < header) damaged();
  const bool little = bytes[126] == 'I';
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | bytes[at + (little ? 3 - i : i)];
    return value;
  };
  std::vector<unsigned char> unpacked(std::size_t{1} << 20);
  std::uint64_t largest = 0;
  for (std::size_t at = header; at < file.size();) {
    if (file.size() - at < tag) damaged();
    const std::uint32_t type = number(at), size = number(at + 4);
    at += tag;
    if (file.size() - at < size) damaged();
    std::uint64_t bytes_inside = size;
    if (type == compressed) {
      z_stream stream{};
      if (inflateInit(&stream) != Z_OK) throw_runtime(file.path() + ": no memory to unpack it");
      stream.next_in = const_cast<unsigned char*>(bytes + at);
      stream.avail_in = size;
      int state = Z_OK;
      while (state == Z_OK) {
        stream.next_out = unpacked.data();
        stream.avail_out = static_cast<unsigned>(unpacked.size());
        state = inflate(&stream, Z_NO_FLUSH);
      }
      bytes_inside = stream.total_out;
      inflateEnd(&stream);
      if (state != Z_STREAM_END) damaged();
    }
    largest = std::max(largest, bytes_inside);
    at += size;
  }
  return largest;
}

// A byte that no variable of zeros and ones holds: elements that were not read keep it.
constexpr std::uint8_t unread = 0xff;

}  // namespace

struct MatlabFile::State {
  std::string path;
  std::vector<MatlabArray> arrays;
  std::unique_ptr<Hdf5Reader> hdf5;  // this or mat
  MatHandle mat;
  std::uint64_t largest = 0;  // bytes of the largest variable of a version 5 file
  std::string loaded;         // the variable of a version 5 file that is in memory
  std::vector<std::uint8_t> bytes;

  const MatlabArray& find(const std::string& name) const {
    for (const MatlabArray& array : arrays) {
      if (array.name == name) return array;
    }
    throw_bad_input(fmt::format("{}: no variable {}", path, name), "check that it is the file you mean");
  }

  void open_version5() {
    mat.reset(Mat_Open(path.c_str(), MAT_ACC_RDONLY));
    if (!mat) throw_damaged(path, "MATLAB", "cannot be opened");
    while (const VariableHandle variable{Mat_VarReadNextInfo(mat.get())}) {
      MatlabArray array;
      array.name = variable->name == nullptr ? "" : variable->name;
      if (variable->dims != nullptr) array.shape.assign(variable->dims, variable->dims + variable->rank);
      arrays.push_back(std::move(array));
    }
  }

  void load(const std::string& name) {
    if (loaded == name) return;
    loaded.clear();
    bytes = {};
    const VariableHandle variable(Mat_VarReadInfo(mat.get(), name.c_str()));
    if (!variable) throw_damaged(path, name, "cannot be read");
    if (variable->class_type != MAT_C_UINT8 || variable->isComplex != 0) {
      throw_damaged(path, name, "is no array of uint8");
    }
    std::int64_t elements = 1;
    bool possible = true;
    for (const std::int64_t size : find(name).shape) {
      possible = possible && size >= 0 && !__builtin_mul_overflow(elements, size, &elements);
    }
    if (!possible || static_cast<std::uint64_t>(elements) > largest) {
      throw_damaged(path, name,
                    fmt::format("extents {} in a file whose largest variable takes {} bytes",
                                fmt::join(find(name).shape, " x "), largest));
    }
    if (elements > std::numeric_limits<int>::max()) {
      throw_bad_input(fmt::format("{}: {}: {} elements; files of version 5 are read up to 2^31 - 1", path,
                                  name, elements),
                      "save it as version 7.3");
    }
    bytes.assign(static_cast<std::size_t>(elements), unread);
    if (elements > 0 && Mat_VarReadDataLinear(mat.get(), variable.get(), bytes.data(), 0, 1,
                                              static_cast<int>(elements)) != 0) {
      throw_damaged(path, name, "is damaged or cut short");
    }
    loaded = name;
  }
};

MatlabFile::MatlabFile(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  const MappedFile file(path);
  const std::string_view head(reinterpret_cast<const char*>(file.data()), file.size());
  if (head.starts_with("MATLAB 5.0")) {
    quiet_matio();
    state_->largest = check_version5(file);
    state_->open_version5();
  } else {
    state_->hdf5 = std::make_unique<Hdf5Reader>(path);
    for (const std::string& name : state_->hdf5->names()) {
      MatlabArray array{name, state_->hdf5->shape(name)};
      std::reverse(array.shape.begin(), array.shape.end());
      state_->arrays.push_back(std::move(array));
    }
  }
  std::sort(state_->arrays.begin(), state_->arrays.end(),
            [](const MatlabArray& a, const MatlabArray& b) { return a.name < b.name; });
}

MatlabFile::~MatlabFile() = default;
MatlabFile::MatlabFile(MatlabFile&&) noexcept = default;
MatlabFile& MatlabFile::operator=(MatlabFile&&) noexcept = default;

const std::string& MatlabFile::path() const {
  return state_->path;
}

bool MatlabFile::by_slabs() const {
  return state_->hdf5 != nullptr;
}

const std::vector<MatlabArray>& MatlabFile::arrays() const {
  return state_->arrays;
}

std::int64_t MatlabFile::rows_per_chunk(const std::string& name) const {
  return by_slabs() ? state_->hdf5->chunk_of_last_axis(name) : 0;
}

void MatlabFile::read_rows(const std::string& name, std::int64_t begin, std::int64_t end,
                           std::vector<std::uint8_t>& out) {
  if (by_slabs()) {
    state_->hdf5->read_slab(name, begin, end, out);
    return;
  }
  const std::vector<std::int64_t>& shape = state_->find(name).shape;
  if (begin < 0 || end < begin || shape.empty() || end > shape.front()) {
    throw_bad_input(fmt::format("{}: {} has no rows {}-{}", state_->path, name, begin, end));
  }
  state_->load(name);
  const std::int64_t rows = shape.front(), count = end - begin;
  const auto columns = rows == 0 ? 0 : static_cast<std::int64_t>(state_->bytes.size()) / rows;
  out.resize(static_cast<std::size_t>(columns * count));
  for (std::int64_t column = 0; column < columns; ++column) {
    std::copy_n(state_->bytes.begin() + static_cast<std::ptrdiff_t>(column * rows + begin), count,
                out.begin() + static_cast<std::ptrdiff_t>(column * count));
  }
}

}  // namespace bigbird
