// Labelled sequences as benchmarks ship them: tables with a sequence and a label column (TSV or CSV, GUE's
// among them, and the example files of `promoter build`), or two FASTA files, one for each label.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/inference/model_task.h"
#include "lib/inference/windows.h"

namespace bigbird {

// One side of a data set: a table, or a FASTA of class 1 with one of class 0.
struct LabelledSource {
  std::string path;
  std::string negatives = {};    // FASTA; empty: `path` is a table
  bool positives_alone = false;  // `path` may be a FASTA without `negatives`: they are made of it
  bool empty() const { return path.empty(); }
};

// Tables: "##" lines are passed over; the first other line names the columns, in any order and case, with or
// without a "#" before them, and decides the separator, tab or comma. `sequence` and `label` are needed;
// `id`, `chrom`, `start`, `end` and `strand` are read where they are there, all others passed over. Fields of
// a comma-separated table may stand in double quotes, doubled within. Labels are whole numbers from 0 on.
// Sequences: lower case is taken as upper, IUPAC letters other than A C G T N as N, counted in one warning.
// Rows without an id are named row1, row2 ... by their count. FASTA pairs: the positives first, then the
// negatives. Windows without a place have chrom ".". "-" is the standard input. Errors name file and line: a
// column that is missing, another number of fields than the header has, a quote that is not closed on its
// line, a label that is no number, an empty sequence, bytes that are no bases.
std::unique_ptr<WindowReader> read_labelled_windows(const LabelledSource& source);

// The side of a folder: `side`.tsv or .csv; "valid" may also be called dev. Nothing when there is none.
std::optional<LabelledSource> labelled_side(const std::string& folder, const std::string& side);

// What the manifest of `promoter build` beside example files says.
struct PromoterDataFacts {
  std::string negatives;              // their kind; empty: not known
  std::optional<ModelWindow> window;  // task "promoter", target the TSS
  std::optional<double> prior;        // the share of promoters among the training examples
};
// Looks for manifest.json in the folder, or, for a fold of several, beside it. Error naming the file
// when it is damaged.
PromoterDataFacts read_promoter_facts(const std::string& folder);
// The same of the folder that holds a file; nothing for the standard input.
PromoterDataFacts read_promoter_facts(const LabelledSource& source);

}  // namespace bigbird
