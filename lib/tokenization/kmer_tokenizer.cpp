// Vocabularies of k-mers, of which every piece is some bases: EsmTokenizer's, as Nucleotide Transformer has
// it, which reads the longest piece that fits and goes on behind it, and DNABERT's, whose k-mers begin at
// every base.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/core/hash.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"

namespace bigbird {
namespace {

constexpr std::string_view bases_of_pieces = "ACGTN";

PieceTable table_of(const KmerVocabulary& vocabulary) {
  PieceTable table;
  table.texts = vocabulary.pieces;
  for (const std::string& piece : vocabulary.pieces) {
    const bool bases = is_piece_of_bases(piece);
    // Of pieces that overlap each is counted for the base that it begins with.
    const std::size_t length = vocabulary.overlapping ? 1 : piece.size();
    table.lengths.push_back(bases ? static_cast<std::uint32_t>(length) : 0);
    table.special.push_back(bases ? 0 : 1);
  }
  return table;
}

class KmerTokenizer final : public Tokenizer {
 public:
  KmerTokenizer(const KmerVocabulary& vocabulary, const SpecialIds& special, const std::string& digest)
      : Tokenizer(table_of(vocabulary), special, digest), overlapping_(vocabulary.overlapping) {
    for (std::uint32_t id = 0; id < vocab_size(); ++id) {
      const std::string& text = piece(id);
      if (!is_piece_of_bases(text)) continue;
      ids_.emplace(text, id);
      if (std::find(sizes_.begin(), sizes_.end(), text.size()) == sizes_.end()) sizes_.push_back(text.size());
    }
    std::sort(sizes_.rbegin(), sizes_.rend());
  }

  bool is_dna() const override { return true; }

  void encode(std::string_view text, std::vector<std::uint32_t>& ids,
              std::vector<std::uint32_t>* byte_offsets) const override {
    const auto add = [&](std::uint32_t id, std::size_t begin) {
      ids.push_back(id);
      if (byte_offsets != nullptr) byte_offsets->push_back(static_cast<std::uint32_t>(begin));
    };
    if (overlapping_) {
      const std::size_t k = sizes_.front();
      for (std::size_t at = 0; at + k <= text.size(); ++at) {
        const auto found = ids_.find(text.substr(at, k));
        add(found == ids_.end() ? special().unknown : found->second, at);
      }
      return;
    }
    bool within_unknown = false;  // letters that no piece begins with are one unknown piece together
    for (std::size_t at = 0; at < text.size();) {
      const auto [id, size] = longest_at(text, at);
      if (size > 0) {
        add(id, at);
      } else if (!within_unknown) {
        add(special().unknown, at);
      }
      within_unknown = size == 0;
      at += std::max<std::size_t>(size, 1);
    }
  }

 private:
  struct Found {
    std::uint32_t id = 0;
    std::size_t size = 0;  // 0: no piece
  };

  Found longest_at(std::string_view text, std::size_t at) const {
    for (const std::size_t size : sizes_) {
      if (size > text.size() - at) continue;
      if (const auto found = ids_.find(text.substr(at, size)); found != ids_.end())
        return {found->second, size};
    }
    return {};
  }

  bool overlapping_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> ids_;
  std::vector<std::size_t> sizes_;  // of pieces, the longest first
};

}  // namespace

bool is_piece_of_bases(std::string_view piece) {
  return !piece.empty() && piece.find_first_not_of(bases_of_pieces) == std::string_view::npos;
}

bool are_overlapping_kmers(const std::vector<std::string>& pieces) {
  constexpr std::size_t shortest = 3, longest = 8;
  std::size_t k = 0, kmers = 0;
  for (const std::string& piece : pieces) {
    if (!is_piece_of_bases(piece) || piece.find('N') != std::string::npos) {
      if (piece.size() < 3 || piece.front() != '[' || piece.back() != ']') return false;
      continue;
    }
    if (k > 0 && piece.size() != k) return false;
    k = piece.size();
    ++kmers;
  }
  return k >= shortest && k <= longest && kmers == std::size_t{1} << (2 * k);
}

std::unique_ptr<Tokenizer> make_kmer_tokenizer(const KmerVocabulary& vocabulary, const SpecialIds& special,
                                               const std::string& digest) {
  return std::make_unique<KmerTokenizer>(vocabulary, special, digest);
}

}  // namespace bigbird
