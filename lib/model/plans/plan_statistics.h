// What a block plan is as a graph: degrees, path lengths, and the star that the paper's universality proof
// needs (Zaheer et al. 2020, section 2 and Theorem 1). An edge i -> j means that query block i sees key block
// j.
#pragma once

#include <cstdint>
#include <vector>

namespace bigbird {

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
