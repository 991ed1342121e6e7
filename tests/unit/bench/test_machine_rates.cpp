// The table of `bigbird bench`, and the machines that it is held against.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

#include "lib/bench/machine_products.h"
#include "lib/bench/machine_rates.h"
#include "lib/core/error.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

TEST(MachineRates, ATableHoldsEveryRate) {
  MachineRates rates;
  rates.rates = {{"forward", "4 x 256, 512 tokens", "tokens/s", {1234.5, 1200, 0.0625, 5, 2.25}}};
  EXPECT_EQ(machine_rates_tsv(rates, {"bigbird_version=1.2.3", "threads=2"}),
            "##bigbird_version=1.2.3\n##threads=2\n"
            "what\tshape\tmedian\tbest\tunit\trepeats\tspread\tseconds\n"
            "forward\t4 x 256, 512 tokens\t1200\t1234.5\ttokens/s\t5\t0.062\t2.250\n");
}

TEST(MachineRates, AProductCountsTwoForEachMultiplication) {
  const LinearProduct::Shape shape{4096, 2304, 768};
  EXPECT_DOUBLE_EQ(shape.operations(), 14495514624.0);
  EXPECT_EQ(shape.text(), common_product_shape());
}

// "| `product` | 4096 x 2304 x 768 | fp32 | 775 GFLOP/s | machine |"
std::string row_of(const KnownRate& known) {
  return fmt::format("| {} | {} | {} | {:.0f} {} | {} |", known.what, known.shape, known.precision,
                     known.value, known.unit, known.machine);
}

TEST(MachineRates, ThePageHasTheSameMachines) {
  std::istringstream page(testing::read_text(testing::source_dir() / "benchmarks/speed.md"));
  std::vector<std::string> rows;
  bool in_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "| measurement | shape | precision | rate | machine |") in_table = true;
    if (in_table && line.empty()) in_table = false;
    if (in_table && (line.find("GFLOP/s") != std::string::npos || line.find("tokens/s") != std::string::npos))
      rows.push_back(line);
  }
  std::vector<std::string> known;
  for (const KnownRate& rate : known_rates()) known.push_back(row_of(rate));
  EXPECT_EQ(rows, known);
}

TEST(MachineRates, StandBesideThoseOfTheSameShapeAndPrecision) {
  MachineRates rates;
  rates.rates = {{"product", common_product_shape(), "GFLOP/s", {100, 77.5, 0, 3, 1}},
                 {"forward", "4 x 256, 4096 tokens", "tokens/s", {100, 100, 0, 3, 1}}};
  std::string text;
  for (const std::string& line : beside_known_machines(rates, "fp32")) text += line + "\n";
  EXPECT_NE(text.find("78 here,    775 GFLOP/s (0.10x)"), std::string::npos) << text;
  EXPECT_EQ(text.find("2416"), std::string::npos) << "another precision: " << text;
  EXPECT_EQ(text.find("forward"), std::string::npos) << "another shape: " << text;
  EXPECT_NE(text.find("1.4 within a day"), std::string::npos) << text;
  EXPECT_EQ(beside_known_machines({}, "fp32").size(), 1u);
}

TEST(MachineRates, SizesHaveNames) {
  EXPECT_EQ(machine_model(parse_machine_size("base")).hidden_size, 768);
  EXPECT_EQ(machine_model(parse_machine_size("small")).num_hidden_layers, 4);
  EXPECT_THROW(parse_machine_size("huge"), Error);
}

}  // namespace
}  // namespace bigbird
