// Check L6: what LED writes, token for token, against transformers' generate() (tests/peers/make_led.py), by
// the steps of the decoder and the searches that text summarize has: one document at a time, and all at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/inference/decoder_steps.h"
#include "lib/model/network/model.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/text/search/token_search.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using Documents = std::vector<std::vector<std::int32_t>>;

SearchOptions led_search(const nlohmann::json& setting, const ModelConfig& config) {
  SearchOptions options;
  options.start = static_cast<std::int32_t>(config.decoder.start_token_id);
  options.end = static_cast<std::int32_t>(config.eos_token_id);
  options.beams = setting.at("num_beams");
  options.max_length = setting.at("max_length");
  options.length_penalty = setting.value("length_penalty", 1.0);
  options.no_repeat_ngram = setting.value("no_repeat_ngram_size", std::int64_t{0});
  options.min_length = setting.value("min_length", std::int64_t{0});
  if (setting.value("early_stopping", false)) options.early_stopping = EarlyStopping::yes;
  return options;
}

// Of every document.
std::vector<FoundSequence> written_by(Model& model, const Documents& documents, const SearchOptions& search) {
  const ModelConfig& config = model.config();
  Batch batch;
  for (const auto& ids : documents)
    batch.append(ids, {}, config.block_size, static_cast<std::int32_t>(config.pad_token_id));
  model.forward(batch, {});
  DecoderSteps steps(model, {.source_tokens = batch.tokens(),
                             .rows = batch.sequences() * search.beams,
                             .length = search.max_length});
  steps.begin();
  std::vector<std::unique_ptr<TokenSearch>> searches;
  for (std::size_t s = 0; s < documents.size(); ++s) searches.push_back(make_token_search(search));
  std::vector<std::int32_t> first(documents.size(), 0);  // row of each search in the step before
  for (;;) {
    std::vector<std::int32_t> tokens, parents, sources;
    std::vector<std::size_t> asking;
    for (std::size_t s = 0; s < searches.size(); ++s) {
      if (searches[s]->done()) continue;
      asking.push_back(s);
      const auto row = static_cast<std::int32_t>(tokens.size());
      for (const std::int32_t token : searches[s]->tokens()) tokens.push_back(token);
      for (const std::int32_t parent : searches[s]->parents()) parents.push_back(first[s] + parent);
      sources.resize(tokens.size(), static_cast<std::int32_t>(s));
      first[s] = row;
    }
    if (asking.empty()) break;
    steps.step(tokens, parents, sources);
    const std::span<const float> logits = steps.logits();
    const auto width = static_cast<std::size_t>(config.vocab_size);
    for (const std::size_t s : asking) {
      searches[s]->advance(logits.subspan(static_cast<std::size_t>(first[s]) * width,
                                          static_cast<std::size_t>(searches[s]->rows()) * width));
    }
  }
  std::vector<FoundSequence> found;
  for (const auto& search_of_one : searches) found.push_back(search_of_one->results().front());
  return found;
}

TEST(Longformer, L6TokensOfASearchAreThePeers) {
  const auto folder = testing::source_dir() / "tests" / "golden" / "led";
  const nlohmann::json golden = nlohmann::json::parse(testing::read_text(folder / "beams.json"));
  const LoadedModel loaded =
      load_model((folder / golden.at("folder").get<std::string>()).string(), LoadOptions{});
  const auto documents = golden.at("documents").get<Documents>();
  const auto backend = kernels::make_cpu_backend();
  BatchLimits limits;
  for (const auto& ids : documents) {
    const auto length = static_cast<std::int64_t>(ids.size()), block = loaded.config.block_size;
    limits.tokens += (length + block - 1) / block * block;
    limits.longest = std::max(limits.longest, (length + block - 1) / block * block);
  }
  limits.sequences = static_cast<std::int64_t>(documents.size());
  Model model(*backend, loaded.config, limits, {});
  model.set_parameters(loaded.parameters);
  std::set<std::vector<std::int32_t>> different;
  ASSERT_GE(golden.at("cases").size(), 3u);
  for (const nlohmann::json& setting : golden.at("cases")) {
    const SearchOptions search = led_search(setting, loaded.config);
    const std::vector<FoundSequence> together = written_by(model, documents, search);
    for (std::size_t d = 0; d < documents.size(); ++d) {
      const nlohmann::json& wanted = setting.at("found").at(d);
      const FoundSequence alone = written_by(model, {documents[d]}, search).front();
      EXPECT_EQ(alone.tokens, wanted.at("tokens").get<std::vector<std::int32_t>>()) << setting << d;
      EXPECT_EQ(together[d].tokens, alone.tokens) << d;
      if (!wanted.at("score").is_null()) {
        EXPECT_NEAR(alone.score, wanted.at("score").get<double>(), 2e-5) << setting << d;
      }
      different.insert(alone.tokens);
    }
  }
  EXPECT_GT(different.size(), documents.size());  // they hang on the document
}

}  // namespace
}  // namespace bigbird
