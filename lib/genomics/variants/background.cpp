// Background distributions of effect sizes; see background.h.
#include "lib/genomics/variants/background.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/genomics/effect_scores.h"
#include "lib/io/files/sha256.h"

namespace bigbird {
namespace {

constexpr const char* tensor_name = "effect_sizes";
constexpr const char* tracks_tensor_name = "track_values";
constexpr const char* background_kind = "bigbird variant background 1";
// Variants of a tile: what one profile has of it is a piece of 16 KiB.
constexpr std::size_t tile_rows = 4096;
// Numbers sorted at once: 256 MB.
constexpr std::size_t sorted_at_once = std::size_t{1} << 26;

std::string entry(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? std::string() : found->second;
}

// "PHYLOP:0a1b..,GERP:2c.." as a list.
std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

std::string name_of_track(const std::string& identity) {
  return identity.substr(0, identity.find(':'));
}

std::string names_of_tracks(const std::vector<std::string>& identities) {
  std::string names;
  for (const std::string& identity : identities)
    names += (names.empty() ? "" : ", ") + name_of_track(identity);
  return names.empty() ? "none" : names;
}

// The fraction of the row that is left behind `place`.
double share_from(std::span<const float> row, std::span<const float>::iterator place) {
  const auto count = row.end() - place;
  return count == 0 ? smallest_e_value : static_cast<double>(count) / static_cast<double>(row.size());
}

}  // namespace

std::string background_digest(const std::string& path) {
  return entry(SafetensorsFile(path), "digest");
}

VariantBackground::VariantBackground(const std::string& path, std::size_t profiles,
                                     const BackgroundOrigin& origin)
    : file_(path) {
  const char* remedy = "make one with `bigbird variants background` and the same models and windows";
  if (entry(file_, "kind") != background_kind || !file_.has(tensor_name)) {
    throw_bad_input(path + ": no background of variant effects", remedy);
  }
  const TensorInfo& info = file_.info(tensor_name);
  if (info.shape.size() != 2 || info.shape[1] < 1) {
    throw_bad_input(path + ": effect_sizes is not a matrix [profiles, variants]", remedy);
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
  check_digest();
  match_tracks(origin.tracks);
}

void VariantBackground::check_digest() const {
  Sha256 digest;
  for (const char* name : {tensor_name, tracks_tensor_name}) {
    if (!file_.has(name)) continue;
    const std::span<const float> values = file_.float_view(name);
    digest.update(values.data(), values.size_bytes());
  }
  if (digest.finish() != digest_) {
    throw_bad_input(file_.path() + ": its numbers are not those that were written: the file is damaged",
                    "copy it again, or make it again with `bigbird variants background`");
  }
}

void VariantBackground::match_tracks(const std::vector<std::string>& wanted) {
  if (wanted.empty()) return;
  const std::string& path = file_.path();
  const std::string remedy =
      message("make it with `bigbird variants background` and the same tracks (`track`)");
  const std::vector<std::string> stored = split_list(entry(file_, "tracks"));
  for (const std::string& identity : wanted) {
    const auto found = std::find_if(stored.begin(), stored.end(), [&](const std::string& of) {
      return name_of_track(of) == name_of_track(identity);
    });
    if (stored.size() != wanted.size() || found == stored.end()) {
      throw_bad_input(fmt::format("{}: made with other tracks ({}), not with {}", path,
                                  names_of_tracks(stored), names_of_tracks(wanted)),
                      remedy);
    }
    if (*found != identity) {
      throw_bad_input(fmt::format("{}: made with another file of track {}", path, name_of_track(identity)),
                      remedy);
    }
    const auto count = static_cast<std::size_t>(variants_);
    const std::span<const float> values = file_.float_view(tracks_tensor_name);
    if (values.size() != stored.size() * count) {
      throw_bad_input(path + ": track_values is not a matrix [tracks, variants]", remedy);
    }
    tracks_.push_back(values.subspan(static_cast<std::size_t>(found - stored.begin()) * count, count));
  }
}

double VariantBackground::e_value(std::size_t profile, float effect_size) const {
  const auto count = static_cast<std::size_t>(variants_);
  const std::span<const float> row = sizes_.subspan(profile * count, count);
  return share_from(row, std::upper_bound(row.begin(), row.end(), effect_size));
}

double VariantBackground::track_e_value(std::size_t track, float value) const {
  if (std::isnan(value)) return 1;
  const std::span<const float> row = tracks_[track];
  return share_from(row, std::lower_bound(row.begin(), row.end(), value));
}

BackgroundWriter::BackgroundWriter(const std::string& path, std::size_t profiles)
    : path_(path), profiles_(profiles), scratch_(path + ".work", true), tiles_(scratch_.file("tiles")) {
  tile_.reserve(tile_rows * profiles_);
}

void BackgroundWriter::add(std::span<const float> sizes, std::span<const float> tracks) {
  tile_.insert(tile_.end(), sizes.begin(), sizes.end());
  tracks_.resize(tracks.size());
  for (std::size_t track = 0; track < tracks.size(); ++track) {
    const float value = tracks[track];
    tracks_[track].push_back(std::isnan(value) ? -std::numeric_limits<float>::infinity() : value);
  }
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
  std::vector<float> track_values;  // [tracks, variants]
  for (std::vector<float>& row : tracks_) {
    std::sort(row.begin(), row.end());
    track_values.insert(track_values.end(), row.begin(), row.end());
  }
  digest.update(track_values.data(), track_values.size() * sizeof(float));
  const MappedFile bytes(scratch_.file("sorted"));
  metadata["kind"] = background_kind;
  metadata["models"] = origin.models;
  metadata["windows"] = origin.windows;
  metadata["variants"] = std::to_string(variants_);
  metadata["digest"] = digest.finish();
  std::vector<TensorToWrite> tensors = {
      {tensor_name, TensorType::f32, {static_cast<std::int64_t>(profiles_), variants_}, bytes.data()}};
  if (!tracks_.empty()) {
    metadata["tracks"] = fmt::format("{}", fmt::join(origin.tracks, ","));
    tensors.push_back({tracks_tensor_name,
                       TensorType::f32,
                       {static_cast<std::int64_t>(tracks_.size()), variants_},
                       track_values.data()});
  }
  write_safetensors(path_, tensors, metadata);
}

}  // namespace bigbird
