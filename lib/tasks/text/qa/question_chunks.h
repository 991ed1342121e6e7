// Questions of a file through a model, chunk by chunk (lib/tasks/chunked_outputs.h): one loop for all
// formats.
#pragma once

#include <string>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/io/files/sha256.h"
#include "lib/tasks/chunked_outputs.h"

namespace bigbird {

// `read(question)` is false behind the last one; `add_to_digest(digest, question)` takes all that its answer
// depends on; `answer(chunk)` writes the answers of a chunk to `outputs`, which are closed in the end.
// `input` names the file in Error{bad_input}: no questions.
template <typename Question, typename Read, typename AddToDigest, typename Answer>
void answer_in_chunks(const std::string& input, ChunkedOutputs& outputs, const Read& read,
                      const AddToDigest& add_to_digest, const Answer& answer) {
  if (outputs.are_whole()) return;
  std::vector<Question> chunk;
  for (bool more = true; more;) {
    throw_if_cancelled();
    chunk.clear();
    while (more && chunk.size() < outputs.chunk_size()) {
      more = read(chunk.emplace_back());
      if (!more) chunk.pop_back();
    }
    if (chunk.empty()) continue;
    Sha256 digest;
    for (const Question& question : chunk) add_to_digest(digest, question);
    if (!outputs.begin(chunk.size(), digest.finish())) continue;
    answer(chunk);
    outputs.end();
  }
  if (outputs.records() == 0)
    throw_bad_input(input + ": there are no questions", "give a file with at least one question");
  outputs.close();
}

}  // namespace bigbird
