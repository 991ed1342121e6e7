// How everything but training comes by a model with its weights: those of a folder, read into the place where
// the model has them, or, where the backend keeps them packed, taken out of the cache of packed weights.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/network/model.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird {

// Packed weights (Model::pack_weights) kept in files, so that they are made once for a machine and lie in
// memory once for all processes that read them. A file is known by the digest of the model's weights and by
// what the processor reads; it carries a digest of its own and is thrown away where that does not fit. The
// digest finds damage, no forgery: a file that another user could have written is not read.
// Nothing depends on it: without a folder that can be written, weights are packed in the memory of the
// process.

// Memory that is released with its last owner.
using PackedMemory = std::shared_ptr<const std::byte>;

// What BIGBIRD_WEIGHT_CACHE says: a folder, or `none`; without it bigbird/weights in XDG_CACHE_HOME or in
// ~/.cache. Empty: no folder.
std::string weight_cache_folder(const std::function<const char*(const char*)>& environment);

class WeightCache {
 public:
  // `layout`: Model::packed_layout(). An empty folder keeps nothing.
  WeightCache(std::string folder, const std::string& weights_digest, const std::string& layout,
              std::size_t bytes);

  // What a file holds; null: there is none, or it was thrown away.
  PackedMemory find() const;
  // fill(memory) of `bytes` bytes, 64-byte aligned; kept in a file if that can be.
  PackedMemory make(const std::function<void(std::byte*)>& fill) const;

  const std::string& path() const { return path_; }

 private:
  bool write(const std::byte* packed) const;
  void remove_oldest() const;

  std::string folder_;
  std::string path_;  // empty: no folder
  std::string weights_digest_;
  std::string layout_;  // its digest
  std::size_t bytes_;
};

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
