// A line of a kernel, for messages.
#pragma once

#include <string>
#include <string_view>

namespace bigbird::kernels::cuda::emulation {

struct Place {
  const char* file = "";
  int line = 0;
};

// "attention/forward.cuh:120"
inline std::string text(Place place) {
  std::string_view file = place.file;
  const std::size_t slash = file.rfind('/');
  if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return std::string(file) + ":" + std::to_string(place.line);
}

}  // namespace bigbird::kernels::cuda::emulation
