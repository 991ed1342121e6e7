// Measured algorithms of products: the table as text, what a measurement by an invented clock writes, and
// what a backend does with it. The emulated library can cut a sum into 1, 2 or 4 parts.
#include <map>
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

// A device where everything beside a product has a price: what gelu costs in it, and what a launch behind it.
class ProductForms : public ProductTableTest {
 protected:
  static ProductTable measured(double in_the_product, double launch) {
    emulation::options().epilogue_microseconds = in_the_product;
    emulation::options().launch_microseconds = launch;
    std::vector<ModelProduct> products = small_products(Precision::bf16);
    for (ModelProduct& product : bias_gradient_products(sizes, Precision::bf16)) products.push_back(product);
    ProductTable table = tune_products(*make_gemm_library(), "emulated device", products, {});
    table.library = "plain loops";
    emulation::options().epilogue_microseconds = emulation::options().launch_microseconds = 0;
    return table;
  }
  // The algorithms of the rows with that epilogue.
  static std::set<std::string> algorithms(const ProductTable& table, const std::string& epilogue) {
    std::set<std::string> all;
    for (const auto& [key, choice] : table.choices)
      if (key.find("\t" + epilogue + "\t") != std::string::npos) all.insert(choice.algorithm);
    return all;
  }
  static constexpr ProductSizes sizes{64, 256, 96, 32, 16, 2};
};

TEST_F(ProductForms, AreTakenWhereTheyAreFaster) {
  // One launch for gelu; column sums are two, and what a product has summed is added by one.
  const ProductTable fused = measured(10, 50);
  for (const char* epilogue : {"gelu_bias_kept", "dgelu"}) {
    EXPECT_FALSE(algorithms(fused, epilogue).empty());
    EXPECT_EQ(algorithms(fused, epilogue).count("split"), 0u) << epilogue;
  }
  EXPECT_EQ(algorithms(fused, "bias_gradient").size(), 1u);
  EXPECT_EQ(most_bias_gradients(fused), 256);
  const ProductTable split = measured(200, 50);
  for (const char* epilogue : {"gelu_bias_kept", "dgelu"})
    EXPECT_EQ(algorithms(split, epilogue), std::set<std::string>{"split"}) << epilogue;
  EXPECT_EQ(algorithms(split, "bias_gradient"), std::set<std::string>{"split"});
  EXPECT_EQ(most_bias_gradients(split), 0);
  const ProductTable equal = measured(50, 50);
  EXPECT_EQ(algorithms(equal, "dgelu").count("split"), 0u) << "of equals the fused one";
  EXPECT_EQ(algorithms(equal, "bias_gradient"), std::set<std::string>{"split"}) << "as without a table";
  EXPECT_NE(fused.digest(), split.digest());
  // The invented time of 32 x 64 x 256 with gelu' behind it, summed in two parts, in microseconds.
  for (const auto& [key, choice] : split.choices) {
    if (key.find("\tdgelu\t") == std::string::npos) continue;
    EXPECT_NEAR(choice.microseconds, 100.0 * 64 / 2 + 2000.0 * 2 + 50.0, 1.0) << key;
  }
}

TEST_F(ProductForms, MakeATableOfVersion2AndOthersStayOfVersion1) {
  const std::string first = "##products=1\n", second = "##products=2\n";
  const ProductTable fused = measured(10, 50), split = measured(200, 50),
                     neither = ProductTableTest::measured(Precision::bf16);
  for (const ProductTable* table : {&fused, &split, &neither}) {
    const std::string text = table->text();
    EXPECT_EQ(text.substr(0, first.size()), table == &neither ? first : second);
    EXPECT_EQ(parse_product_table(text).text(), text);
    EXPECT_EQ(parse_product_table(text).digest(), table->digest());
  }
  EXPECT_THROW(parse_product_table("##products=3\n" + neither.text().substr(first.size())),
               std::invalid_argument);
}

// A library whose gradients of biases are wrong.
class WrongSums final : public GemmLibrary {
 public:
  std::string description() const override { return library_->description(); }
  std::size_t workspace_bytes() const override { return library_->workspace_bytes(); }
  void use_workspace(void* device) override { library_->use_workspace(device); }
  bool offers(const Gemm& gemm) override { return library_->offers(gemm); }
  std::vector<std::string> algorithms(const Gemm& gemm, int most) override {
    return library_->algorithms(gemm, most);
  }
  bool choose(const Gemm& gemm, const std::string& algorithm) override {
    return library_->choose(gemm, algorithm);
  }
  void run(const Gemm& gemm, Stream stream) override {
    library_->run(gemm, stream);
    if (gemm.epilogue != Epilogue::bias_gradient) return;
    fill_zero(const_cast<void*>(gemm.bias.data()), sizeof(float) * static_cast<std::size_t>(gemm.m), stream);
  }

 private:
  std::unique_ptr<GemmLibrary> library_ = make_gemm_library();
};

TEST_F(ProductForms, ABiasGradientThatIsWrongIsNotTaken) {
  emulation::options().launch_microseconds = 50;
  WrongSums library;
  const ProductTable table =
      tune_products(library, "a device", bias_gradient_products(sizes, Precision::bf16), {});
  EXPECT_EQ(algorithms(table, "bias_gradient"), std::set<std::string>{"split"}) << table.text();
  EXPECT_EQ(most_bias_gradients(table), 0);
}

TEST_F(ProductForms, AStepRunsAsTheTableSays) {
  constexpr Index rows = 32, width = 64, inner = 256;
  std::map<Epilogue, int> asked;
  const auto step = [&](const ProductTable& table) {
    CudaOptions options = with(table);
    options.precision = Precision::bf16;
    CudaBackend backend(options);
    Side side(backend);
    const auto some = [](Index count, std::uint64_t seed) {
      Floats numbers;
      for (const double value : random_normal(count, seed)) numbers.push_back(static_cast<float>(value));
      return numbers;
    };
    const float* const parameters = side.parameters(some(inner * width + inner, 1));
    const Linear in{parameters, parameters + inner * width, width, inner};
    const Linear out{parameters, nullptr, inner, width};
    const Values x = side.values(some(rows * width, 2)), dy = side.values(some(rows * width, 3));
    const Values pre = side.unset(rows * inner), y = side.unset(rows * inner), dx = side.unset(rows * inner);
    float* const weight = side.floats(Floats(inner * width, 1.0f));
    float* const bias = side.floats(Floats(inner, 2.0f));
    asked.clear();
    emulation::options().product_asked = [&](const Gemm& gemm) { ++asked[gemm.epilogue]; };
    backend.linear_activation_forward(x, in, Activation::gelu_tanh, pre, y, rows);
    backend.linear_backward_input_activation(dy, out, Activation::gelu_tanh, pre, dx, rows);
    backend.linear_backward_weight(dx, x, in, {weight, bias, true}, rows);
    emulation::options().product_asked = {};
    return std::vector<Floats>{side.read(pre, rows * inner), side.read(y, rows * inner),
                               side.read(dx, rows * inner), side.read(ConstValues(weight), inner * width),
                               side.read(ConstValues(bias), inner)};
  };
  using Asked = std::map<Epilogue, int>;
  const std::vector<Floats> usual = step({});
  EXPECT_EQ(asked, (Asked{{Epilogue::none, 1}, {Epilogue::gelu_bias, 1}, {Epilogue::dgelu, 1}}));
  const std::vector<Floats> fused = step(measured(10, 50));
  EXPECT_EQ(asked, (Asked{{Epilogue::gelu_bias, 1}, {Epilogue::dgelu, 1}, {Epilogue::bias_gradient, 1}}));
  const std::vector<Floats> split = step(measured(200, 50));
  EXPECT_EQ(asked, (Asked{{Epilogue::none, 2}, {Epilogue::bias, 1}}));
  for (const std::vector<Floats>* other : {&fused, &split}) {
    for (std::size_t i = 0; i < usual.size(); ++i) {
      double most = 0, difference = 0;
      for (std::size_t j = 0; j < usual[i].size(); ++j) {
        most = std::max(most, std::abs(static_cast<double>(usual[i][j])));
        difference = std::max(difference, std::abs(static_cast<double>((*other)[i][j] - usual[i][j])));
      }
      EXPECT_LE(difference, 0.01 * most) << i;
    }
  }
  EXPECT_NE(split[1], usual[1]) << "gelu of what was rounded before";
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
