// How the texts of a fine-tuned model are turned into tokens: kept beside its weights as text.json, so that
// every verb that uses the model reads texts as it was trained to. A folder without the file (Hugging Face's)
// is read as transformers reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer_folder.h"

namespace bigbird {

enum class TextTask { classification, question_answering, summarization };
std::string name_of(TextTask task);  // "classify", "qa", "summarize"

struct TextSettings {
  std::optional<TextTask> task;  // what the model was made for; nothing where its folder does not tell
  std::string data_format;       // of questions: "squad" ...; of classes empty, or a GLUE task's name
  std::int64_t length = 0;       // most tokens of an input, special ones included; 0: what the model takes
  // Whether the second text of a pair has token type 1, as BERT's has. Hugging Face's BigBird tokenizer gives
  // type 0 throughout; its question answering head sets them itself.
  bool second_type = false;
  // Of questions: the windows and the kind of the training data; nothing where the folder does not tell
  // (those of earlier versions do not).
  std::optional<std::size_t> overlap;
  std::optional<std::size_t> step;
  std::optional<std::size_t> max_question;
  std::optional<bool> version_2;
  std::optional<bool> line_marks;  // of documents and summaries: newlines are "<n>" for the model, not blanks
  TextEncodingOptions encoding{.white_space = WhiteSpace::keep};
};

// Error{bad_input} naming text.json where it is damaged or of a later form. Without the file the defaults.
TextSettings read_text_settings(const std::string& model_folder);
// What a tokenizer.json beside text.json says of it.
TokenizerFolderOptions tokenizer_options(const TextSettings& settings);
// text.json as FolderExtras::files takes it.
std::map<std::string, std::string> text_settings_files(const TextSettings& settings);

}  // namespace bigbird
