// See markov_models.h.
#include "lib/training/markov_models.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/sampled_documents.h"

namespace bigbird {
namespace {

constexpr std::uint8_t context_break = 4;
constexpr std::size_t codes_at_once = std::size_t{1} << 20;  // that all orders count side by side

std::uint8_t base_code(char letter) {
  switch (letter) {
    case 'A':
      return 0;
    case 'C':
      return 1;
    case 'G':
      return 2;
    case 'T':
      return 3;
    default:
      return context_break;
  }
}

// Calls body(word, known) for every base of the codes: the base in the lowest two bits, those before it
// above, of which `known` are there.
template <typename Body>
void for_each_base(const std::vector<std::uint8_t>& codes, const Body& body) {
  std::uint64_t word = 0;
  int known = -1;
  for (const std::uint8_t code : codes) {
    if (code == context_break) {
      known = -1;
      continue;
    }
    word = word << 2 | code;
    ++known;
    body(word, known);
  }
}

std::uint64_t place_of(std::uint64_t word, int order) {
  return word & ((std::uint64_t{1} << (2 * order + 2)) - 1);
}

// Calls take(text) for every token: its letters, or nothing for one that stands for no bases.
template <typename Take>
void for_each_text(const TokenView& tokens, std::size_t count, const Tokenizer& tokenizer, const Take& take) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t id = tokens[i];
    take(tokenizer.is_special(id) ? std::string_view() : std::string_view(tokenizer.piece(id)));
  }
}

}  // namespace

MarkovModels::MarkovModels() {
  for (std::size_t order = 0; order < counters_.size(); ++order) {
    auto* const memory =
        static_cast<std::uint32_t*>(std::calloc(std::size_t{4} << (2 * order), sizeof(std::uint32_t)));
    if (memory == nullptr) throw std::bad_alloc();
    counters_[order].reset(memory);
  }
}

void MarkovModels::append(std::string_view letters) {
  if (letters.empty()) codes_.push_back(context_break);
  for (const char letter : letters) codes_.push_back(base_code(letter));
}

void MarkovModels::count(std::string_view letters) {
  append(letters);
}

void MarkovModels::break_context() {
  codes_.push_back(context_break);
  if (codes_.size() >= codes_at_once) flush();
}

// Each order has its own counters, so that all of them count at the same time.
void MarkovModels::flush() {
  throw_if_cancelled();
  kernels::parallel_for(counters_.size(), [&](std::size_t task) {
    const int order = static_cast<int>(task);
    std::uint32_t* const counters = counters_[task].get();
    for_each_base(codes_, [&](std::uint64_t word, int known) {
      if (known < order) return;
      std::uint32_t& counter = counters[place_of(word, order)];
      if (counter < std::numeric_limits<std::uint32_t>::max()) ++counter;
    });
  });
  bases_ += codes_.size() - static_cast<std::size_t>(std::count(codes_.begin(), codes_.end(), context_break));
  codes_.clear();
}

void MarkovModels::count(const TokenShards& shards, const Tokenizer& tokenizer, std::uint64_t max_tokens,
                         std::uint64_t seed) {
  for_each_sampled_document(shards, max_tokens, seed, [&](const TokenView& tokens, std::size_t size) {
    for_each_text(tokens, size, tokenizer, [&](std::string_view text) { append(text); });
    break_context();
  });
  flush();
}

std::uint64_t MarkovModels::bases() {
  flush();
  return bases_;
}

void MarkovModels::add_bits(Bits& sums) const {
  for_each_base(codes_, [&](std::uint64_t word, int known) {
    double probability = 0.25;
    for (int order = 0; order <= highest_order; ++order) {
      const auto index = static_cast<std::size_t>(order);
      if (order <= known) {
        const std::uint64_t place = place_of(word, order);
        const std::uint32_t* const after = counters_[index].get() + (place & ~std::uint64_t{3});
        double seen = 0, kinds = 0;
        for (std::size_t base = 0; base < 4; ++base) {
          seen += static_cast<double>(after[base]);
          kinds += after[base] > 0 ? 1 : 0;
        }
        if (seen > 0)
          probability = (static_cast<double>(after[place & 3]) + kinds * probability) / (seen + kinds);
      }
      sums.bits[index] -= std::log2(probability);
    }
    ++sums.bases;
  });
}

MarkovModels::Bits MarkovModels::score(const TokenShards& shards, const Tokenizer& tokenizer) {
  flush();
  Bits sums;
  for (std::uint64_t document = 0; document < shards.document_count(); ++document) {
    throw_if_cancelled();
    const TokenView tokens = shards.document_tokens(document);
    for_each_text(tokens, tokens.size(), tokenizer, [&](std::string_view text) { append(text); });
    add_bits(sums);
    codes_.clear();
  }
  return sums;
}

MarkovModels::Bits MarkovModels::score(const std::vector<std::string_view>& documents) {
  flush();
  Bits sums;
  for (const std::string_view document : documents) {
    append(document);
    add_bits(sums);
    codes_.clear();
  }
  return sums;
}

int MarkovModels::Bits::best_order() const {
  return static_cast<int>(std::min_element(bits.begin() + 1, bits.end()) - bits.begin());
}

}  // namespace bigbird
