// .npy output; see npy.h. Format: NEP 1 / numpy.lib.format.
#include "lib/io/tables/npy.h"

#include <fmt/format.h>

#include <bit>

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

}  // namespace bigbird
