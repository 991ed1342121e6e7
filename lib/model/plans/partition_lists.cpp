// See partition_lists.h.
#include "lib/model/plans/partition_lists.h"

#include <algorithm>

namespace bigbird {
namespace {

using Node = std::int32_t;

std::vector<Node> level_sizes(std::int64_t tokens) {
  std::vector<Node> sizes{static_cast<Node>(tokens)};
  while (sizes.back() > 1) sizes.push_back((sizes.back() + 1) / 2);
  return sizes;
}

// The walk of one leaf over the levels, to one side.
class Side {
 public:
  Side(Node next, Node step) : next_(next), step_(step) {}

  // The t-th place of level j: calls see(level, node), where there is a node. Of a node one of whose children
  // was seen before, its other child takes the place.
  template <typename See>
  void place(std::size_t level, Node t, const std::vector<Node>& sizes, const See& see) {
    const bool half = half_ && t == 0;
    const Node node = half ? other_child_ : next_;
    const std::size_t of = half ? level - 1 : level;
    // An odd level ends with a node of one child: then the other one is no node.
    if (node >= 0 && node < sizes[of]) see(of, node);
    next_ += step_;
  }
  void climb() {
    // The next node's parent has a child that was seen where this is its second one in the walk's order.
    half_ = next_ >= 0 && (next_ % 2 == 1) == (step_ > 0);
    other_child_ = next_;
    next_ = next_ < 0 ? -1 : next_ / 2;
  }

 private:
  Node next_;
  Node step_;
  bool half_ = false;
  Node other_child_ = 0;
};

}  // namespace

BinaryPartition binary_partition(std::int64_t tokens, const BptOptions& options, bool causal) {
  const std::vector<Node> sizes = level_sizes(tokens);
  const auto places = static_cast<Node>(options.contextual);
  BinaryPartition lists;
  lists.level_begins.push_back(0);
  for (const Node size : sizes) lists.level_begins.push_back(lists.level_begins.back() + size);
  lists.offsets.push_back(0);
  const auto first_label = [&](std::size_t level) {
    return (2 * places + 1) *
           static_cast<Node>(std::min(static_cast<std::int64_t>(level), options.clip_levels));
  };
  const auto end_list = [&] { lists.offsets.push_back(static_cast<std::int32_t>(lists.rows.size())); };
  for (Node leaf = 0; leaf < sizes[0]; ++leaf) {
    lists.rows.push_back(leaf);
    lists.labels.push_back(0);
    Side left(leaf - 1, -1), right(leaf + 1, 1);
    for (std::size_t level = 0; level < sizes.size(); ++level) {
      for (Node t = 0; t < places; ++t) {
        const auto see_as = [&](Node label) {
          return [&lists, label](std::size_t of, Node node) {
            lists.rows.push_back(lists.level_begins[of] + node);
            lists.labels.push_back(label);
          };
        };
        if (!causal) right.place(level, t, sizes, see_as(first_label(level) + 2 * t + 2));
        left.place(level, t, sizes, see_as(first_label(level) + 2 * t + 1));
      }
      left.climb();
      right.climb();
    }
    end_list();
  }
  for (std::size_t level = 1; level < sizes.size(); ++level) {
    for (std::int64_t span = 0; span < sizes[level]; ++span) {
      const std::int64_t end = std::min((span + 1) << level, tokens);
      for (std::int64_t leaf = span << level; leaf < end; ++leaf) {
        lists.rows.push_back(static_cast<std::int32_t>(leaf));
        lists.labels.push_back(first_label(level));
      }
      end_list();
    }
  }
  return lists;
}

std::int64_t partition_spans(std::int64_t tokens) {
  std::int64_t spans = 0;
  while (tokens > 1) spans += tokens = (tokens + 1) / 2;
  return spans;
}

std::int64_t most_partition_entries(std::int64_t tokens, std::int64_t longest, const BptOptions& options) {
  // A leaf has itself, on each level no more nodes than there are, and is in one span of each.
  std::int64_t of_leaf = 1;
  for (const Node size : level_sizes(longest))
    of_leaf += std::min<std::int64_t>(2 * options.contextual, size) + (size < longest ? 1 : 0);
  return tokens * of_leaf;
}

std::int64_t partition_labels(const BptOptions& options) {
  return (2 * options.contextual + 1) * (options.clip_levels + 1);
}

}  // namespace bigbird
