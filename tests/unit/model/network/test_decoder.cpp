// Models with a decoder: what a row may depend on, and one token at a time against all at once.
// tests/golden/test_huggingface.cpp holds their numbers against transformers, test_model_behaviour.cpp their
// gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/inference/decoder_steps.h"
#include "lib/model/network/decoder.h"
#include "lib/model/network/validate_config.h"
#include "tests/unit/model/network/expect_top_tokens.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

// The kinds of decoders.
enum class Kind { pegasus, own, coupled };

ModelConfig config_of_kind(Kind kind) {
  return kind == Kind::pegasus ? tiny_decoder_config()
         : kind == Kind::own   ? tiny_own_decoder_config()
                               : tiny_coupled_config();
}

class Decoder : public ::testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  const ModelConfig config = config_of_kind(GetParam());
  const std::vector<float> parameters = random_parameters(config, 61);
  const std::vector<std::int64_t> lengths{33, 5, 64, 50};
};

// The rows of sequence s out of a matrix of all targets.
std::vector<float> rows_of(const std::vector<float>& all, const Batch& batch, std::size_t s,
                           std::int64_t width) {
  const auto first = all.begin() + batch.targets.token_offsets[s] * width;
  return {first, first + batch.targets.lengths[s] * width};
}

TEST_P(Decoder, NeighboursInTheBatchDoNotChangeASequence) {
  const Batch together = random_batch(config, lengths, 62);
  const auto model = make_model(*backend, config, together, {}, parameters);
  model->forward(together, {});
  const std::vector<float> all = model->target_logits();
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const Batch alone = random_batch(config, {lengths[s]}, 62);
    model->forward(alone, {});
    EXPECT_EQ(rows_of(model->target_logits(), alone, 0, config.vocab_size),
              rows_of(all, together, s, config.vocab_size))
        << "length " << lengths[s];
  }
}

TEST_P(Decoder, ARowSeesWhatIsBeforeItAndTheSourceOnly) {
  Batch batch = random_batch(config, {33}, 63);
  const auto model = make_model(*backend, config, batch, {}, parameters);
  model->forward(batch, {});
  const std::vector<float> before = model->target_logits();
  const std::size_t changed = 6, vocabulary = static_cast<std::size_t>(config.vocab_size);
  batch.targets.ids[changed] = batch.targets.ids[changed] % 30 + 1;
  model->forward(batch, {});
  const std::vector<float> after = model->target_logits();
  for (std::size_t row = 0; row < static_cast<std::size_t>(batch.targets.lengths[0]); ++row) {
    const auto of = [&](const std::vector<float>& logits) {
      const auto first = logits.begin() + static_cast<std::ptrdiff_t>(row * vocabulary);
      return std::vector<float>(first, first + config.vocab_size);
    };
    EXPECT_EQ(of(before) == of(after), row < changed) << "row " << row;
  }
  batch.ids[2] = batch.ids[2] % 30 + 1;
  model->forward(batch, {});
  EXPECT_NE(model->target_logits()[0], after[0]) << "the source is not read";
}

TEST_P(Decoder, WithoutTargetsTheEncoderRunsAlone) {
  Batch batch = random_batch(config, {33, 50}, 64);
  const auto model = make_model(*backend, config, batch, {}, parameters);
  model->forward(batch, {});
  const std::vector<float> hidden = model->last_hidden_state();
  batch.targets = {};
  const ForwardResult result = model->forward(batch, {});
  EXPECT_EQ(model->last_hidden_state(), hidden);
  EXPECT_EQ(result[Loss::target].count, 0);
}

// Whatever piece a row is in.
TEST_P(Decoder, LogitsInPiecesGiveTheSameLossAndGradients) {
  const Batch batch = random_batch(config, {64, 64, 60, 64, 59, 64, 64, 64, 64}, 66);
  ASSERT_GT(batch.targets.tokens(), 128);
  ASSERT_NE(batch.targets.tokens() % 128, 0);
  const auto whole = make_model(*backend, config, batch, {.training = true}, parameters);
  const auto pieces =
      make_model(*backend, config, batch, {.training = true, .logits_in_pieces = true}, parameters);
  ForwardOptions options;
  const ForwardResult expected = whole->forward(batch, options);
  const LossScale scale = mean_scale(expected);
  options.scale = scale;
  const ForwardResult result = pieces->forward(batch, options);
  EXPECT_EQ(result[Loss::target].sum, expected[Loss::target].sum);
  EXPECT_EQ(result[Loss::target].correct, expected[Loss::target].correct);
  EXPECT_THROW(pieces->target_logits(), Error);
  whole->backward(scale);
  pieces->backward(scale);
  const std::vector<float> of_whole = whole->host_gradients(), of_pieces = pieces->host_gradients();
  for (const TensorSpec& tensor : whole->layout().tensors()) {
    double difference = 0.0, largest = 1e-3;
    for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      difference = std::max(difference,
                            std::abs(static_cast<double>(of_whole[at]) - static_cast<double>(of_pieces[at])));
      largest = std::max(largest, std::abs(static_cast<double>(of_whole[at])));
    }
    EXPECT_LT(difference, 2e-6 * largest) << tensor.name;
  }

  // Without what the gradient is to be multiplied by there is none, and with another than was said neither.
  options.scale.reset();
  EXPECT_EQ(pieces->forward(batch, options)[Loss::target].sum, expected[Loss::target].sum);
  EXPECT_THROW(pieces->backward(scale), Error);
  options.scale = scale;
  pieces->forward(batch, options);
  EXPECT_THROW(pieces->backward({}), Error);
}

// Three rows of the first source that go on from one another, one of the second: each step's logits are those
// of the whole text at once.
TEST_P(Decoder, OneTokenAtATimeGivesTheLogitsOfAllAtOnce) {
  const Batch given = random_batch(config, {33, 50}, 65);
  Batch sources = given;
  sources.targets = {};
  BatchLimits limits = limits_of(given);
  limits.target_tokens = 64;
  Model model(*backend, config, limits, {});
  model.set_parameters(parameters);
  DecoderSteps steps(model, {.source_tokens = sources.tokens(), .rows = 4, .length = 9});

  const std::vector<std::int32_t> source_of{0, 0, 0, 1};
  for (int round = 0; round < 2; ++round) {  // what was written before is forgotten
    model.forward(sources, {});
    steps.begin();
    std::vector<std::vector<std::int32_t>> texts(4);
    for (std::int32_t t = 0; t < 9; ++t) {
      std::vector<std::int32_t> tokens, parents;
      std::vector<std::vector<std::int32_t>> next;
      for (std::int32_t row = 0; row < 4; ++row) {
        parents.push_back(row < 3 ? (row * t + 1) % 3 : 3);
        tokens.push_back((5 * t + 7 * row + round) % 36 + 1);
        next.push_back(texts[static_cast<std::size_t>(parents.back())]);
        next.back().push_back(tokens.back());
      }
      texts = next;
      steps.step(tokens, parents, source_of);
      const std::span<const float> logits = steps.logits();
      const std::vector<float> stepped(logits.begin(), logits.end());
      expect_top_tokens(steps, stepped, 37);
      for (std::size_t row = 0; row < 4; ++row) {
        Batch whole;
        const auto source = static_cast<std::size_t>(source_of[row]);
        const auto of_source = [&](const std::vector<std::int32_t>& all) {
          const auto first = all.begin() + sources.token_offsets[source];
          return std::vector<std::int32_t>(first, first + sources.lengths[source]);
        };
        whole.append(of_source(sources.ids), of_source(sources.types), config.block_size, 0);
        whole.targets.append(texts[row], {}, config.block_size, 0);
        Model alone(*backend, config, limits, {});
        alone.set_parameters(parameters);
        alone.forward(whole, {});
        const std::vector<float> all = alone.target_logits();
        const std::span<const float> expected = std::span(all).subspan(static_cast<std::size_t>(t) * 37, 37);
        float largest = 0;
        for (const float logit : expected) largest = std::max(largest, std::abs(logit));
        for (std::size_t token = 0; token < 37; ++token) {
          EXPECT_NEAR(stepped[row * 37 + token], expected[token], 1e-6 * static_cast<double>(largest))
              << "step " << t << ", row " << row << ", token " << token << ", logits up to " << largest;
        }
      }
    }
    EXPECT_THROW(steps.step({{1}}, {{0}}, {{0}}), Error) << "a tenth token";
  }
}

TEST_P(Decoder, DecoderMasksAreOthersThanTheEncoders) {
  const Batch batch = random_batch(config, {33}, 70);
  const std::vector<std::vector<AttentionRun>> runs;
  DecoderPlans plans(config.decoder.num_attention_heads);
  const DecoderPass of_decoder = decoder_pass(config, plans, batch, true, nullptr, 0);
  const PassContext encoder{*backend, config, batch, runs, 0, true, nullptr, &of_decoder};
  const PassContext decoder = of_decoder.context(encoder);
  std::set<std::uint64_t> sites;
  for (const DropoutSite site :
       {DropoutSite::embeddings, DropoutSite::attention_output, DropoutSite::feed_forward_output}) {
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      sites.insert(encoder.dropout(site, layer).site);
      sites.insert(decoder.dropout(site, layer).site);
    }
  }
  EXPECT_EQ(sites.size(), 12u);
}

TEST_P(Decoder, StepsRefuseWhatTheyWereNotMadeFor) {
  const Batch batch = random_batch(config, {33}, 66);
  const auto model = make_model(*backend, config, batch, {}, parameters);
  model->forward(batch, {});
  DecoderSteps small(*model, {.source_tokens = 8, .rows = 1, .length = 4});
  EXPECT_THROW(small.begin(), Error);
  DecoderSteps steps(*model, {.source_tokens = batch.tokens(), .rows = 1, .length = 4});
  steps.begin();
  const std::vector<std::int32_t> two{1, 1}, none{0, 0};
  EXPECT_THROW(steps.step(two, none, none), Error);
  const ModelConfig encoder = tiny_config();
  const Batch of_encoder = random_batch(encoder, {33}, 67);
  const auto other = make_model(*backend, encoder, of_encoder, {}, random_parameters(encoder, 68));
  EXPECT_THROW(DecoderSteps(*other, {.source_tokens = 8, .rows = 1, .length = 4}), Error);
}

TEST_P(Decoder, MemoryIsPlannedAndTheCachesAreRowsOfTheirOwn) {
  const DecoderLimits limits{.source_tokens = 3072, .rows = 5, .length = 256};
  std::size_t sources = 0, written = 0;
  for (const MemoryRow& row : plan_decoder_memory(config, limits, *backend)) {
    if (row.what == "keys and values of the sources") sources = row.bytes;
    if (row.what == "keys and values of what is written") written = row.bytes;
  }
  const auto layers = static_cast<std::size_t>(config.decoder.num_hidden_layers);
  EXPECT_EQ(sources, layers * 3072 * 2 * 24 * sizeof(float));
  EXPECT_EQ(written, layers * 5 * 256 * 2 * 24 * sizeof(float));
}

TEST_P(Decoder, TargetsThatDoNotFitAreRefused) {
  const Batch batch = random_batch(config, {33, 50}, 69);
  const auto model = make_model(*backend, config, batch, {}, parameters);
  const auto refused = [&](const auto& change) {
    Batch changed = batch;
    change(changed.targets);
    EXPECT_THROW(model->forward(changed, {}), Error);
  };
  refused([](TargetTokens& targets) { targets.ids[1] = 37; });
  refused([](TargetTokens& targets) { targets.labels[1] = 37; });
  refused([](TargetTokens& targets) { targets.labels.pop_back(); });
  refused([](TargetTokens& targets) { targets.lengths.pop_back(); });
  refused([](TargetTokens& targets) { targets.append({1, 2}, {1, 2}, 4, 0); });
}

TEST_P(Decoder, ItsConfigIsAccepted) {
  validate(config, "here");
}

INSTANTIATE_TEST_SUITE_P(Kinds, Decoder, ::testing::Values(Kind::pegasus, Kind::own, Kind::coupled),
                         [](const ::testing::TestParamInfo<Kind>& test) {
                           return test.param == Kind::pegasus ? "Pegasus"
                                  : test.param == Kind::own   ? "Own"
                                                              : "Coupled";
                         });

TEST(DecoderConfigs, ThatCannotBeAreRefused) {
  const auto message = [&](const auto& change, Kind kind = Kind::pegasus) {
    ModelConfig changed = config_of_kind(kind);
    change(changed);
    try {
      validate(changed, "here");
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message([](ModelConfig& c) { c.decoder.num_hidden_layers = 0; }),
            "here: num_hidden_layers = 0 of the decoder is outside 1..1024");
  EXPECT_EQ(message([](ModelConfig& c) { c.decoder.num_attention_heads = 5; }),
            "here: hidden_size 24 is not a multiple of the decoder's num_attention_heads 5");
  EXPECT_EQ(message([](ModelConfig& c) { c.decoder.start_token_id = 37; }),
            "here: start_token_id 37 of the decoder is not a piece of 37");
  EXPECT_EQ(message([](ModelConfig& c) {
              c.position_type = PositionType::rotary;
              c.rotary_dim = 4;
            }),
            "here: a decoder on an encoder with rotary positions");
  const std::string not_the_kind =
      "here: a decoder coupled to an encoder of another kind than the published code's";
  EXPECT_EQ(message([](ModelConfig& c) { c.type_vocab_size = 2; }, Kind::coupled), not_the_kind);
  EXPECT_EQ(message([](ModelConfig& c) { c.norm_type = NormType::prenorm; }, Kind::coupled), not_the_kind);
  EXPECT_EQ(message([](ModelConfig& c) { c.decoder.num_hidden_layers = 1; }, Kind::coupled),
            "here: a coupled decoder of 1 layers, 2 heads and inner width 40, not the encoder's 2, 2 and 40");
}

// A pass that leaves layers out is that of the model without them, whose weights the others keep.
TEST(LayerDrop, ALayerThatIsLeftOutIsAsIfItWereNotThere) {
  for (const ModelConfig& tiny : {tiny_decoder_config(), tiny_own_decoder_config()}) {
    ModelConfig config = tiny;
    config.attention = AttentionPattern::full;  // a sparse plan is of the layer's number
    config.num_hidden_layers = 3;
    config.decoder.num_hidden_layers = 3;
    config.decoder.encoder_layer_drop = 0.4;
    config.decoder.layer_drop = 0.6;
    validate(config, "here");
    const auto stays = [&](std::uint64_t seed, std::uint64_t layer) {
      return CounterRng(seed, Purpose::layer_drop, layer).uniform() >= (layer < 3 ? 0.4 : 0.6);
    };
    const auto count = [&](std::uint64_t seed, std::uint64_t first) {
      return stays(seed, first) + stays(seed, first + 1) + stays(seed, first + 2);
    };
    std::uint64_t seed = 1;
    while (count(seed, 0) != 2 || count(seed, 3) != 1 || stays(seed, 0) == stays(seed, 3)) ++seed;

    ModelConfig smaller = config;
    smaller.num_hidden_layers = 2;
    smaller.decoder.num_hidden_layers = 1;
    const ParameterLayout layout(config), of_smaller(smaller);
    const std::vector<float> parameters = random_parameters(config, 68);
    std::vector<float> kept(static_cast<std::size_t>(of_smaller.count()));
    std::map<std::string, std::string> name_in_smaller;  // of tensors that it has
    for (const TensorSpec& tensor : layout.tensors()) {
      std::string name = tensor.name;
      for (const auto& [prefix, first] :
           {std::pair{"bert.encoder.layer.", 0u}, std::pair{"decoder.layer.", 3u}}) {
        if (!name.starts_with(prefix)) continue;
        const std::size_t at = std::string(prefix).size();
        const std::uint64_t layer = first + static_cast<std::uint64_t>(name[at] - '0');
        std::int64_t number = 0;
        for (std::uint64_t below = first; below < layer; ++below) number += stays(seed, below) ? 1 : 0;
        name = stays(seed, layer) ? prefix + std::to_string(number) + name.substr(at + 1) : "";
      }
      if (name.empty()) continue;
      name_in_smaller[tensor.name] = name;
      const auto from = parameters.begin() + tensor.offset;
      std::copy(from, from + tensor.count, kept.begin() + of_smaller.offset(name));
    }
    ASSERT_EQ(name_in_smaller.size(), of_smaller.tensors().size());

    const auto backend = kernels::make_cpu_backend();
    const Batch batch = random_batch(config, {33, 50}, 69);
    for (const bool checkpointed : {false, true}) {
      const ModelOptions training{.training = true, .grad_checkpoint = checkpointed};
      const auto model = make_model(*backend, config, batch, training, parameters);
      const auto expected = make_model(*backend, smaller, batch, training, kept);
      ForwardOptions options;
      const LossScale scale = mean_scale(expected->forward(batch, options));
      expected->backward(scale);
      // Outside of training every layer takes part.
      model->forward(batch, options);
      EXPECT_NE(model->target_logits(), expected->target_logits());
      options.training = true;
      options.dropout_seed = seed;
      model->forward(batch, options);
      model->backward(scale);
      const std::vector<float> gradients = model->host_gradients(), of_kept = expected->host_gradients();
      for (const TensorSpec& tensor : layout.tensors()) {
        const auto of = [](const std::vector<float>& all, std::int64_t offset, std::int64_t number) {
          return std::vector<float>(all.begin() + offset, all.begin() + offset + number);
        };
        const std::vector<float> found = of(gradients, tensor.offset, tensor.count);
        const auto name = name_in_smaller.find(tensor.name);
        EXPECT_EQ(found, name == name_in_smaller.end()
                             ? std::vector<float>(found.size(), 0.0f)
                             : of(of_kept, of_smaller.offset(name->second), tensor.count))
            << tensor.name;
      }
    }
  }
}

}  // namespace
}  // namespace bigbird
