// How large the effects of ordinary variants are: for each profile the sorted sizes |logFC * diff| of a
// background set, exact, as a safetensors file that is memory-mapped, and the sorted values of genome tracks
// at these variants. E-values count from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/io/files/file.h"
#include "lib/io/weights/safetensors.h"

namespace bigbird {

// What a background was made with and what it may be compared with: the models' digests, and how windows were
// cut. Equal texts are comparable.
struct BackgroundOrigin {
  std::string models;                    // digests, joined by ","
  std::string windows;                   // "window=1000 offset=499 ..."
  std::vector<std::string> tracks = {};  // AlleleTracks::identities; none: no values of tracks are compared
};

// sha256 of its sizes and of the tracks' values, as the file says; the rest of it is not read.
std::string background_digest(const std::string& path);

class VariantBackground {
 public:
  // Error{bad_input} when the file is none of BackgroundWriter's, has another number of profiles, was made
  // with other models, windows or tracks than `origin` says, or holds other numbers than its digest. One with
  // tracks serves where none are asked for. Reads the whole file once.
  VariantBackground(const std::string& path, std::size_t profiles, const BackgroundOrigin& origin);

  // The fraction of the background's variants with a strictly larger effect on this profile; smallest_e_value
  // for none.
  double e_value(std::size_t profile, float effect_size) const;
  // Of a track, by its place in the origin: the fraction of the background's variants with at least that
  // value, those without a value counting as lower; smallest_e_value for none, 1 for NaN.
  double track_e_value(std::size_t track, float value) const;
  std::int64_t variants() const { return variants_; }
  // sha256 of the sizes and of the tracks' values.
  const std::string& digest() const { return digest_; }

 private:
  void check_digest() const;
  void match_tracks(const std::vector<std::string>& wanted);

  SafetensorsFile file_;
  std::span<const float> sizes_;                // [profiles, variants], each row ascending
  std::vector<std::span<const float>> tracks_;  // [variants] each, ascending; -inf for no value
  std::int64_t variants_ = 0;
  std::string digest_;
};

// Collects effects variant by variant in tiles on disk beside `path` (4 bytes for each number, twice at the
// end), then sorts profile by profile. Memory is bounded, whatever the number of variants, but for the values
// of tracks: 4 bytes for each.
class BackgroundWriter {
 public:
  BackgroundWriter(const std::string& path, std::size_t profiles);

  // Effect sizes of one variant, [profiles], and the values of the origin's tracks, NaN for none.
  void add(std::span<const float> sizes, std::span<const float> tracks = {});
  std::int64_t variants() const { return variants_; }
  // Error{bad_input} when nothing was added.
  void commit(const BackgroundOrigin& origin, std::map<std::string, std::string> metadata);

 private:
  void write_tile();

  std::string path_;
  std::size_t profiles_;
  AtomicFolder scratch_;
  AtomicFile tiles_;
  std::vector<float> tile_;                 // [rows, profiles]
  std::vector<std::vector<float>> tracks_;  // [tracks][variants]
  std::int64_t variants_ = 0;
};

}  // namespace bigbird
