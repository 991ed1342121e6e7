// Names of devices and precisions; see compute_device.h.
#include "lib/training/compute_device.h"

#include <algorithm>

namespace bigbird {

std::string name_of(kernels::Precision precision) {
  switch (precision) {
    case kernels::Precision::fp32:
      return "fp32";
    case kernels::Precision::tf32:
      return "tf32";
    case kernels::Precision::bf16:
      return "bf16";
  }
  return {};
}

std::string device_name(const kernels::Backend& backend) {
  const std::string text = backend.description();
  return text.substr(0, std::min(text.find(": "), text.find(", ")));
}

}  // namespace bigbird
