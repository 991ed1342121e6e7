// See open_model.h.
#include "lib/model/folder/open_model.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "lib/model/folder/weight_cache.h"

namespace bigbird {
namespace {

std::unique_ptr<Model> make_model(ModelConfig config, const ModelPurpose& purpose) {
  const BatchLimits limits = purpose.limits(config);
  return std::make_unique<Model>(purpose.backend, config, limits, purpose.options);
}

void pack(Model& model, const WeightCache& cache) {
  model.use_packed_weights(cache.make([&](std::byte* to) { model.pack_weights(to); }));
}

}  // namespace

OpenedModel open_model(const ModelFolder& folder, ModelPurpose purpose) {
  OpenedModel opened;
  std::optional<WeightCache> cache;
  PackedMemory packed;
  // What is drawn depends on a seed, of which the cache knows nothing; of heads a decoder is packed.
  const bool drawn = !purpose.load.allow_missing.empty() ||
                     (purpose.load.head == HeadType::generation && !folder.config().has_decoder());
  purpose.load.memory = [&](const ModelConfig& config) {
    opened.model = make_model(config, purpose);
    if (purpose.packs && opened.model->packed_bytes() > 0) {
      const std::string kept_in =
          drawn ? "" : weight_cache_folder([](const char* name) { return std::getenv(name); });
      cache.emplace(kept_in, kept_in.empty() ? "" : folder.weights_digest(), opened.model->packed_layout(),
                    opened.model->packed_bytes());
      packed = cache->find();
    }
    return opened.model->parameters_on_host();
  };
  purpose.load.at_hand = [&](const TensorSpec& tensor) {
    return packed != nullptr && opened.model->packs(tensor);
  };
  opened.loaded = folder.load(purpose.load);
  if (!opened.loaded.parameters.empty()) opened.model->set_parameters(opened.loaded.parameters);
  opened.loaded.parameters = {};
  if (packed != nullptr) {
    opened.model->use_packed_weights(packed);
  } else if (cache) {
    pack(*opened.model, *cache);
  }
  return opened;
}

std::unique_ptr<Model> open_model(ModelConfig config, const std::vector<float>& parameters,
                                  const ModelPurpose& purpose) {
  std::unique_ptr<Model> model = make_model(std::move(config), purpose);
  model->set_parameters(parameters);
  if (purpose.packs && model->packed_bytes() > 0)
    pack(*model, WeightCache("", "", model->packed_layout(), model->packed_bytes()));
  return model;
}

}  // namespace bigbird
