// The reconstruction loss of Compressive Transformer against labml-nn's AttentionReconstructionLoss
// (tests/peers/make_compressive.py): the loss of two layers, and the gradients of their convolutions. The
// reference is held against it; the model against the reference in tests/unit/model/network.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "lib/io/weights/safetensors.h"
#include "reference/compressive.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace testing;

class CompressiveGolden : public ::testing::Test {
 protected:
  reference::Vector numbers(const std::string& name) const {
    const std::vector<float> all = golden_.floats(name);
    return {all.begin(), all.end()};
  }
  reference::Matrix rows(const std::string& name, std::size_t width) const {
    reference::Vector all = numbers(name);
    const std::size_t count = all.size() / width;
    return {count, width, std::move(all)};
  }

  const SafetensorsFile golden_{(source_dir() / "tests/golden/neighbours/compressive.safetensors").string()};
};

void expect_near(const reference::Vector& made, const reference::Vector& expected) {
  ASSERT_EQ(made.size(), expected.size());
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_NEAR(made[i], expected[i], 1e-6) << i;
}

TEST_F(CompressiveGolden, C1LossAndGradientsAreLabmls) {
  constexpr int cases = 4;
  for (int number = 0; number < cases; ++number) {
    const std::string place = std::to_string(number) + ".";
    SCOPED_TRACE(place);
    std::istringstream sizes(golden_.metadata().at(place + "sizes"));
    std::size_t width = 0, heads = 0, rate = 0;
    sizes >> width >> heads >> rate;
    double loss = 0.0;
    for (int layer = 0; layer < std::stoi(golden_.metadata().at("layers")); ++layer) {
      const std::string of = place + std::to_string(layer) + ".";
      const reference::Matrix old = rows(of + "old", width);
      const reference::Vector weight = numbers(of + "weight");
      const reference::Matrix fresh =
          reference::row_convolution(old, weight, numbers(of + "bias"), rate, 1, rate);
      expect_near(fresh.values, numbers(of + "fresh"));
      const reference::Reconstruction made =
          reference::reconstruction(rows(of + "h", width), old, fresh, numbers(of + "query"),
                                    numbers(of + "key"), numbers(of + "value"), heads);
      loss += made.loss;
      const reference::ConvolutionGradients gradients =
          reference::row_convolution_backward(old, weight, rate, 1, rate, made.d_compressed);
      expect_near(gradients.weight, numbers(of + "gradient.weight"));
      expect_near(gradients.bias, numbers(of + "gradient.bias"));
    }
    EXPECT_NEAR(loss, numbers(place + "loss").front(), 1e-6);
  }
}

}  // namespace
}  // namespace bigbird
