// How much of N a stretch of a genome may hold: one default for each kind of use, whichever verb asks
// (--max-n). A window that one verb scores is scored by all.
#pragma once

namespace bigbird {

// Of a window that a model scores: `variants`, `ism`, `promoter scan`, and predict, evaluate and calibrate of
// promoters and chromatin. Training windows hold next to no N, so scores of windows with much of it mean
// little; a tenth spares those that touch the edge of a gap.
inline constexpr double most_n_of_scored_window = 0.1;

// Of a window that a promoter model learns from or is tested on, and of its negatives (`promoter build`):
// half of that, so that no kind of example is told by its N. `chromatin build` has no limit until it is given
// one, as the published data have none; the .fai is then all that it reads.
inline constexpr double most_n_of_training_window = 0.05;

// Of a document that an encoder is pretrained on (`chunk`): all of it, so none is dropped and the FASTA is
// not read for it.
inline constexpr double most_n_of_document = 1.0;

}  // namespace bigbird
