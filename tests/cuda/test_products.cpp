// What the library of products offers of a whole model: on a device cuBLASLt, on the emulation plain loops,
// which refuse nothing unless they are told to (test_emulation_products.cpp).
#include "kernels/cuda/linear_products.h"
#include "tests/cuda/backend_test.h"

namespace bigbird::kernels::cuda::testing {

class ProductsOfAModel : public BackendTest {};

TEST_P(ProductsOfAModel, NoneOfBigBirdBaseIsRefused) {
  const std::unique_ptr<GemmLibrary> library = make_gemm_library();
  const std::vector<ModelProduct> products = training_products({}, GetParam());
  EXPECT_EQ(products.size(), 24u);
  for (const ProductOffer& offer : product_offers(*library, products))
    EXPECT_TRUE(offer.offered) << offer.what << ": " << offer.m << " x " << offer.n << " x " << offer.k;
}

// Other batches than the one above, and what a run of one sequence has.
TEST_P(ProductsOfAModel, NeitherAreThoseOfOtherBatches) {
  const std::unique_ptr<GemmLibrary> library = make_gemm_library();
  for (const ProductSizes& sizes :
       {ProductSizes{768, 3072, 32000, 32768, 5000, 8}, ProductSizes{768, 3072, 50368, 512, 77, 1},
        ProductSizes{256, 1024, 4096, 8192, 1233, 16}}) {
    for (const ProductOffer& offer : product_offers(*library, training_products(sizes, GetParam())))
      EXPECT_TRUE(offer.offered) << offer.what << ": " << offer.m << " x " << offer.n << " x " << offer.k;
  }
}

BIGBIRD_BACKEND_TESTS(ProductsOfAModel);

}  // namespace bigbird::kernels::cuda::testing
