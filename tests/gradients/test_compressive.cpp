// The oracle of Compressive Transformer: a small example that was worked out by hand, and gradients of its
// reconstruction loss against central differences.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "reference/compressive.h"
#include "reference/finite_difference.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::RandomNumbers;

// Rows of two columns, .5 of the first and .25 of the second row of a window and .1.
TEST(Compressive, G10WorkedExample) {
  const Matrix h(2, 2, {1, 0, 0, 1}), old(4, 2, {.5, 0, 0, .5, 1, -1, -.5, 1});
  const Vector weight{.5, 0, .25, 0, 0, .5, 0, .25}, identity{1, 0, 0, 1};
  const Matrix fresh = row_convolution(old, weight, {.1, .1}, 2, 1, 2);
  const Vector expected{.35, .225, .475, -.15};
  ASSERT_EQ(fresh.values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(fresh.values[i], expected[i], 1e-15) << i;
  EXPECT_NEAR(reconstruction(h, old, fresh, identity, identity, identity, 1).loss, .0897251960, 1e-10);
}

constexpr std::size_t cm_width = 4, cm_heads = 2, cm_inner = 5, cm_words = 6;

Parameters random_compressive(const CompressiveConfig& config, RandomNumbers& random) {
  Parameters tensors;
  const auto weight = [&](const std::string& name, std::size_t count, double wide = 0.6) {
    tensors[name] = random.vector(count, -wide, wide);
  };
  weight("bert.embeddings.word_embeddings.weight", cm_words * cm_width);
  for (const char* name : {"content_bias", "position_bias"})
    weight(std::string("bert.encoder.") + name, cm_width);
  const std::string layer = "bert.encoder.layer.0.", self = layer + "attention.self.";
  for (const char* name : {"query", "key", "value", "position"})
    weight(self + name + ".weight", cm_width * cm_width);
  const std::size_t products = config.kind == CompressionKind::dilated ? 3 : 1;
  for (std::size_t i = 0; i < products; ++i) {
    const std::string name = self + "compression" + (products > 1 ? "." + std::to_string(i) : "");
    weight(name + ".weight", cm_width * config.rate * cm_width);
    weight(name + ".bias", cm_width);
  }
  weight(layer + "attention.output.dense.weight", cm_width * cm_width);
  weight(layer + "intermediate.dense.weight", cm_inner * cm_width);
  weight(layer + "intermediate.dense.bias", cm_inner);
  weight(layer + "output.dense.weight", cm_width * cm_inner);
  weight(layer + "output.dense.bias", cm_width);
  for (const char* norm : {"attention.output.LayerNorm", "output.LayerNorm"}) {
    tensors[layer + norm + ".weight"] = random.vector(cm_width, 0.6, 1.4);
    weight(layer + norm + ".bias", cm_width);
  }
  return tensors;
}

TEST(Compressive, G2GradientsAgainstDifferences) {
  for (const CompressionKind kind : {CompressionKind::conv, CompressionKind::dilated}) {
    for (const std::size_t rate : {1u, 2u, 3u}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + ", rate " + std::to_string(rate));
      RandomNumbers random(40u + static_cast<std::uint32_t>(rate));
      CompressiveConfig config;
      config.recurrent.encoder.vocabulary = cm_words;
      config.recurrent.encoder.hidden = cm_width;
      config.recurrent.encoder.layers = 1;
      config.recurrent.encoder.heads = cm_heads;
      config.recurrent.encoder.intermediate = cm_inner;
      config.recurrent.encoder.layer_norm_epsilon = 1e-5;
      config.memory = 5;
      config.compressed = 4;
      config.rate = rate;
      config.kind = kind;
      Parameters tensors = random_compressive(config, random);
      CompressiveMemories memories{{Matrix(2, cm_width, random.vector(2 * cm_width, -1.0, 1.0))},
                                   {Matrix(5, cm_width, random.vector(5 * cm_width, -1.0, 1.0))}};
      const std::vector<std::size_t> ids{1, 4, 2, 5, 3, 2, 2, 1};
      const auto loss = [&] { return compressive_segment(config, tensors, ids, memories).loss; };
      EXPECT_GT(loss(), 1e-4);
      const Parameters gradients = compressive_segment(config, tensors, ids, memories).loss_gradients;
      EXPECT_EQ(gradients.size(), kind == CompressionKind::dilated ? 6u : 2u);
      for (const auto& [name, gradient] : gradients)
        EXPECT_LT(largest_gradient_error(tensors.at(name), gradient, loss), 1e-6) << name;
    }
  }
}

// C2: after every step, for all sizes; and which rows they are, each of which holds its number.
TEST(Compressive, C2ShapesAndOrder) {
  for (const std::size_t memory : {4u, 8u}) {
    for (const std::size_t compressed : {2u, 6u}) {
      for (const std::size_t rate : {1u, 2u, 3u, 4u}) {
        RandomNumbers random(3);
        CompressiveConfig config;
        config.recurrent.encoder.vocabulary = cm_words;
        config.recurrent.encoder.hidden = cm_width;
        config.recurrent.encoder.layers = 1;
        config.recurrent.encoder.heads = cm_heads;
        config.recurrent.encoder.intermediate = cm_inner;
        config.recurrent.encoder.layer_norm_epsilon = 1e-5;
        config.memory = memory;
        config.compressed = compressed;
        config.rate = rate;
        Parameters tensors = random_compressive(config, random);
        CompressiveMemories memories = no_compressive_memories(config);
        Matrix all(0, cm_width);
        std::vector<double> means;
        for (std::size_t step = 1; step <= 10; ++step) {
          const CompressiveSegment made = compressive_segment(config, tensors, {1, 2, 3, step % 5}, memories);
          memories = made.memories;
          EXPECT_EQ(memories.plain[0].rows, std::min(memory, 4 * step));
          const std::size_t pushed = step > memory / 4 ? step - memory / 4 : 0;
          EXPECT_EQ(memories.compressed[0].rows, std::min(compressed, pushed * (4 / rate)));
          for (std::size_t i = 0; i < 4; ++i)
            all = [&] {
              Matrix more(all.rows + 1, cm_width);
              add_rows(more, all, 0, 0);
              add_rows(more, rows_of(made.states[0], i, 1, 0, cm_width), all.rows, 0);
              return more;
            }();
          // The newest compressed row is the mean of the last window of the 4 rows that left.
          if (pushed == 0) continue;
          const std::size_t first = 4 * (pushed - 1) + (4 / rate - 1) * rate;
          double mean = 0.0;
          for (std::size_t t = 0; t < rate; ++t) mean += all(first + t, 1) / static_cast<double>(rate);
          const Matrix& kept = memories.compressed[0];
          EXPECT_NEAR(kept(kept.rows - 1, 1), mean, 1e-12) << step << " " << rate;
          EXPECT_EQ(memories.plain[0](0, 1), all(all.rows - memory, 1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace bigbird
