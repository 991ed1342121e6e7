// What the verbs on labelled texts ask in the same words: columns and format of the data, and how texts
// become tokens.
#pragma once

#include <string>

#include "apps/command_line.h"
#include "lib/io/text/labelled_texts.h"
#include "lib/tokenization/text_encoding.h"

namespace bigbird::apps {

// --text-column, --pair-column, --label-column, --id-column, --format, --no-header, --newline-escapes,
// --replace-invalid. Bound by add(); read after parsing.
class TextColumnOptions {
 public:
  // `with_labels`: whether the verb reads labels, and so takes --label-column.
  void add(Verb& verb, bool with_labels);
  // Error{usage} for a format that there is not.
  LabelledTextOptions columns(Labels labels) const;

 private:
  LabelledTextOptions columns_;
  std::string format_ = "auto";
  bool header_ = false;
  bool no_header_ = false;
};

// --whitespace, --ascii-punctuation, for verbs that train: a trained model keeps them.
class TextEncodingChoice {
 public:
  void add(Verb& verb);
  TextEncodingOptions encoding() const;

 private:
  std::string white_space_ = "fold";
  bool ascii_punctuation_ = false;
};

}  // namespace bigbird::apps
