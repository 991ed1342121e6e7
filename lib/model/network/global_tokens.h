// The second input of BigBird-ETC (Ainslie et al. 2020, sections 2.1 and 2.2; AttentionPattern::etc): global
// tokens beside the long ones, and what says which long token belongs to which global one. A task that knows
// sentences, paragraphs or candidates lays out one TwoInputs for each sequence (Batch::append); for one that
// knows none the model makes global tokens of stretches of tokens by itself (with_fixed_globals).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bigbird {

struct ModelConfig;
struct EtcOptions;
struct Batch;

// Ids of global tokens in the word table, as etcmodel has them: of a sentence, and of one that is masked.
inline constexpr std::int32_t etc_sentence_token = 1;
inline constexpr std::int32_t etc_masked_sentence_token = 2;

// A pair of a long and a global token is linked where one of these names the global token by its number in
// the sequence's global input. -1: none. Hard masks let only sentences and paragraphs meet.
enum class GlobalLink : std::size_t { sentence, paragraph, other };
inline constexpr std::size_t global_links = 3;

// One sequence. What is [L] has one entry for each long token, what is [G] for each global one; all but the
// ids may be empty.
struct TwoInputs {
  std::vector<std::int32_t> ids;           // [L]
  std::vector<std::int32_t> types;         // [L]; empty: 1
  std::vector<std::int32_t> global_ids;    // [G], one at least
  std::vector<std::int32_t> global_types;  // [G]; empty: 0
  // [L] each, by GlobalLink; empty: -1.
  std::array<std::vector<std::int32_t>, global_links> links;
  // [L] Long tokens see each other within equal numbers alone: paragraphs of a question (etcmodel's long
  // segments). Empty: all do.
  std::vector<std::int32_t> segments;
  // [G] Parts of a document: global tokens of different parts have one label of their own in place of their
  // distance. Empty: one part.
  std::vector<std::int32_t> parts;
  // [L] and [G] Examples that share a sequence: nobody sees a token of another. Both or neither.
  std::vector<std::int32_t> examples, global_examples;
  // [L] and [G] 1 for a token that a hard mask lets see all of the other input all the same.
  std::vector<std::uint8_t> free, global_free;
};

// Numbers of examples, or of segments, of marks [N] that are 1 at the last token of each: how many marks
// stand at a token or after it (etcmodel's breakpoints), so that they fall from left to right.
std::vector<std::int32_t> numbers_of_marks(const std::vector<std::uint8_t>& marks);

// The global side of a Batch, ragged as its tokens: sequence s of it goes with sequence s of the batch.
// Padding has no links, is in no example and in no part. Where a batch has rows of both, the global ones
// stand after all long ones: global token g is row Batch::tokens() + g of the model's outputs.
struct GlobalTokens {
  std::vector<std::int32_t> ids, types;        // [G]
  std::vector<std::int64_t> token_offsets{0};  // [B + 1]
  std::vector<std::int64_t> lengths;           // [B] real tokens
  // Of long tokens, [T] each, and of global ones, [G]: as TwoInputs has them. Those of a name are all there
  // or all empty.
  std::array<std::vector<std::int32_t>, global_links> links;
  std::vector<std::int32_t> segments, parts, examples, global_examples;
  std::vector<std::uint8_t> free, global_free;

  std::int64_t tokens() const { return token_offsets.back(); }
  bool empty() const { return lengths.empty(); }
  // One sequence more, of `long_rows` rows with their padding; its global tokens are padded to a multiple.
  void append(const TwoInputs& inputs, std::int64_t long_rows, std::int64_t multiple, std::int32_t pad_id);

 private:
  std::size_t long_tokens_ = 0;  // T so far
};

// What names global token g where a batch lists rows (TokenTargets, Batch::sequence_rows): where it will lie
// is known when the batch is whole.
constexpr std::int32_t global_row(std::int64_t g) {
  return static_cast<std::int32_t>(-1 - g);
}

// Contrastive predictive coding (docs/specification.md 2.8): masked sentences, each beside the same sentence
// read alone, which is a sequence of its own in the batch with one global token. By numbers of global tokens.
struct SentencePairs {
  std::vector<std::int32_t> contexts;  // [N] of masked sentences
  std::vector<std::int32_t> targets;   // [N] of the sentences alone
  // [N] Equal numbers for sentences of equal tokens: neither is a wrong answer for the other.
  std::vector<std::int32_t> texts;
};

// Where no sentences are known: one global token, the separator's id, for every so many tokens of a sequence
// (EtcOptions::stretch), and longer stretches where there would be more than the model takes. Long tokens
// have the type 1 more than the batch gives them, global ones 0.
void with_fixed_globals(const ModelConfig& config, std::int64_t multiple, Batch& batch);
// In a sequence of so many tokens: those of such a stretch, and how many stretches there are.
std::int64_t fixed_stretch(const EtcOptions& options, std::int64_t length);
std::int64_t fixed_globals(const EtcOptions& options, std::int64_t length);

}  // namespace bigbird
