// The answers of lowest F1 of a stream, whatever its length.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/text/qa/example.h"

namespace bigbird {

// A part of the text that a question is about, and what stands in it.
struct MarkedPassage {
  std::string title;  // may be empty
  std::string text;
  std::vector<TextSpan> gold;  // code points of `text`
  std::vector<TextSpan> predicted;
};

struct JudgedAnswer {
  std::string id;
  std::string question;
  std::vector<std::string> gold;  // empty: there is no answer
  std::optional<std::string> prediction;
  bool exact = false;
  double f1 = 0;  // between 0 and 1
  std::vector<MarkedPassage> passages;
};

class WorstAnswers {
 public:
  explicit WorstAnswers(std::size_t most) : most_(most) {}

  // Whether an answer of this score, the next of the stream, is among the worst so far: only then the rest of
  // it need be made, for add().
  bool wants(bool exact, double f1) const;
  void add(JudgedAnswer answer);
  // The worst first; of equals the earlier one.
  std::vector<JudgedAnswer> take();

 private:
  std::size_t most_;
  std::vector<JudgedAnswer> kept_;  // as take() hands them out
};

// Where `wanted` stands in a text, as it is written: of several places the one closest to `near` (a code
// point); nothing where it stands nowhere. Code points.
std::vector<TextSpan> place_of(std::string_view text, std::string_view wanted, std::size_t near = 0);
// All places, at most `most`, none inside of another.
std::vector<TextSpan> places_of(std::string_view text, std::string_view wanted, std::size_t most = 20);

}  // namespace bigbird
