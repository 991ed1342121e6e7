// MATLAB files of both kinds; see matlab.h.
#include "lib/io/tables/matlab.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/hdf5.h"
#include "lib/io/tables/matlab_version5.h"

namespace bigbird {

struct MatlabFile::State {
  std::string path;
  std::vector<MatlabArray> arrays;
  std::unique_ptr<Hdf5Reader> hdf5;  // this or version5
  std::unique_ptr<MatlabVersion5> version5;
  std::string loaded;  // the variable of a version 5 file that is in memory
  std::vector<std::uint8_t> bytes;

  const MatlabArray& find(const std::string& name) const {
    for (const MatlabArray& array : arrays) {
      if (array.name == name) return array;
    }
    throw_bad_input(fmt::format("{}: no variable {}", path, name), "check that it is the file you mean");
  }

  void load(const MatlabArray& array) {
    if (loaded == array.name) return;
    loaded.clear();
    bytes = {};  // before the next variable takes its memory
    bytes = version5->read(array);
    loaded = array.name;
  }
};

MatlabFile::MatlabFile(const std::string& path) : state_(std::make_unique<State>()) {
  state_->path = path;
  const MappedFile file(path);
  const std::string_view head(reinterpret_cast<const char*>(file.data()), file.size());
  if (head.starts_with("MATLAB 5.0")) {
    state_->version5 = open_matlab_version5(file);
    state_->arrays = state_->version5->arrays();
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
  const auto twin =
      std::adjacent_find(state_->arrays.begin(), state_->arrays.end(),
                         [](const MatlabArray& a, const MatlabArray& b) { return a.name == b.name; });
  if (twin != state_->arrays.end()) {  // their bytes are asked for by name
    throw_bad_input(fmt::format("{}: two variables are named '{}'", path, text_for_message(twin->name)),
                    "save it again: MATLAB writes every variable once");
  }
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
  const MatlabArray& array = state_->find(name);
  const std::vector<std::int64_t>& shape = array.shape;
  if (begin < 0 || end < begin || shape.empty() || end > shape.front()) {
    throw_bad_input(fmt::format("{}: {} has no rows {}-{}", state_->path, text_for_message(name), begin, end),
                    "check that it is the file you mean");
  }
  state_->load(array);
  const std::int64_t rows = shape.front(), count = end - begin;
  const auto columns = rows == 0 ? 0 : static_cast<std::int64_t>(state_->bytes.size()) / rows;
  out.resize(static_cast<std::size_t>(columns * count));
  for (std::int64_t column = 0; column < columns; ++column) {
    std::copy_n(state_->bytes.begin() + static_cast<std::ptrdiff_t>(column * rows + begin), count,
                out.begin() + static_cast<std::ptrdiff_t>(column * count));
  }
}

}  // namespace bigbird
