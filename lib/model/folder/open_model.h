// How everything but training comes by a model with its weights: those of a folder, read into the place where
// the model has them, or, where the backend keeps them packed, taken out of the cache of packed weights.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "lib/model/folder/model_folder.h"
#include "lib/model/network/model.h"

namespace bigbird {

// What a model is opened for.
struct ModelPurpose {
  kernels::Backend& backend;
  // The largest batch that it will run. Asked once, when every tensor was found to fit; what it changes of
  // the config, which may not be the shape of a tensor, is the model's.
  std::function<BatchLimits(ModelConfig&)> limits;
  ModelOptions options = {};  // weights of a model for training are not packed
  LoadOptions load = {};      // but for memory and at_hand
  bool packs = true;          // false: the floats stay, to be tried in int8 (Model::compute_in_int8)
};

struct OpenedModel {
  std::unique_ptr<Model> model;
  LoadedModel loaded;  // without parameters; its config is the folder's, with the head that was asked for
};

// Errors as load_model().
OpenedModel open_model(const ModelFolder& folder, ModelPurpose purpose);
// The same of weights that no folder has: drawn ones, or those that are about to be written. They are packed
// in the memory of the process.
std::unique_ptr<Model> open_model(ModelConfig config, const std::vector<float>& parameters,
                                  const ModelPurpose& purpose);

}  // namespace bigbird
