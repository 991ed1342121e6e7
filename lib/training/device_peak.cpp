// See device_peak.h.
#include "lib/training/device_peak.h"

#include <array>
#include <string_view>

namespace bigbird {
namespace {

// NVIDIA's data sheets, Tensor Cores without sparsity: A100 (2021), H100 (2023), H200 (2024). tf32 is half of
// bf16 on all of them.
struct DevicePeak {
  std::string_view name;  // in the device's own
  double bf16;
};
// The first that is in a name counts: the cards for PCIe have lower clocks and stand first.
constexpr std::array<DevicePeak, 7> device_peaks{{{"H200 NVL", 835.5e12},
                                                  {"H200", 989.4e12},
                                                  {"H100 NVL", 835.5e12},
                                                  {"H100 PCIe", 756.5e12},
                                                  {"H100 80GB HBM3", 989.4e12},
                                                  {"A100-", 312e12},
                                                  {"A100 80GB PCIe", 312e12}}};

}  // namespace

std::optional<double> peak_operations(const std::string& device, kernels::Precision precision) {
  if (precision == kernels::Precision::fp32 || device.find(" MIG ") != std::string::npos) return std::nullopt;
  for (const DevicePeak& peak : device_peaks) {
    if (device.find(peak.name) == std::string::npos) continue;
    return precision == kernels::Precision::bf16 ? peak.bf16 : peak.bf16 / 2;
  }
  return std::nullopt;
}

}  // namespace bigbird
