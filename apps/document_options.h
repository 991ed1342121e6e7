// What the verbs that read running text ask in the same words.
#pragma once

#include <string>
#include <vector>

#include "apps/command_line.h"
#include "lib/io/text/documents.h"

namespace bigbird::apps {

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
