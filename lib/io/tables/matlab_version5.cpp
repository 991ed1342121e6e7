// MATLAB files of versions 5 to 7 through matio ("MAT-File Format", The MathWorks); see matlab_version5.h.
#include "lib/io/tables/matlab_version5.h"

#include <fmt/format.h>
#include <matio.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "lib/core/error.h"

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
  throw_bad_input(fmt::format("{}: {}: {}", path, text_for_message(name), what),
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
  // matio goes by this number: for 2 it would open an HDF5 file, and there links into other files.
  if (bytes[little ? 125 : 124] != 1 || bytes[little ? 124 : 125] != 0) {
    throw_damaged(file.path(), "MATLAB", "the number after the head is not the one of version 5");
  }
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

class MatioFile : public MatlabVersion5 {
 public:
  explicit MatioFile(const MappedFile& file) : path_(file.path()), largest_(check_version5(file)) {
    quiet_matio();
    mat_.reset(Mat_Open(path_.c_str(), MAT_ACC_RDONLY));
    if (!mat_) throw_damaged(path_, "MATLAB", "cannot be opened");
    while (const VariableHandle variable{Mat_VarReadNextInfo(mat_.get())}) {
      MatlabArray array;
      array.name = variable->name == nullptr ? "" : variable->name;
      if (variable->dims != nullptr) array.shape.assign(variable->dims, variable->dims + variable->rank);
      arrays_.push_back(std::move(array));
    }
  }

  const std::vector<MatlabArray>& arrays() const override { return arrays_; }

  std::vector<std::uint8_t> read(const MatlabArray& array) override {
    const VariableHandle variable(Mat_VarReadInfo(mat_.get(), array.name.c_str()));
    if (!variable) throw_damaged(path_, array.name, "cannot be read");
    if (variable->class_type != MAT_C_UINT8 || variable->isComplex != 0) {
      throw_damaged(path_, array.name, "is not an array of uint8");
    }
    std::int64_t elements = 1;
    bool possible = true;
    for (const std::int64_t size : array.shape) {
      possible = possible && size >= 0 && !__builtin_mul_overflow(elements, size, &elements);
    }
    if (!possible || static_cast<std::uint64_t>(elements) > largest_) {
      throw_damaged(path_, array.name,
                    fmt::format("extents {} in a file whose largest variable takes {} bytes",
                                fmt::join(array.shape, " x "), largest_));
    }
    if (elements > std::numeric_limits<int>::max()) {
      throw_bad_input(fmt::format("{}: {}: {} elements; files of version 5 are read up to 2^31 - 1", path_,
                                  text_for_message(array.name), elements),
                      "save it as version 7.3");
    }
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(elements), unread);
    if (elements > 0 && Mat_VarReadDataLinear(mat_.get(), variable.get(), bytes.data(), 0, 1,
                                              static_cast<int>(elements)) != 0) {
      throw_damaged(path_, array.name, "is damaged or cut short");
    }
    return bytes;
  }

 private:
  std::string path_;
  std::uint64_t largest_ = 0;  // bytes of the largest variable
  MatHandle mat_;
  std::vector<MatlabArray> arrays_;
};

}  // namespace

std::unique_ptr<MatlabVersion5> open_matlab_version5(const MappedFile& file) {
  return std::make_unique<MatioFile>(file);
}

}  // namespace bigbird
