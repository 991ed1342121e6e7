// See head_rows.h.
#include "lib/model/network/head_rows.h"

#include <cstddef>
#include <numeric>
#include <vector>

namespace bigbird {
namespace {

bool reads_masked(HeadType head) {
  return head == HeadType::masked_lm || head == HeadType::pretraining;
}
bool reads_first(HeadType head) {
  return head == HeadType::classification || head == HeadType::pretraining;
}

// The masked rows, and the first of the others to make up PassContext::masked_rows: rows stay distinct, and
// with their labels ignored they add zeros to every gradient.
std::vector<std::int32_t> masked_tokens_of_pass(const PassContext& pass) {
  const std::vector<std::int32_t>& masked = pass.batch.masked_rows;
  std::vector<std::int32_t> rows = masked;
  std::size_t next = 0;
  for (std::int32_t row = 0; static_cast<std::int64_t>(rows.size()) < pass.masked_rows; ++row) {
    if (next < masked.size() && masked[next] == row) {
      ++next;
    } else {
      rows.push_back(row);
    }
  }
  return rows;
}

HeadRowNumbers tokens_of_head(const PassContext& pass) {
  const std::vector<std::int64_t>& offsets = pass.batch.token_offsets;
  if (!pass.batch.sequence_rows.empty()) return {masked_tokens_of_pass(pass), pass.batch.sequence_rows};
  return {masked_tokens_of_pass(pass), {offsets.begin(), offsets.end() - 1}};
}

// Of those that the head has.
std::int64_t masked_count(const PassContext& pass) {
  return reads_masked(pass.config.head) ? pass.masked_rows : 0;
}
std::int64_t first_count(const PassContext& pass) {
  return reads_first(pass.config.head) ? pass.batch.sequences() : 0;
}

}  // namespace

std::int64_t most_head_rows(const ModelConfig& config, const BatchLimits& limits, const ModelOptions& options,
                            const kernels::Backend& backend) {
  const bool few = reads_masked(config.head) || reads_first(config.head);
  // Masks are drawn for four elements at a time.
  if (!options.head_rows || !few || config.hidden_size % 4 != 0) return 0;
  if (is_reversible(config)) return 0;                      // no layer is the last of both streams
  if (config.attention == AttentionPattern::etc) return 0;  // two LayerNorms would tell rows apart
  if (config.pools()) return 0;
  if (config.has_stem() && reads_masked(config.head)) return 0;  // which are no rows
  const std::int64_t rows =
      (reads_masked(config.head) ? masked_rows_of_pass(backend, limits.masked_tokens, limits.tokens) : 0) +
      (reads_first(config.head) ? limits.sequences : 0);
  return rows < limits.tokens ? rows : 0;
}

PassContext at_head_rows(const PassContext& pass, const HeadRowActivations& kept) {
  PassContext rows = pass;
  if (kept.tokens != nullptr) {
    rows.row_numbers = kept.tokens;
    rows.row_count = masked_count(pass) + first_count(pass);
  }
  return rows;
}

HeadRowNumbers head_row_numbers(const PassContext& pass, const HeadRowActivations& kept) {
  HeadRowNumbers rows = tokens_of_head(pass);
  if (kept.tokens == nullptr) return rows;
  std::iota(rows.masked.begin(), rows.masked.end(), 0);
  std::iota(rows.first.begin(), rows.first.end(), static_cast<std::int32_t>(masked_count(pass)));
  return rows;
}

void head_rows_stage(const PassContext& pass, const HeadRowActivations& kept) {
  if (kept.tokens == nullptr) return;
  const HeadRowNumbers tokens = tokens_of_head(pass);
  const auto upload = [&](std::int32_t* to, const std::vector<std::int32_t>& rows) {
    pass.backend.upload(to, rows.data(), rows.size() * sizeof(std::int32_t));
  };
  if (masked_count(pass) > 0) upload(kept.tokens, tokens.masked);
  if (first_count(pass) > 0) upload(kept.tokens + masked_count(pass), tokens.first);
}

void gather_head_rows(const PassContext& pass, const HeadRowActivations& kept, kernels::ConstValues from,
                      kernels::Values to) {
  pass.backend.gather_rows(from, kept.tokens, to, masked_count(pass) + first_count(pass), pass.width());
}

void spread_head_rows(const PassContext& pass, const HeadRowActivations& kept, kernels::ConstValues rows,
                      kernels::Values all) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index masked = masked_count(pass), first = first_count(pass), width = pass.width();
  backend.zero(all.data(), static_cast<std::size_t>(pass.tokens() * width) * kernels::size_of(all.type()));
  // Each of the two are distinct rows.
  if (masked > 0) backend.scatter_add_rows(rows, kept.tokens, all, masked, width);
  if (first > 0) backend.scatter_add_rows(rows + masked * width, kept.tokens + masked, all, first, width);
}

}  // namespace bigbird
