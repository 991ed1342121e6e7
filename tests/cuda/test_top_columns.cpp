// The largest logits of rows on the device against reference/token_search.h; the rows are those of the CPU's
// tests.
#include "tests/kernels/top_columns.h"

#include "kernels/cuda/launchers.h"
#include "tests/cuda/typed_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

template <class T>
class TopColumnsTest : public TypedCudaTest<T> {
 protected:
  struct Found {
    std::vector<float> values;
    std::vector<std::int32_t> columns;
  };
  // As the element type holds them; rounding makes more of them equal.
  static std::vector<float> held(const std::vector<float>& logits) {
    std::vector<float> result;
    for (const float x : logits) result.push_back(to_float(to_element<T>(x)));
    return result;
  }
  Found find(const TopShape& shape, const std::vector<float>& logits, Index offset) {
    std::vector<T> narrow;
    for (const float x : logits) narrow.push_back(to_element<T>(x));
    const Guarded<T> matrix(narrow, offset, this->stream());
    const Guarded<float> values(shape.rows * shape.count, 0, this->stream());
    const Guarded<std::int32_t> columns(shape.rows * shape.count, 0, this->stream());
    top_log_softmax({matrix.data(), shape.rows, shape.columns}, {shape.count, values.data(), columns.data()},
                    this->stream());
    EXPECT_TRUE(same_bits(matrix.take(), narrow));
    return {values.take(), columns.take()};
  }
};
TYPED_TEST_SUITE(TopColumnsTest, ElementTypes);

TYPED_TEST(TopColumnsTest, EqualsTheSortedRow) {
  for (const TopShape& shape : top_shapes) {
    SCOPED_TRACE(::testing::Message() << shape.count << " of " << shape.columns);
    const std::vector<float> logits = this->held(top_logits(shape));
    const auto found = this->find(shape, logits, 0);
    expect_top(shape, logits, found.values, found.columns);
    if (shape.columns > 2000) continue;
    const auto unaligned = this->find(shape, logits, 1);
    expect_top(shape, logits, unaligned.values, unaligned.columns);
    const auto again = this->find(shape, logits, 1);
    EXPECT_TRUE(same_bits(unaligned.values, again.values));
  }
}

TYPED_TEST(TopColumnsTest, InfinitiesAndWhatIsNoNumber) {
  const std::vector<float> logits = odd_top_logits();
  const auto found = this->find(odd_top, logits, 0);
  expect_odd_top(logits, found.values, found.columns);
}

TYPED_TEST(TopColumnsTest, NoRowsAndCountsThatCannotBe) {
  EXPECT_TRUE(this->find({0, 9, 3}, {}, 0).columns.empty());
  const std::vector<float> logits(400, 1.0f);
  for (const TopShape& shape : {TopShape{1, 400, 0}, TopShape{1, 400, 129}, TopShape{4, 100, 101}})
    EXPECT_THROW(this->find(shape, logits, 0), std::logic_error);
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
