// --attention and the options of every system (lib/model/attention_systems.h), under the same names and with
// the same rules in every verb that takes them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model_folder/config_json.h"

namespace bigbird::apps {

class VerbOptions;

class AttentionOptionGroup {
 public:
  // otherwise: what attention is where it is not given, for --help.
  void add(VerbOptions& verb, const std::string& otherwise);

  // Whether any of them was given; and whether --attention was.
  bool given() const;
  bool named() const { return !attention_.empty(); }
  AttentionChoice choice() const;
  // All that add() adds: "--attention", "--parts" ...
  std::vector<std::string> flags() const;
  // Puts what was given into the config, as apply_attention() does.
  void apply(ModelConfig& config) const;
  // The same, of what was given that the config's system has.
  void apply_known(ModelConfig& config) const;

 private:
  std::string attention_;
  std::map<std::string, std::string> typed_;  // by flag; the empty ones were not given
};

}  // namespace bigbird::apps
