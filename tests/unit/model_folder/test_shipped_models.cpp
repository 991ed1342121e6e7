// Where models that ship are looked for.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/model_folder/shipped_models.h"

namespace bigbird {
namespace {

TEST(ShippedModels, LieBesideAnInstalledProgramOrInItsCheckout) {
  EXPECT_EQ(places_of_models("/usr/bin/bigbird", ""),
            (std::vector<std::string>{"/usr/share/bigbird/models", "/models"}));
  EXPECT_EQ(places_of_models("/src/build/release/bin/bigbird", ""),
            (std::vector<std::string>{"/src/build/release/share/bigbird/models", "/src/models"}));
  EXPECT_EQ(places_of_models("/usr/bin/bigbird", "/data/models"), std::vector<std::string>{"/data/models"});
}

}  // namespace
}  // namespace bigbird
