// What every backend can do with the operations it has: see backend.h.
#include "kernels/backend.h"

#include <vector>

namespace bigbird::kernels {

void Backend::download_values(float* host, ConstValues from, Index count) {
  const std::size_t size = static_cast<std::size_t>(count);
  if (from.type() == ElementType::fp32) return download(host, from.data(), size * sizeof(float));
  std::vector<bf16> narrow(size);
  download(narrow.data(), from.data(), size * sizeof(bf16));
  for (std::size_t i = 0; i < size; ++i) host[i] = to_float(narrow[i]);
}

void Backend::upload_values(Values to, const float* host, Index count) {
  const std::size_t size = static_cast<std::size_t>(count);
  if (to.type() == ElementType::fp32) return upload(to.data(), host, size * sizeof(float));
  std::vector<bf16> narrow(size);
  for (std::size_t i = 0; i < size; ++i) narrow[i] = to_bf16(host[i]);
  upload(to.data(), narrow.data(), size * sizeof(bf16));
}

}  // namespace bigbird::kernels
