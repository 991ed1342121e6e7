// The cases of attention with rules and labels that a device has to get right: the CPU's, and more.
#pragma once

#include <utility>
#include <vector>

#include "tests/kernels/pair_cases.h"

namespace bigbird::kernels::cuda::testing {

// Both tiles, every head size; blocks of several tiles; windows, labels and queries without a key across
// them; lists that are cut, of queries (few see many keys) and of keys (few are seen by many).
inline std::vector<PairCase> device_pair_cases() {
  std::vector<PairCase> cases = pair_cases();
  const auto add = [&](const char* name, Index heads, Index head_size, Index block_size,
                       std::vector<Index> queries, std::vector<Index> keys, const auto& more) {
    PairCase made{};
    made.name = name;
    made.heads = heads;
    made.head_size = head_size;
    made.block_size = block_size;
    made.queries = std::move(queries);
    made.keys = std::move(keys);
    more(made);
    cases.push_back(made);
  };
  const auto window = [](PairCase& of) {
    of.before = 11;
    of.after = 19;
    of.labels = 21;
    of.most = 8;
  };
  add("small tiles of heads of 64", 1, 64, 16, {70}, {}, window);
  add("small tiles of heads of 128", 1, 128, 16, {50}, {}, window);
  add("large tiles of heads of 32", 2, 32, 64, {130, 20}, {}, window);
  add("large tiles of heads of 128", 1, 128, 64, {100}, {}, window);
  add("blocks of several tiles", 1, 32, 48, {110}, {}, window);
  add("heads of 20, padded", 2, 20, 16, {33, 9}, {}, window);
  add("large tiles, dropout", 1, 32, 64, {90}, {}, [&](PairCase& of) {
    window(of);
    of.drop_probability = 0.25;
  });
  add("large tiles, few rows of which see a key", 1, 32, 64, {200}, {}, [](PairCase& of) {
    of.before = of.after = 2;
    of.hidden = of.groups = true;
    of.labels = 4;
    of.most = 1;
  });
  add("no distance is told apart", 1, 32, 16, {50}, {}, [](PairCase& of) {
    of.labels = 4;
    of.parts = true;
  });
  // Of the second sequence one query block sees many keys, the other, of padding, none.
  add("query lists that are cut, labels by distance", 2, 32, 16, {5, 10}, {3, 800}, [](PairCase& of) {
    of.groups = true;
    of.labels = 24;
    of.most = 10;
    of.parts = true;
  });
  add("query lists that are cut, labels by links", 1, 64, 64, {5, 40}, {3, 1700}, [](PairCase& of) {
    of.links = 2;
    of.labels = 24;
    of.most = 10;
    of.by_links = true;
  });
  add("key lists that are cut, labels by links", 2, 32, 16, {800}, {10}, [](PairCase& of) {
    of.hidden = true;
    of.links = 2;
    of.needed = 1;
    of.free_queries = true;
    of.labels = 24;
    of.most = 10;
    of.by_links = true;
  });
  add("many blocks, the own key last", 1, 32, 16, {330}, {}, [](PairCase& of) {
    of.groups = of.self_last = of.hidden = true;
    of.links = of.needed = 1;
  });
  add("as many labels as there may be", 1, 32, 64, {130}, {}, [](PairCase& of) {
    of.labels = most_device_labels;
    of.most = 127;
  });
  add("large tiles, labels behind, after a memory", 1, 64, 64, {100, 30}, {180, 64}, [](PairCase& of) {
    of.labels = 171;
    of.most = 170;
    of.behind = of.causal = true;
    of.starts = {75, 34};
  });
  add("large tiles, labels behind, clamped", 2, 32, 64, {100}, {200}, [](PairCase& of) {
    of.before = 90;
    of.labels = 40;
    of.most = 31;
    of.behind = of.causal = true;
    of.starts = {100};
  });
  add("the own key alone is told apart", 1, 32, 16, {40}, {50}, [](PairCase& of) {
    of.labels = 2;
    of.most = 1;
    of.behind = of.causal = true;
    of.starts = {10};
  });
  add("heads of 20, padded, labels behind", 2, 20, 16, {33, 9}, {60, 9}, [](PairCase& of) {
    of.labels = 61;
    of.most = 60;
    of.behind = of.causal = of.no_self = true;
    of.starts = {20, 0};
  });
  add("query lists that are cut, labels behind", 1, 32, 16, {5, 10}, {3, 800}, [](PairCase& of) {
    of.labels = 320;
    of.most = 300;
    of.behind = of.causal = true;
    of.starts = {0, 785};
  });
  return cases;
}

}  // namespace bigbird::kernels::cuda::testing
