// README.md of a model folder: what the model is, where it came from, and how to load it. One form, whoever
// writes the folder: pretraining, the fine-tuning tasks, convert.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/model_folder/checkpoint.h"

namespace bigbird {

// The parts of a card in the order in which they stand; each may be empty but the title and the table. Texts
// are Markdown and end with a line feed, where they are not empty.
struct ModelCard {
  std::vector<std::string> tags;  // of the Hugging Face hub, beside "bigbird"
  std::string title;
  std::string about;
  std::string table;                                      // its heading
  std::vector<std::pair<std::string, std::string>> rows;  // what, and its value
  std::string origin;
  std::string command;  // as typed, one line
  std::string use;
};

// Markdown with the front matter of the Hugging Face hub.
std::string model_card(const ModelCard& card);

// What `convert` says of a folder that it wrote.
struct Conversion {
  std::string source;                     // the folder it was made from
  std::string command;                    // as typed; may be empty
  std::vector<std::string> source_files;  // "name (sha256 ...)" of the weights that were read
  std::vector<std::string> notes;         // what was done to them
  std::string tokenizer;                  // one line; empty without tokenizer
  WriteOptions written;
};
ModelCard converted_card(const ModelConfig& config, const Conversion& conversion);

// One line: what a structured_answers head gives, "start (softmax), end (softmax); null, short, long".
std::string answer_scores_line(const ModelConfig& config);
// One line: what attention the model computes.
std::string attention_line(const ModelConfig& config);
// One line: at which lengths attention is full instead.
std::string full_attention_line(const ModelConfig& config);

}  // namespace bigbird
