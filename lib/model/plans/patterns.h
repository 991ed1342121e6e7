// Key lists of the systems beside BigBird's family: the star of Definition 1, BlockBERT, the fixed pattern of
// the Sparse Transformer, windows and residue classes of tokens (docs/specification.md 1.10, 1.12). A list
// has every block once, ascending; blocks are those of the tokens that a sequence has, the last one of them
// may be shorter than the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/config.h"

namespace bigbird {

// [head][query block] -> key blocks.
using KeyLists = std::vector<std::vector<std::vector<std::int32_t>>>;

// Left to right: a row's own block and all before it.
KeyLists causal_rows(std::int64_t blocks, std::int64_t heads);

// Zaheer et al. 2020, Definition 1: block 0 sees all and is seen by all, and every block sees itself.
KeyLists star_rows(std::int64_t blocks, std::int64_t heads);

// Qiu et al. 2020, section 3: `parts` parts of ceil(blocks / parts) blocks, the last one shorter or, of few
// blocks, one and more of them missing. In a head of shift s part I sees all of part (I + s) modulo the parts
// that there are. heads[s]: how many heads have shift s, in this order.
KeyLists blockbert_rows(std::int64_t blocks, std::int64_t parts, const std::vector<std::int64_t>& heads);

// Child et al. 2019, section 4.3 (fixed), in blocks.
struct SparseFixed {
  std::int64_t chunk = 2;     // l
  std::int64_t summary = 1;   // c
  std::int64_t patterns = 1;  // V: head h has the (h mod V)-th group of c columns from a chunk's end
  HeadsAs heads_as = HeadsAs::merged;
};
// Both directions: the row's own chunk, whole, and the summary columns of all chunks. A last chunk that is
// shorter has those of its columns that are there. A head without a chunk (HeadsAs) has the summary alone.
KeyLists sparse_fixed_rows(const SparseFixed& of, std::int64_t blocks, std::int64_t heads,
                           std::int64_t layer);
// Left to right: of these the blocks that are not behind the row. The kernel leaves out the later keys of the
// row's own block. A row of a head without a chunk has no list before the first summary.
KeyLists sparse_fixed_causal_rows(const SparseFixed& of, std::int64_t blocks, std::int64_t heads,
                                  std::int64_t layer);
SparseFixed sparse_fixed_of(const ModelConfig& config);

// The blocks with a key at most `before` tokens before a query of the row, or `after` tokens after it.
KeyLists token_window_rows(std::int64_t blocks, std::int64_t heads, std::int64_t block_size,
                           std::int64_t before, std::int64_t after);

// Tokens of a sequence in residue classes modulo `step`, class after class (ResidueClasses of
// lib/model/network/residue_classes.h): the blocks with a key of a query's class at most `before` of its
// tokens before the query, or `after` after it (-1: any), however many tokens the last block has.
KeyLists residue_class_rows(std::int64_t blocks, std::int64_t heads, std::int64_t block_size,
                            std::int64_t step, std::int64_t before, std::int64_t after);
// The first place of a class among so many tokens.
std::int64_t residue_class_begin(std::int64_t tokens, std::int64_t step, std::int64_t residue);

// The lists that a model of such a system has for a sequence of `blocks` blocks; of one that decides by
// tokens (token_pairs.h) those of its windows, of the heads alone that have one.
KeyLists own_length_rows(const ModelConfig& config, std::int64_t layer, std::int64_t blocks);
// Why such a sequence takes full attention (full_attention_reason()); empty where it does not.
std::string own_length_reason(const ModelConfig& config, std::int64_t blocks);
// Blocks that decide on the lists of a sequence: those of its tokens, or, of the other systems, all `blocks`.
std::int64_t planned_blocks(const ModelConfig& config, std::int64_t blocks, std::int64_t length);
// The layer whose lists a layer has: of systems that draw nothing few are different.
std::int64_t planned_layer(const ModelConfig& config, std::int64_t layer);

// Error{bad_input} naming `where` and the option where the system cannot compute with the model's blocks,
// heads and positions.
void check_attention(const ModelConfig& config, const std::string& where);

// BigBird-ETC with random blocks, which no source has (docs/specification.md 2.8): each row of long tokens
// draws `random` distinct blocks, fewer where there are not so many, of those without a token within `radius`
// of any of its own. NumPy's generator, seeded with the layer; heads outer, rows inner.
KeyLists etc_random_rows(std::int64_t blocks, std::int64_t heads, std::int64_t block_size,
                         std::int64_t radius, std::int64_t random, std::int64_t layer);

}  // namespace bigbird
