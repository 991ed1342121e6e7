// See run_searches.h.
#include "lib/text/search/run_searches.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"

namespace bigbird {
namespace {

SearchRows asked_rows(const TokenSearches& searches, const SearchRows& before) {
  SearchRows rows;
  for (std::size_t s = 0; s < searches.size(); ++s) {
    rows.first.push_back(rows.tokens.size());
    if (searches[s]->done()) continue;
    const auto offset = before.first.empty() ? 0 : static_cast<std::int32_t>(before.first[s]);
    const auto tokens = searches[s]->tokens();
    rows.tokens.insert(rows.tokens.end(), tokens.begin(), tokens.end());
    for (const std::int32_t parent : searches[s]->parents()) rows.parents.push_back(offset + parent);
    rows.searches.resize(rows.tokens.size(), static_cast<std::int32_t>(s));
  }
  rows.first.push_back(rows.tokens.size());
  return rows;
}

// What the searches that go on need to know (TokenSearch::wanted()).
struct Wanted {
  std::int64_t tokens = 0;  // the most that one of them wants
  bool logits = false;      // whether one of them wants all

  explicit Wanted(const TokenSearches& searches) {
    for (const auto& search : searches) {
      if (search->done()) continue;
      const std::int64_t of_search = search->wanted();
      tokens = std::max(tokens, of_search);
      logits = logits || of_search == 0;
    }
  }
};

}  // namespace

void add_search(RunIdentity& identity, const SearchOptions& search) {
  identity["search"] = fmt::format(
      "decoding {}, beams {}, length_penalty {}, early_stopping {}, max_length {}, min_length {}, "
      "no_repeat_ngram {}, repetition_penalty {}, forced_end {}",
      static_cast<int>(search.decoding), search.beams, search.length_penalty,
      static_cast<int>(search.early_stopping), search.max_length, search.min_length, search.no_repeat_ngram,
      search.repetition_penalty, search.forced_end);
  const SearchOptions usual;
  if (search.start != usual.start || search.end != usual.end || !search.more_ends.empty() ||
      search.forced_begin) {
    identity["tokens of the search"] =
        fmt::format("start {}, end {},{}, forced begin {}", search.start, search.end,
                    fmt::join(search.more_ends, ","), search.forced_begin.value_or(-1));
  }
  if (search.decoding == Decoding::sample) {
    identity["sampling"] =
        fmt::format("temperature {}, top_k {}, top_p {}, seed {}", search.sampling.temperature,
                    search.sampling.top_k, search.sampling.top_p, search.sampling.seed);
  }
}

void run_searches(const TokenSearches& searches, const NextTokenModel& model) {
  const auto vocabulary = static_cast<std::size_t>(model.vocabulary);
  for (SearchRows rows = asked_rows(searches, {}); !rows.tokens.empty(); rows = asked_rows(searches, rows)) {
    throw_if_cancelled();
    model.read(rows);
    const Wanted wanted(searches);
    const TopTokens top =
        wanted.tokens > 0 ? model.top(std::min(wanted.tokens, model.vocabulary)) : TopTokens{};
    const std::span<const float> logits = wanted.logits ? model.logits() : std::span<const float>();
    kernels::parallel_for(searches.size(), [&](std::size_t s) {
      const std::size_t first = rows.first[s], count = rows.first[s + 1] - first;
      if (count == 0) return;
      if (searches[s]->wanted() > 0) {
        searches[s]->advance(top.rows(first, count));
      } else {
        searches[s]->advance(logits.subspan(first * vocabulary, count * vocabulary));
      }
    });
  }
}

}  // namespace bigbird
