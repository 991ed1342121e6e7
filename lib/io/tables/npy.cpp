// .npy files; see npy.h. Format: NEP 1 / numpy.lib.format.
#include "lib/io/tables/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/files/file.h"

namespace bigbird {

static_assert(std::endian::native == std::endian::little, "the file formats here are little-endian");

void write_npy(const std::string& path, std::span<const float> values,
               const std::vector<std::int64_t>& shape) {
  std::uint64_t elements = 1;
  std::string axes;
  for (const std::int64_t size : shape) {
    elements *= static_cast<std::uint64_t>(size);
    axes += fmt::format("{},", size);
  }
  if (elements != values.size()) {
    throw_runtime(fmt::format("{}: {} values do not fill the shape ({})", path, values.size(), axes));
  }
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", axes);
  constexpr std::size_t preamble = 10;  // magic, version, header length
  while ((preamble + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  if (header.size() > 0xffff) throw_runtime(fmt::format("{}: too many axes for a .npy file", path));
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(header.size() & 0xff);
  start += static_cast<char>(header.size() >> 8);
  start += header;
  AtomicFile file(path);
  file.write(start.data(), start.size());
  file.write(values.data(), values.size_bytes());
  file.commit();
}

namespace {

[[noreturn]] void bad_header(const std::string& path, const std::string& what) {
  throw_bad_input(fmt::format("{}: {}", path, what),
                  "numpy.save writes such files; a matrix of float32, float64, uint8 or bool is read");
}

// The text after 'key': in the header, which is a Python dictionary.
std::string_view value_of(std::string_view header, std::string_view key, const std::string& path) {
  const std::string quoted = fmt::format("'{}':", key);
  const std::size_t found = header.find(quoted);
  if (found == std::string_view::npos) bad_header(path, fmt::format("no {} in the .npy header", key));
  std::string_view rest = header.substr(found + quoted.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

std::vector<std::size_t> parse_shape(std::string_view text, const std::string& path) {
  std::vector<std::size_t> shape;
  const std::size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) bad_header(path, "no shape in the header");
  text = text.substr(1, close - 1);
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) return shape;
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc()) bad_header(path, "a shape that is not of whole numbers");
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    shape.push_back(size);
  }
}

template <typename Stored>
void gather_as(const std::byte* values, std::size_t row_stride, std::size_t column_stride, std::size_t begin,
               std::size_t end, std::span<const std::uint32_t> rows, std::size_t stride, double* out) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::byte* from = values + (rows[i] * row_stride + begin * column_stride) * sizeof(Stored);
    for (std::size_t column = 0; column < end - begin; ++column) {
      Stored value;
      std::memcpy(&value, from + column * column_stride * sizeof(Stored), sizeof(Stored));
      out[column * stride + i] = static_cast<double>(value);
    }
  }
}

NpyHeader header_of(const MappedFile& file) {
  const std::string& path = file.path();
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  if (bytes.size() < 12 || !bytes.starts_with("\x93NUMPY")) bad_header(path, "not a .npy file");
  const auto little = [&](std::size_t at, std::size_t count) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      value |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    }
    return value;
  };
  const std::size_t preamble = bytes[6] == 1 ? 10 : 12;
  const std::size_t length = little(8, preamble - 8);
  if (length > bytes.size() - preamble) bad_header(path, "the .npy header is cut short");
  const std::string_view text = bytes.substr(preamble, length);

  NpyHeader header;
  const std::string_view descr = value_of(text, "descr", path);
  header.type = std::string(descr.substr(0, descr.find(',')));
  if (header.type == "'<f4'") {
    header.width = 4;
  } else if (header.type == "'<f8'") {
    header.width = 8;
  } else if (header.type != "'|u1'" && header.type != "'|b1'") {
    // Only what numpy writes there is repeated: a message is one line.
    const bool plain = header.type.size() < 20 && std::all_of(header.type.begin(), header.type.end(),
                                                              [](char c) { return c >= ' ' && c <= '~'; });
    bad_header(path, fmt::format("values of type {} are not read", plain ? header.type : "unknown"));
  }
  header.type = header.type.substr(1, header.type.size() - 2);
  header.shape = parse_shape(value_of(text, "shape", path), path);
  header.fortran = value_of(text, "fortran_order", path).starts_with("True");
  header.begin = preamble + length;
  return header;
}

// Error{bad_input} for a file that is not as large as its header says.
void check_size(const MappedFile& file, const NpyHeader& header) {
  std::size_t wanted = header.width;
  bool fits = true;
  for (const std::size_t axis : header.shape) {
    fits = fits && (axis == 0 || wanted <= std::numeric_limits<std::size_t>::max() / axis);
    wanted *= axis;
  }
  const std::size_t stored = file.size() - header.begin;
  if (fits && stored == wanted) return;
  throw_bad_input(fmt::format("{}: {} bytes of values where {} of type {} belong", file.path(), stored,
                              fmt::join(header.shape, " x "), header.type),
                  "the file was cut short or something was appended to it");
}

}  // namespace

NpyHeader read_npy_header(const std::string& path) {
  const MappedFile file(path);
  NpyHeader header = header_of(file);
  check_size(file, header);
  return header;
}

NpyMatrix::NpyMatrix(const std::string& path) : file_(path) {
  const NpyHeader header = header_of(file_);
  type_name_ = header.type;
  if (header.width > 1) type_ = header.width == 4 ? Type::float32 : Type::float64;
  if (header.shape.empty() || header.shape.size() > 2) {
    bad_header(path, fmt::format("an array of {} axes, not a matrix", header.shape.size()));
  }
  rows_ = header.shape[0];
  columns_ = header.shape.size() == 2 ? header.shape[1] : 1;
  row_stride_ = header.fortran ? 1 : columns_;
  column_stride_ = header.fortran ? rows_ : 1;
  check_size(file_, header);
  values_ = file_.data() + header.begin;
}

double NpyMatrix::number(std::size_t row, std::size_t column) const {
  const std::uint32_t rows[] = {0};
  double value = 0;
  const auto read = [&](auto stored) {
    using Stored = decltype(stored);
    gather_as<Stored>(values_ + (row * row_stride_ + column * column_stride_) * sizeof(Stored), 0, 0, 0, 1,
                      rows, 1, &value);
  };
  if (type_ == Type::float32) read(float{});
  if (type_ == Type::float64) read(double{});
  if (type_ == Type::uint8) read(std::uint8_t{});
  return value;
}

void NpyMatrix::gather(std::size_t begin, std::size_t end, std::span<const std::uint32_t> rows,
                       std::size_t stride, double* out) const {
  switch (type_) {
    case Type::float32:
      return gather_as<float>(values_, row_stride_, column_stride_, begin, end, rows, stride, out);
    case Type::float64:
      return gather_as<double>(values_, row_stride_, column_stride_, begin, end, rows, stride, out);
    case Type::uint8:
      return gather_as<std::uint8_t>(values_, row_stride_, column_stride_, begin, end, rows, stride, out);
  }
}

}  // namespace bigbird
