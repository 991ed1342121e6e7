// Names of precisions; see compute_device.h.
#include "lib/training/compute_device.h"

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

}  // namespace bigbird
