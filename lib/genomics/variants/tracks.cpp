// Tracks at alleles; see tracks.h.
#include "lib/genomics/variants/tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"

namespace bigbird {
namespace {

// Bases that are read at once: alleles of a sorted file lie close together.
constexpr std::int64_t track_stretch = 4096;

std::string assembly_word(const Contig& contig) {
  const std::string assembly = assembly_of(contig);
  return assembly.empty() ? "" : " (" + assembly + ")";
}

}  // namespace

std::string column_id(std::string_view name) {
  std::string id;
  for (const char letter : name) {
    const bool is_lower = letter >= 'a' && letter <= 'z';
    const bool is_kept = (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
    id += is_lower ? static_cast<char>(letter - 'a' + 'A') : is_kept ? letter : '_';
  }
  return id;
}

NamedPath named_path(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign != std::string::npos && sign > 0 && text.find('/') > sign && !file_exists(text))
    return {text.substr(0, sign), text.substr(sign + 1)};
  std::string stem = text.substr(text.rfind('/') + 1);
  if (has_suffix(stem, ".gz")) stem.resize(stem.size() - 3);
  if (const std::size_t dot = stem.rfind('.'); dot != std::string::npos && dot > 0) stem.resize(dot);
  return {stem, text};
}

AlleleTracks::AlleleTracks(const std::vector<std::string>& files, const ContigNames& genome,
                           const std::string& fasta)
    : genome_(genome) {
  for (const std::string& text : files) {
    const NamedPath file = named_path(text);
    const std::string id = column_id(file.name);
    if (std::find(ids_.begin(), ids_.end(), id) != ids_.end()) {
      throw_usage(fmt::format("two tracks are called {}", id), message("name them: `track` NAME=FILE"));
    }
    Track& track = tracks_.emplace_back();
    track.reader = open_bigwig(file.path);
    match_contigs(track, file.path, genome, fasta);
    ids_.push_back(id);
    identities_.push_back(id + ":" + sampled_digest(file.path));
  }
}

void AlleleTracks::match_contigs(Track& track, const std::string& path, const ContigNames& genome,
                                 const std::string& fasta) {
  track.contigs.assign(genome.size(), absent);
  const std::vector<Contig>& contigs = track.reader->contigs();
  for (std::size_t i = 0; i < contigs.size(); ++i) {
    const Contig& contig = contigs[i];
    if (const std::string clash = genome.assembly_clash(contig.name); !clash.empty()) {
      throw_bad_input(fmt::format("{}: of another assembly than {}: {}", path, fasta, clash),
                      "take the track of the genome's assembly");
    }
    const bool mitochondrion = canonical_contig_name(contig.name) == "MT";
    const auto found = mitochondrion ? genome.find(contig.name, contig.length) : genome.find(contig.name);
    if (!found) continue;
    const Contig& known = genome[*found];
    if (known.length != contig.length) {
      throw_bad_input(fmt::format("{}: of another assembly than {}: {} has {} bp{} in the track, {} has {}{}",
                                  path, fasta, contig.name, contig.length, assembly_word(contig), known.name,
                                  known.length, assembly_word(known)),
                      "take the track of the genome's assembly");
    }
    // Of a contig that the track has under two names, the genome's own name counts.
    if (track.contigs[*found] == absent || contig.name == known.name) track.contigs[*found] = i;
  }
  const auto missing = std::count(track.contigs.begin(), track.contigs.end(), absent);
  if (missing == static_cast<std::ptrdiff_t>(genome.size())) {
    throw_bad_input(fmt::format("{}: has none of the contigs of {}", path, fasta),
                    contigs.empty() ? "the track is empty" : "its first contig is " + contigs.front().name);
  }
  if (missing > 0) {
    log_info(fmt::format("{}: has no values on {} of the genome's {} contigs", path, missing, genome.size()));
  }
}

std::vector<float> AlleleTracks::values(const PlacedAllele& allele) {
  std::int64_t begin = allele.begin;
  std::int64_t end = begin + static_cast<std::int64_t>(allele.ref.size());
  if (allele.ref.empty()) {
    begin = std::max<std::int64_t>(begin - 1, 0);
    end = std::min(end + 1, genome_[allele.contig].length);
  }
  std::vector<float> values;
  for (Track& track : tracks_) values.push_back(mean(track, allele.contig, begin, end));
  return values;
}

float AlleleTracks::mean(Track& track, std::size_t contig, std::int64_t begin, std::int64_t end) const {
  constexpr float missing = std::numeric_limits<float>::quiet_NaN();
  if (track.contigs[contig] == absent) return missing;
  const auto held_end = track.held_begin + static_cast<std::int64_t>(track.held.size());
  if (track.held_contig != contig || begin < track.held_begin || end > held_end) {
    track.held_begin = begin;
    track.held = track.reader->values(track.contigs[contig], begin,
                                      std::min(genome_[contig].length, std::max(end, begin + track_stretch)));
    track.held_contig = contig;
  }
  double sum = 0;
  int bases = 0;
  for (std::int64_t at = begin; at < end; ++at) {
    const float value = track.held[static_cast<std::size_t>(at - track.held_begin)];
    if (std::isnan(value)) continue;
    sum += static_cast<double>(value);
    ++bases;
  }
  return bases == 0 ? missing : static_cast<float>(sum / bases);
}

}  // namespace bigbird
