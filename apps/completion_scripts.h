// Completion scripts for shells, from what the verbs say of themselves.
#pragma once

#include <string>
#include <vector>

namespace bigbird::apps {

struct CompletedOption {
  std::vector<std::string> names;  // "--fasta-ref", "-f"
  std::string description;
  bool takes_value = false;
  bool repeats = false;
};

struct CompletedVerb {
  std::string name;  // one to three words
  std::string description;
  std::vector<CompletedOption> options;
};

// To be evaluated: source <(bigbird completion bash).
std::string bash_completion(const std::vector<CompletedVerb>& verbs);
// A file _bigbird in a folder of $fpath, or evaluated after compinit.
std::string zsh_completion(const std::vector<CompletedVerb>& verbs);
// ~/.config/fish/completions/bigbird.fish.
std::string fish_completion(const std::vector<CompletedVerb>& verbs);

}  // namespace bigbird::apps
