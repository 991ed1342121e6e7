// Background distributions of effect sizes; see background.h.
#include "lib/tasks/genomics/variants/background.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/io/files/sha256.h"
#include "lib/tasks/effect_scores.h"

namespace bigbird {
namespace {

constexpr const char* tensor_name = "effect_sizes";
constexpr const char* kind = "bigbird variant background 1";
// Variants of a tile: what one profile has of it is a piece of 16 KiB.
constexpr std::size_t tile_rows = 4096;
// Numbers sorted at once: 256 MB.
constexpr std::size_t sorted_at_once = std::size_t{1} << 26;

std::string entry(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? std::string() : found->second;
}

}  // namespace

VariantBackground::VariantBackground(const std::string& path, std::size_t profiles,
                                     const BackgroundOrigin& origin)
    : file_(path) {
  const char* remedy = "make one with `bigbird variants background` and the same models and windows";
  if (entry(file_, "kind") != kind || !file_.has(tensor_name)) {
    throw_bad_input(path + ": no background of variant effects", remedy);
  }
  const TensorInfo& info = file_.info(tensor_name);
  if (info.shape.size() != 2 || info.shape[1] < 1) {
    throw_bad_input(path + ": effect_sizes is no matrix [profiles, variants]", remedy);
  }
  if (entry(file_, "models") != origin.models) {
    throw_bad_input(path + ": made with another model (or another set of models)", remedy);
  }
  if (static_cast<std::size_t>(info.shape[0]) != profiles) {
    throw_bad_input(fmt::format("{}: has {} profiles, the model {}", path, info.shape[0], profiles), remedy);
  }
  if (entry(file_, "windows") != origin.windows) {
    throw_bad_input(fmt::format("{}: made with other windows ({}), not with {}", path,
                                entry(file_, "windows"), origin.windows),
                    remedy);
  }
  sizes_ = file_.float_view(tensor_name);
  variants_ = info.shape[1];
  digest_ = entry(file_, "digest");
}

double VariantBackground::e_value(std::size_t profile, float effect_size) const {
  const auto count = static_cast<std::size_t>(variants_);
  const std::span<const float> row = sizes_.subspan(profile * count, count);
  const auto larger = row.end() - std::upper_bound(row.begin(), row.end(), effect_size);
  if (larger == 0) return smallest_e_value;
  return static_cast<double>(larger) / static_cast<double>(count);
}

BackgroundWriter::BackgroundWriter(const std::string& path, std::size_t profiles)
    : path_(path), profiles_(profiles), scratch_(path + ".work", true), tiles_(scratch_.file("tiles")) {
  tile_.reserve(tile_rows * profiles_);
}

void BackgroundWriter::add(std::span<const float> sizes) {
  tile_.insert(tile_.end(), sizes.begin(), sizes.end());
  ++variants_;
  if (tile_.size() == tile_rows * profiles_) write_tile();
}

void BackgroundWriter::write_tile() {
  const std::size_t rows = tile_.size() / profiles_;
  std::vector<float> columns(tile_.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t profile = 0; profile < profiles_; ++profile) {
      columns[profile * rows + row] = tile_[row * profiles_ + profile];
    }
  }
  tiles_.write(columns.data(), columns.size() * sizeof(float));
  tile_.clear();
}

void BackgroundWriter::commit(const BackgroundOrigin& origin, std::map<std::string, std::string> metadata) {
  if (variants_ == 0) throw_bad_input(path_ + ": no variant was scored: there is no background to write");
  if (!tile_.empty()) write_tile();
  tiles_.commit();
  const MappedFile tiles(scratch_.file("tiles"));
  const auto count = static_cast<std::size_t>(variants_);
  AtomicFile sorted(scratch_.file("sorted"));
  Sha256 digest;
  const std::size_t block = std::clamp<std::size_t>(sorted_at_once / count, 1, profiles_);
  std::vector<float> values;
  for (std::size_t begin = 0; begin < profiles_; begin += block) {
    throw_if_cancelled();
    const std::size_t end = std::min(begin + block, profiles_);
    values.resize((end - begin) * count);
    kernels::parallel_for(end - begin, [&](std::size_t task) {
      float* row = values.data() + task * count;
      for (std::size_t first = 0; first < count; first += tile_rows) {
        const std::size_t rows = std::min(tile_rows, count - first);
        std::memcpy(row + first, tiles.data() + sizeof(float) * (first * profiles_ + (begin + task) * rows),
                    rows * sizeof(float));
      }
      std::sort(row, row + count);
    });
    sorted.write(values.data(), values.size() * sizeof(float));
    digest.update(values.data(), values.size() * sizeof(float));
  }
  sorted.commit();
  const MappedFile bytes(scratch_.file("sorted"));
  metadata["kind"] = kind;
  metadata["models"] = origin.models;
  metadata["windows"] = origin.windows;
  metadata["variants"] = std::to_string(variants_);
  metadata["digest"] = digest.finish();
  write_safetensors(
      path_,
      {{tensor_name, TensorType::f32, {static_cast<std::int64_t>(profiles_), variants_}, bytes.data()}},
      metadata);
}

}  // namespace bigbird
