// top_log_softmax against reference/token_search.h; the rows are in top_columns.h.
#include "tests/kernels/top_columns.h"

#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

class TopColumnsKernel : public KernelTest {
 protected:
  void find(const TopShape& shape, const Floats& logits, Floats& values, std::vector<std::int32_t>& columns) {
    const auto count = static_cast<std::size_t>(shape.rows * shape.count);
    values = run([&](Backend& backend) {
      Guarded found(count);
      std::vector<std::int32_t> places(count + 1, -7);
      backend.top_log_softmax({logits.data(), shape.rows, shape.columns},
                              {shape.count, found.data(), places.data()});
      EXPECT_EQ(places.back(), -7) << "written behind the columns";
      places.pop_back();
      EXPECT_TRUE(columns.empty() || columns == places) << "another number of threads, other columns";
      columns = places;
      return std::vector<Floats>{found.take()};
    })[0];
  }
};

TEST_P(TopColumnsKernel, EqualsTheSortedRow) {
  for (const TopShape& shape : top_shapes) {
    SCOPED_TRACE(::testing::Message() << shape.count << " of " << shape.columns);
    const Floats logits = top_logits(shape);
    Floats values;
    std::vector<std::int32_t> columns;
    find(shape, logits, values, columns);
    expect_top(shape, logits, values, columns);
  }
}

TEST_P(TopColumnsKernel, InfinitiesAndWhatIsNoNumber) {
  const Floats logits = odd_top_logits();
  Floats values;
  std::vector<std::int32_t> columns;
  find(odd_top, logits, values, columns);
  expect_odd_top(logits, values, columns);
}

BIGBIRD_KERNEL_TESTS(TopColumnsKernel);

}  // namespace
}  // namespace bigbird::kernels
