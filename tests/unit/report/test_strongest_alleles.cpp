// Which rows of a table of scored variants rank highest, and in which order.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lib/report/strongest_alleles.h"

namespace bigbird {
namespace {

std::vector<std::string> names_of(const StrongestAlleles& strongest) {
  std::vector<std::string> names;
  for (const RankedAllele& one : strongest.rows()) names.push_back(one.row.chrom);
  return names;
}

void take(StrongestAlleles& strongest, const std::string& name, double first, double second) {
  VariantRow row;
  row.chrom = name;
  strongest.take(row, {first, second});
}

TEST(StrongestAlleles, TheFirstNumberRanksAndTheSecondDecidesBetweenEqualOnes) {
  StrongestAlleles strongest(3);
  take(strongest, "low", -0.5, 9);
  take(strongest, "middle", -0.2, 1);
  take(strongest, "first", -0.2, 3);
  take(strongest, "second", -0.2, 2);
  EXPECT_EQ(names_of(strongest), (std::vector<std::string>{"first", "second", "middle"}));
}

TEST(StrongestAlleles, OfEqualRanksTheRowsThatCameFirstStay) {
  StrongestAlleles strongest(2);
  for (const char* name : {"a", "b", "c"}) take(strongest, name, 1, 1);
  EXPECT_EQ(names_of(strongest), (std::vector<std::string>{"a", "b"}));
}

TEST(StrongestAlleles, RowsWithoutANumberAreLeftOut) {
  StrongestAlleles strongest(2);
  take(strongest, "no score", std::nan(""), 1);
  take(strongest, "no effect", 1, std::nan(""));
  take(strongest, "scored", 0, 0);
  EXPECT_EQ(names_of(strongest), (std::vector<std::string>{"scored"}));
  StrongestAlleles none(0);
  take(none, "scored", 1, 1);
  EXPECT_TRUE(none.rows().empty());
}

}  // namespace
}  // namespace bigbird
