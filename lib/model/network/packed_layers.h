// The linear layers of a model for inference whose weights the backend may keep packed, in place of fp32
// (Backend::pack_weight).
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

struct PackedLayer {
  kernels::Linear layer;
  kernels::WeightForm form = kernels::WeightForm::bf16;
  std::size_t offset = 0;  // in the memory of all, 64-byte aligned
  std::size_t bytes = 0;
};

// Those of all layers of both stacks that are always used whole: a decoder's steps take queries apart from
// keys and values. None where the backend packs nothing.
std::vector<PackedLayer> packed_layers(const ModelConfig& config, const ModelTensors& tensors,
                                       const kernels::Backend& backend);

// Of the memory of all.
std::size_t packed_bytes(const std::vector<PackedLayer>& layers);

// Floats of the weights, which need not stay.
std::int64_t packed_floats(const std::vector<PackedLayer>& layers);

}  // namespace bigbird
