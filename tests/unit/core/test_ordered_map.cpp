// JSON objects in their order, with an index: the same as nlohmann's ordered_json, in linear time.
#include "lib/core/ordered_map.h"

#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/core/rng.h"

namespace bigbird {
namespace {

using Indexed = nlohmann::basic_json<OrderedMap>;

TEST(OrderedMap, IsTheSameAsTheListThatItReplaces) {
  for (std::uint64_t run = 0; run < 60; ++run) {
    CounterRng rng(7, Purpose::test, run);
    Indexed indexed = Indexed::object();
    nlohmann::ordered_json listed = nlohmann::ordered_json::object();
    for (int step = 0; step < 400; ++step) {
      const std::string key = "k" + std::to_string(rng.below(run + 5));
      switch (rng.below(8)) {
        case 0:
          indexed.erase(key);
          listed.erase(key);
          break;
        case 1:
          EXPECT_EQ(indexed.emplace(key, step).second, listed.emplace(key, step).second);
          break;
        case 2:
          EXPECT_EQ(indexed.value(key, -1), listed.value(key, -1));
          break;
        case 3:
          EXPECT_EQ(indexed.contains(key), listed.contains(key));
          break;
        case 4: {
          Indexed copy = indexed;
          copy["copied"] = 1;
          EXPECT_FALSE(indexed.contains("copied"));
          copy.erase("copied");
          indexed = std::move(copy);
          break;
        }
        case 5:
          indexed.update(Indexed::parse("{\"k1\": 1, \"new\": [1, 2]}"));
          listed.update(nlohmann::ordered_json::parse("{\"k1\": 1, \"new\": [1, 2]}"));
          break;
        default:
          indexed[key] = step;
          listed[key] = step;
      }
      ASSERT_EQ(indexed.dump(), listed.dump()) << run << " " << step;
    }
    EXPECT_EQ(Indexed::parse(listed.dump()), indexed);
  }
}

TEST(OrderedMap, AKeyThatStandsTwiceHasItsLastValueAtItsFirstPlace) {
  std::string text = "{\"a\": 1";
  for (int i = 0; i < 40; ++i) text += ", \"b" + std::to_string(i) + "\": 2";
  EXPECT_EQ(Indexed::parse(text + ", \"a\": 3}").begin().value(), 3);
  EXPECT_THROW(Indexed::parse(text + "}").at("c"), Indexed::out_of_range);
}

// The list took 72 s for them.
TEST(OrderedMap, TakesTimeInProportionToItsKeys) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += (i == 0 ? "\"k" : ", \"k") + std::to_string(i) + "\": 1";
  const std::clock_t begin = std::clock();
  Indexed json = Indexed::parse(text + "}");
  int found = 0;
  for (int i = 0; i < 200000; ++i) found += json["k" + std::to_string(i)].get<int>();
  EXPECT_EQ(found, 200000);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 15.0);
}

}  // namespace
}  // namespace bigbird
