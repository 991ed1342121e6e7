// What ranks must agree on; see rank_agreement.h.
#include "lib/training/rank_agreement.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "lib/core/error.h"

namespace bigbird {

void require_agreement(kernels::Ranks& ranks, const std::map<std::string, std::string>& facts) {
  const std::vector<std::string> texts = kernels::gather_texts(ranks, nlohmann::json(facts).dump());
  using Facts = std::map<std::string, std::string>;
  const auto first = nlohmann::json::parse(texts.front()).get<Facts>();
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts.front()) continue;
    const auto other = nlohmann::json::parse(texts[rank]).get<Facts>();
    std::set<std::string> names;
    for (const auto& [name, value] : first) names.insert(name);
    for (const auto& [name, value] : other) names.insert(name);
    const auto shown = [](const Facts& of, const std::string& name) {
      const auto found = of.find(name);
      return found == of.end() ? std::string("nothing") : "'" + found->second + "'";
    };
    for (const std::string& name : names) {
      const std::string here = shown(first, name), there = shown(other, name);
      if (here == there) continue;
      throw_usage(fmt::format("rank {} has {} for {}, rank 0 has {}", rank, there, name, here),
                  "start all ranks with the same program, options and files");
    }
  }
}

}  // namespace bigbird
