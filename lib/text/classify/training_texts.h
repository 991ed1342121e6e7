// Labelled texts as fine-tuning needs them: encoded, with classes numbered by name. Which kind of labels they
// are (one class, several, a number) is told by the training side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/finetuning/finetuning.h"
#include "lib/io/text/labelled_texts.h"
#include "lib/model/config.h"
#include "lib/text/class_names.h"
#include "lib/text/text_settings.h"

namespace bigbird {

// A number as labels of regression have it: finite. Nothing else is one.
std::optional<double> parse_regression_label(const std::string& label);

// The number, or the one class, that the labels of a row are; Error{bad_input} with the hint where they are
// not.
double regression_label(const std::vector<std::string>& labels, const std::string& place,
                        const std::string& hint);
const std::string& single_label(const std::vector<std::string>& labels, const std::string& place,
                                const std::string& hint);

// Where labelled rows come from: the next one, or false at the end. LabelledTexts and GlueFile are such
// sources.
using NextText = std::function<bool(LabelledText& row)>;

// A source with the name that messages call it by, the path of its file.
struct TextRows {
  std::string name;
  NextText next;
};
// The rows of a file or folder in one of the generic forms; opened now, so that what is wrong at its begin is
// said before work begins, and read once. Which columns are read, and how many rows there were, is said in
// the log. Errors as LabelledTexts.
TextRows labelled_rows(const std::string& path, const LabelledTextOptions& columns);

// What the inputs of a side were like, for the log and the model card.
struct InputTally {
  std::uint64_t inputs = 0;
  std::uint64_t cut = 0;
  std::uint64_t blank = 0;
  std::int64_t longest = 0;  // tokens, special ones included
  UnknownTally unknown;

  void add(const InputTally& more);
};
// All rows of a source in order, `at_a_time` of them encoded on all threads, each handed to `take` with what
// it became; tallies what was seen.
InputTally encode_texts(const NextText& next, std::size_t at_a_time,
                        const std::function<EncodedInput(const LabelledText&, UnknownTally*)>& encode,
                        const std::function<void(LabelledText&, EncodedInput&)>& take);
// Says in the log what a user should know of the inputs of `path`: how many were cut to `length` tokens, were
// blank, and the characters that the vocabulary lacks.
void say_inputs(const std::string& path, const InputTally& tally, std::int64_t length);

struct TrainingTexts {
  std::vector<ClassifiedSequence> sequences;
  InputTally tally;
  std::vector<std::uint64_t> class_counts;  // [classes]; empty for regression
};

// Everything that is learned of the training side alone.
struct LabelScheme {
  ProblemType problem = ProblemType::single_label;
  ClassNames classes;         // of regression none
  std::vector<bool> trained;  // [classes]: the training side has an example; empty for regression
  std::int64_t outputs() const {
    return problem == ProblemType::regression ? 1 : static_cast<std::int64_t>(classes.size());
  }
};

// What the caller knows of the labels beforehand.
struct WantedLabels {
  std::optional<ProblemType> problem;  // not given: told by the labels
  // Classes in the order of the outputs, of which some may have no example; empty: the names that occur, in
  // the order of ClassNames.
  std::vector<std::string> classes;
};

// Reads and encodes the training side, on all threads, and finds its scheme: with `problem` not given,
// several labels where some row has a list, regression where all labels are numbers and one has a point or an
// exponent (Hugging Face's float labels; where all are whole numbers, that is warned of), else one class.
// Error{bad_input}: what the source refuses, no rows, a single class, a label that is none of
// `wanted.classes`, or is no number where `problem` is regression.
TrainingTexts read_training_texts(const TextRows& rows, const Tokenizer& tokenizer,
                                  const TextSettings& settings, std::int64_t length,
                                  const WantedLabels& wanted, LabelScheme& scheme);
// The validation side, by the scheme of the training side. Error{bad_input} for a label that training never
// saw.
TrainingTexts read_validation_texts(const TextRows& rows, const Tokenizer& tokenizer,
                                    const TextSettings& settings, std::int64_t length,
                                    const LabelScheme& scheme);

}  // namespace bigbird
