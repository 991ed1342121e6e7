// What the verbs on texts ask in the same words: of labelled ones columns and format of the data, the model
// of a task of GLUE, and how texts become tokens; of running text where it is and how it is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "lib/io/text/documents.h"
#include "lib/io/text/labelled_texts.h"
#include "lib/text/classify/glue_files.h"
#include "lib/text/classify/predict.h"
#include "lib/tokenization/text_encoding.h"

namespace bigbird::apps {

// --quoting auto|csv|none, of verbs that read tables, in the group that lives.
void add_quoting(Verb& verb, std::string& quoting);
Quoting parse_quoting(const std::string& name);

// --text-column, --pair-column, --label-column, --label-files, --id-column, --format, --quoting, --header,
// --no-header, --newline-escapes, --replace-invalid. Bound by add(); read after parsing.
class TextColumnOptions {
 public:
  // `with_labels`: whether the verb reads labels, and so takes --label-column and --label-files.
  void add(Verb& verb, bool with_labels);
  // Error{usage} for a format that there is not.
  LabelledTextOptions columns(Labels labels) const;

 private:
  LabelledTextOptions columns_;
  std::string format_ = "auto";
  std::string quoting_ = "auto";
  bool header_ = false;
  bool no_header_ = false;
};

// What a model of classes is asked for a task of GLUE: --task, --classes, --length, --replace-invalid,
// --batch-tokens, threads, device, precision. Bound by add(); read after parsing.
class GlueScoringOptions {
 public:
  void add(Verb& verb);

  // Error{usage} for a task that there is not.
  const GlueTask& task() const { return find_glue_task(task_); }
  const std::vector<std::string>& labels() const { return labels_; }
  bool replace_invalid() const { return replace_invalid_; }
  // Of this model folder.
  TextClassifierOptions classifier(const std::string& model) const {
    return {model, length_, scoring_.batch()};
  }

 private:
  std::string task_;
  std::vector<std::string> labels_;
  std::int64_t length_ = 0;
  bool replace_invalid_ = false;
  ScoringOptions scoring_;
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

// IN..., --format, --one-per-line, --field, --replace-invalid.
class DocumentOptions {
 public:
  void add(Verb& verb);
  const std::vector<std::string>& inputs() const { return inputs_; }
  // Error{usage} for a format that there is not.
  TextDocumentOptions documents() const;

 private:
  std::vector<std::string> inputs_;
  TextDocumentOptions options_;
  std::string format_ = "auto";
};

}  // namespace bigbird::apps
