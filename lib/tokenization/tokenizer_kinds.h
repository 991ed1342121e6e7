// The kinds of tokenizers, each made from its definition: what load_tokenizer() picks from. All others see
// the interface alone (tokenizer.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/tokenization/tokenizer.h"

namespace bigbird {

struct AddedToken;
struct ByteLevelDefinition;
struct SentencePieceModel;
struct TokenizerJson;

// `bytes` is the model file, `where` its name for messages. The first needs model.is_dna_bpe(), the third a unigram or BPE model.
std::unique_ptr<Tokenizer> make_dna_tokenizer(const SentencePieceModel& model, const SpecialIds& special,
                                              const std::string& bytes);
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceModel& model,
                                                        const SpecialIds& special, const std::string& bytes,
                                                        const std::string& where);
std::unique_ptr<Tokenizer> make_fast_sentencepiece_tokenizer(const SentencePieceModel& model,
                                                             const SpecialIds& special,
                                                             const std::string& bytes,
                                                             const std::string& where);
// Of text; `table` has what is special, by id.
std::unique_ptr<Tokenizer> make_subword_tokenizer(const TokenizerJson& definition, const SpecialIds& special,
                                                  PieceTable table, std::string digest,
                                                  const std::string& where);
PieceTable subword_pieces(const TokenizerJson& definition);
std::unique_ptr<Tokenizer> make_json_tokenizer(const TokenizerJson& definition, const SpecialIds& special,
                                               const std::string& bytes);
// `digest` is that of the files that define the ids.
std::unique_ptr<Tokenizer> make_byte_level_tokenizer(const ByteLevelDefinition& definition,
                                                     const SpecialIds& special, std::string digest);

// `inner` with tokens that were added to it, and are found in texts before it sees them. `pieces` are all of
// the vocabulary by id, first those of `inner`; ids of `special` may be among the rest.
std::unique_ptr<Tokenizer> with_added_tokens(std::unique_ptr<Tokenizer> inner,
                                             const std::vector<std::string>& pieces,
                                             const std::vector<AddedToken>& added, const SpecialIds& special,
                                             std::string digest);

}  // namespace bigbird
