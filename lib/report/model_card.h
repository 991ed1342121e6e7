// README.md of a model folder: what the model is, where it came from, and how to load it.
#pragma once

#include <string>
#include <vector>

#include "lib/model/folder/checkpoint.h"

namespace bigbird {

struct ModelCard {
  std::string source;                     // the folder it was made from
  std::string command;                    // as typed; may be empty
  std::vector<std::string> source_files;  // "name (sha256 ...)" of the weights that were read
  std::vector<std::string> notes;         // what was done to them
  std::string tokenizer;                  // one line; empty without tokenizer
  WriteOptions written;
};

// Markdown with the front matter of the Hugging Face hub.
std::string model_card(const ModelConfig& config, const ModelCard& card);

// One line: what attention the model computes.
std::string attention_line(const ModelConfig& config);
// One line: at which lengths attention is full instead.
std::string full_attention_line(const ModelConfig& config);

}  // namespace bigbird
