// Weights of linear layers that are packed once: which forms this processor reads, and which weight is which.
#include <stdexcept>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {

std::size_t CpuBackend::packed_weight_bytes(const Linear& layer, WeightForm form) const {
  constexpr Index line = 64;
  if (form == WeightForm::int8) {  // of any precision: what is not int8 is computed in it
    const bool taken = layer.in > 0 && layer.in <= int8_most_depth && layer.out > 0;
    return taken ? static_cast<std::size_t>(int8_weight_bytes(layer.out, layer.in)) : 0;
  }
  if (form != WeightForm::bf16 || precision_ != Precision::bf16 || layer.in == 0) return 0;
  Index bytes = 0;
  if (amx_ != nullptr) bytes = amx_groups(layer.out) * amx_group_bytes(amx_groups(layer.in), 1);
  if (bf16_ != nullptr) bytes = pieces(layer.out, bf16_panel) * bf16_panel_bytes(layer.in);
  return static_cast<std::size_t>(pieces(bytes, line) * line);
}

std::string CpuBackend::packed_weight_layout(WeightForm form) const {
  if (form == WeightForm::int8) return "int8-quads-64";
  if (form != WeightForm::bf16 || precision_ != Precision::bf16) return {};
  if (amx_ != nullptr) return "bf16-tiles-32x32";
  return bf16_ != nullptr ? "bf16-pairs-64" : "";
}

void CpuBackend::pack_weight(const Linear& layer, WeightForm form, void* to) const {
  if (packed_weight_bytes(layer, form) == 0)
    throw std::logic_error("this backend has no such form of weights");
  if (form == WeightForm::int8) return pack_int8_weight(layer.weight, layer.out, layer.in, to);
  auto* const packed = static_cast<std::byte*>(to);
  if (amx_ != nullptr) {
    const Index group_bytes = amx_group_bytes(amx_groups(layer.in), 1);
    parallel_pieces(layer.out, amx_group, [&](Index first, Index count) {
      amx_->pack_b({layer.weight + first * layer.in, count, layer.in, layer.in, 1}, 1,
                   packed + first / amx_group * group_bytes);
    });
    return;
  }
  const Index panel_bytes = bf16_panel_bytes(layer.in);
  parallel_pieces(layer.out, bf16_panel, [&](Index first, Index count) {
    bf16_->pack_b(layer.weight + first * layer.in, layer.in, count, layer.in,
                  packed + first / bf16_panel * panel_bytes);
  });
}

void CpuBackend::bind_packed_weight(const Linear& layer, WeightForm form, const void* packed) {
  packed_weights_[layer.weight] = {form, layer.in, layer.out, static_cast<const std::byte*>(packed)};
}

void CpuBackend::unbind_packed_weight(const float* weight) noexcept {
  packed_weights_.erase(weight);
}

const PackedWeight* CpuBackend::find_packed(const Linear& layer) const {
  auto found = packed_weights_.upper_bound(layer.weight);
  if (found == packed_weights_.begin()) return nullptr;
  --found;
  const PackedWeight& packed = found->second;
  if (layer.weight >= found->first + packed.in * packed.out) return nullptr;
  // Its floats may be gone.
  if (layer.weight != found->first || layer.in != packed.in || layer.out != packed.out)
    throw std::logic_error("a part of a weight that is packed as a whole");
  return &packed;
}

}  // namespace bigbird::kernels
