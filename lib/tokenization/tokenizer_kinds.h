// The kinds of tokenizers, what each is made of, and what the files of a folder say together, for
// load_tokenizer(). All others see the interface alone (tokenizer.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tokenization/added_tokens.h"
#include "lib/tokenization/byte_level_definition.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_json.h"

namespace bigbird {

// Pieces of bases, and special ones, by id.
struct KmerVocabulary {
  std::vector<std::string> pieces;
  bool overlapping = false;  // one of k bases begins at every base; else the next begins behind the longest
};

// What load_tokenizer() makes a tokenizer of.
struct TokenizerSource {
  enum class Kind { dna, kmers, library, subword, byte_level };
  Kind kind = Kind::dna;
  bool from_json = false;  // tokenizer.json itself was read
  std::string path;        // the file, for messages
  std::string bytes;       // of it
  std::string digest;
  SpecialIds special;
  std::optional<SentencePieceModel> model;  // of a spiece.model
  std::vector<std::string> pieces;          // of it by id, and of what was added behind them
  std::vector<AddedToken> added;            // found in texts: of spiece.model, vocab.json and merges.txt
  std::string more;          // of a tokenizer.json, what files beside it add to it, in lines for the digest
  TokenizerJson definition;  // subword; dna where from_json
  ByteLevelDefinition byte_level;
  KmerVocabulary kmers;
};

// What was added beside the vocabulary's own file, into a definition of that file alone.
void add_tokens(const TokenizerSource& source, TokenizerJson& definition);

// Errors as load_tokenizer().
TokenizerSource read_tokenizer_source(const std::string& folder);

// The vocabulary of `pieces`; added tokens that are special stand for no bytes. `length_of(piece)` says what
// the others stand for.
template <typename LengthOf>
PieceTable table_of_pieces(const std::vector<std::string>& pieces, const std::vector<AddedToken>& added,
                           const LengthOf& length_of) {
  PieceTable table;
  table.texts = pieces;
  for (const std::string& piece : pieces)
    table.lengths.push_back(static_cast<std::uint32_t>(length_of(piece)));
  table.special.resize(pieces.size());
  for (const AddedToken& token : added) {
    if (!token.special) continue;
    table.special[token.id] = 1;
    table.lengths[token.id] = 0;
  }
  return table;
}

// Bytes of a long text that are encoded at once, where its pieces allow a cut: few, because the library takes
// the square of a part that is one unknown piece. Tests take less.
inline constexpr std::size_t usual_part = std::size_t{1} << 12;

// `bytes` is the model file, `where` its name for messages. The first needs model.is_dna_bpe(), the last a
// unigram or BPE model.
std::unique_ptr<Tokenizer> make_dna_tokenizer(const SentencePieceModel& model, const SpecialIds& special,
                                              const std::string& bytes);
std::unique_ptr<Tokenizer> make_kmer_tokenizer(const KmerVocabulary& vocabulary, const SpecialIds& special,
                                               const std::string& digest);
// Letters A C G T N alone.
bool is_piece_of_bases(std::string_view piece);
// DNABERT's: all k-mers of one k from 3 to 8, and nothing else but names in brackets.
bool are_overlapping_kmers(const std::vector<std::string>& pieces);
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceModel& model,
                                                        const SpecialIds& special, const std::string& bytes,
                                                        const std::string& where,
                                                        std::size_t part = usual_part);
std::unique_ptr<Tokenizer> make_fast_sentencepiece_tokenizer(const SentencePieceModel& model,
                                                             const SpecialIds& special,
                                                             const std::string& bytes,
                                                             const std::string& where);
// Of text; `table` has what is special, by id.
std::unique_ptr<Tokenizer> make_subword_tokenizer(const TokenizerJson& definition, const SpecialIds& special,
                                                  PieceTable table, std::string digest,
                                                  const std::string& where, std::size_t part = usual_part);
PieceTable subword_pieces(const TokenizerJson& definition);
std::unique_ptr<Tokenizer> make_json_tokenizer(const TokenizerJson& definition, const SpecialIds& special,
                                               const std::string& bytes);
// `digest` is that of the files that define the ids.
std::unique_ptr<Tokenizer> make_byte_level_tokenizer(const ByteLevelDefinition& definition,
                                                     const SpecialIds& special, std::string digest,
                                                     std::size_t part = usual_part);

// `inner` with tokens that were added to it, and are found in texts before it sees them. `pieces` are all of
// the vocabulary by id, first those of `inner`; ids of `special` may be among the rest.
std::unique_ptr<Tokenizer> with_added_tokens(std::unique_ptr<Tokenizer> inner,
                                             const std::vector<std::string>& pieces,
                                             const std::vector<AddedToken>& added, const SpecialIds& special,
                                             std::string digest);

// A SentencePiece model as a tokenizer.json: what transformers converts it to, and what keeps the library's
// own ids (sentencepiece_definition.cpp).
//
// Whose conversion: BigBirdConverter or PegasusConverter of transformers 4.57.1 (convert_slow_tokenizer.py).
enum class ConvertedClass { bigbird, pegasus };

// What transformers' fast tokenizer of a unigram or BPE model does: white space off the right end, runs of
// U+0020 as one word sign, a word sign in front, words cut before every word sign, and each word segmented by
// itself; bytes of unknown characters are not used, and a table of characters is. Error{bad_input} "WHERE:
// ..." for pieces that are empty or stand twice, and for a damaged table.
TokenizerJson converted_definition(const SentencePieceModel& model, const SpecialIds& special,
                                   ConvertedClass converted, const std::string& where);

// The library's ids of a BPE model without a table of characters, of DNA and of text: it drops U+0020 at both
// ends and in runs, puts a word sign in front, falls back to bytes. Names of special pieces that stand in a
// text are ids, as transformers has it. DNA in small letters is read in capital ones.
TokenizerJson library_definition(const SentencePieceModel& model, const SpecialIds& special,
                                 const std::string& where);

}  // namespace bigbird
