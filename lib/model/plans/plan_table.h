// An attention plan that was written down instead of drawn: the key blocks of every layer, head and query
// block, from JSON as bigbird attention writes it, or from a DeepSpeed layout in a checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bigbird {

class PlanTable {
 public:
  // rows[i] = key blocks of query block i, repeats kept.
  using Rows = std::vector<std::vector<std::int32_t>>;
  // heads[h] = rows of head h.
  using Heads = std::vector<Rows>;

  // One entry per layer, or a single one for all of them. Every entry has `heads` heads of `blocks` rows.
  // Error{bad_input} naming `where`, layer, head and row: lists of another size, an empty list, a block
  // outside 0..blocks-1.
  PlanTable(std::int64_t block_size, std::vector<Heads> layers, const std::string& where);
  // {"block_size": b, "heads": [{"rows": [[...], ...]}, ...]} for all layers alike, or
  // {"block_size": b, "layers": [{"heads": [...]}, ...]}.
  static PlanTable read(const std::string& file);
  // DeepSpeed's layouts, one per layer (or a single one for all): [heads, blocks, blocks] of 0 and 1,
  // row-major, a 1 where query block (row) sees key block (column). Error{bad_input} naming `where` and the
  // place: a layout of another size, a value other than 0 and 1, and all that the constructor refuses.
  static PlanTable from_layouts(std::int64_t block_size,
                                const std::vector<std::vector<std::int64_t>>& layouts, std::int64_t heads,
                                std::int64_t blocks, const std::string& where);
  std::string json() const;

  std::int64_t block_size() const { return block_size_; }
  std::int64_t layers() const { return static_cast<std::int64_t>(layers_.size()); }  // 1: alike in all
  std::int64_t heads() const { return static_cast<std::int64_t>(layers_[0].size()); }
  const std::string& where() const { return where_; }  // its file, for messages
  std::int64_t blocks() const { return static_cast<std::int64_t>(layers_[0][0].size()); }

  // The plan of a sequence of `blocks` blocks: the upper left corner of the table, as DeepSpeed cuts its
  // layout. Error{bad_input} when the table is smaller, or when the cut leaves a row without a key block.
  Heads rows(std::int64_t layer, std::int64_t blocks) const;
  // Error{usage} when inputs of `length` tokens are longer than the table.
  void require_length(std::int64_t length) const;

 private:
  std::int64_t block_size_ = 0;
  std::vector<Heads> layers_;
  std::string where_;
};

}  // namespace bigbird
