// Hugging Face's tokenizer.json in plain structures: BPE as DNA tokenizers (GENA-LM's among them) use it, and
// BPE and unigram models of text as SentencePiece models become when they are converted. Byte-level BPE is
// byte_level_definition.h's. Anything else in a file is refused by name: no field that changes ids is ever
// passed over.
//
// Read: added_tokens; normalizer null, Strip, Replace, Prepend, Precompiled, Lowercase, NFC, NFD, NFKC, NFKD,
// BertNormalizer, Sequence; pre_tokenizer null, Split (Isolated, Removed), WhitespaceSplit, Metaspace,
// BertPreTokenizer, Sequence; post_processor null, BertProcessing, TemplateProcessing of the form
// [CLS] A [SEP] or A [EOS]; model BPE and Unigram, with byte_fallback, and WordPiece. A pattern is a String,
// or a Regex of the kind in text_steps.h. truncation, padding and decoder do not touch ids and are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/error.h"
#include "lib/tokenization/added_tokens.h"
#include "lib/tokenization/bpe_encoder.h"
#include "lib/tokenization/text_steps.h"

namespace bigbird {

enum class SubwordModel : std::uint8_t { bpe, unigram, wordpiece };

struct TokenizerJson {
  SubwordModel model = SubwordModel::bpe;
  std::vector<std::string> pieces;  // by id, without holes
  std::vector<AddedToken> added;
  std::vector<BpeMerge> merges;  // of BPE: ids of pieces, best rank first
  std::vector<double> scores;    // of a unigram model, by id; added tokens beyond have none
  std::optional<std::uint32_t> unknown;
  std::string within_words = "##";  // wordpiece: what pieces open with that go on in a word
  std::size_t longest_word = 100;   // wordpiece: a word of more characters is unknown
  bool fuse_unknown = false;        // neighbouring unknown characters are one id
  bool byte_fallback = false;       // unknown characters become the pieces <0x00> to <0xFF> of their bytes
  std::vector<NormalizerStep> normalizer;
  std::vector<SplitStep> splits;
  // What the post-processor puts around a text; without one, the caller knows them by name.
  std::optional<std::uint32_t> cls;
  std::optional<std::uint32_t> sep;
  std::optional<std::uint32_t> ending;  // alone behind a text, as Pegasus has it

  // Whether it takes steps or a model that JsonTokenizer (DNA) does not know: then it is SubwordTokenizer's.
  bool is_of_text() const;
};

// A file that is sound, as far as it was read, and holds something that is not understood.
class TokenizerJsonNotUnderstood : public Error {
 public:
  using Error::Error;
};

// Error{bad_input} "WHERE: ..." for bytes that are no JSON, for what is not understood (by name; a
// TokenizerJsonNotUnderstood), and for vocabularies that contradict themselves: ids with holes or twice, more
// than 16,777,216 pieces, merges of pieces that are not there, or whose result is not.
TokenizerJson parse_tokenizer_json(std::string_view bytes, const std::string& where);

// BERT's vocab.txt, a piece a line, with BERT's steps as BertTokenizerFast has them by itself. A piece that
// stands twice has the later id, and the earlier one has no text. Error{bad_input} "WHERE: ...": no piece,
// more than 16,777,216, bytes that are not UTF-8.
TokenizerJson parse_wordpiece_vocabulary(std::string_view bytes, const std::string& where);

// What is put in front of the normalizer of a file that is written, and how pairs of texts are typed.
struct TokenizerJsonAdditions {
  std::vector<NormalizerStep> first;
  bool second_type = false;  // the second text of a pair has token type 1
};
// The file, which parse_tokenizer_json() reads again, for transformers of any version.
std::string tokenizer_json_text(const TokenizerJson& definition, const TokenizerJsonAdditions& additions);
// Steps in front of the normalizer of a file, which else stays as it is.
std::string with_first_steps(std::string_view bytes, const std::vector<NormalizerStep>& first);
// SHA-256 of what ids depend on but for the steps before the pieces are found.
std::string vocabulary_digest(const TokenizerJson& definition);

}  // namespace bigbird
