// What the numbers of a scorer depend on besides its input: what two machines must have alike to work on one
// run (lib/parts/side_file.h).
#pragma once

#include <string>

#include "lib/inference/sequence_scorer.h"
#include "lib/parts/side_file.h"

namespace bigbird {

// A digest of weights, config.json and tokenizer of a model folder, and of the attention that was chosen
// instead of its own.
std::string model_digest(const ModelFolder& folder);

// "version", "models", "strands", "precision". Neither batch nor threads nor device.
RunIdentity scorer_identity(const SequenceScorer& scorer);

}  // namespace bigbird
