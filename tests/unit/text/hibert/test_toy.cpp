// HIBERT's toy (H5): every sentence of a document is the one before it, reversed. A masked sentence is known
// from its neighbours, though its own pieces are gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/backend.h"
#include "lib/core/rng.h"
#include "lib/model/network/model.h"
#include "lib/model/network/validate_config.h"
#include "lib/text/hibert/masked_documents.h"
#include "lib/text/hibert/pretrain.h"
#include "tests/support/sanitizer.h"

namespace bigbird {
namespace {

constexpr std::int32_t first_symbol = 5, symbols = 6, end_piece = 3, mask_piece = 4;
constexpr std::size_t toy_documents = 2000, toy_sentences = 3, toy_symbols = 3, toy_batch = 16;

ModelConfig toy_config() {
  ModelConfig config;
  config.vocab_size = first_symbol + symbols;
  config.hidden_size = 48;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 4;
  config.intermediate_size = 96;
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0;
  config = hibert_architecture(config);
  config.block_size = 4;
  config.decoder.start_token_id = 2;
  validate(config, "toy");
  return config;
}

SentenceDocuments reversed_documents(std::uint64_t seed) {
  SentenceDocuments documents;
  for (std::size_t d = 0; d < toy_documents; ++d) {
    CounterRng random(seed, Purpose::test, d);
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < toy_symbols; ++i)
      ids.push_back(first_symbol + static_cast<std::int32_t>(random.below(symbols)));
    ids.push_back(end_piece);
    auto& document = documents.documents.emplace_back();
    for (std::size_t s = 0; s < toy_sentences; ++s) {
      document.push_back(ids);
      std::reverse(ids.begin(), ids.end() - 1);
    }
  }
  return documents;
}

// Nats per piece, of sentences that were masked alone.
double masked_loss(Model& model, const SentenceDocuments& documents) {
  const std::vector<std::size_t> counts = sentence_counts(documents);
  double sum = 0, pieces = 0;
  for (std::size_t first = 0; first < 10 * toy_batch; first += toy_batch) {
    Batch batch;
    for (std::size_t d = first; d < first + toy_batch; ++d) {
      std::vector<ChosenSentence> chosen = choose_sentences(9, d, d, counts);
      for (ChosenSentence& of : chosen) of.change = SentenceChange::masked;
      append_masked_document(batch, model.config(), documents, d, chosen, mask_piece);
    }
    const ForwardResult result = model.forward(batch, {});
    sum += result[Loss::target].sum;
    pieces += static_cast<double>(result[Loss::target].count);
  }
  return sum / pieces;
}

TEST(HibertToy, H5MaskedSentencesAreReadFromTheirNeighbours) {
  if (testing::under_sanitizer) GTEST_SKIP() << "a thousand updates; other tests train HIBERT";
  const ModelConfig config = toy_config();
  const auto backend = kernels::make_cpu_backend();
  BatchLimits limits;
  limits.tokens = static_cast<std::int64_t>(toy_batch * toy_sentences * 4);
  limits.sequences = static_cast<std::int64_t>(toy_batch * toy_sentences);
  limits.longest = 4;
  limits.target_tokens = static_cast<std::int64_t>(toy_batch * 4);
  Model model(*backend, config, limits, {.training = true});
  model.set_parameters(initial_parameters(model.layout(), config, 1));
  const SentenceDocuments train = reversed_documents(1), unseen = reversed_documents(2);
  const std::vector<std::size_t> counts = sentence_counts(train);
  const std::int64_t count = model.layout().count();
  std::vector<float> first(static_cast<std::size_t>(count)), second(first);
  for (std::uint64_t update = 0; update < 1000; ++update) {
    Batch batch;
    for (std::uint64_t draw = update * toy_batch; draw < (update + 1) * toy_batch; ++draw) {
      const auto d = static_cast<std::size_t>(draw % toy_documents);
      append_masked_document(batch, config, train, d, choose_sentences(5, draw, d, counts), mask_piece);
    }
    model.zero_gradients();
    ForwardOptions options;
    options.training = true;
    options.scale = scale_of_means(label_counts(batch, config));
    model.forward_backward(batch, options);
    const float warm = std::min(1.0f, static_cast<float>(update + 1) / 100.0f);
    const kernels::ParameterRun all{0, count, false};
    backend->adamw({model.parameters(), model.gradients(), first.data(), second.data()}, {&all, 1},
                   {.learning_rate = 2e-3f * warm});
  }
  // The end is certain, all else uniform.
  const double unconditional = toy_symbols * std::log(symbols) / (toy_symbols + 1);
  const double loss = masked_loss(model, unseen);
  RecordProperty("nats", std::to_string(loss));
  EXPECT_LT(loss, 0.5 * unconditional);
}

}  // namespace
}  // namespace bigbird
