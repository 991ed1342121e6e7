// How a folder of sentence-transformers makes one vector of a text: modules.json lists what a text goes
// through, 1_Pooling/config.json how the states of its tokens become one vector, sentence_bert_config.json
// how many tokens it may have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/inference/embed.h"

namespace bigbird {

struct SentenceSettings {
  Pooling pooling;  // with ends
  std::int64_t longest =
      0;                // most tokens of a text, [CLS] and [SEP] among them; 0: as many as the model takes
  bool lowers = false;  // texts are read in small letters
};

// Nothing for a folder without modules.json. Error{bad_input} naming the file: no JSON, a module or a pooling
// that is not read (a dense layer, several poolings, those weighted by length), files that are not there.
std::optional<SentenceSettings> read_sentence_settings(const std::string& folder);

// Copies them to another folder of the same encoder: those files, and what sentence-transformers keeps beside
// them. Nothing for a folder without modules.json; one with modules that are not read, or whose folders lie
// elsewhere, is warned of, and nothing of it is copied. Error{bad_input} where `to` cannot be written.
void copy_sentence_settings(const std::string& from, const std::string& to);

// What is asked for instead of the folder's settings.
struct SentenceChoice {
  std::string pool = "auto";       // a name of whole_poolings; auto: the folder's, else mean
  std::string normalize = "auto";  // yes, no; auto: as the folder has it, else no
  std::int64_t length = 0;         // most tokens of a text; 0: the folder's, or as many as the model takes
};
// Both together. Error{usage} for a name that there is not; errors as above.
EmbedderOptions sentence_options(const ModelFolder& folder, const SentenceChoice& choice,
                                 const BatchSize& batch);
// "mean with ends, normalized, 256 tokens": EmbedOptions::pool.
std::string describe_sentences(const EmbedderOptions& options);

}  // namespace bigbird
