// Embeddings and their gradients, against sums in double and the CPU backend.
#include <algorithm>
#include <numeric>

#include "kernels/backend.h"
#include "kernels/cuda/launchers.h"
#include "tests/cuda/typed_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

template <class T>
class EmbeddingTest : public TypedCudaTest<T> {
 protected:
  // Tables of one type, looked up into T.
  template <class Table>
  void look_up(Index width, Index offset) {
    const Index tokens = 21, words = 50, type_count = 2, position_count = 30;
    const auto ids = random_integers(tokens, 50, 41), types = random_integers(tokens, 2, 42);
    const auto positions = random_integers(tokens, 30, 43);
    const auto word = rounded<Table>(random_normal(words * width, 44));
    const auto type = rounded<Table>(random_normal(type_count * width, 45));
    const auto position = rounded<Table>(random_normal(position_count * width, 46));
    const double scale = 1.5;
    std::vector<double> without, with, scaled;
    const auto scales = floats(random_normal(tokens, 47));
    for (std::size_t t = 0; t < ids.size(); ++t) {
      for (Index j = 0; j < width; ++j) {
        const auto value = [&](const std::vector<Table>& table, std::int32_t row) {
          return static_cast<double>(to_float(table[static_cast<std::size_t>(row * width + j)]));
        };
        without.push_back(value(word, ids[t]) * scale + value(type, types[t]));
        with.push_back(without.back() + value(position, positions[t]));
        scaled.push_back(value(word, ids[t]) * scale * static_cast<double>(scales[t]) +
                         value(type, types[t]) + value(position, positions[t]));
      }
    }
    const DeviceBuffer<std::int32_t> device_ids(ids, this->stream()), device_types(types, this->stream());
    const DeviceBuffer<std::int32_t> device_positions(positions, this->stream());
    const Guarded<Table> words_there(word, offset, this->stream()), types_there(type, 0, this->stream());
    const Guarded<Table> positions_there(position, 0, this->stream());
    const Guarded<T> y(tokens * width, 0, this->stream());
    const DeviceBuffer<float> device_scales(scales, this->stream());
    const auto run = [&](ConstValues position_table, Index count, const float* of_tokens = nullptr) {
      embedding_forward({device_ids.data(), device_types.data(), device_positions.data(), count, of_tokens},
                        {words_there.data(), types_there.data(), position_table}, static_cast<float>(scale),
                        y.data(), width, this->stream());
      return y.take();
    };
    EXPECT_LE(relative_error(run(positions_there.data(), tokens, device_scales.data()), scaled),
              tolerance<T>);
    EXPECT_LE(relative_error(run(positions_there.data(), tokens), with), tolerance<T>);
    EXPECT_LE(relative_error(run(nullptr, tokens), without), tolerance<T>);
    EXPECT_LE(relative_error(run(nullptr, 0), without), tolerance<T>);
  }
};
TYPED_TEST_SUITE(EmbeddingTest, ElementTypes);

TYPED_TEST(EmbeddingTest, ForwardAddsTheRowsOfItsTables) {
  for (const Index width : {Index{1}, Index{30}, Index{64}, Index{776}}) {
    for (const Index offset : {Index{0}, Index{1}}) {
      SCOPED_TRACE(::testing::Message() << "width " << width << " at " << offset);
      this->template look_up<TypeParam>(width, offset);
      this->template look_up<float>(width, offset);
    }
  }
}

// Keys as they come: all of one, all different, few frequent ones among many rare ones, negative ones among
// them.
std::vector<std::int32_t> keys_of_kind(int kind, Index tokens, Index key_count) {
  const auto limit = static_cast<std::int32_t>(key_count);
  std::vector<std::int32_t> keys = random_integers(tokens, limit, 51);
  const auto choices = random_integers(tokens, 4, 52);
  for (std::size_t t = 0; t < keys.size(); ++t) {
    if (kind == 0) keys[t] = limit - 1;
    if (kind == 1) keys[t] = static_cast<std::int32_t>((static_cast<Index>(t) * 7 + 3) % key_count);
    if (kind == 2 && choices[t] != 0) keys[t] = choices[t] == 1 ? limit / 2 : 0;
    if (kind == 3 && choices[t] < 2) keys[t] = choices[t] == 0 ? -1 : -100;
    if (kind == 4) keys[t] = -1;
  }
  return keys;
}

TYPED_TEST(EmbeddingTest, GradientsAreAddedToTheRowsOfTheirKeys) {
  using T = TypeParam;
  struct Shape {
    Index tokens, width, key_count, offset;
  };
  int others = 0;
  // One digit, two and three; runs of one piece and of many; several chunks of the sort; odd widths, wide
  // ones.
  for (const Shape& shape :
       {Shape{0, 8, 10, 0}, Shape{1, 8, 10, 0}, Shape{100, 5, 2, 0}, Shape{700, 8, 255, 0},
        Shape{700, 8, 256, 1}, Shape{1500, 16, 1000, 0}, Shape{200, 264, 20, 0}, Shape{90, 1, 70000, 0}}) {
    for (int kind = 0; kind < 5; ++kind) {
      SCOPED_TRACE(::testing::Message() << shape.tokens << " x " << shape.width << ", " << shape.key_count
                                        << " keys of kind " << kind);
      const auto keys = keys_of_kind(kind, shape.tokens, shape.key_count);
      const auto dy = rounded<T>(random_normal(shape.tokens * shape.width, 53));
      const auto before = floats(random_normal(shape.key_count * shape.width, 54));
      std::vector<double> expected = widened(before);
      const double scale = 0.75;
      for (std::size_t t = 0; t < keys.size(); ++t) {
        if (keys[t] < 0) continue;
        for (Index j = 0; j < shape.width; ++j) {
          expected[static_cast<std::size_t>(keys[t] * shape.width + j)] +=
              scale * static_cast<double>(to_float(
                          dy[t * static_cast<std::size_t>(shape.width) + static_cast<std::size_t>(j)]));
        }
      }
      const DeviceBuffer<std::int32_t> device_keys(keys, this->stream());
      const Guarded<T> gradient(dy, shape.offset, this->stream());
      const auto bytes = rows_by_key_workspace(shape.tokens, shape.width, shape.key_count);
      const Guarded<float> workspace(static_cast<Index>(bytes / sizeof(float)), 0, this->stream());
      const auto run = [&] {
        const Guarded<float> table(before, 0, this->stream());
        add_rows_by_key(gradient.data(), {device_keys.data(), shape.tokens, shape.key_count},
                        static_cast<float>(scale), table.data(), shape.width, workspace.data(),
                        this->stream());
        return table.take();
      };
      const auto got = run();
      EXPECT_LE(largest_error(got, expected), 1e-4);
      EXPECT_LE(relative_error(got, expected), 1e-6);
      EXPECT_TRUE(same_bits(got, run()));
      // An order that the caller brings: the same bits, and others where equal keys are the other way round.
      std::vector<std::int32_t> order(keys.size());
      std::iota(order.begin(), order.end(), 0);
      const auto before_of = [&](std::int32_t a, std::int32_t b) {
        const auto key = [&](std::int32_t token) {
          return static_cast<std::uint32_t>(keys[static_cast<std::size_t>(token)]);  // negative ones last
        };
        return key(a) < key(b);
      };
      const auto run_in = [&](const std::vector<std::int32_t>& in) {
        const DeviceBuffer<std::int32_t> device_order(in, this->stream());
        const Guarded<float> table(before, 0, this->stream());
        add_rows_by_key(
            gradient.data(), {device_keys.data(), shape.tokens, shape.key_count, device_order.data()},
            static_cast<float>(scale), table.data(), shape.width, workspace.data(), this->stream());
        return table.take();
      };
      std::stable_sort(order.begin(), order.end(), before_of);
      EXPECT_TRUE(same_bits(got, run_in(order)));
      std::reverse(order.begin(), order.end());
      std::stable_sort(order.begin(), order.end(), before_of);
      const auto other = run_in(order);
      EXPECT_LE(relative_error(other, expected), 1e-6);
      others += same_bits(got, other) ? 0 : 1;
      workspace.take();
    }
  }
  EXPECT_GT(others, 0) << "orders that are brought are not read";
}

class EmbeddingGradientTest : public CudaTest {};

TEST_F(EmbeddingGradientTest, ThreeTablesEqualTheCpuBackend) {
  const Index tokens = 520, width = 32, vocabulary = 300, type_count = 2, position_count = 130;
  auto ids = random_integers(tokens, 300, 61);
  for (std::size_t t = 0; t < ids.size(); t += 5) ids[t] = t % 2 == 0 ? 4 : -1;
  const auto types = random_integers(tokens, 2, 62);
  std::vector<std::int32_t> positions;
  for (Index t = 0; t < tokens; ++t) positions.push_back(static_cast<std::int32_t>(t % position_count));
  const auto dy = floats(random_normal(tokens * width, 63));
  const float scale = 0.5f;

  auto word_scales = floats(random_normal(tokens, 64));
  for (std::size_t t = 0; t < word_scales.size(); t += 7) word_scales[t] = 0.0f;
  std::vector<float> word(static_cast<std::size_t>(vocabulary * width)),
      scaled_word = word, type(static_cast<std::size_t>(2 * width));
  std::vector<float> position(static_cast<std::size_t>(position_count * width));
  const DeviceBuffer<float> dword(word, stream()), dtype(type, stream()), dposition(position, stream());
  EmbeddingTables tables;
  tables.word_scale = scale;
  tables.width = width;
  make_cpu_backend()->embedding_backward(dy.data(), {ids.data(), types.data(), positions.data(), tokens},
                                         tables, {word.data(), type.data(), position.data()});
  make_cpu_backend()->embedding_backward(dy.data(),
                                         {ids.data(), nullptr, nullptr, tokens, word_scales.data()}, tables,
                                         {scaled_word.data(), nullptr, nullptr});

  const DeviceBuffer<float> gradient(dy, stream());
  const DeviceBuffer<std::int32_t> device_ids(ids, stream()), device_types(types, stream());
  const DeviceBuffer<std::int32_t> device_positions(positions, stream());
  const std::size_t bytes = std::max({rows_by_key_workspace(tokens, width, vocabulary),
                                      rows_by_key_workspace(tokens, width, type_count),
                                      rows_by_key_workspace(tokens, width, position_count)});
  const DeviceBuffer<float> workspace(static_cast<Index>(bytes / sizeof(float)), stream());
  const DeviceBuffer<float> scales(word_scales, stream());
  const DeviceBuffer<float> dscaled(std::vector<float>(word.size()), stream());
  const auto run = [&](const DeviceBuffer<std::int32_t>& keys, float factor, const DeviceBuffer<float>& table,
                       Index key_count, const float* of_tokens = nullptr) {
    add_rows_by_key(gradient.data(), {keys.data(), tokens, key_count, nullptr, of_tokens}, factor,
                    table.data(), width, workspace.data(), stream());
  };
  run(device_ids, scale, dscaled, vocabulary, scales.data());
  EXPECT_LE(relative_error(dscaled.download(), widened(scaled_word)), 1e-6);
  run(device_ids, scale, dword, vocabulary);
  run(device_types, 1.0f, dtype, type_count);
  run(device_positions, 1.0f, dposition, position_count);
  EXPECT_LE(relative_error(dword.download(), widened(word)), 1e-6);
  EXPECT_LE(relative_error(dtype.download(), widened(type)), 1e-6);
  EXPECT_LE(relative_error(dposition.download(), widened(position)), 1e-6);
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
