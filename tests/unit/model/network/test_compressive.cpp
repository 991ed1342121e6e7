// Compressive Transformer: states, memories, losses and gradients against the reference in double over
// several segments, with every compression; and what its reconstruction loss does not touch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/model/network/compressive.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/validate_config.h"
#include "reference/compressive.h"
#include "tests/unit/model/network/recurrent_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

constexpr std::array<Compression, 5> all_compressions{
    Compression::conv, Compression::dilated, Compression::mean, Compression::max, Compression::most_used};

ModelConfig compressive_config(std::int64_t memory, const CompressiveOptions& options) {
  ModelConfig config = tiny_config();
  config.head = HeadType::causal_lm;
  config.attention = AttentionPattern::compressive;
  config.attention_options.recurrent.memory = memory;
  config.attention_options.compressive = options;
  become_recurrent(config);
  validate(config, "a tiny model");
  return config;
}

reference::CompressiveConfig compressive_reference(const ModelConfig& config) {
  const CompressiveOptions& options = config.attention_options.compressive;
  return {recurrent_reference(config), static_cast<std::size_t>(config.attention_options.recurrent.memory),
          static_cast<std::size_t>(options.compressed), static_cast<std::size_t>(options.rate),
          static_cast<reference::CompressionKind>(options.compression)};
}

ForwardOptions in_training() {
  ForwardOptions options;
  options.training = true;
  return options;
}

LossScale scale_of_both(float compression) {
  LossScale scale = scale_of_sum();
  scale[Loss::compression] = compression;
  return scale;
}

class CompressiveModel : public ::testing::Test {
 protected:
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
};

TEST_F(CompressiveModel, AgreesWithTheReferenceSegmentBySegment) {
  for (const Compression compression : all_compressions) {
    for (const std::int64_t rate : {1, 2, 3}) {
      const ModelConfig config =
          compressive_config(6, {.compressed = 5, .rate = rate, .compression = compression});
      const reference::CompressiveConfig of = compressive_reference(config);
      const bool checkpoint = rate == 2;
      SCOPED_TRACE(attention_options_text(config));
      const std::vector<float> parameters = random_parameters(config, 5);
      const reference::Parameters doubles = reference_parameters(config, parameters);
      Model model(*backend, config, stream_limits(3), {.training = true, .grad_checkpoint = checkpoint});
      model.set_parameters(parameters);
      std::vector<reference::CompressiveMemories> memories(3, reference::no_compressive_memories(of));
      std::uint64_t seed = 1;
      const std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int64_t>>> passes{
          {{2, 0}, {3, 13}}, {{0, 1, 2}, {9, 4, 21}}, {{1, 0}, {12, 5}}, {{0, 2, 1}, {17, 2, 1}}};
      for (std::size_t pass = 0; pass < passes.size(); ++pass) {
        SCOPED_TRACE(pass);
        StreamSegments segments;
        const auto& [streams, lengths] = passes[pass];
        reference::Parameters sum;
        double loss = 0.0, squares = 0.0;
        std::vector<reference::Matrix> states;
        const auto add = [&](const reference::Parameters& gradients) {
          for (const auto& [name, gradient] : gradients)
            sum[name] = sum.count(name) != 0 ? reference::sum(sum[name], gradient) : gradient;
        };
        for (std::size_t s = 0; s < streams.size(); ++s) {
          const auto stream = static_cast<std::size_t>(streams[s]);
          segments.ids.push_back(segment_ids(config, lengths[s] + 1, ++seed));
          segments.streams.push_back(streams[s]);
          segments.begins.push_back(pass == 2 && streams[s] == 1 ? 1 : 0);
          if (segments.begins.back() != 0) memories[stream] = reference::no_compressive_memories(of);
          const ExpectedSegment main =
              expected_of_segment(config, doubles, segments.ids.back(), memories[stream].together());
          const std::vector<std::size_t> ids(segments.ids.back().begin(), segments.ids.back().end() - 1);
          const reference::CompressiveSegment made =
              reference::compressive_segment(of, doubles, ids, memories[stream]);
          memories[stream] = made.memories;
          states.push_back(main.states.back());
          loss += main.loss;
          squares += made.loss;
          add(main.gradients);
          add(made.loss_gradients);
        }
        const Batch batch = segment_batch(config, segments);
        const ForwardResult result = model.forward(batch, in_training());
        EXPECT_NEAR(result[Loss::mlm].sum, loss, 1e-5 * loss);
        EXPECT_NEAR(result[Loss::compression].sum, squares, 1e-5 * squares);
        EXPECT_EQ(result[Loss::compression].count,
                  learns_compression(config) ? static_cast<std::int64_t>(streams.size()) : 0);
        for (std::size_t s = 0; s < states.size(); ++s) {
          const std::vector<float> rows = state_rows(model, batch.token_offsets[s], batch.lengths[s]);
          EXPECT_LT(relative_error(rows.data(), states[s].values), 2e-5) << s;
        }
        model.zero_gradients();
        model.backward(scale_of_both(1.0f));
        expect_gradients(model, sum, 1e-4);
        for (std::size_t stream = 0; stream < 3; ++stream) {
          const std::vector<float> kept = model.stream_memory(static_cast<std::int64_t>(stream));
          std::vector<double> expected;
          for (const reference::Matrix& layer : memories[stream].together())
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

TEST_F(CompressiveModel, InferenceRemembersWhatTrainingDoes) {
  for (const Compression compression : all_compressions) {
    const ModelConfig config =
        compressive_config(6, {.compressed = 5, .rate = 2, .compression = compression});
    SCOPED_TRACE(attention_options_text(config));
    const std::vector<float> parameters = random_parameters(config, 6);
    Model training(*backend, config, stream_limits(2), {.training = true});
    Model inference(*backend, config, stream_limits(2), {});
    for (Model* model : {&training, &inference}) model->set_parameters(parameters);
    for (std::uint64_t pass = 0; pass < 4; ++pass) {
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
}

TEST_F(CompressiveModel, C2StepsOfTheMemory) {
  for (const std::int64_t memory : {4, 8}) {
    for (const std::int64_t compressed : {2, 6}) {
      for (const std::int64_t rate : {1, 2, 3, 4}) {
        const ModelConfig config = compressive_config(
            memory, {.compressed = compressed, .rate = rate, .compression = Compression::mean});
        std::int64_t remembered = 0;
        for (std::int64_t step = 1; step <= 10; ++step) {
          const MemoryStep made = memory_step(config, remembered, 4);
          remembered = made.compressed_after + made.plain_after;
          EXPECT_EQ(made.plain_after, std::min(memory, 4 * step));
          EXPECT_EQ(made.compressed_after,
                    std::min(compressed, std::max<std::int64_t>(step - memory / 4, 0) * (4 / rate)));
          EXPECT_LE(remembered, remembered_rows(config));
        }
      }
    }
  }
}

// A row for a row, as it is, is a longer memory.
TEST_F(CompressiveModel, C3IdentityIsALongerTransformerXl) {
  ModelConfig config = compressive_config(6, {.compressed = 9, .rate = 1});
  ModelConfig xl = config;
  xl.attention = AttentionPattern::transformer_xl;
  xl.attention_options = {};
  xl.attention_options.recurrent.memory = 15;
  Model model(*backend, config, stream_limits(1), {}), other(*backend, xl, stream_limits(1), {});
  std::vector<float> parameters = random_parameters(config, 7), same;
  for (const TensorSpec& spec : model.layout().tensors()) {
    const auto first = parameters.begin() + spec.offset;
    if (spec.name.find("compression") == std::string::npos) {
      same.insert(same.end(), first, first + spec.count);
      continue;
    }
    std::fill_n(first, spec.count, 0.0f);
    for (std::int64_t i = 0; spec.shape.size() == 3 && i < config.hidden_size; ++i)
      *(first + i * (config.hidden_size + 1)) = 1.0f;
  }
  model.set_parameters(parameters);
  other.set_parameters(same);
  for (std::uint64_t pass = 0; pass < 6; ++pass) {
    const StreamSegments segments{
        {segment_ids(config, 5 + 2 * static_cast<std::int64_t>(pass % 3), pass)}, {0}, {0}};
    const Batch batch = segment_batch(config, segments, 0, model.wants_whole_blocks());
    model.forward(batch, {});
    other.forward(batch, {});
    const std::vector<float> a = state_rows(model, 0, batch.lengths[0]),
                             b = state_rows(other, 0, batch.lengths[0]);
    double most = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
    EXPECT_LT(most, 2e-6 * 4) << pass;  // states of up to 4
    EXPECT_EQ(model.stream_memory(0).size(), other.stream_memory(0).size());
  }
}

// The reconstruction loss gives its gradient to the compression and to nothing else; next tokens give it
// none.
TEST_F(CompressiveModel, C4TheLossTouchesTheCompressionAlone) {
  for (const Compression compression : {Compression::conv, Compression::dilated}) {
    ModelConfig config = compressive_config(6, {.compressed = 5, .rate = 2, .compression = compression});
    config.hidden_dropout_prob = 0.1;
    config.attention_probs_dropout_prob = 0.1;
    const std::vector<float> parameters = random_parameters(config, 8);
    const auto gradients = [&](const LossScale& scale) {
      Model model(*backend, config, stream_limits(2), {.training = true});
      model.set_parameters(parameters);
      for (std::uint64_t pass = 0; pass < 3; ++pass) {
        const StreamSegments segments{
            {segment_ids(config, 15, 2 * pass), segment_ids(config, 9, 2 * pass + 1)}, {1, 0}, {0, 0}};
        ForwardOptions options = in_training();
        options.dropout_seed = pass;
        options.scale = scale;
        model.forward_backward(segment_batch(config, segments), options);
      }
      return std::pair(model.layout(), model.host_gradients());
    };
    LossScale other{};
    other[Loss::compression] = 0.5f;
    const auto off = gradients(scale_of_both(0.0f)), on = gradients(scale_of_both(0.5f)),
               alone = gradients(other);
    for (const TensorSpec& spec : on.first.tensors()) {
      const auto values = [&](const std::vector<float>& all) {
        return std::vector<float>(all.begin() + spec.offset, all.begin() + spec.offset + spec.count);
      };
      const std::vector<float> zeros(static_cast<std::size_t>(spec.count), 0.0f);
      if (spec.name.find("compression") == std::string::npos) {
        EXPECT_EQ(values(off.second), values(on.second)) << spec.name;
        EXPECT_EQ(values(alone.second), zeros) << spec.name;
      } else {
        EXPECT_EQ(values(off.second), zeros) << spec.name;
        EXPECT_NE(values(on.second), zeros) << spec.name;
        EXPECT_EQ(values(on.second), values(alone.second)) << spec.name;
      }
    }
  }
}

TEST_F(CompressiveModel, G4PaddingAndBatchMatesChangeNoBit) {
  for (const Compression compression : all_compressions) {
    const ModelConfig config =
        compressive_config(6, {.compressed = 5, .rate = 2, .compression = compression});
    SCOPED_TRACE(attention_options_text(config));
    const std::vector<float> parameters = random_parameters(config, 9);
    const auto read = [&](bool mates, std::int64_t pad_to) {
      Model model(*backend, config, stream_limits(3), {.training = true});
      model.set_parameters(parameters);
      std::vector<float> all;
      for (std::uint64_t pass = 0; pass < 4; ++pass) {
        StreamSegments segments{{segment_ids(config, 7, 10 + pass)}, {1}, {0}};
        if (mates) {
          segments.ids.insert(segments.ids.begin(), segment_ids(config, 20, 20 + pass));
          segments.ids.push_back(segment_ids(config, 4, 30 + pass));
          segments.streams = {2, 1, 0};
          segments.begins = {0, 0, 1};
        }
        const Batch batch = segment_batch(config, segments, pad_to);
        model.forward(batch, in_training());
        const std::vector<float> states = state_rows(model, batch.token_offsets[mates ? 1 : 0], 6);
        all.insert(all.end(), states.begin(), states.end());
      }
      const std::vector<float> memory = model.stream_memory(1);
      all.insert(all.end(), memory.begin(), memory.end());
      return all;
    };
    const std::vector<float> alone = read(false, 0);
    EXPECT_EQ(alone, read(true, 0));
    EXPECT_EQ(alone, read(false, 24));
    EXPECT_EQ(alone, read(true, 32));
  }
}

TEST_F(CompressiveModel, G5ThreadsChangeNoBit) {
  for (const Compression compression : all_compressions) {
    ModelConfig config = compressive_config(10, {.compressed = 7, .rate = 3, .compression = compression});
    config.hidden_dropout_prob = 0.1;
    const std::vector<float> parameters = random_parameters(config, 12);
    const auto numbers = [&](int threads) {
      kernels::set_thread_count(threads);
      Model model(*backend, config, stream_limits(3), {.training = true});
      model.set_parameters(parameters);
      ForwardOptions drawn = in_training();
      double loss = 0.0;
      for (std::uint64_t pass = 0; pass < 3; ++pass) {
        const StreamSegments segments{
            {segment_ids(config, 30, 3 * pass), segment_ids(config, 9, 3 * pass + 1),
             segment_ids(config, 22, 3 * pass + 2)},
            {2, 0, 1},
            {0, 0, 0}};
        drawn.dropout_seed = pass;
        loss += model.forward(segment_batch(config, segments), drawn)[Loss::compression].sum;
        model.backward(scale_of_both(1.0f));
      }
      std::vector<float> all = model.host_gradients();
      const std::vector<float> memory = model.stream_memory(1);
      all.insert(all.end(), memory.begin(), memory.end());
      all.push_back(static_cast<float>(loss));
      kernels::set_thread_count(0);
      return all;
    };
    const std::vector<float> one = numbers(1);
    EXPECT_EQ(one, numbers(2));
    EXPECT_EQ(one, numbers(4));
  }
}

TEST_F(CompressiveModel, PlannedMemoryHasItsOwnRow) {
  const ModelConfig config = compressive_config(6, {.compressed = 5});
  Model model(*backend, config, stream_limits(3), {.training = true});
  EXPECT_EQ(model.memory_bytes(), 2u * 3u * 11u * 24u * sizeof(float));
  std::size_t streams = 0, fresh = 0;
  for (const MemoryRow& row : plan_model_memory(config, stream_limits(3), {.training = true}, *backend)) {
    if (row.what == "memory of 3 streams") streams = row.bytes;
    if (row.what == "compressed rows") fresh = row.bytes;
  }
  EXPECT_EQ(streams, (model.memory_bytes() + 255) / 256 * 256);
  EXPECT_GT(fresh, 0u);
}

TEST_F(CompressiveModel, RefusesWhatItIsNot) {
  const auto refused = [](auto change, const std::string& words) {
    ModelConfig config = compressive_config(6, {.compressed = 5});
    change(config);
    try {
      validate(config, "file");
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    }
  };
  refused([](ModelConfig& c) { c.causal = false, c.head = HeadType::encoder; }, "not causal");
  refused([](ModelConfig& c) { c.attention_options.compressive.rate = 7; }, "memory 6 with rate 7");
  refused([](ModelConfig& c) { c.attention_options.recurrent.memory = 0; }, "memory 0 with rate 2");
  refused([](ModelConfig& c) { c.head = HeadType::masked_lm; }, "no head masked-lm");
}

}  // namespace
}  // namespace bigbird
