// Names of precisions; see compute_device.h.
#include "lib/training/compute_device.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/core/names.h"

namespace bigbird {
namespace {
constexpr std::array<std::pair<kernels::Precision, const char*>, 3> precision_names{
    {{kernels::Precision::fp32, "fp32"},
     {kernels::Precision::tf32, "tf32"},
     {kernels::Precision::bf16, "bf16"}}};
}  // namespace

std::string name_of(kernels::Precision precision) {
  return find_name(precision_names, precision);
}

}  // namespace bigbird
