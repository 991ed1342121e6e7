// Keys of alleles; see allele_key.h.
#include "lib/genomics/variants/allele_key.h"

#include "lib/genomics/variants/alleles_letters.h"

namespace bigbird {
namespace {

// Bases read at once before the place that is asked for: a repeat is followed to its left.
constexpr std::int64_t key_stretch = 4096;

// FNV-1a, 64 bits.
std::uint64_t hash_of(std::string_view ref, std::string_view alt) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&](char letter) { hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U; };
  for (const char letter : ref) add(letter);
  add('>');
  for (const char letter : alt) add(letter);
  return hash;
}

}  // namespace

std::optional<AlleleKey> AlleleKeys::of(std::string_view chrom, std::int64_t position, std::string_view ref,
                                        std::string_view alt) {
  const auto contig = contig_of(chrom);
  if (!contig) return std::nullopt;
  std::string from = upper_case(ref);
  std::string to = upper_case(alt);
  std::int64_t begin = position;
  if (is_acgt(from) && is_acgt(to) && from != to) {
    trim_alleles(from, to, begin);
    const bool inside = !fasta_ || begin <= (*contigs_)[*contig].length;
    if (fasta_ && inside && from.empty() != to.empty()) {
      left_align(from.empty() ? to : from, begin,
                 [&](std::int64_t place) { return base_at(*contig, place); });
    }
  }
  // POS 0 is -1 here.
  const auto place = (std::uint64_t{*contig} << place_bits) | static_cast<std::uint64_t>(begin + 1);
  return AlleleKey{place, hash_of(from, to)};
}

std::optional<std::size_t> AlleleKeys::contig_of(std::string_view chrom) {
  if (name_ == chrom && !chrom.empty()) return named_;
  name_ = chrom;
  if (contigs_ != nullptr) return named_ = contigs_->find(chrom);
  const std::string canonical = canonical_contig_name(chrom);
  const std::string& known = canonical == "MT" ? name_ : canonical;  // two sequences: see contig_names.h
  return named_ = numbers_.emplace(known, numbers_.size()).first->second;
}

char AlleleKeys::base_at(std::size_t contig, std::int64_t position) {
  const auto held_end = held_begin_ + static_cast<std::int64_t>(held_.size());
  if (contig != held_contig_ || position < held_begin_ || position >= held_end) {
    held_begin_ = std::max<std::int64_t>(0, position + 1 - key_stretch);
    held_ = fasta_->fetch(contig, held_begin_, position + 1);
    held_contig_ = contig;
  }
  return held_[static_cast<std::size_t>(position - held_begin_)];
}

}  // namespace bigbird
