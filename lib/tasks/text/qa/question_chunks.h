// Questions of a file through a model, chunk by chunk (lib/parts/chunked_outputs.h): one loop for all
// formats.
#pragma once

#include <string>
#include <vector>

#include "lib/io/files/sha256.h"
#include "lib/parts/chunked_outputs.h"

namespace bigbird {

// `read(question)` is false behind the last one; `add_to_digest(digest, question)` takes all that its answer
// depends on; `answer(chunk)` writes the answers of a chunk to `outputs`, which are closed in the end.
// `input` names the file in Error{bad_input}: no questions.
template <typename Question, typename Read, typename AddToDigest, typename Answer>
void answer_in_chunks(const std::string& input, ChunkedOutputs& outputs, const Read& read,
                      const AddToDigest& add_to_digest, const Answer& answer) {
  if (outputs.are_whole()) return;
  outputs.run<Question>(read, add_to_digest, answer,
                        {input + ": there are no questions", "give a file with at least one question"});
}

}  // namespace bigbird
