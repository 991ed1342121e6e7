// See open_model.h.
#include "lib/model_folder/open_model.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/environment.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t page = 4096;
constexpr std::size_t large_page = std::size_t{2} << 20;
constexpr const char* suffix = ".packed";
// Of all files together: those that were not used for the longest time go.
constexpr std::uintmax_t most_bytes = std::uintmax_t{8} << 30;

std::string digest_of(const std::byte* data, std::size_t size) {
  return sha256_bytes({reinterpret_cast<const char*>(data), size});
}

PackedMemory new_memory(std::size_t bytes) {
  const std::size_t unit = bytes >= 4 * large_page ? large_page : page;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
  if (memory == nullptr) throw std::bad_alloc();
  return {memory, [](const std::byte* data) { std::free(const_cast<std::byte*>(data)); }};
}

std::unique_ptr<Model> make_model(ModelConfig config, const ModelPurpose& purpose) {
  const BatchLimits limits = purpose.limits(config);
  return std::make_unique<Model>(purpose.backend, config, limits, purpose.options);
}

void pack(Model& model, const WeightCache& cache) {
  model.use_packed_weights(cache.make([&](std::byte* to) { model.pack_weights(to); }));
}

}  // namespace

std::string weight_cache_folder(const std::function<const char*(const char*)>& environment) {
  const char* const named = environment("BIGBIRD_WEIGHT_CACHE");
  if (named != nullptr && *named != '\0') return std::string_view(named) == "none" ? "" : named;
  const std::string folder = user_cache_folder(environment);
  return folder.empty() ? "" : folder + "/weights";
}

WeightCache::WeightCache(std::string folder, const std::string& weights_digest, const std::string& layout,
                         std::size_t bytes)
    : folder_(std::move(folder)),
      weights_digest_(weights_digest),
      layout_(sha256_bytes(layout)),
      bytes_(bytes) {
  if (folder_.empty()) return;
  const std::string name = sha256_bytes(weights_digest_ + "\n" + layout_).substr(0, 24);
  path_ = fmt::format("{}/{}{}", folder_, name, suffix);
}

PackedMemory WeightCache::find() const {
  std::error_code ignored;
  if (path_.empty() || !fs::exists(path_, ignored)) return nullptr;
  try {
    // Opened once: what is looked at is what is read, whatever takes its name meanwhile.
    const int descriptor = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return nullptr;
    const std::shared_ptr<void> closes(nullptr, [descriptor](void*) { close(descriptor); });
    const std::string opened = fmt::format("/proc/self/fd/{}", descriptor);
    if (!may_be_trusted(opened)) {
      log_warning(path_ + ": written by another user, or everybody may write it: not used");
      return nullptr;
    }
    auto file = std::make_shared<const MappedFile>(opened);
    const bool whole = file->size() == page + bytes_;
    const auto* const text = reinterpret_cast<const char*>(file->data());
    const auto header = nlohmann::json::parse(whole ? std::string_view(text, strnlen(text, page)) : "",
                                              nullptr, /*allow_exceptions=*/false);
    if (header.is_object() && header.value("weights", "") == weights_digest_ &&
        header.value("layout", "") == layout_ &&
        header.value("sha256", "") == digest_of(file->data() + page, bytes_)) {
      fs::last_write_time(path_, fs::file_time_type::clock::now(), ignored);
      return {file, file->data() + page};
    }
  } catch (const Error& error) {
    log_debug(error.message());
    return nullptr;
  }
  log_info(path_ + ": not the packed weights that it should hold: made again");
  fs::remove(path_, ignored);
  return nullptr;
}

PackedMemory WeightCache::make(const std::function<void(std::byte*)>& fill) const {
  PackedMemory memory = new_memory(bytes_);
  fill(const_cast<std::byte*>(memory.get()));
  if (path_.empty() || !write(memory.get())) return memory;
  // What the processes of a machine share takes its place, unless another one has removed it meanwhile.
  PackedMemory shared = find();
  return shared != nullptr ? shared : memory;
}

bool WeightCache::write(const std::byte* packed) const {
  std::string first = json_text(nlohmann::json{
      {"weights", weights_digest_}, {"layout", layout_}, {"sha256", digest_of(packed, bytes_)}});
  first.resize(page, '\0');
  try {
    make_folders(folder_);
    AtomicFile file(path_);
    file.write(first.data(), first.size());
    file.write(packed, bytes_);
    file.commit();
  } catch (const Error& error) {
    log_debug(fmt::format("packed weights are not kept: {}", error.message()));
    return false;
  }
  remove_oldest();
  return true;
}

void WeightCache::remove_oldest() const {
  struct Kept {
    fs::path path;
    fs::file_time_type used;
    std::uintmax_t bytes;
  };
  std::vector<Kept> kept;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() != suffix) continue;
    const auto used = entry.last_write_time(error);
    const std::uintmax_t bytes = error ? 0 : entry.file_size(error);
    if (!error) kept.push_back({entry.path(), used, bytes});
  }
  std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.used > b.used; });
  std::uintmax_t total = 0;
  for (const Kept& file : kept) {
    total += file.bytes;
    if (total > most_bytes && file.path != path_) fs::remove(file.path, error);
  }
}

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
