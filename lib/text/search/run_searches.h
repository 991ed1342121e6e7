// lib/text/search holds searches for the tokens of a text that a model writes, whatever the model: of a
// summary, or of what goes on behind a prompt.
//
// Searches side by side over one model, which reads a token in each of their rows at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lib/model/network/top_tokens.h"
#include "lib/parts/side_file.h"
#include "lib/text/search/token_search.h"

namespace bigbird {

using TokenSearches = std::vector<std::unique_ptr<TokenSearch>>;

// The rows that all searches ask for at a step, those of one search side by side.
struct SearchRows {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> parents;   // rows of the step before; at the first step zeros, which mean nothing
  std::vector<std::int32_t> searches;  // whose each row is, ascending
  std::vector<std::size_t> first;      // [searches + 1] where each search's begin
};

// A model as searches see it.
struct NextTokenModel {
  std::function<void(const SearchRows&)> read;
  // What may stand behind the tokens that were read last: the best so many of each row, or all logits.
  std::function<TopTokens(std::int64_t)> top;
  std::function<std::span<const float>()> logits;
  std::int64_t vocabulary = 0;
};

// What a run of such a search is known by, for outputs that are made in parts (model_identity()): all that a
// text depends on beside its model and what is asked of it.
void add_search(RunIdentity& identity, const SearchOptions& search);

// Until all are done. Each search is told what it wants to know by itself, so that no text depends on what is
// written beside it. Error{interrupted} at a request to stop.
void run_searches(const TokenSearches& searches, const NextTokenModel& model);

}  // namespace bigbird
