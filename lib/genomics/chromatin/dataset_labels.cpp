// labels.npy: rows of bits behind a NumPy header; see dataset.h. Format: NEP 1 / numpy.lib.format.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/genomics/chromatin/dataset.h"

namespace bigbird {
namespace {

// Of what is written here: room for any shape, and a multiple of 64 as the format wants.
constexpr std::size_t written_header_size = 128;
constexpr std::size_t preamble_size = 10;  // magic, version, header length: version 1
constexpr std::size_t flush_size = 1 << 20;
constexpr const char* rebuild_hint = "make the data set again, or save the matrix as uint8 in C order";

std::size_t stride_of(std::size_t profiles) {
  return (profiles + 7) / 8;
}

std::string npy_header(std::size_t rows, std::size_t stride) {
  std::string text =
      fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({}, {}), }}", rows, stride);
  text.resize(written_header_size - preamble_size - 1, ' ');
  text += '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(text.size() & 0xff);
  start += static_cast<char>(text.size() >> 8);
  return start + text;
}

// What follows KEY in the header's dictionary, blanks skipped.
std::string_view value_of(std::string_view header, std::string_view key) {
  std::size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  at = header.find(':', at);
  if (at == std::string_view::npos) return {};
  at = header.find_first_not_of(' ', at + 1);
  return at == std::string_view::npos ? std::string_view() : header.substr(at);
}

// "(12, 3)..." -> {12, 3}.
std::optional<std::pair<std::size_t, std::size_t>> shape_of(std::string_view text) {
  std::pair<std::size_t, std::size_t> shape;
  if (text.empty() || text.front() != '(') return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto rows = std::from_chars(text.data() + 1, end, shape.first);
  if (rows.ec != std::errc()) return std::nullopt;
  const char* next = rows.ptr;
  while (next != end && (*next == ',' || *next == ' ')) ++next;
  const auto columns = std::from_chars(next, end, shape.second);
  if (columns.ec != std::errc() || columns.ptr == end || *columns.ptr != ')') return std::nullopt;
  return shape;
}

}  // namespace

LabelMatrix::LabelMatrix(const std::string& path, std::size_t rows, std::size_t profiles)
    : file_(path), rows_(rows), profiles_(profiles), stride_(stride_of(profiles)) {
  const std::string_view bytes(reinterpret_cast<const char*>(file_.data()), file_.size());
  const auto byte = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<std::uint8_t>(bytes[at]));
  };
  std::size_t header_begin = preamble_size, header_size = 0;
  if (bytes.size() >= 12 && bytes.starts_with("\x93NUMPY")) {
    header_size = byte(8) | byte(9) << 8;
    if (byte(6) > 1) {  // versions 2 and 3: a length of four bytes
      header_size |= byte(10) << 16 | byte(11) << 24;
      header_begin = 12;
    }
  }
  if (header_size == 0 || header_size > bytes.size() - header_begin) {
    throw_bad_input(path + ": not a .npy file", rebuild_hint);
  }
  const std::string_view header = bytes.substr(header_begin, header_size);
  const std::string_view type = value_of(header, "'descr'");
  const auto shape = shape_of(value_of(header, "'shape'"));
  if (!(type.starts_with("'|u1'") || type.starts_with("'u1'")) ||
      !value_of(header, "'fortran_order'").starts_with("False") || !shape) {
    throw_bad_input(path + ": not a matrix of uint8 in C order", rebuild_hint);
  }
  if (shape->first != rows || shape->second != stride_) {
    throw_bad_input(fmt::format("{}: {} rows of {} bytes, where {} bins and {} profiles take {} of {}", path,
                                shape->first, shape->second, rows, profiles, rows, stride_),
                    "labels.npy, bins.bed.gz and profiles.tsv must come from the same build");
  }
  offset_ = header_begin + header_size;
  // The product cannot overflow: rows are lines of a file that was read, the stride comes from another.
  if (bytes.size() - offset_ != rows * stride_) {
    throw_bad_input(
        fmt::format("{}: {} bytes of labels where {} are due", path, bytes.size() - offset_, rows * stride_),
        "the file was cut short or has grown; make the data set again");
  }
}

std::span<const std::uint8_t> LabelMatrix::row(std::size_t row) const {
  return {reinterpret_cast<const std::uint8_t*>(file_.data()) + offset_ + row * stride_, stride_};
}

bool LabelMatrix::at(std::size_t row_index, std::size_t profile) const {
  return (row(row_index)[profile / 8] >> (profile % 8) & 1) != 0;
}

void LabelMatrix::unpack(std::size_t row_index, std::span<float> out) const {
  const std::span<const std::uint8_t> packed = row(row_index);
  if (out.size() != profiles_) throw_runtime("a row of labels is unpacked into another number of profiles");
  for (std::size_t k = 0; k < profiles_; ++k) out[k] = static_cast<float>(packed[k / 8] >> (k % 8) & 1);
}

LabelMatrixWriter::LabelMatrixWriter(const std::string& path, std::size_t profiles)
    : file_(path), stride_(stride_of(profiles)), header_size_(written_header_size) {
  buffer_.reserve(flush_size + stride_);
  const std::string room = npy_header(0, stride_);
  file_.write(room.data(), room.size());
}

void LabelMatrixWriter::write(std::span<const std::uint8_t> packed_row) {
  if (packed_row.size() != stride_) throw_runtime(file_.path() + ": a row of labels of another size");
  buffer_.append(reinterpret_cast<const char*>(packed_row.data()), packed_row.size());
  ++rows_;
  if (buffer_.size() >= flush_size) flush();
}

void LabelMatrixWriter::flush() {
  file_.write(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void LabelMatrixWriter::commit() {
  flush();
  const std::string header = npy_header(rows_, stride_);
  if (pwrite(file_.descriptor(), header.data(), header.size(), 0) != static_cast<ssize_t>(header_size_)) {
    throw_runtime(file_.path() + ": cannot write its header", "check the space left on the disk");
  }
  file_.commit();
}

}  // namespace bigbird
