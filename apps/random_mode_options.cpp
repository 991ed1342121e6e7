// See random_mode_options.h.
#include "apps/random_mode_options.h"

#include <fmt/format.h>

#include <memory>

#include "lib/core/error.h"
#include "lib/model/plans/plan_table.h"

namespace bigbird::apps {

void RandomModeOptions::add(CLI::App& app, const std::string& help, const std::string& group) {
  CLI::Option* mode =
      app.add_option("--random-mode", mode_, help + ": google, hf-train, hf-eval, none or file");
  CLI::Option* plan =
      app.add_option("--plan", plan_,
                     "Attention plan for random mode file, as bigbird attention --json writes it")
          ->type_name("JSON");
  if (group.empty()) return;
  mode->group(group);
  plan->group(group);
}

void RandomModeOptions::apply(ModelConfig& config) const {
  if (!mode_.empty()) config.random_mode = parse_random_mode(mode_);
  if (config.random_mode != RandomMode::file) config.plan = nullptr;
  if (plan_.empty()) return;
  if (!mode_.empty() && config.random_mode != RandomMode::file) {
    throw_usage(fmt::format("--plan {} with --random-mode {}", plan_, mode_),
                "a plan is what random mode file computes: leave one of the two out");
  }
  config.random_mode = RandomMode::file;
  config.plan = std::make_shared<const PlanTable>(PlanTable::read(plan_));
}

void RandomModeOptions::apply(std::optional<RandomMode>& mode, std::shared_ptr<const PlanTable>& plan) const {
  if (!given()) return;
  ModelConfig typed;
  apply(typed);
  mode = typed.random_mode;
  plan = typed.plan;
}

}  // namespace bigbird::apps
