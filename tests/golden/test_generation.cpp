// Greedy and beam search against transformers' generate() over the same made-up model
// (tests/peers/make_generation.py): 240 random settings, tokens up to the first end, and scores; and 100 of
// texts that go on behind a prompt.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/text/search/token_search.h"
#include "tests/support/support.h"
#include "tests/unit/text/search/made_up_logits.h"

namespace bigbird {
namespace {

nlohmann::json generation_golden(const char* name = "generation.json") {
  return nlohmann::json::parse(testing::read_text(testing::source_dir() / "tests" / "golden" / name));
}

SearchOptions generation_options(const nlohmann::json& setting) {
  SearchOptions options;
  setting.at("num_beams").get_to(options.beams);
  setting.at("length_penalty").get_to(options.length_penalty);
  const nlohmann::json& early = setting.at("early_stopping");
  options.early_stopping = early.is_string()   ? EarlyStopping::never
                           : early.get<bool>() ? EarlyStopping::yes
                                               : EarlyStopping::no;
  if (setting.contains("prompt")) {
    setting.at("prompt").get_to(options.before);
    options.start = options.before.back();
    options.before.pop_back();
    setting.at("suppress_tokens").get_to(options.never);
  }
  options.max_length = setting.value("max_new_tokens", setting.at("max_length").get<std::int64_t>() - 1) + 1;
  // generate() takes a minimum above the maximum, which then has no end but that of the length.
  options.min_length =
      std::min(setting.value("min_new_tokens", setting.at("min_length").get<std::int64_t>() - 1) + 1,
               options.max_length);
  setting.at("no_repeat_ngram_size").get_to(options.no_repeat_ngram);
  setting.at("repetition_penalty").get_to(options.repetition_penalty);
  setting.at("forced_eos").get_to(options.forced_end);
  setting.at("num_return_sequences").get_to(options.sequences);
  return options;
}

TEST(GenerationGolden, TheMadeUpModelIsThePeers) {
  const nlohmann::json golden = generation_golden();
  for (const nlohmann::json& wanted : golden.at("logits")) {
    const testing::MadeUpLogits model{wanted.at("seed").get<std::uint64_t>(),
                                      wanted.at("eos_bias").get<double>()};
    EXPECT_EQ(model(wanted.at("tokens").get<std::vector<std::int32_t>>()),
              wanted.at("values").get<std::vector<double>>());
  }
}

void expect_the_peers(const nlohmann::json& golden) {
  for (const nlohmann::json& setting : golden.at("cases")) {
    const testing::MadeUpLogits model{setting.at("seed").get<std::uint64_t>(),
                                      setting.at("eos_bias").get<double>()};
    const std::vector<FoundSequence> found = run_search(model, generation_options(setting));
    const nlohmann::json& sequences = setting.at("sequences");
    ASSERT_EQ(found.size(), sequences.size()) << setting;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].tokens, sequences[i].get<std::vector<std::int32_t>>()) << i << ' ' << setting;
      if (setting.at("scores").is_null()) continue;  // greedy
      EXPECT_NEAR(found[i].score, setting["scores"][i].get<double>(), 1e-4) << setting;
    }
  }
}

TEST(GenerationGolden, TokensAndScoresAreThePeers) {
  const nlohmann::json golden = generation_golden();
  ASSERT_GE(golden.at("cases").size(), 200u);
  expect_the_peers(golden);
}

TEST(GenerationGolden, SoAreTheyBehindAPrompt) {
  const nlohmann::json golden = generation_golden("generation_prompts.json");
  ASSERT_GE(golden.at("cases").size(), 100u);
  expect_the_peers(golden);
}

}  // namespace
}  // namespace bigbird
