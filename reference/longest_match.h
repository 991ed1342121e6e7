// Segmentation of text by a vocabulary whose scores are all equal, as in the published BigBird vocabulary:
// what the SentencePiece library and Hugging Face's fast tokenizer both come down to there.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bigbird::reference {

// A piece with the code points [begin, end) of the text that it stands for; known is false for a run of
// characters that no piece holds.
struct MatchedPiece {
  std::u32string piece;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool known = true;
  bool operator==(const MatchedPiece&) const = default;
};

// THE DEFINITION. A text is words between runs of U+0020. In front of every word stands the word sign U+2581,
// which stands for the last blank before the word, or for nothing in front of the first word of a text
// without a leading blank. From the right end of a word, the longest piece that ends there is taken, again
// and again; where none ends there, one character is unknown, and neighbouring unknown characters are one.
// Pieces are in any order; the text holds no U+2581.
std::vector<MatchedPiece> longest_match_from_the_right(const std::u32string& text,
                                                       const std::vector<std::u32string>& pieces);

}  // namespace bigbird::reference
