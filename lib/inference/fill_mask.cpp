// Masked tokens; see fill_mask.h.
#include "lib/inference/fill_mask.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "lib/core/progress.h"
#include "lib/inference/probabilities.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

// Masked tokens of one call: their logits over the whole vocabulary are held at once.
constexpr std::size_t most_masked = 1024;

FilledMask filled_mask(std::span<const float> logits, std::size_t pieces, std::size_t token,
                       std::size_t actual, std::size_t top) {
  const Softmax softmax(logits);
  std::vector<std::uint32_t> order(std::min(logits.size(), pieces));
  std::iota(order.begin(), order.end(), 0u);
  const std::size_t count = std::min(top, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::uint32_t a, std::uint32_t b) {
                      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
                    });
  FilledMask filled{token, softmax(logits[actual]), {}};
  for (std::size_t i = 0; i < count; ++i) filled.guesses.push_back({order[i], softmax(logits[order[i]])});
  return filled;
}

}  // namespace

MaskFiller::MaskFiller(const std::string& model_folder, std::size_t top, kernels::Backend& backend)
    : top_(top),
      runner_(ModelFolder(model_folder), {.batch = {.tokens = 4096}, .masked_tokens = most_masked}, backend) {
}

void MaskFiller::start(const std::vector<std::int32_t>& ids, const std::vector<std::size_t>& masked,
                       std::vector<FilledMask>& filled) {
  std::vector<std::int32_t> hidden = ids;
  for (const std::size_t token : masked) {
    hidden[token + 1] = static_cast<std::int32_t>(tokenizer().special().mask);
  }
  const auto vocabulary = static_cast<std::size_t>(runner_.config().vocab_size);
  for (std::size_t first = 0; first < masked.size(); first += most_masked) {
    const std::size_t count = std::min(most_masked, masked.size() - first);
    const std::vector<std::size_t> part(masked.begin() + static_cast<std::ptrdiff_t>(first),
                                        masked.begin() + static_cast<std::ptrdiff_t>(first + count));
    std::vector<std::int32_t> rows;
    for (const std::size_t token : part) rows.push_back(static_cast<std::int32_t>(token) + 1);
    runner_.add({hidden, {}, rows}, [this, part, &ids, &filled, vocabulary](const SequenceResult& result) {
      for (std::size_t i = 0; i < part.size(); ++i) {
        filled.push_back(filled_mask(result.masked_logits.subspan(i * vocabulary, vocabulary),
                                     tokenizer().vocab_size(), part[i],
                                     static_cast<std::size_t>(ids[part[i] + 1]), top_));
      }
    });
  }
}

std::vector<FilledMask> MaskFiller::fill(const std::vector<std::uint32_t>& tokens,
                                         const std::vector<std::size_t>& masked, const std::string& where) {
  const std::vector<std::int32_t> ids = with_cls_and_sep(tokens, tokenizer(), runner_.config(), where);
  std::vector<FilledMask> filled;
  start(ids, masked, filled);
  runner_.finish();
  return filled;
}

std::vector<FilledMask> MaskFiller::fill_in_turn(const std::vector<std::uint32_t>& tokens, std::size_t every,
                                                 const std::string& where) {
  const std::vector<std::int32_t> ids = with_cls_and_sep(tokens, tokenizer(), runner_.config(), where);
  std::vector<FilledMask> filled;
  const std::size_t calls = std::min(every, tokens.size());
  Progress progress("fill-mask", calls, "calls");
  for (std::size_t call = 0; call < calls; ++call) {
    std::vector<std::size_t> masked;
    for (std::size_t token = call; token < tokens.size(); token += every) {
      if (!tokenizer().is_special(tokens[token])) masked.push_back(token);
    }
    start(ids, masked, filled);
    progress.advance(1);
  }
  runner_.finish();
  std::sort(filled.begin(), filled.end(),
            [](const FilledMask& a, const FilledMask& b) { return a.token < b.token; });
  return filled;
}

}  // namespace bigbird
