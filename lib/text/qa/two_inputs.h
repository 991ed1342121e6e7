// Questions as BigBird-ETC reads them (AttentionPattern::etc; docs/specification.md 3.5). Beside the long
// tokens, which the folders of the data sets lay out, there are global ones for what a question consists of:
// its tokens, sentences, paragraphs, candidates. Ids and types are those of google-research/etcmodel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/global_tokens.h"
#include "lib/text/qa/windows.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

// The ids that stand for parts of a question. Those of global tokens are, in this order: the pieces that
// etcmodel names for a vocabulary of WordPiece ([CLS], [unused0], [unused2] to [unused4]); its pieces of
// Google's SentencePiece vocabulary, which `bigbird text vocabulary` makes too (<unused_39>, </s>,
// <unused_40> to <unused_42>); and where a vocabulary has neither, [CLS], and for questions, candidates and
// paragraphs the pieces that mark them in the input of one sequence, <sep_0>, <ans> and <t>, else [SEP],
// [MASK] and [CLS]. A sentence is id 1 everywhere, as in pretraining.
struct PartIds {
  std::uint32_t cls = 0;
  std::uint32_t sentence = 0;
  std::uint32_t question = 0;
  std::uint32_t candidate = 0;
  std::uint32_t paragraph = 0;
  // Of the long tokens: the first one of HotpotQA; and of windows of a text ([CLS] question [SEP] text
  // [SEP]).
  std::uint32_t long_cls = 0;
  std::uint32_t window_cls = 0;
  std::uint32_t window_sep = 0;
  // The folder is etcmodel's own: its SentencePiece vocabulary, whose piece 64 is <unused_63>, or a WordPiece
  // one. Natural Questions and WikiHop have ids of their own there.
  bool of_etcmodel = false;
};
// Looks through the whole vocabulary: once a run.
PartIds part_ids(const Tokenizer& tokenizer);

// Token types, of long and global tokens alike.
enum PartType : std::int32_t {
  part_global,
  part_sentence,
  part_title,
  part_question,
  part_candidate,
  part_global_question,
  part_global_candidate,
  part_global_paragraph
};
inline constexpr std::int64_t part_types = 8;

// Global tokens that an input may have; 0: the model has one input.
std::size_t most_globals(const ModelConfig& config);

// What an input has beside the ids of its long tokens: TwoInputs in the memory that samples are held in.
struct GlobalLayout {
  struct Token {
    std::int32_t id = 0;
    std::int32_t type = part_global;
    bool free = false;  // sees all long tokens under a hard mask
    bool ends = false;  // the last one of its part
  };
  // Long tokens that follow each other; `sentence` and `paragraph` are numbers of global tokens.
  struct Run {
    std::uint32_t count = 0;
    std::int32_t type = part_sentence;
    std::int32_t sentence = -1;
    std::int32_t paragraph = -1;
    bool free = false;
    bool ends = false;  // the last ones of their segment
  };
  // Long tokens that are linked to one more global token.
  struct Mention {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::int32_t global = 0;
  };

  std::vector<Token> globals;
  std::vector<Run> runs;
  std::vector<Mention> mentions;  // of a token that several are of, the last counts
  // Whether paragraphs are apart from each other (etcmodel's multi-hop form), else one stretch of text.
  bool in_parts = false;
  // The type of the answer is read at global token 0, else at long token 0.
  bool type_at_global = false;

  // The number of the new token.
  std::int32_t add_global(std::uint32_t id, std::int32_t type = part_global, bool free = false);
  void add_long(std::size_t count, std::int32_t type, std::int32_t sentence, std::int32_t paragraph = -1);
  // What comes is of another segment, and of another part.
  void end_part();
};

// `ids` are the long tokens, as many as the runs have.
TwoInputs two_inputs(std::vector<std::int32_t> ids, const GlobalLayout& layout);

// Inputs of the form [CLS] question [SEP] text [SEP]: each token of the question has a global token, and so
// has each sentence of the window, or what else a text consists of.
struct WindowGlobals {
  PartIds ids;
  std::size_t most = 0;  // global tokens; what is beyond shares the last one
  // Natural Questions: each [SEP] has a global token of its own, the last one with the id 0 (the pad's, and
  // no padding). Else a [SEP] belongs to the token or the sentence before it.
  bool of_separators = false;
};
// `begins`: the tokens of the context that a sentence begins at, ascending. A window that begins inside of a
// sentence has the rest of it as one.
GlobalLayout window_globals(std::size_t question_tokens, std::span<const std::uint32_t> begins,
                            const ContextWindow& window, const WindowGlobals& options);

// Of a model with so many global tokens at most; with 0 sentence_globals() gives none. Once a run.
WindowGlobals globals_of_windows(const Tokenizer& tokenizer, std::size_t most);
// window_globals() of a context whose sentences are known.
std::shared_ptr<const GlobalLayout> sentence_globals(std::size_t question_tokens,
                                                     const ContextTokens& context,
                                                     const ContextWindow& window,
                                                     const WindowGlobals& options);

// The tokens of a text that its sentences begin at (sentence_begins).
std::vector<std::uint32_t> sentence_tokens(std::string_view text, std::span<const TextSpan> spans);

}  // namespace bigbird
