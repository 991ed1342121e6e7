// What goes on behind a prompt, against a model that reads everything again for each token; and what it may
// depend on.
#include "lib/text/generate/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/model/network/batch.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/open_model.h"
#include "lib/text/generate/generate.h"
#include "tests/support/support.h"
#include "tests/support/tiny_text_data.h"
#include "tests/support/tiny_training_data.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::tiny_cls;
using testing::tiny_sep;

// A folder of random weights that reads left to right, over the tokenizer that lies in it.
void write_causal_model(const std::filesystem::path& folder, AttentionPattern attention,
                        double end_bias = 0.0) {
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(folder.string());
  ModelConfig config;
  config.vocab_size = static_cast<std::int64_t>(tokenizer->vocab_size());
  config.hidden_size = 16;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 32;
  config.max_position_embeddings = 48;
  config.block_size = 4;
  config.attention = attention;
  if (attention == AttentionPattern::sparse_fixed)
    config.attention_options.sparse = {8, 4, 1, HeadsAs::merged};
  config.random_mode = RandomMode::hf_train;
  config.causal = true;
  config.head = HeadType::causal_lm;
  config.attention_options.recurrent.memory = 6;
  config.attention_options.spans = {10, 4, 0.0};
  if (is_recurrent(config)) become_recurrent(config);
  config.sep_token_id = static_cast<std::int64_t>(tokenizer->special().sep);
  config.initializer_range = 0.4;  // many times the usual spread: logits that differ between texts
  config.tokenizer_digest = tokenizer->digest();
  const ParameterLayout layout(config);
  std::vector<float> parameters = initial_parameters(layout, config, 3);
  parameters[static_cast<std::size_t>(layout.offset("cls.predictions.bias") + config.sep_token_id)] =
      static_cast<float>(end_bias);
  if (has_spans(config)) {  // the first of layer 0 and the last of layer 1 are longer than at the start
    const auto first = parameters.begin() + layout.offset("bert.encoder.spans");
    first[0] = 0.5f;
    first[3] = 1.0f;
  }
  write_model_files(folder.string(), config, layout, parameters, "", "tiny\n");
}

// The same model, over the whole text each time.
class Recomputed {
 public:
  Recomputed(const std::string& folder, kernels::Backend& backend)
      : model_(open_model(ModelFolder(folder), {backend,
                                                [](const ModelConfig& config) {
                                                  return BatchLimits{.tokens = 48,
                                                                     .sequences = 1,
                                                                     .masked_tokens = 1,
                                                                     .longest = 48,
                                                                     .streams = is_recurrent(config) ? 1 : 0};
                                                }})
                   .model) {}

  std::vector<float> operator()(const std::vector<std::int32_t>& tokens) {
    if (!is_recurrent(model_->config())) {
      read(tokens, {});
    } else {  // a stream in segments of one token
      for (std::size_t i = 0; i < tokens.size(); ++i)
        read({tokens[i]}, {{0}, {static_cast<std::uint8_t>(i == 0 ? 1 : 0)}});
    }
    return model_->masked_logits();
  }

  // The search of a prompt as its options say, told of nothing but all logits.
  std::vector<FoundSequence> search(const SearchOptions& options) {
    const std::unique_ptr<TokenSearch> search = make_token_search(options);
    std::vector<std::vector<std::int32_t>> rows{options.before};
    while (!search->done()) {
      std::vector<std::vector<std::int32_t>> next;
      std::vector<float> logits;
      for (std::size_t i = 0; i < static_cast<std::size_t>(search->rows()); ++i) {
        next.push_back(rows[static_cast<std::size_t>(search->parents()[i])]);
        next.back().push_back(search->tokens()[i]);
        const std::vector<float> of_row = (*this)(next.back());
        logits.insert(logits.end(), of_row.begin(), of_row.end());
      }
      rows = next;
      search->advance(logits);
    }
    return search->results();
  }

 private:
  void read(const std::vector<std::int32_t>& tokens, const StreamPlaces& places) {
    Batch batch;
    batch.append(tokens, {}, model_->config().block_size, 0);
    batch.masked_rows = {static_cast<std::int32_t>(tokens.size()) - 1};
    batch.places = places;
    model_->forward(batch, {});
  }

  std::unique_ptr<Model> model_;
};

class GeneratorTest : public ::testing::TestWithParam<AttentionPattern> {
 protected:
  GeneratorTest() {
    testing::write_tiny_text_tokenizer(folder_.path());
    write_causal_model(folder_.path(), GetParam());
  }
  std::string model() const { return folder_.path().string(); }

  // Continuations of the prompts, all at once or `batch` at a time.
  std::vector<std::vector<Continuation>> run(const SearchOptions& search, std::int64_t samples = 1,
                                             std::int64_t batch = 3) {
    Generator generator({model(), batch, samples}, *backend_);
    const SearchOptions usual = generator.search();
    generator.search() = search;
    generator.search().end = usual.end;
    generator.search().never = usual.never;
    generator.search().sampling.purpose = Purpose::text_sampling;
    generator.prepare();
    std::vector<std::vector<Continuation>> all;
    for (std::size_t p = 0; p < prompts_.size(); ++p)
      generator.add(generator.encode(prompts_[p], "the test"), p,
                    [&](const std::vector<Continuation>& found) { all.push_back(found); });
    generator.finish();
    never_ = usual.never;
    return all;
  }
  // What the search of a prompt begins with.
  SearchOptions of_prompt(SearchOptions search, std::size_t prompt, std::uint64_t sample = 0) {
    Generator generator({model(), 1, 1}, *backend_);
    const std::vector<std::int32_t> tokens = generator.encode(prompts_[prompt], "the test");
    search.start = tokens.back();
    search.before.assign(tokens.begin(), tokens.end() - 1);
    search.end = static_cast<std::int32_t>(tiny_sep);
    search.never = generator.search().never;
    search.sampling.purpose = Purpose::text_sampling;
    search.sampling.index = prompt | sample << 40;
    if (!remembers())
      search.max_length = std::min(search.max_length, 48 - static_cast<std::int64_t>(tokens.size()) + 2);
    return search;
  }
  bool remembers() const {
    return GetParam() == AttentionPattern::transformer_xl || GetParam() == AttentionPattern::adaptive_span;
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
  const std::vector<std::string> prompts_{"ab cd ef gh ij kl", "", "xyz",
                                          "the quick brown fox jumps over it"};
  std::vector<std::int32_t> never_;
};

SearchOptions plain_search(Decoding decoding, std::int64_t beams, std::int64_t tokens) {
  SearchOptions search;
  search.decoding = decoding;
  search.beams = beams;
  search.max_length = tokens + 1;
  return search;
}

// Without any search of the library: the largest logit of those that may come, each time.
TEST_P(GeneratorTest, GreedyTokensAreTheLargestOfAllRecomputed) {
  Recomputed recomputed(model(), *backend_);
  const auto all = run(plain_search(Decoding::greedy, 1, 20));
  for (std::size_t p = 0; p < prompts_.size(); ++p) {
    const SearchOptions start = of_prompt(plain_search(Decoding::greedy, 1, 20), p);
    std::vector<std::int32_t> text = start.before;
    text.push_back(start.start);
    std::vector<std::int32_t> wanted;
    while (static_cast<std::int64_t>(wanted.size()) < start.max_length - 1) {
      std::vector<float> logits = recomputed(text);
      for (const std::int32_t token : never_) logits[static_cast<std::size_t>(token)] = -1e30f;
      wanted.push_back(
          static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
      if (wanted.back() == static_cast<std::int32_t>(tiny_sep)) break;
      text.push_back(wanted.back());
    }
    ASSERT_EQ(all[p].size(), 1u);
    EXPECT_EQ(all[p][0].tokens, wanted) << prompts_[p];
    EXPECT_EQ(all[p][0].ended, wanted.back() == static_cast<std::int32_t>(tiny_sep));
  }
}

TEST_P(GeneratorTest, SearchesFindWhatTheyFindWithoutACache) {
  Recomputed recomputed(model(), *backend_);
  std::vector<SearchOptions> searches{plain_search(Decoding::huggingface, 4, 12),
                                      plain_search(Decoding::sample, 1, 12)};
  searches.push_back(searches[0]);
  searches.back().no_repeat_ngram = 1;
  searches.back().min_length = 9;
  searches.back().length_penalty = 2.0;
  searches.push_back(searches[1]);
  searches.back().sampling.top_p = 0.7;
  searches.back().sampling.top_k = 7;
  searches.back().repetition_penalty = 1.5;
  for (const SearchOptions& search : searches) {
    const bool draws = search.decoding == Decoding::sample;
    const auto all = run(search, 3);
    for (std::size_t p = 0; p < prompts_.size(); ++p) {
      ASSERT_EQ(all[p].size(), 3u);
      std::vector<FoundSequence> wanted;
      for (std::uint64_t sample = 0; sample < (draws ? 3u : 1u); ++sample) {
        SearchOptions of_sample = of_prompt(search, p, sample);
        if (!draws) of_sample.sequences = 3;
        for (const FoundSequence& found : recomputed.search(of_sample)) wanted.push_back(found);
      }
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(all[p][i].tokens, wanted[i].tokens) << prompts_[p];
        EXPECT_NEAR(all[p][i].score, wanted[i].score, 1e-4);
      }
    }
  }
}

TEST_P(GeneratorTest, NothingDependsOnWhatRunsTogether) {
  SearchOptions drawn = plain_search(Decoding::sample, 1, 10);
  for (const SearchOptions& search : {drawn, plain_search(Decoding::huggingface, 3, 10)}) {
    const auto together = run(search, 2, 4), alone = run(search, 2, 1);
    for (std::size_t p = 0; p < prompts_.size(); ++p) {
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(together[p][i].tokens, alone[p][i].tokens);
        EXPECT_EQ(together[p][i].score, alone[p][i].score);
      }
    }
  }
  const auto two = run(drawn, 2), three = run(drawn, 3);
  EXPECT_EQ(two[2][1].tokens, three[2][1].tokens) << "a sample is the same, however many there are";
  EXPECT_NE(two[2][0].tokens, two[2][1].tokens);
}

TEST_P(GeneratorTest, TextsEndAtTheLastPosition) {
  if (remembers()) {  // which has none
    const auto all = run(plain_search(Decoding::greedy, 1, 120));
    std::size_t longest = 0;
    for (const std::vector<Continuation>& of_prompt : all) {
      EXPECT_FALSE(of_prompt[0].at_limit);
      longest = std::max(longest, of_prompt[0].tokens.size());
    }
    EXPECT_EQ(longest, 120u);
    Generator generator({model(), 1, 1}, *backend_);
    EXPECT_EQ(generator.encode(std::string(300, 'a'), "the test").size(), 301u);
    return;
  }
  const auto all = run(plain_search(Decoding::greedy, 1, 500));
  Generator generator({model(), 1, 1}, *backend_);
  for (std::size_t p = 0; p < prompts_.size(); ++p) {
    if (all[p][0].ended) continue;
    EXPECT_TRUE(all[p][0].at_limit);
    EXPECT_EQ(all[p][0].tokens.size() + generator.encode(prompts_[p], "the test").size(), 49u);
  }
  // A prompt of all positions has one token behind it, a longer one none.
  const std::string longest(47, 'a');
  EXPECT_EQ(generator.encode(longest, "the test").size(), 48u);
  generator.search().max_length = 9;
  generator.prepare();
  std::size_t tokens = 0;
  generator.add(generator.encode(longest, "the test"), 0,
                [&](const std::vector<Continuation>& found) { tokens = found[0].tokens.size(); });
  generator.finish();
  EXPECT_EQ(tokens, 1u);
  testing::expect_bad_input(testing::error_of([&] { generator.encode(longest + "a", "the test"); }),
                            "the test", "49 tokens with [CLS]");
}

INSTANTIATE_TEST_SUITE_P(Systems, GeneratorTest,
                         ::testing::Values(AttentionPattern::full, AttentionPattern::sparse_fixed,
                                           AttentionPattern::transformer_xl,
                                           AttentionPattern::adaptive_span));

TEST(GeneratorOfText, TheEndIsReachedAndSpecialPiecesAreNot) {
  testing::TemporaryFolder folder;
  testing::write_tiny_text_tokenizer(folder.path());
  write_causal_model(folder.path(), AttentionPattern::full, 30.0);
  const auto backend = kernels::make_cpu_backend();
  Generator generator({folder.path().string(), 1, 1}, *backend);
  EXPECT_FALSE(std::binary_search(generator.search().never.begin(), generator.search().never.end(),
                                  static_cast<std::int32_t>(tiny_sep)));
  EXPECT_TRUE(std::binary_search(generator.search().never.begin(), generator.search().never.end(),
                                 static_cast<std::int32_t>(tiny_cls)));
  generator.search().min_length = 4;
  generator.prepare();
  generator.add(generator.encode("ab", "the test"), 0, [&](const std::vector<Continuation>& found) {
    EXPECT_TRUE(found[0].ended);
    EXPECT_EQ(found[0].tokens.size(), 4u) << "three tokens, and the end";
    EXPECT_EQ(found[0].tokens.back(), static_cast<std::int32_t>(tiny_sep));
  });
  generator.finish();
}

TEST(GeneratorOfDna, ASequenceHasNoEnd) {
  testing::TemporaryFolder folder;
  testing::write_tiny_tokenizer(folder.path());
  write_causal_model(folder.path(), AttentionPattern::full, 30.0);
  const auto backend = kernels::make_cpu_backend();
  Generator generator({folder.path().string(), 2, 1}, *backend);
  generator.search().max_length = 11;
  generator.prepare();
  generator.add(generator.encode("acgtACGT", "the test"), 0, [&](const std::vector<Continuation>& found) {
    EXPECT_FALSE(found[0].ended);
    EXPECT_EQ(found[0].tokens.size(), 10u);
    EXPECT_GE(found[0].text.size(), 10u);
    EXPECT_EQ(found[0].text.find_first_not_of("ACGTN"), std::string::npos) << found[0].text;
  });
  generator.finish();
  testing::expect_bad_input(testing::error_of([&] { generator.encode("ACGNAC", "the test"); }), "the test",
                            "letter 4 of the sequence is N");
  testing::expect_bad_input(testing::error_of([&] { generator.encode("ACRT", "the test"); }), "the test",
                            "letter 3 of the sequence is R");
}

TEST(GeneratorOfOthers, ModelsThatSeeWhatIsAheadAreRefused) {
  testing::TemporaryFolder folder;
  testing::write_tiny_text_tokenizer(folder.path());
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(folder.path().string());
  ModelConfig config;
  config.vocab_size = static_cast<std::int64_t>(tokenizer->vocab_size());
  config.hidden_size = 16;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.intermediate_size = 32;
  config.max_position_embeddings = 48;
  config.block_size = 4;
  config.sep_token_id = tiny_sep;
  config.head = HeadType::masked_lm;
  const ParameterLayout layout(config);
  write_model_files(folder.path().string(), config, layout, initial_parameters(layout, config, 3), "",
                    "tiny\n");
  const auto backend = kernels::make_cpu_backend();
  testing::expect_bad_input(testing::error_of([&] {
                              const Generator generator({folder.path().string(), 1, 1}, *backend);
                            }),
                            folder.path().string(), "the model predicts no next token");
}

}  // namespace
}  // namespace bigbird
