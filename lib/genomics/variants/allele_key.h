// lib/genomics/variants holds effects of variants: VCF in to VCF out. Alleles, windows, scores, outputs,
// summaries, baselines of other tools, evaluation. One record is in memory at a time but for those on their
// way.
//
// Alleles that mean the same change under one key, however a file writes them: trimmed, letters in upper
// case, contigs under all their names; and where the genome is at hand, insertions and deletions
// left-aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {

// The bits of a place that are the base, from 1 in its contig.
inline constexpr int place_bits = 40;
inline constexpr std::uint64_t position_of_place = (std::uint64_t{1} << place_bits) - 1;

struct AlleleKey {
  std::uint64_t place = 0;   // the contig's number, and the first base that changes
  std::uint64_t change = 0;  // a hash of REF and ALT: two alleles of one place share it once in 2^64
  bool operator==(const AlleleKey&) const = default;
  bool operator<(const AlleleKey& other) const {
    return place != other.place ? place < other.place : change < other.change;
  }
};

class AlleleKeys {
 public:
  // Without a genome: chr1, 1 and NC_000001.x are one contig, chrM and MT two.
  AlleleKeys() = default;
  // With it, contigs are those of the genome. Both outlive the keys.
  AlleleKeys(const Fasta& fasta, const ContigNames& contigs) : fasta_(fasta.clone()), contigs_(&contigs) {}

  // `position` is POS - 1. Nothing for a contig that the genome has not. ALT of other letters than bases
  // ("<DEL>", ".") is taken as it is written. Not safe for concurrent calls.
  std::optional<AlleleKey> of(std::string_view chrom, std::int64_t position, std::string_view ref,
                              std::string_view alt);

 private:
  std::optional<std::size_t> contig_of(std::string_view chrom);
  char base_at(std::size_t contig, std::int64_t position);

  std::optional<Fasta> fasta_;
  const ContigNames* contigs_ = nullptr;
  std::map<std::string, std::size_t> numbers_;  // of contigs, without a genome
  // The contig of the last allele, and the stretch of the genome that was read last.
  std::string name_;
  std::optional<std::size_t> named_;
  std::size_t held_contig_ = 0;
  std::int64_t held_begin_ = 0;
  std::string held_;
};

}  // namespace bigbird

template <>
struct std::hash<bigbird::AlleleKey> {
  std::size_t operator()(const bigbird::AlleleKey& key) const noexcept {
    return static_cast<std::size_t>(key.change ^ (key.place * 0x9E3779B97F4A7C15U));
  }
};
