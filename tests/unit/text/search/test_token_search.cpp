// Searches over a made-up model: against the plain reference, against each other, and their rules one by one.
// Against transformers' generate(): tests/golden/test_generation.cpp.
#include "lib/text/search/token_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reference/token_search.h"
#include "tests/unit/io/expect_error.h"
#include "tests/unit/text/search/made_up_logits.h"

namespace bigbird {
namespace {

using testing::MadeUpLogits;
using testing::run_search;

SearchOptions search_options(Decoding decoding, std::int64_t beams, std::int64_t max_length) {
  SearchOptions options;
  options.decoding = decoding;
  options.beams = beams;
  options.sequences = beams;
  options.max_length = max_length;
  return options;
}

TEST(GoogleBeamSearch, IsThePlainOne) {
  std::int64_t steps = 0, most_steps = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const MadeUpLogits model{seed, static_cast<double>(seed % 4) - 1.0};
    for (const double length_penalty : {0.8, 0.7, 0.0}) {
      SearchOptions options = search_options(Decoding::google, seed % 2 == 0 ? 5 : 2, 13);
      options.length_penalty = length_penalty;
      const std::vector<FoundSequence> found = run_search(model, options, &steps);
      most_steps += 12;
      const std::vector<reference::BeamSequence> wanted = reference::published_beam_search(
          model, 2, 1, static_cast<std::size_t>(options.beams), length_penalty, 12);
      ASSERT_EQ(found.size(), wanted.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].tokens,
                  std::vector<std::int32_t>(wanted[i].tokens.begin() + 1, wanted[i].tokens.end()))
            << seed << ' ' << i;
        EXPECT_NEAR(found[i].score, wanted[i].score, 1e-5);
      }
    }
  }
  EXPECT_LT(steps, most_steps);  // what is known before its end is not searched for
}

TEST(GoogleBeamSearch, OfOneBeamTakesTheMostProbableTokens) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const MadeUpLogits model{seed, 1.0};
    const auto greedy = run_search(model, search_options(Decoding::greedy, 1, 12));
    SearchOptions options = search_options(Decoding::google, 1, 12);
    const auto published = run_search(model, options);
    // It keeps the best end that it met, where greedy search stops at the first token that is one.
    if (greedy.front().tokens.back() == 1) {
      EXPECT_EQ(published.front().tokens.back(), 1);
    }
    EXPECT_LE(published.front().tokens.size(), 11u);
  }
}

TEST(TokenSearch, RulesHold) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const MadeUpLogits model{seed, 2.0};
    for (const std::int64_t beams : {1, 4}) {
      SearchOptions options = search_options(Decoding::huggingface, beams, 16);
      options.min_length = 9;
      options.no_repeat_ngram = 2;
      options.forced_end = true;
      for (const FoundSequence& found : run_search(model, options)) {
        EXPECT_GE(found.tokens.size(),
                  8u);  // the start symbol counts to min_length; the end is its ninth token
        EXPECT_LE(found.tokens.size(), 15u);
        EXPECT_EQ(found.tokens.back(), 1);
        EXPECT_EQ(std::count(found.tokens.begin(), found.tokens.end(), 1), 1);
        std::vector<std::pair<std::int32_t, std::int32_t>> grams;
        for (std::size_t i = 0; i + 1 < found.tokens.size(); ++i)
          grams.emplace_back(found.tokens[i], found.tokens[i + 1]);
        std::sort(grams.begin(), grams.end());
        EXPECT_EQ(std::adjacent_find(grams.begin(), grams.end()), grams.end()) << seed;
      }
    }
  }
}

// forced_bos_token_id, and eos_token_id as a list.
TEST(TokenSearch, EveryEndEndsAndWhatHasToBeginBegins) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const MadeUpLogits model{seed, 1.0};
    for (const std::int64_t beams : {1, 4}) {
      SearchOptions options = search_options(Decoding::huggingface, beams, 16);
      options.min_length = 4;
      options.more_ends = {7, 9};
      options.forced_begin = 5;
      for (const FoundSequence& found : run_search(model, options)) {
        ASSERT_GE(found.tokens.size(), 4u) << seed;
        EXPECT_EQ(found.tokens.front(), 5) << seed;
        const auto first = std::find_if(found.tokens.begin(), found.tokens.end(),
                                        [&](std::int32_t token) { return options.is_end(token); });
        EXPECT_GE(first + 1, found.tokens.end()) << seed << ": an end is the last token";
      }
    }
  }
}

TEST(TokenSearch, ScoresAreSumsOfLogProbabilitiesByLength) {
  const MadeUpLogits model{5, 1.0};
  SearchOptions options = search_options(Decoding::huggingface, 3, 12);
  options.length_penalty = 0.8;
  for (const FoundSequence& found : run_search(model, options)) {
    double sum = 0;
    std::vector<std::int32_t> sequence = {2};
    for (const std::int32_t token : found.tokens) {
      const std::vector<double> logits = model(sequence);
      double total = 0;
      for (const double logit : logits) total += std::exp(logit);
      sum += logits[static_cast<std::size_t>(token)] - std::log(total);
      sequence.push_back(token);
    }
    EXPECT_NEAR(found.score, sum / std::pow(static_cast<double>(found.tokens.size()), 0.8), 1e-5);
  }
}

TEST(TokenSearch, OptionsThatContradictEachOtherAreUsageErrors) {
  const auto refused = [](SearchOptions options, const std::string& what) {
    const auto error = testing::error_of([&] { make_token_search(options); });
    testing::expect_message(error, what, "");
    EXPECT_EQ(error->kind(), ErrorKind::usage);
    EXPECT_FALSE(error->hint().empty());
  };
  SearchOptions options = search_options(Decoding::huggingface, 0, 9);
  refused(options, "`beams`");
  options = search_options(Decoding::huggingface, 2, 1);
  refused(options, "`max_length`");
  options = search_options(Decoding::huggingface, 2, 9);
  options.min_length = 10;
  refused(options, "`min_length` is above `max_length`");
  options = search_options(Decoding::huggingface, 2, 9);
  options.sequences = 3;
  refused(options, "3 sequences of 2 beams");
  refused(search_options(Decoding::greedy, 2, 9), "greedy search and sampling have one beam");
  options = search_options(Decoding::google, 2, 9);
  options.no_repeat_ngram = 3;
  refused(options, "no rule but its length penalty");
  options = search_options(Decoding::huggingface, 2, 9);
  options.repetition_penalty = 0;
  refused(options, "`repetition_penalty`");
}

}  // namespace
}  // namespace bigbird
