// Products that the library refuses, how they are counted and told; that the list of a model's products
// (linear_products.h) is what a training step asks for; and for which devices a program has kernels.
#include <set>
#include <sstream>

#include "kernels/cuda/architectures.h"
#include "kernels/cuda/emulation/emulation.h"
#include "kernels/cuda/linear_products.h"
#include "tests/cuda/backend_test.h"
#include "tests/support/support.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird::kernels::cuda::testing {

class RefusedOnTheDevice : public ::testing::Test {
 protected:
  void TearDown() override { emulation::options() = before_; }
  const emulation::Options before_ = emulation::options();
};

TEST_F(RefusedOnTheDevice, ProductsAreCountedToldOnceAndComputedAllTheSame) {
  emulation::options().refused_depth = 3;
  std::vector<std::string> remarks;
  CudaOptions options{.index = 0, .precision = Precision::fp32};
  options.remark = [&](const std::string& line) { remarks.push_back(line); };
  options.refused = std::make_shared<RefusedProducts>();
  {
    CudaBackend backend(options);
    Side side(backend);
    const float* const weight = side.parameters({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
    const Values x = side.values({1.0f, 10.0f, 100.0f});
    const Values y = side.unset(2);
    backend.linear_forward(x, {weight, nullptr, 3, 2}, y, 1);
    EXPECT_EQ(side.read(y, 2), (Floats{321.0f, 654.0f}));
    backend.linear_forward(x, {weight, nullptr, 3, 2}, y, 1);
    backend.linear_forward(x, {weight, nullptr, 3, 1}, y, 1);
    backend.linear_forward(x, {weight, nullptr, 2, 1}, y, 1);  // this one is offered
  }
  EXPECT_EQ(options.refused->shapes, 2u);
  EXPECT_EQ(options.refused->calls, 3u);
  ASSERT_EQ(remarks.size(), 2u);
  EXPECT_EQ(remarks[0],
            "cuBLASLt offers no product of 1 x 2 x 3 (fp32): a kernel of the program's own computes it, more "
            "slowly");
}

TEST_F(RefusedOnTheDevice, ThoseOfARecordingCountWheneverItIsPlayed) {
  for (const bool refuse_graphs : {false, true}) {
    emulation::options().refused_depth = 3;
    emulation::options().refuse_graphs = refuse_graphs;
    CudaOptions options{.index = 0, .precision = Precision::fp32};
    options.refused = std::make_shared<RefusedProducts>();
    CudaBackend backend(options);
    Side side(backend);
    const float* const weight = side.parameters({1.0f, 2.0f, 3.0f});
    const Values x = side.values({1.0f, 10.0f, 100.0f});
    const Values y = side.unset(1);
    for (std::size_t round = 1; round <= 5; ++round) {
      backend.replay(7, [&] {
        backend.linear_forward(x, {weight, nullptr, 3, 1}, y, 1);
        backend.linear_forward(x, {weight, nullptr, 3, 1}, y, 1);
      });
      EXPECT_EQ(options.refused->calls, 2 * round) << "graphs refused: " << refuse_graphs;
    }
    EXPECT_EQ(options.refused->shapes, 1u);
    EXPECT_EQ(backend.replays(), refuse_graphs ? 0u : 3u);
  }
}

TEST_F(RefusedOnTheDevice, OffersNameTheProductsOfThatDepth) {
  emulation::options().refused_depth = 3072;
  const std::unique_ptr<GemmLibrary> library = make_gemm_library();
  std::vector<std::string> refused;
  for (const ProductOffer& offer : product_offers(*library, training_products({}, Precision::bf16))) {
    if (!offer.offered) refused.push_back(offer.what);
  }
  EXPECT_EQ(refused, (std::vector<std::string>{"feed-forward, inner: gradient of the input",
                                               "feed-forward, output: forward"}));
}

std::string key_of(const Gemm& gemm) {
  std::ostringstream text;
  text << gemm.m << ' ' << gemm.n << ' ' << gemm.k << ' ' << gemm.transpose_a << gemm.transpose_b << ' '
       << gemm.accumulate << ' ' << gemm.tf32 << ' ' << static_cast<int>(gemm.epilogue) << ' '
       << (gemm.aux == nullptr ? "" : "aux ") << static_cast<int>(gemm.a.data.type())
       << static_cast<int>(gemm.d.data.type()) << ' ' << gemm.a.stride << ' ' << gemm.b.stride << ' '
       << gemm.d.stride;
  return text.str();
}

TEST_F(RefusedOnTheDevice, TheListOfAModelsProductsIsWhatAStepAsksFor) {
  for (const auto& [precision, vocabulary] : {std::pair{Precision::bf16, 40},
                                              {Precision::bf16, 67},
                                              {Precision::tf32, 40},
                                              {Precision::fp32, 40},
                                              {Precision::fp32, 67}}) {
    ModelConfig config = bigbird::testing::tiny_config();
    config.head = HeadType::pretraining;
    config.vocab_size = vocabulary;
    config.hidden_size = 64;
    config.intermediate_size = 96;
    config.max_position_embeddings = 160;
    config.block_size = 16;
    config.activation = Activation::gelu_tanh;
    const Batch batch = bigbird::testing::random_batch(config, {32, 48}, 1);
    std::set<std::string> asked;
    ProductSizes sizes{64, 96, vocabulary, 80, 0, 2};
    emulation::options().product_asked = [&](const Gemm& gemm) {
      asked.insert(key_of(gemm));
      if (gemm.n == padded_columns(sizes.vocabulary) && !gemm.transpose_a && gemm.transpose_b)
        sizes.predictions = gemm.m;
    };
    CudaBackend backend({.index = 0, .precision = precision});
    const auto model = bigbird::testing::make_model(backend, config, batch, {.training = true},
                                                    bigbird::testing::random_parameters(config, 2));
    ForwardOptions options;
    options.training = true;
    const ForwardResult result = model->forward(batch, options);
    model->zero_gradients();
    model->backward(mean_scale(result));
    std::set<std::string> listed;
    for (const ModelProduct& product : training_products(sizes, precision))
      listed.insert(key_of(product.gemm));
    EXPECT_EQ(asked, listed) << precision_name(precision) << ", vocabulary of " << vocabulary;
    emulation::options() = before_;
  }
}

TEST(CudaArchitectures, AreReadAsCMakeHasThem) {
  const Architectures both = parse_architectures("80-real;90-real;90-virtual");
  EXPECT_EQ(both, (Architectures{{"80", "90"}, {"90"}}));
  EXPECT_EQ(architectures_text(both), "machine code for 8.0 and 9.0, PTX for 9.0");
  EXPECT_EQ(parse_architectures("90"), (Architectures{{"90"}, {"90"}}));
  EXPECT_EQ(architectures_text(parse_architectures("80-real;90a-real;100-real;120")),
            "machine code for 8.0, 9.0a, 10.0 and 12.0, PTX for 12.0");
  EXPECT_EQ(architectures_text(parse_architectures("80-virtual")), "PTX for 8.0");
  EXPECT_EQ(parse_architectures("native"), Architectures());
}

TEST(CudaArchitectures, MachineCodeIsForItsMajorVersionAndPtxForAllThatIsNewer) {
  const Architectures code = parse_architectures("80-real;90a-real;100-real");
  for (const auto& [major, minor, runs] : {std::tuple{7, 5, false},
                                           {8, 0, true},
                                           {8, 6, true},
                                           {8, 9, true},
                                           {9, 0, true},
                                           {9, 1, false},
                                           {10, 0, true},
                                           {10, 3, true},
                                           {12, 0, false}})
    EXPECT_EQ(can_run(code, major, minor), runs) << major << '.' << minor;
  const Architectures newer = parse_architectures("86-real;90-virtual");
  for (const auto& [major, minor, runs] :
       {std::tuple{8, 0, false}, {8, 6, true}, {8, 9, true}, {9, 0, true}, {12, 0, true}})
    EXPECT_EQ(can_run(newer, major, minor), runs) << major << '.' << minor;
  EXPECT_TRUE(can_run({}, 8, 0)) << "what a build cannot tell is tried";
}

// Else every start of a container has the driver translate all kernels.
TEST(CudaArchitectures, OfTheImageNeedNoTranslationOnAnyCardThatThereIs) {
  const std::string file =
      bigbird::testing::read_text(bigbird::testing::source_dir() / "packaging/Dockerfile.cuda");
  const std::string name = "ARG ARCHITECTURES=\"";
  const std::size_t at = file.find(name);
  ASSERT_NE(at, std::string::npos);
  const std::size_t begin = at + name.size();
  Architectures built = parse_architectures(file.substr(begin, file.find('"', begin) - begin));
  EXPECT_TRUE(can_run(built, 11, 0)) << "by its PTX";
  built.ptx.clear();
  for (const auto& [major, minor] :
       {std::pair{8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {12, 0}, {12, 1}})
    EXPECT_TRUE(can_run(built, major, minor)) << major << '.' << minor;
  // One version of CUDA compiles and runs; the first that knows 12.0 in all of its parts.
  const auto image = [&](const std::string& argument) {
    const std::string before = "ARG " + argument + "=docker.io/nvidia/cuda:";
    const std::size_t place = file.find(before) + before.size();
    return file.substr(place, file.find('-', place) - place);
  };
  EXPECT_EQ(image("DEVEL"), image("RUNTIME"));
  EXPECT_EQ(image("DEVEL").substr(0, 3), "13.");
}

TEST(CudaArchitectures, WhatHasRunIsSaid) {
  EXPECT_TRUE(was_run(9, 0));
  for (const auto& [major, minor] : {std::pair{8, 0}, {8, 9}, {10, 0}, {12, 0}, {9, 1}})
    EXPECT_FALSE(was_run(major, minor)) << major << '.' << minor;
}

TEST_F(RefusedOnTheDevice, ADeviceThatTheProgramHasNoKernelsForIsNotFound) {
  emulation::options().compute_capability = 80;
  emulation::options().architectures = "90-real";
  std::string why;
  EXPECT_TRUE(find_devices(why).empty());
  EXPECT_EQ(why,
            "cuda:0 (emulated device) has compute capability 8.0, for which this bigbird has no kernels: it "
            "holds machine code for 9.0");
  emulation::options().compute_capability = 90;
  EXPECT_EQ(find_devices(why).size(), 1u);
  EXPECT_EQ(why, "");
}

}  // namespace bigbird::kernels::cuda::testing
