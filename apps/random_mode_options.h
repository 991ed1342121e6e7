// --random-mode and --plan, under the same names and with the same rules in every verb that takes them.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "lib/model/config.h"

namespace bigbird::apps {

class RandomModeOptions {
 public:
  // help: what --random-mode is for in this verb. Both go into `group` of --help when it is not empty.
  void add(CLI::App& app, const std::string& help, const std::string& group = {});

  // Whether one of the two was given.
  bool given() const { return !mode_.empty() || !plan_.empty(); }
  const std::string& plan() const { return plan_; }
  // Puts what was given into the config: a plan's file is read, and a plan alone means random mode file.
  // Error{usage} for a plan with another mode.
  void apply(ModelConfig& config) const;
  // The same into a mode and a plan that stand for a model's own; nothing where none was given.
  void apply(std::optional<RandomMode>& mode, std::shared_ptr<const PlanTable>& plan) const;

 private:
  std::string mode_;
  std::string plan_;
};

}  // namespace bigbird::apps
