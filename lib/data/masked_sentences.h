// Contrastive predictive coding: which sentences of a sample are hidden whole, for a model to tell each from
// the others by what stands around it (docs/specification.md 4.3). The idea is the ETC paper's (Ainslie et
// al. 2020); its code is not public, and the numbers here are our choice.
//
// Of an example (a document of the sample) of n >= 3 sentences min(10, max(1, round(0.15 n))) are hidden,
// drawn without replacement among those of 4 tokens or more. Each is also read alone, cut to 512 tokens. One
// departure keeps the rows of these bounded, which the memory of a run is planned by: a drawn sentence that
// would take its sample past most_rows_alone() stays as it is. Samples of a few documents do not come near
// that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/core/rng.h"
#include "lib/data/joined_documents.h"

namespace bigbird {

inline constexpr std::int64_t least_sentences_to_mask = 3;  // of an example
inline constexpr double masked_sentence_fraction = 0.15;
inline constexpr std::int64_t most_masked_sentences = 10;  // of an example
inline constexpr std::int64_t least_masked_tokens = 4;     // of a sentence that is hidden
inline constexpr std::int64_t most_tokens_alone = 512;

// Of an example of so many sentences.
std::int64_t masked_sentence_count(std::int64_t sentences);

// Tokens of the sentences of one sample that are read alone, at most: half of what a sample of so many tokens
// has, or those of one sentence where that is more; in whole multiples of `multiple`.
std::int64_t most_rows_alone(std::int64_t length, std::int64_t multiple);

// The numbers of the hidden sentences, ascending.
std::vector<std::size_t> draw_masked_sentences(const std::vector<SentenceSpan>& sentences,
                                               std::int64_t most_rows, CounterRng& rng);

}  // namespace bigbird
