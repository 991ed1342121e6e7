// See inference_model.h.
#include "lib/model/folder/inference_model.h"

#include <cstdlib>
#include <optional>

#include "lib/model/folder/weight_cache.h"

namespace bigbird {

LoadedModel load_into(const ModelFolder& folder, const std::function<Model&(const ModelConfig&)>& make,
                      LoadOptions options) {
  Model* model = nullptr;
  std::optional<WeightCache> cache;
  PackedMemory packed;
  options.memory = [&](const ModelConfig& config) {
    model = &make(config);
    if (model->packed_bytes() > 0) {
      const std::string kept_in = weight_cache_folder([](const char* name) { return std::getenv(name); });
      cache.emplace(kept_in, kept_in.empty() ? "" : folder.weights_digest(), model->packed_layout(),
                    model->packed_bytes());
      packed = cache->find();
    }
    return model->parameters_on_host();
  };
  options.at_hand = [&](const TensorSpec& tensor) { return packed != nullptr && model->packs(tensor); };
  LoadedModel loaded = folder.load(options);
  if (!loaded.parameters.empty()) model->set_parameters(loaded.parameters);
  loaded.parameters.clear();
  if (!cache) return loaded;
  if (packed == nullptr) packed = cache->make([&](std::byte* to) { model->pack_weights(to); });
  model->use_packed_weights(packed);
  return loaded;
}

void pack_own_weights(Model& model) {
  if (model.packed_bytes() == 0) return;
  const WeightCache nowhere("", "", model.packed_layout(), model.packed_bytes());
  model.use_packed_weights(nowhere.make([&](std::byte* to) { model.pack_weights(to); }));
}

}  // namespace bigbird
