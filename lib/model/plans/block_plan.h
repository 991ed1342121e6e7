// lib/model/plans holds plans of attention: which blocks see which, by pattern, by the published draws, or
// from a file. A plan knows nothing of weights; every kernel of attention reads plans.
//
// Block plans: which key blocks each query block sees, per head, for one layer and one length
// (docs/specification.md 1). One generator serves every pattern; the result is a list per row, repeats kept,
// and its transpose.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels/types.h"
#include "lib/model/config.h"

namespace bigbird {

// Owns the lists behind a kernels::BlockPlanView.
class BlockPlan {
 public:
  // rows[h][i] = key blocks of query block i in head h; key_blocks of them, where keys are of other rows than
  // queries, else as many as query blocks.
  explicit BlockPlan(const std::vector<std::vector<std::vector<std::int32_t>>>& rows,
                     std::int64_t key_blocks = 0);
  BlockPlan(const BlockPlan&) = delete;
  BlockPlan& operator=(const BlockPlan&) = delete;
  const kernels::BlockPlanView& view() const { return view_; }

 private:
  std::vector<std::int32_t> row_offsets_, key_blocks_, column_offsets_, query_blocks_;
  kernels::BlockPlanView view_;
};

// random[h][row - 1] = the r random blocks of query blocks 1..n-2.
using RandomBlocks = std::vector<std::vector<std::vector<std::int32_t>>>;

// The seeded random blocks of one layer (seed = 0-based layer index), by the path that `mode` takes at this
// length. Throws Error{bad_input} for an (n, r) that the path cannot serve, naming both and the smallest n
// that works.
RandomBlocks random_blocks(std::int64_t blocks, std::int64_t block_size, std::int64_t heads,
                           std::int64_t random_per_row, std::uint32_t seed, RandomMode mode,
                           std::int64_t max_position_embeddings);
// The two paths themselves, for golden tests: "old" (docs/specification.md 1.5, drawn for max_length tokens)
// and "plan" (docs/specification.md 1.6). draws, when not null, receives the number of 32-bit draws.
RandomBlocks random_blocks_old(std::int64_t blocks, std::int64_t block_size, std::int64_t heads,
                               std::int64_t random_per_row, std::uint32_t seed, std::int64_t max_length,
                               std::uint64_t* draws = nullptr);
RandomBlocks random_blocks_plan(std::int64_t blocks, std::int64_t heads, std::int64_t random_per_row,
                                std::uint32_t seed, std::uint64_t* draws = nullptr);

// r distinct blocks for every row 0..n-1, uniform over the blocks outside the row's window: [h][n][r]. For
// the patterns without global blocks, which the published code does not have.
RandomBlocks uniform_random_blocks(std::int64_t blocks, std::int64_t heads, std::int64_t random_per_row,
                                   std::uint32_t seed);
// The random blocks that a pattern needs: random_blocks() for ITC, uniform_random_blocks() for the patterns
// without global blocks, none for the others.
RandomBlocks random_blocks_for(AttentionPattern pattern, std::int64_t blocks, std::int64_t block_size,
                               std::int64_t heads, std::int64_t random_per_row, std::uint32_t seed,
                               RandomMode mode, std::int64_t max_position_embeddings);

// Key blocks of every row (docs/specification.md 1.1 for ITC), repeats kept, of BigBird's family.
std::vector<std::vector<std::vector<std::int32_t>>> pattern_rows(AttentionPattern pattern,
                                                                 std::int64_t blocks, std::int64_t heads,
                                                                 const RandomBlocks& random);

// Key blocks of every row of one layer as the config asks for them: a plan from its file, the pattern with
// its random blocks, or every block when `full`.
std::vector<std::vector<std::vector<std::int32_t>>> plan_rows(const ModelConfig& config, std::int64_t layer,
                                                              std::int64_t blocks, bool full);

// The first `count` blocks see all blocks and are seen by all (the paper's 128 global tokens of a question,
// table 12): their rows list every block once, and the other rows get those of them that they do not list
// yet, at their ends. What a row lists besides stays, repeats too.
void make_first_blocks_global(std::vector<std::vector<std::vector<std::int32_t>>>& rows, std::int64_t count);

// Plans of all layers at the lengths met so far; thread-safe. Full attention is decided per call by the rule
// of the random mode (full_attention_reason) and said once for each reason.
class PlanCache {
 public:
  explicit PlanCache(const ModelConfig& config);
  // Of `blocks` blocks, of which `length` tokens are real (without it: all). Lives as long as the cache.
  const BlockPlan& plan(std::int64_t layer, std::int64_t blocks);
  const BlockPlan& plan(std::int64_t layer, std::int64_t blocks, std::int64_t length);
  // Whether such a sequence takes full attention (then attention-probability dropout applies in training).
  bool full_attention(std::int64_t blocks);
  bool full_attention(std::int64_t blocks, std::int64_t length);

 private:
  const std::string& reason(std::int64_t blocks);  // for full attention; under the lock

  ModelConfig config_;
  std::mutex mutex_;
  std::map<std::int64_t, std::string> reasons_;
  // By layer, blocks, and those of them that decide on the lists (planned_blocks()).
  std::map<std::array<std::int64_t, 3>, std::unique_ptr<BlockPlan>> plans_;
};

// When a sequence takes full attention although the model's pattern is sparse (docs/specification.md 1.3):
// decided for every sequence of every call, whatever ran before it.

// Why a sequence of `blocks` blocks, its padding included, takes full attention, to follow "full attention
// for"; empty when its attention is sparse. The rule is that of the random mode:
//   google              at most 512 tokens, and the lengths at which the published code fails to draw a plan;
//   hf-train, hf-eval   at most 5 + 2r blocks, as Hugging Face, and where its code would fail;
//   none                at most 5 blocks, Hugging Face's rule for r = 0;
//   file                never: the plan is what is computed.
// The patterns random and window+random take it below 2r + 6 blocks, full always, window and star never,
// blockbert below as many blocks as it has parts, sparse-fixed up to its stride. Of these three `blocks` are
// those of the tokens alone, without padding more.
std::string full_attention_reason(const ModelConfig& config, std::int64_t blocks);

// What a block plan is as a graph: degrees, path lengths, and the star that the paper's universality proof
// needs (Zaheer et al. 2020, section 2 and Theorem 1). An edge i -> j means that query block i sees key block
// j.
struct PlanStatistics {
  std::int64_t blocks = 0;
  std::int64_t listed = 0;                // key blocks over all rows, repeats counted: the work of the kernel
  std::int64_t distinct = 0;              // without repeats: edges of the graph
  std::int64_t min_out = 0, max_out = 0;  // key blocks of a row, repeats counted
  std::int64_t min_in = 0, max_in = 0;    // query blocks that list a key block, repeats counted
  double mean_out = 0;
  // Directed shortest paths between distinct blocks; unreachable pairs are counted and left out of the mean.
  double mean_path = 0;
  std::int64_t longest_path = 0;
  std::int64_t unreachable_pairs = 0;
  // Blocks that see every block and are seen by every block: centres of a star graph. Theorem 1 asks for one.
  std::vector<std::int64_t> star_centres;
};

// rows[i] = key blocks of query block i, for one head.
PlanStatistics plan_statistics(const std::vector<std::vector<std::int32_t>>& rows);

}  // namespace bigbird
