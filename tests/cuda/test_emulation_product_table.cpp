// Measured algorithms of products: the table as text, what a measurement by an invented clock writes, and
// what a backend does with it. The emulated library can cut a sum into 1, 2 or 4 parts.
#include <set>
#include <stdexcept>

#include "kernels/cuda/emulation/emulation.h"
#include "kernels/cuda/linear_products.h"
#include "kernels/product_table.h"
#include "tests/cuda/backend_test.h"

namespace bigbird::kernels::cuda::testing {

class ProductTableTest : public ::testing::Test {
 protected:
  void SetUp() override { emulation::options().fake_clock = true; }
  void TearDown() override { emulation::options() = before_; }

  static std::vector<ModelProduct> small_products(Precision precision) {
    return training_products({64, 256, 96, 32, 16, 2}, precision);
  }
  static ProductTable measured(Precision precision) {
    return tune_products(*make_gemm_library(), "a device", small_products(precision), {});
  }
  // Of a layer with 64 inputs and 3 outputs.
  static std::string layer_key() {
    const Linear layer{nullptr, nullptr, 64, 3};
    return product_key(forward_product(Values(static_cast<float*>(nullptr)), layer,
                                       ConstValues(static_cast<const float*>(nullptr)),
                                       Values(static_cast<float*>(nullptr)), 5));
  }
  static ProductTable table_for_layer(const std::string& algorithm) {
    return {"emulated device", "plain loops", {{layer_key(), {algorithm, 1.0, 2.0}}}};
  }
  static CudaOptions with(const ProductTable& table, std::vector<std::string>* remarks = nullptr) {
    CudaOptions options{.index = 0, .precision = Precision::fp32};
    options.product_table = [table](const std::string& device, const std::string& library) {
      EXPECT_EQ(device, "emulated device");
      EXPECT_EQ(library, "plain loops");
      return table;
    };
    if (remarks != nullptr) options.remark = [remarks](const std::string& line) { remarks->push_back(line); };
    return options;
  }
  static Floats layer_outputs(const CudaOptions& options) {
    CudaBackend backend(options);
    Side side(backend);
    std::vector<float> x, w;
    for (const double value : random_normal(5 * 64, 1)) x.push_back(static_cast<float>(value));
    for (const double value : random_normal(3 * 64, 2)) w.push_back(static_cast<float>(value));
    const Values y = side.unset(15);
    const float* const weight = side.parameters(w);
    backend.linear_forward(side.values(x), {weight, nullptr, 64, 3}, y, 5);
    return side.read(y, 15);
  }

  const emulation::Options before_ = emulation::options();
};

TEST_F(ProductTableTest, IsReadAsItWasWritten) {
  const ProductTable table = measured(Precision::bf16);
  EXPECT_EQ(table.device, "a device");
  EXPECT_EQ(table.library, "plain loops");
  const ProductTable again = parse_product_table(table.text());
  EXPECT_EQ(again.text(), table.text());
  EXPECT_EQ(again.digest(), table.digest());
  EXPECT_EQ(table.digest().size(), 16u);
  EXPECT_EQ(ProductTable().digest(), "");
}

TEST_F(ProductTableTest, DigestsTellAlgorithmsApartButNotTimes) {
  const ProductTable table = table_for_layer("splits=2");
  ProductTable other = table;
  other.choices.begin()->second.microseconds = 17;
  EXPECT_EQ(other.digest(), table.digest());
  other.choices.begin()->second.algorithm = "splits=4";
  EXPECT_NE(other.digest(), table.digest());
  other = table;
  other.library = "plain loops 2";
  EXPECT_NE(other.digest(), table.digest());
}

TEST_F(ProductTableTest, WhatIsBrokenNamesItsLine) {
  const std::string good = table_for_layer("splits=2").text();
  const auto why = [](const std::string& text) -> std::string {
    try {
      parse_product_table(text);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::string row = good.substr(good.rfind('\n', good.size() - 2) + 1);
  EXPECT_EQ(why(good), "");
  EXPECT_EQ(why(""), "line 1: this is not a table of products");
  EXPECT_EQ(why("chrom\tstart\n"), "line 1: this is not a table of products");
  EXPECT_EQ(why(good.substr(0, good.size() - 1)), "line 5: the file is cut short");
  EXPECT_EQ(why(changed("\tsplits=2", "")), "line 5: a product has 11 columns, not 10");
  EXPECT_EQ(why(changed("\t64\t", "\tx\t")), "line 5: a size that is not a number above 0");
  EXPECT_EQ(why(changed("\t64\t", "\t0\t")), "line 5: a size that is not a number above 0");
  EXPECT_EQ(why(changed("splits=2", "")), "line 5: a product without an algorithm");
  EXPECT_EQ(why(changed("2.00", "soon")), "line 5: a time that is not a number");
  EXPECT_EQ(why(good + row), "line 6: a product that was there before");
  EXPECT_EQ(why(changed("##device=emulated device\n", "")), "line 4: it names no device or no library");
}

TEST_F(ProductTableTest, TheFastestAlgorithmIsTakenAndOfEqualsTheFirst) {
  const ProductTable table = measured(Precision::fp32);
  std::size_t seen = 0;
  for (const ModelProduct& product : small_products(Precision::fp32)) {
    const Gemm& gemm = product.gemm;
    const auto found = table.choices.find(product_key(gemm));
    ASSERT_NE(found, table.choices.end()) << product.what;
    ++seen;
    // The invented time: 100 k / splits + 2000 splits.
    const auto time = [&](double splits) {
      return 100.0 * static_cast<double>(gemm.k) / splits + 2000.0 * splits;
    };
    std::string best = "splits=1";
    double least = time(1);
    for (const int splits : {2, 4}) {
      if (splits > gemm.k || time(splits) >= least) continue;
      best = "splits=" + std::to_string(splits);
      least = time(splits);
    }
    EXPECT_EQ(found->second.algorithm, best) << product.what << ", k = " << gemm.k;
    EXPECT_NEAR(found->second.microseconds, least, 1e-3 * least);
    EXPECT_NEAR(found->second.first_microseconds, time(1), 1e-3 * time(1));
  }
  EXPECT_EQ(seen, 24u);
  EXPECT_EQ(measured(Precision::fp32).text(), table.text());
}

TEST_F(ProductTableTest, ProductsThatAreRefusedHaveNoRow) {
  const std::size_t all = measured(Precision::bf16).choices.size();
  emulation::options().refused_depth = 256;
  const ProductTable table = measured(Precision::bf16);
  EXPECT_EQ(table.choices.size() + 2, all);
  for (const auto& [key, choice] : table.choices) EXPECT_NE(key.substr(key.rfind('\t') + 1), "256") << key;
}

TEST_F(ProductTableTest, ABackendComputesAsTheTableSays) {
  const Floats first = layer_outputs(with({}));
  const Floats whole = layer_outputs(with(table_for_layer("splits=1")));
  const Floats parts = layer_outputs(with(table_for_layer("splits=4")));
  EXPECT_EQ(whole, first);
  EXPECT_NE(parts, first) << "another order of sums";
  EXPECT_EQ(layer_outputs(with(table_for_layer("splits=4"))), parts) << "one table, one result";
  for (std::size_t i = 0; i < parts.size(); ++i) EXPECT_NEAR(parts[i], first[i], 1e-4);
}

TEST_F(ProductTableTest, RowsOfOtherProductsChangeNothing) {
  ProductTable table = table_for_layer("splits=4");
  const ProductTable::Choice choice = table.choices.begin()->second;
  table.choices = {{layer_key() + "0", choice}};  // k = 640
  EXPECT_EQ(layer_outputs(with(table)), layer_outputs(with({})));
}

TEST_F(ProductTableTest, AnAlgorithmThatCannotBeHadIsToldAndLeftToTheLibrary) {
  std::vector<std::string> remarks;
  EXPECT_EQ(layer_outputs(with(table_for_layer("splits=9"), &remarks)), layer_outputs(with({})));
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(
      remarks[0],
      "the table of products has an algorithm for 5 x 3 x 64 that cuBLASLt does not take: its own choice "
      "computes it");
}

TEST_F(ProductTableTest, IsPartOfWhatABackendSaysOfItsArithmetic) {
  const ProductTable table = table_for_layer("splits=4");
  const CudaBackend with_table(with(table));
  const CudaBackend without(with({}));
  EXPECT_EQ(with_table.product_table(), table.digest());
  EXPECT_EQ(without.product_table(), "");
  EXPECT_EQ(with_table.details(), "fp32, plain loops, table of products " + table.digest());
  EXPECT_EQ(without.details(), "fp32, plain loops");
  EXPECT_NE(with_table.arithmetic(), without.arithmetic());
}

TEST_F(ProductTableTest, TheNumberOfMultiprocessorsIsPartOfTheArithmetic) {
  emulation::options().multiprocessors = 108;
  EXPECT_EQ(CudaBackend(with({})).arithmetic(), "emulated device, 108 multiprocessors, fp32, plain loops");
  emulation::options().multiprocessors = 114;
  EXPECT_EQ(CudaBackend(with({})).arithmetic(), "emulated device, 114 multiprocessors, fp32, plain loops");
}

TEST_F(ProductTableTest, KeysTellProductsApart) {
  std::set<std::string> keys;
  std::size_t products = 0;
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    for (const ModelProduct& product : small_products(precision)) {
      keys.insert(product_key(product.gemm));
      ++products;
    }
  }
  EXPECT_EQ(keys.size(), products);
}

}  // namespace bigbird::kernels::cuda::testing
