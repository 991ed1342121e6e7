// One full layer against all pairs, and sparse layers against the count that the window needs.
#include "lib/theory/furthest_vector.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lib/report/theory_pictures.h"
#include "lib/theory/small_worlds.h"

namespace bigbird {
namespace {

TEST(FurthestVector, K1OneFullLayerIsExact) {
  for (std::uint64_t draw = 0; draw < 1000; ++draw) {
    const auto count = static_cast<std::int64_t>(2 + draw % 63);
    EXPECT_EQ(full_layer(unit_vectors(count, vector_width(count), 1, draw), 0).exact, 1) << draw;
  }
}

TEST(FurthestVector, K1OfEqualOnesTheFirst) {
  const VectorSet set{4, 1, {1, -1, 0.5, -1}};
  EXPECT_EQ(furthest_vectors(set), (std::vector<std::int64_t>{1, 0, 1, 0}));
  EXPECT_EQ(full_layer(set, 0).exact, 1);
}

TEST(FurthestVector, SoftmaxComesCloseWithItsScale) {
  const VectorSet set = unit_vectors(64, vector_width(64), 1, 0);
  const FullLayer soft = full_layer(set, 10), sharp = full_layer(set, 1000);
  EXPECT_LT(soft.exact, 0.5);
  EXPECT_GT(soft.rms, sharp.rms);
  EXPECT_GT(sharp.nearest, 0.9);
  EXPECT_EQ(vector_width(64), 36);
  EXPECT_EQ(vector_width(65), 49);
}

TEST(FurthestVector, K1OrthogonalPairsAreFoundWhereThereAreAny) {
  int pairs = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    const VectorSet set = binary_vectors(16, 16, 0.5, 1, draw);
    bool is = false;
    for (std::int64_t i = 0; i < set.count; ++i) {
      for (std::int64_t j = 0; j < set.count; ++j) is = is || set.product(i, j) == 0;
    }
    EXPECT_EQ(finds_orthogonal_pair(set), is) << draw;
    pairs += is ? 1 : 0;
  }
  EXPECT_GT(pairs, 20);
  EXPECT_LT(pairs, 180);
}

TEST(FurthestVector, K2SparseLayersAreExactOnceEveryVectorHasPassedBy) {
  for (const std::int64_t count : {8, 32, 100, 256}) {
    for (const std::int64_t window : {1, 3, 8, 16}) {
      const std::int64_t needed = layers_needed(count, window);
      EXPECT_EQ(needed, static_cast<std::int64_t>(
                            std::ceil(static_cast<double>(count - 1) / static_cast<double>(window))));
      for (std::uint64_t draw = 0; draw < 100; ++draw) {
        const SparseLayers run =
            sparse_layers(unit_vectors(count, vector_width(count), 1, draw), window, needed);
        EXPECT_EQ(run.right.back(), 1) << count << " " << window << " " << draw;
        EXPECT_GT(run.first_exact(), needed / 2);
        EXPECT_EQ(run.products_a_layer, count * (window + 1));
      }
    }
  }
  const SparseLayers half = sparse_layers(unit_vectors(256, 64, 1, 0), 3, 42);
  EXPECT_EQ(half.first_exact(), 0);
  EXPECT_NEAR(half.right.back(), .5, .15);
}

TEST(FurthestVector, K3LayersOfPlans) {
  EXPECT_EQ(facts_of_plan(AttentionPattern::full, 32, 1).layers, 1);
  EXPECT_EQ(facts_of_plan(AttentionPattern::star, 32, 1).layers, 2);
  EXPECT_EQ(facts_of_plan(AttentionPattern::window, 32, 1).layers, 31);
}

TEST(FurthestVector, ThePictureHasALineForEachWindow) {
  const SparseLayers run = sparse_layers(unit_vectors(16, 16, 1, 0), 3, 5);
  const std::string svg = furthest_vector_svg(16, {{3, run}});
  EXPECT_EQ(svg.find("<svg"), 0u);
  EXPECT_NE(svg.find("window 3: 5 layers"), std::string::npos);
}

}  // namespace
}  // namespace bigbird
