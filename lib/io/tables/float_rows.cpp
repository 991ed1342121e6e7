// Matrices written row by row; see float_rows.h.
#include "lib/io/tables/float_rows.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"

namespace bigbird {
namespace {

std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

}  // namespace

FloatRowsWriter::FloatRowsWriter(const std::string& path, std::int64_t columns,
                                 std::map<std::string, std::string> metadata, std::string name)
    : columns_(columns), name_(std::move(name)), metadata_(std::move(metadata)) {
  npy_ = has_suffix(path, ".npy");
  if (has_suffix(path, ".h5") || has_suffix(path, ".hdf5")) {
    hdf5_ = std::make_unique<Hdf5Writer>(path);
    hdf5_->add_matrix(name_, columns_);
    for (const auto& [key, value] : metadata_) hdf5_->attribute(key, value);
    return;
  }
  if (!npy_ && !has_suffix(path, ".safetensors")) {
    throw_usage(path + ": a matrix is written as .npy, .safetensors or .h5", "give a name that ends so");
  }
  file_ = std::make_unique<AtomicFile>(path);
  // The longest header there can be, in whole lines of 64 bytes, as .npy wants its data aligned.
  const std::size_t longest = header(std::numeric_limits<std::int64_t>::max() / 4 / columns).size() + 10;
  header_size_ = (longest + 63) / 64 * 64;
  const std::string room(header_size_, ' ');
  file_->write(room.data(), room.size());
}

void FloatRowsWriter::write(std::span<const float> rows) {
  const auto columns = static_cast<std::size_t>(columns_);
  if (rows.size() % columns != 0) throw_runtime(name_ + ": not a whole number of rows");
  if (hdf5_) {
    hdf5_->append(0, rows);
  } else {
    file_->write(rows.data(), rows.size_bytes());
  }
  rows_ += static_cast<std::int64_t>(rows.size() / columns);
}

std::string FloatRowsWriter::header(std::int64_t rows) const {
  if (npy_) {
    return fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns_);
  }
  nlohmann::json tensor;
  tensor["dtype"] = "F32";
  tensor["shape"] = {rows, columns_};
  tensor["data_offsets"] = {0, rows * columns_ * 4};
  nlohmann::json json;
  json[name_] = tensor;
  if (!metadata_.empty()) json["__metadata__"] = metadata_;
  return json_text(json);
}

void FloatRowsWriter::commit() {
  if (hdf5_) {
    hdf5_->commit();
    return;
  }
  std::string text = header(rows_);
  if (npy_) {
    const std::size_t body = header_size_ - 10;
    text.resize(body - 1, ' ');
    text = std::string("\x93NUMPY\x01\x00", 8) + little_endian(body, 2) + text + '\n';
  } else {
    text.resize(header_size_ - 8, ' ');
    text = little_endian(text.size(), 8) + text;
  }
  const ssize_t written = pwrite(file_->descriptor(), text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) {
    throw_runtime(fmt::format("{}: cannot write the header ({})", file_->path(), std::strerror(errno)),
                  "vectors go to a regular file on a disk with room");
  }
  file_->commit();
}

}  // namespace bigbird
