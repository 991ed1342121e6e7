// Transformer-XL: states, losses and gradients against the reference in double over several segments, its
// memory in every order of passes, and the laws that its attention obeys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/token_pairs.h"
#include "tests/unit/model/network/recurrent_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

ModelConfig xl_config(const RecurrentOptions& options = {.memory = 10}) {
  ModelConfig config = tiny_config();
  config.head = HeadType::causal_lm;
  config.attention = AttentionPattern::transformer_xl;
  config.attention_options.recurrent = options;
  become_recurrent(config);
  validate(config, "a tiny model");
  return config;
}

class TransformerXlModel : public ::testing::Test {
 protected:
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
};

TEST_F(TransformerXlModel, AgreesWithTheReferenceSegmentBySegment) {
  for (const RecurrentOptions& options :
       {RecurrentOptions{.memory = 10}, RecurrentOptions{.memory = 6, .clamp = 5, .untie = true},
        RecurrentOptions{.memory = 7, .same_length = true}, RecurrentOptions{.memory = 0}}) {
    for (const bool checkpoint : {false, true}) {
      SCOPED_TRACE(attention_options_text(xl_config(options)) + (checkpoint ? " checkpointed" : ""));
      const ModelConfig config = xl_config(options);
      const std::vector<float> parameters = random_parameters(config, 5);
      const reference::Parameters doubles = reference_parameters(config, parameters);
      Model model(*backend, config, stream_limits(3), {.training = true, .grad_checkpoint = checkpoint});
      model.set_parameters(parameters);
      std::vector<reference::Memories> memories(3, reference::no_memories(recurrent_reference(config)));
      std::uint64_t seed = 1;
      // Streams of other order and number from pass to pass; lengths below and above the memory.
      const std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int64_t>>> passes{
          {{2, 0}, {3, 13}}, {{0, 1, 2}, {9, 4, 21}}, {{1, 0}, {12, 5}}, {{0, 2, 1}, {17, 2, 1}}};
      for (std::size_t pass = 0; pass < passes.size(); ++pass) {
        StreamSegments segments;
        const auto& [streams, lengths] = passes[pass];
        reference::Parameters sum;
        double loss = 0.0;
        std::vector<ExpectedSegment> made;
        for (std::size_t s = 0; s < streams.size(); ++s) {
          const auto stream = static_cast<std::size_t>(streams[s]);
          segments.ids.push_back(segment_ids(config, lengths[s] + 1, ++seed));
          segments.streams.push_back(streams[s]);
          segments.begins.push_back(pass == 2 && streams[s] == 1 ? 1 : 0);
          if (segments.begins.back() != 0)
            memories[stream] = reference::no_memories(recurrent_reference(config));
          made.push_back(expected_of_segment(config, doubles, segments.ids.back(), memories[stream]));
          memories[stream] = reference::next_memories(memories[stream], made.back().states,
                                                      static_cast<std::size_t>(options.memory));
          loss += made.back().loss;
          for (const auto& [name, gradient] : made.back().gradients)
            sum[name] = sum.count(name) != 0 ? reference::sum(sum[name], gradient) : gradient;
        }
        const Batch batch = segment_batch(config, segments);
        const ForwardResult result = model.forward(batch, {});
        EXPECT_NEAR(result[Loss::mlm].sum, loss, 1e-5 * loss);
        for (std::size_t s = 0; s < made.size(); ++s) {
          const std::vector<float> states = state_rows(model, batch.token_offsets[s], batch.lengths[s]);
          EXPECT_LT(relative_error(states.data(), made[s].states.back().values), 1e-5) << s;
        }
        model.zero_gradients();
        model.backward(scale_of_sum());
        expect_gradients(model, sum, 1e-4);
        for (std::size_t stream = 0; options.memory > 0 && stream < 3; ++stream) {
          const std::vector<float> kept = model.stream_memory(static_cast<std::int64_t>(stream));
          std::vector<double> expected;
          for (const reference::Matrix& layer : memories[stream])
            expected.insert(expected.end(), layer.values.begin(), layer.values.end());
          ASSERT_EQ(kept.size(), expected.size()) << stream;
          if (!expected.empty()) {
            EXPECT_LT(relative_error(kept.data(), expected), 1e-5) << stream;
          }
        }
      }
    }
  }
}

// What the model of inference remembers, it remembers at once; it is the same bits.
TEST_F(TransformerXlModel, InferenceRemembersWhatTrainingDoes) {
  const ModelConfig config = xl_config();
  const std::vector<float> parameters = random_parameters(config, 6);
  Model training(*backend, config, stream_limits(2), {.training = true});
  Model inference(*backend, config, stream_limits(2), {});
  for (Model* model : {&training, &inference}) model->set_parameters(parameters);
  for (std::uint64_t pass = 0; pass < 3; ++pass) {
    const StreamSegments segments{
        {segment_ids(config, 8, 2 * pass), segment_ids(config, 14, 2 * pass + 1)}, {1, 0}, {0, 0}};
    const double loss = training.forward(segment_batch(config, segments), {})[Loss::mlm].sum;
    const double other =
        inference.forward(segment_batch(config, segments, 0, inference.wants_whole_blocks()), {})[Loss::mlm]
            .sum;
    EXPECT_EQ(loss, other);
    EXPECT_EQ(training.stream_memory(0), inference.stream_memory(0));
    EXPECT_EQ(training.stream_memory(1), inference.stream_memory(1));
  }
}

// A forward pass, and one back, read what was remembered before it; a pass without places keeps nothing.
TEST_F(TransformerXlModel, MemoryIsThatOfTheOrderOfPasses) {
  const ModelConfig config = xl_config();
  const std::vector<float> parameters = random_parameters(config, 7);
  const StreamSegments first{{segment_ids(config, 12, 1)}, {0}, {1}},
      second{{segment_ids(config, 12, 2)}, {0}, {0}};
  StreamSegments alone = second;
  alone.streams.clear();
  alone.begins.clear();
  Model model(*backend, config, stream_limits(1), {.training = true});
  model.set_parameters(parameters);
  model.forward(segment_batch(config, first), {});
  const std::vector<float> kept = model.stream_memory(0);
  EXPECT_THROW(model.backward(scale_of_sum()), Error);  // what it would read is gone
  EXPECT_EQ(kept.size(), 2u * 10u * 24u);
  const double plain = model.forward(segment_batch(config, alone), {})[Loss::mlm].sum;
  EXPECT_EQ(model.stream_memory(0), kept);
  const double after = model.forward(segment_batch(config, second), {})[Loss::mlm].sum;
  EXPECT_NE(after, plain);
  EXPECT_NE(model.stream_memory(0), kept);
  model.set_stream_memory(0, kept);
  EXPECT_EQ(model.forward(segment_batch(config, second), {})[Loss::mlm].sum, after);
  model.forget_streams();
  EXPECT_TRUE(model.stream_memory(0).empty());
  EXPECT_EQ(model.forward(segment_batch(config, second), {})[Loss::mlm].sum, plain);
  EXPECT_THROW(model.stream_memory(1), Error);
  EXPECT_THROW(model.set_stream_memory(0, std::vector<float>(47)), Error);
  EXPECT_THROW(model.set_stream_memory(0, std::vector<float>(2 * 11 * 24)), Error);
  Batch twice =
      segment_batch(config, {{segment_ids(config, 4, 1), segment_ids(config, 4, 2)}, {0, 0}, {0, 0}});
  EXPECT_THROW(model.forward(twice, {}), Error);
}

TEST_F(TransformerXlModel, X2SegmentsAreOneLongSegment) {
  const ModelConfig config = xl_config({.memory = 64});
  const std::vector<float> parameters = random_parameters(config, 8);
  const std::vector<std::int32_t> ids = segment_ids(config, 65, 3);
  for (const bool training : {false, true}) {
    Model model(*backend, config, stream_limits(1), {.training = training});
    model.set_parameters(parameters);
    const auto states = [&](std::int64_t first, std::int64_t count) {
      const StreamSegments segments{{{ids.begin() + first, ids.begin() + first + count + 1}},
                                    {0},
                                    {first == 0 ? std::uint8_t{1} : std::uint8_t{0}}};
      model.forward(segment_batch(config, segments), {});
      return state_rows(model, 0, count);
    };
    const std::vector<float> whole = states(0, 64);
    std::vector<double> pieces;
    for (std::int64_t first = 0; first < 64; first += 8) {
      const std::vector<float> made = states(first, 8);
      pieces.insert(pieces.end(), made.begin(), made.end());
    }
    double most = 0.0;
    for (std::size_t i = 0; i < whole.size(); ++i) most = std::max(most, std::abs(whole[i] - pieces[i]));
    EXPECT_LT(most, 2e-6 * 4);  // states of up to 4
  }
}

TEST_F(TransformerXlModel, G4PaddingAndBatchMatesChangeNoBit) {
  for (const RecurrentOptions& options :
       {RecurrentOptions{.memory = 10}, RecurrentOptions{.memory = 10, .same_length = true}}) {
    const ModelConfig config = xl_config(options);
    const std::vector<float> parameters = random_parameters(config, 9);
    const auto read = [&](bool mates, std::int64_t pad_to) {
      Model model(*backend, config, stream_limits(3), {.training = true});
      model.set_parameters(parameters);
      std::vector<float> all;
      for (std::uint64_t pass = 0; pass < 3; ++pass) {
        StreamSegments segments{{segment_ids(config, 7, 10 + pass)}, {1}, {0}};
        if (mates) {
          segments.ids.insert(segments.ids.begin(), segment_ids(config, 20, 20 + pass));
          segments.ids.push_back(segment_ids(config, 4, 30 + pass));
          segments.streams = {2, 1, 0};
          segments.begins = {0, 0, 1};
        }
        const Batch batch = segment_batch(config, segments, pad_to);
        model.forward(batch, {});
        const std::vector<float> states = state_rows(model, batch.token_offsets[mates ? 1 : 0], 6);
        all.insert(all.end(), states.begin(), states.end());
      }
      return all;
    };
    const std::vector<float> alone = read(false, 0);
    EXPECT_EQ(alone, read(true, 0));
    EXPECT_EQ(alone, read(false, 24));
    EXPECT_EQ(alone, read(true, 32));
  }
}

TEST_F(TransformerXlModel, G5ThreadsChangeNoBit) {
  ModelConfig config = xl_config({.memory = 10, .clamp = 12});
  config.hidden_dropout_prob = 0.1;
  const std::vector<float> parameters = random_parameters(config, 12);
  const auto gradients = [&](int threads) {
    kernels::set_thread_count(threads);
    Model model(*backend, config, stream_limits(3), {.training = true});
    model.set_parameters(parameters);
    ForwardOptions drawn;
    drawn.training = true;
    for (std::uint64_t pass = 0; pass < 3; ++pass) {
      const StreamSegments segments{{segment_ids(config, 30, 3 * pass), segment_ids(config, 9, 3 * pass + 1),
                                     segment_ids(config, 22, 3 * pass + 2)},
                                    {2, 0, 1},
                                    {0, 0, 0}};
      drawn.dropout_seed = pass;
      model.forward(segment_batch(config, segments), drawn);
      model.backward(scale_of_sum());
    }
    std::vector<float> all = model.host_gradients();
    const std::vector<float> memory = model.stream_memory(1);
    all.insert(all.end(), memory.begin(), memory.end());
    kernels::set_thread_count(0);
    return all;
  };
  const std::vector<float> one = gradients(1);
  EXPECT_EQ(one, gradients(2));
  EXPECT_EQ(one, gradients(4));
}

// Within a segment, which is what is drawn and counted.
TEST_F(TransformerXlModel, G9VisiblePairsAreThoseOfBruteForce) {
  for (const std::int64_t seen : {0, 1, 5, 40}) {
    const ModelConfig config = xl_config({.memory = seen > 0 ? seen : 10, .same_length = seen > 0});
    for (const std::int64_t length : {1, 4, 23}) {
      std::int64_t pairs = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) pairs += seen == 0 || i - j < seen ? 1 : 0;
      }
      EXPECT_EQ(visible_pairs(config, 0, length), config.num_attention_heads * pairs)
          << seen << " " << length;
    }
  }
}

// Dropout at all its places: gradients are those of the masks that the forward pass drew.
TEST_F(TransformerXlModel, DropoutIsTheSameOnTheWayBack) {
  ModelConfig config = xl_config({.memory = 6, .untie = true});
  config.hidden_dropout_prob = 0.3;
  config.attention_probs_dropout_prob = 0.2;
  std::vector<float> parameters = random_parameters(config, 11);
  for (const ModelOptions options :
       {ModelOptions{.training = true}, ModelOptions{.training = true, .grad_checkpoint = true},
        ModelOptions{.training = true, .keep_activated = true}}) {
    Model model(*backend, config, stream_limits(1), options);
    const StreamSegments first{{segment_ids(config, 9, 1)}, {0}, {1}},
        second{{segment_ids(config, 9, 2)}, {0}, {0}};
    ForwardOptions drawn;
    drawn.training = true;
    drawn.dropout_seed = 5;
    model.set_parameters(parameters);
    model.forward(segment_batch(config, first), drawn);
    const std::vector<float> kept = model.stream_memory(0);
    const auto loss = [&] {
      model.set_stream_memory(0, kept);
      return model.forward(segment_batch(config, second), drawn)[Loss::mlm].sum;
    };
    loss();
    model.zero_gradients();
    model.backward(scale_of_sum());
    const std::vector<float> gradients = model.host_gradients();
    for (const char* name :
         {"bert.encoder.layer.0.attention.self.position.weight",
          "bert.encoder.layer.1.attention.self.content_bias",
          "bert.encoder.layer.0.attention.self.position_bias",
          "bert.encoder.layer.0.attention.self.key.weight", "bert.encoder.layer.1.output.dense.weight",
          "bert.encoder.layer.1.output.LayerNorm.weight", "bert.encoder.layer.0.intermediate.dense.weight"}) {
      const TensorSpec& spec = *model.layout().find(name);
      const auto begin = gradients.begin() + spec.offset;
      const double norm = std::sqrt(std::inner_product(begin, begin + spec.count, begin, 0.0));
      // Along the gradient itself: the difference quotient is its norm.
      const double step = 2e-3;
      std::vector<float> there = parameters, back = parameters;
      for (std::int64_t i = spec.offset; i < spec.offset + spec.count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const auto move = static_cast<float>(step * gradients[at] / norm);
        there[at] += move;
        back[at] -= move;
      }
      model.set_parameters(there);
      const double up = loss();
      model.set_parameters(back);
      const double down = loss();
      EXPECT_NEAR((up - down) / (2 * step), norm, 0.02 * norm) << name;
    }
    model.set_parameters(parameters);
  }
}

TEST_F(TransformerXlModel, PlannedMemoryHasItsOwnRow) {
  const ModelConfig config = xl_config();
  const BatchLimits limits = stream_limits(3);
  const auto row_of = [&](const BatchLimits& of) {
    for (const MemoryRow& row : plan_model_memory(config, of, {.training = true}, *backend)) {
      if (row.what == "memory of 3 streams") return row.bytes;
    }
    return std::size_t{0};
  };
  Model model(*backend, config, limits, {.training = true});
  EXPECT_EQ(model.memory_bytes(), 2u * 3u * 10u * 24u * sizeof(float));
  EXPECT_EQ(row_of(limits), (model.memory_bytes() + 255) / 256 * 256);
  EXPECT_EQ(row_of(stream_limits(0)), 0u);
}

TEST_F(TransformerXlModel, RefusesWhatItIsNot) {
  const auto refused = [](auto change, const std::string& words) {
    ModelConfig config = xl_config();
    change(config);
    try {
      validate(config, "file");
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    }
  };
  refused([](ModelConfig& c) { c.causal = false, c.head = HeadType::encoder; }, "not causal");
  refused([](ModelConfig& c) { c.position_type = PositionType::absolute; }, "with absolute positions");
  refused([](ModelConfig& c) { c.norm_type = NormType::prenorm; }, "LayerNorms before");
  refused([](ModelConfig& c) { c.use_bias = true; }, "biases of queries");
  refused([](ModelConfig& c) { c.head = HeadType::masked_lm; }, "no head masked-lm");
  refused([](ModelConfig& c) { c.attention_options.recurrent = {.memory = 0, .same_length = true}; },
          "same_length");
  ModelConfig far = xl_config({.memory = 20000});
  try {
    plan_model_memory(far, stream_limits(1), {}, *backend);
    ADD_FAILURE() << "20,000 distances";
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("clamp"), std::string::npos) << error.hint();
  }
  far.attention_options.recurrent.clamp = 400;
  EXPECT_EQ(attention_limits(far, stream_limits(1), {}).labels, 401);
}

TEST_F(TransformerXlModel, FreshWeightsAreDrawnAsPublished) {
  const ModelConfig config = xl_config();
  const ParameterLayout layout(config);
  const std::vector<float> values = initial_parameters(layout, config, 3);
  const TensorSpec& norm = *layout.find("bert.encoder.layer.0.output.LayerNorm.weight");
  const TensorSpec& bias = *layout.find("bert.encoder.content_bias");
  double apart = 0.0, drawn = 0.0;
  for (std::int64_t i = 0; i < norm.count; ++i) {
    const double off = values[static_cast<std::size_t>(norm.offset + i)] - 1.0;
    EXPECT_LE(std::abs(off), 0.04 + 1e-6);
    apart += std::abs(off);
  }
  for (std::int64_t i = 0; i < bias.count; ++i)
    drawn += std::abs(values[static_cast<std::size_t>(bias.offset + i)]);
  EXPECT_GT(apart, 0.1);
  EXPECT_GT(drawn, 0.1);
}

// The weights of keys by age: what the oracle's probabilities are on the mean, over memories as they fill up.
TEST(KeyWeightsOfStreams, AreTheReferences) {
  for (const AttentionPattern system : {AttentionPattern::transformer_xl, AttentionPattern::adaptive_span}) {
    SCOPED_TRACE(name_of(system));
    ModelConfig config = tiny_config();
    config.head = HeadType::causal_lm;
    config.attention = system;
    config.attention_options.recurrent.memory = 20;
    config.attention_options.spans = {.max_span = 20, .ramp = 4};
    become_recurrent(config);
    const std::vector<float> parameters = random_parameters(config, 5);
    std::vector<float> fixed = parameters;
    if (has_spans(config)) {
      const std::vector<float> z{0.1f, 0.3f, 0.0f, 0.8f};
      std::copy(z.begin(), z.end(),
                fixed.begin() + ParameterLayout(config).find("bert.encoder.spans")->offset);
    }
    const reference::Parameters doubles = reference_parameters(config, fixed);
    const auto backend = kernels::make_cpu_backend();
    Model model(*backend, config, stream_limits(2), {.key_weights = true});
    Model plain(*backend, config, stream_limits(2), {});
    for (Model* const of : {&model, &plain}) of->set_parameters(fixed);
    std::vector<reference::Memories> memories(2, reference::no_memories(recurrent_reference(config)));
    for (std::uint64_t pass = 0; pass < 4; ++pass) {
      const StreamSegments segments{
          {segment_ids(config, 10, 2 * pass), segment_ids(config, 14, 2 * pass + 1)}, {1, 0}, {0, 0}};
      std::vector<std::vector<reference::Vector>> expected;
      for (std::size_t s = 0; s < 2; ++s) {
        const auto stream = static_cast<std::size_t>(segments.streams[s]);
        const std::vector<std::size_t> ids(segments.ids[s].begin(), segments.ids[s].end() - 1);
        expected.push_back(
            reference::recurrent_key_weights(recurrent_reference(config), doubles, ids, memories[stream]));
        memories[stream] = reference::next_memories(
            memories[stream],
            reference::recurrent_forward(recurrent_reference(config), doubles, ids, memories[stream]), 20);
      }
      std::int64_t heard = 0;
      ForwardOptions options;
      options.key_weights = [&](const KeyWeights& of) {
        ++heard;
        const reference::Vector& right =
            expected[static_cast<std::size_t>(of.sequence)][static_cast<std::size_t>(of.layer)];
        ASSERT_EQ(of.rows.size(), right.size());
        for (std::size_t row = 0; row < right.size(); ++row) EXPECT_NEAR(of.rows[row], right[row], 2e-6);
      };
      const double loss = model.forward(segment_batch(config, segments), options)[Loss::mlm].sum;
      EXPECT_EQ(heard, 4);
      const Batch batch = segment_batch(config, segments, 0, plain.wants_whole_blocks());
      EXPECT_NEAR(plain.forward(batch, {})[Loss::mlm].sum, loss, 1e-5 * loss);
    }
  }
}

}  // namespace
}  // namespace bigbird
