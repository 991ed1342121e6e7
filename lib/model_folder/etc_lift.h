// BigBird-ETC out of the weights of a model with one input: BERT, RoBERTa or BigBird-ITC (Ainslie et al.
// 2020, section 3.2; docs/specification.md 2.8). Each matrix of a layer starts both inputs and every pair of
// them.
#pragma once

#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/layout.h"

namespace bigbird {

// A model of this kind, with the options that `config` has: LayerNorm of the embeddings before dropout, no
// positions, 16 token types, no random blocks, and the head for masked tokens in place of the one with next
// sentences.
void become_etc(ModelConfig& config);

// Whether the source's tensors, by their names, are those of a model with one input.
bool is_one_input(const std::vector<std::string>& names);

// The source's tensor that a tensor of BigBird-ETC starts as; empty for what is new (tables of labels,
// projections of predicted sentences) and for heads, which keep their names.
std::string etc_source(const std::string& layout_name);

// Rows of token types: 0 and 1 are the source's (its one row twice), the others stay as `fresh` has them.
std::vector<float> lifted_types(const std::vector<float>& source, std::vector<float> fresh,
                                std::int64_t width);

}  // namespace bigbird
