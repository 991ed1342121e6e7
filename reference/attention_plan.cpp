// Plan builders and the shape check of the attention oracles; see attention_plan.h.
#include "reference/attention_plan.h"

#include <numeric>
#include <stdexcept>

namespace bigbird::reference {

void check_attention(const AttentionShape& shape, const AttentionPlan& plan, const Vector& query,
                     const Vector& key, const Vector& value) {
  if (query.size() != shape.elements() || key.size() != shape.elements() ||
      value.size() != shape.elements()) {
    throw std::invalid_argument("attention: query, key or value does not fit the shape");
  }
  if (shape.valid_length > shape.length())
    throw std::invalid_argument("attention: valid length beyond the sequence");
  if (plan.size() != shape.heads)
    throw std::invalid_argument("attention: the plan has another number of heads");
  for (const auto& head : plan) {
    if (head.size() != shape.blocks)
      throw std::invalid_argument("attention: the plan has another number of blocks");
    for (const auto& key_blocks : head) {
      for (const std::size_t block : key_blocks) {
        if (block >= shape.blocks) throw std::invalid_argument("attention: a key block that does not exist");
      }
    }
  }
}

AttentionPlan full_plan(std::size_t heads, std::size_t blocks) {
  std::vector<std::size_t> all(blocks);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return AttentionPlan(heads, std::vector<std::vector<std::size_t>>(blocks, all));
}

AttentionPlan itc_plan(std::size_t blocks, const AttentionPlan& random_blocks) {
  if (blocks < 4) throw std::invalid_argument("BigBird-ITC needs at least 4 blocks");
  const std::size_t last = blocks - 1;
  AttentionPlan plan = full_plan(random_blocks.size(), blocks);
  for (std::size_t head = 0; head < plan.size(); ++head) {
    if (random_blocks[head].size() != blocks - 2)
      throw std::invalid_argument("one random list per middle row");
    for (std::size_t row = 1; row < last; ++row) {
      std::vector<std::size_t>& keys = plan[head][row];
      if (row == 1) {
        keys = {0, 1, 2, last};
      } else if (row == last - 1) {
        keys = {0, last - 2, last - 1, last};
      } else {
        keys = {0, row - 1, row, row + 1, last};
      }
      const std::vector<std::size_t>& random = random_blocks[head][row - 1];
      keys.insert(keys.end(), random.begin(), random.end());
    }
  }
  return plan;
}

}  // namespace bigbird::reference
