// What numbers depend on besides their input, models and genome: what two machines must have alike to work
// on one run (lib/parts/side_file.h).
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

// Whether two machines have the same genome, told in a fraction of a second: a digest of the names and
// lengths of the contigs, and of bases from all over them. A genome of another build, of another source,
// cut, or with its contigs in another order is told apart; one that differs in single bases elsewhere is
// not. sha256 over every contig's name and length and 512 stretches of 64 bases, evenly spaced over all
// contigs end to end, as Fasta::fetch gives them. `path`: FASTA.
std::string genome_fingerprint(const std::string& path);

}  // namespace bigbird
