// How inference comes by its weights: those of a folder into a model that computes alone: read, or, where the
// backend keeps them packed, out of the cache of packed weights.
#pragma once

#include <functional>

#include "lib/model/folder/model_folder.h"
#include "lib/model/network/model.h"

namespace bigbird {

// make(config) makes the model, once every tensor was found to fit; it may be one for training, whose weights
// are read and stay floats. Errors as load_model. LoadedModel::parameters is empty.
LoadedModel load_into(const ModelFolder& folder, const std::function<Model&(const ModelConfig&)>& make,
                      LoadOptions options = {});

// The same end for a model whose parameters were set by other means: packs its weights, where the backend
// keeps such, in memory of its own.
void pack_own_weights(Model& model);

}  // namespace bigbird
