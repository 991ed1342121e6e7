// Text that was typed or listed line by line, as a model is to read it: a sequence by the rules of a FASTA
// (base_letters.h), words as they stand, and neither where the other is wanted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

class Tokenizer;

// DNA with special pieces by name ("acgt [MASK] ggu").
struct TypedDna {
  std::string text;  // "ACGT[MASK]GGT": blanks at the ends and around special pieces are gone
  std::vector<std::uint32_t> origins;  // where every byte of it stood; of a special piece all where it began
  std::uint64_t replaced = 0;          // IUPAC letters that became N
};

// Error{bad_input} "WHERE: ..." for anything else than bases, special pieces and blanks around them.
TypedDna read_typed_dna(std::string_view text, const Tokenizer& tokenizer, const std::string& where);

// Error{bad_input} "WHERE: ..." for a text that is a sequence of bases: ten or more of A C G T U N, three of
// them different at least, in upper or lower case, and nothing else.
void refuse_dna(std::string_view text, const std::string& where);

// Appends what Tokenizer::encode_with_special_pieces gives for a text that is read in this way: by
// read_typed_dna where the tokenizer is one of DNA; else refuse_dna, of the text without special pieces, and
// the text itself. Returns IUPAC letters that became N.
std::uint64_t encode_typed_text(std::string_view text, const Tokenizer& tokenizer, const std::string& where,
                                std::vector<std::uint32_t>& ids, std::vector<std::uint32_t>& byte_offsets);

}  // namespace bigbird
