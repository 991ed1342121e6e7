// How the texts of a fine-tuned model are turned into tokens: kept beside its weights as text.json, so that
// every verb that uses the model reads texts as it was trained to. A folder without the file (Hugging Face's)
// is read as transformers reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "lib/io/files/sha256.h"
#include "lib/parts/side_file.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer_folder.h"

namespace bigbird {

class ModelFolder;

enum class TextTask { classification, question_answering, summarization, tagging };
std::string name_of(TextTask task);  // "classify", "qa", "summarize", "tag"

struct TextSettings {
  std::optional<TextTask> task;  // what the model was made for; nothing where its folder does not tell
  std::string data_format;       // of questions: "squad" ...; of classes empty, or a GLUE task's name
  std::int64_t length = 0;       // most tokens of an input, special ones included; 0: what the model takes
  // Whether the second text of a pair has token type 1, as BERT's has. Hugging Face's BigBird tokenizer gives
  // type 0 throughout; its question answering head sets them itself.
  bool second_type = false;
  // Of questions, and of words the first: the windows and the kind of the training data; nothing where the
  // folder does not tell (those of earlier versions do not).
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

// One text or a pair of them as a model reads it: [CLS] A [SEP], or [CLS] A [SEP] B [SEP]. Texts are data:
// the name of a special piece inside of one is ordinary text.
struct EncodedInput {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> types;  // empty: all 0
  bool cut = false;                 // it was longer than `length` and lost tokens at the right end of a text
  bool blank = false;               // nothing but special pieces
};

// At most `length` tokens. What does not fit is cut at the right end, of a pair from the longer text down to
// the shorter; where both must be cut to halves, an odd token stays with the longer, of equal ones with the
// second: "longest_first" of transformers' fast tokenizers (truncate_encodings of tokenizers; the slow ones
// leave the odd token to the first). Of a long text no more is encoded than that takes; `unknown`, where
// given, counts in what was encoded. Error{usage}: a length without room for a token of each text.
EncodedInput encode_input(const Tokenizer& tokenizer, std::string_view text,
                          std::optional<std::string_view> pair, const TextSettings& settings,
                          std::int64_t length, UnknownTally* unknown = nullptr);

// What a run of a model over texts depends on, for finished chunks that are taken up again, and shards that
// are put together (lib/parts/chunked_outputs.h): the version, digests of the model, how it reads texts, and
// the precision that it is run in. Neither paths nor threads nor the size of batches: nothing that comes out
// depends on them.
RunIdentity model_identity(const ModelFolder& folder, const TextSettings& settings,
                           kernels::Precision precision);

// A text with its length, so that two texts are not taken for other two; of a list how many it has, first.
void add_to_digest(Sha256& digest, std::string_view text);
void add_to_digest(Sha256& digest, const std::vector<std::string>& texts);

}  // namespace bigbird
