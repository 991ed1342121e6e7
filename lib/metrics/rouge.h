// ROUGE (Lin 2004) of summaries, equal to Google's rouge_score 0.1.2 to 1e-9: words of a-z and 0-9, NLTK's
// Porter stems where asked for, longest common subsequences of whole texts (rougeL) and of the sentences that
// newlines separate (rougeLsum, which papers print as R-L).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

// Fractions of 0 to 1. f1 is 0 where precision and recall are.
struct RougeScore {
  double precision = 0;  // of the prediction
  double recall = 0;     // of the target
  double f1 = 0;
  bool operator==(const RougeScore&) const = default;
};

struct RougeOptions {
  std::vector<std::string> types = {"rouge1", "rouge2", "rougeL", "rougeLsum"};  // rouge1 to rouge9 too
  bool stem = true;  // words of over three letters
};

// The words that ROUGE compares. Texts are UTF-8; what is no ASCII letter or digit separates words, but for
// the two characters whose small letters are or begin with one (U+212A: k, U+0130: i).
std::vector<std::string> rouge_words(std::string_view text, bool stem);

// The stem of an English word as NLTK's PorterStemmer gives it by default, which is what ROUGE's published
// numbers stand on: Porter (1980) with NLTK's extensions (irregular words, -ied, two-letter words). `word`:
// small letters a-z and digits; a digit counts as a consonant.
std::string porter_stem(std::string_view word);

// A score for each of options.types, in their order. Error{usage} for a type that there is not. Memory: the
// product of the numbers of words of both texts, 4 bytes each.
std::vector<RougeScore> rouge(std::string_view target, std::string_view prediction,
                              const RougeOptions& options = {});
// Of several targets, for each type that of the highest f1 (of equal ones the first). At least one target.
std::vector<RougeScore> rouge(std::span<const std::string> targets, std::string_view prediction,
                              const RougeOptions& options = {});

// Of a corpus, for one type.
struct RougeSummary {
  RougeScore mean;
  // rouge_score's BootstrapAggregator: percentiles 2.5, 50 and 97.5 of the means of `samples`, drawn with
  // NumPy's legacy generator. Its `mid`, a median, is what Hugging Face's metric prints.
  RougeScore low;
  RougeScore mid;
  RougeScore high;
};

// scores[document][type]; the result is by type. Types draw one after the other from one generator of `seed`,
// as BootstrapAggregator does. At least one document.
std::vector<RougeSummary> summarize_rouge(std::span<const std::vector<RougeScore>> scores, std::uint32_t seed,
                                          std::size_t samples = 1000);

}  // namespace bigbird
