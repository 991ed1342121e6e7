// In-silico mutagenesis: what every single substitution in a region does to a fine-tuned model's predictions,
// or how likely a language model finds it. Coordinates are 0-based half-open on the forward strand; so are
// the substituted letters, whichever strand the model reads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "lib/core/progress.h"
#include "lib/genomics/language_scorer.h"
#include "lib/inference/model_task.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/io/genome/most_n.h"
#include "lib/parts/chunked_outputs.h"

namespace bigbird {

inline constexpr std::string_view ism_letters = "ACGT";  // the order of a matrix' last axis

// Where the model's window lies. region: one for all bases, the middle of the region (middle_base) at the
// window's scored_place; the region must fit into it, and REF is predicted once. base: one for each base,
// that base at the scored_place, as `variants` places one. automatic: region where it fits, else base.
enum class IsmWindow { automatic, region, base };
enum class IsmValue { difference, log_fold_change };

IsmWindow parse_ism_window(const std::string& word);  // auto, region, base; Error{usage} else
IsmValue parse_ism_value(const std::string& word);    // diff, lfc

struct IsmOptions {
  std::vector<std::string> models;  // several: the mean of their predictions on each strand
  std::string fasta;
  std::string region;    // as users type it, 1-based and closed; empty for mutate_regions
  std::string profiles;  // as select_profiles takes it; empty: all, of a language model all but distances
  IsmWindow window_at = IsmWindow::automatic;
  // forward: the window is read as it is; reverse: its reverse complement; both: one and the other, and their
  // effects averaged. Where the window lies does not depend on it.
  Strands strands = Strands::both;
  IsmValue value = IsmValue::difference;
  LanguagePasses passes = LanguagePasses::left_to_right;  // of language models
  // For a model that does not tell its own; its middle is the target. 0 of a language model: as usual.
  std::int64_t window_length = 0;
  std::int64_t offset = -1;  // where a base stands in the window instead of the scored_place; -1: there
  double max_n = most_n_of_scored_window;  // windows with a larger fraction of N are not scored
  // A region that needs more sequences is refused before the first one; 0: none is.
  std::int64_t max_sequences = 1'000'000;
  BatchSize batch;
};

struct IsmResult {
  std::string chrom;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string bases;              // of the genome, upper case
  std::vector<Profile> profiles;  // of the model; of a language model language_scores, in small letters
  bool is_language = false;
  std::vector<std::size_t> selected;  // profiles of `values`, in this order
  // [selected, bases, 4]: value of the substitution by A C G T. 0 at the base that is there; NaN at N and
  // where a window was not scored.
  std::vector<float> values;
  IsmWindow window = IsmWindow::region;
  Strands strands = Strands::both;  // that were read
  std::int64_t window_begin = 0;    // with IsmWindow::region
  std::int64_t window_length = 0;
  std::int64_t sequences = 0;  // predicted, by every model on every strand read
  std::int64_t n_rich = 0;     // bases whose window held too many N
  std::int64_t padded = 0;     // windows that passed the end of the contig, filled with N
  std::int64_t cut = 0;        // sequences with more tokens than the model takes, which lost their right end
  std::vector<std::string> digests;  // of the models

  std::span<const float> at(std::size_t selected_profile, std::size_t base) const {
    return std::span<const float>(values).subspan((selected_profile * bases.size() + base) * 4, 4);
  }
};

// Says beforehand how many sequences will be predicted. Errors: a region outside of the genome, of more than
// max_sequences, or (window region) longer than the window; no window scored; models without a window and no
// window_length; {usage} a log fold change of what is no probability.
IsmResult mutate_region(const IsmOptions& options, kernels::Backend& backend);

// The models and the genome opened once, for several regions that are asked for one by one.
class RegionMutator {
 public:
  // `options` without a region. Errors as mutate_region.
  RegionMutator(const IsmOptions& options, kernels::Backend& backend);
  ~RegionMutator();
  RegionMutator(const RegionMutator&) = delete;
  RegionMutator& operator=(const RegionMutator&) = delete;

  const std::vector<std::string>& digests() const;  // of the models
  // Bases around a 0-based position, `reach` to each side; fewer at the ends of its contig. The window of all
  // is the one of that position, so that its own values are what `variants` gives. Values are NaN where no
  // window could be scored. Error{bad_input} for a contig or a position that the genome lacks.
  IsmResult around(const std::string& chrom, std::int64_t position, std::int64_t reach, Progress& progress);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// Every region of a BED by itself, as mutate_region does it; a base may be in several.
struct IsmRegionsOptions {
  IsmOptions ism;  // without a region
  std::string regions;
  std::string output = "-";
  std::vector<std::string> comments;  // provenance, without "##"
  ChunkedWork work;                   // a chunk has so many regions
};
// Counts of what was done now; but for the first as in IsmResult.
struct IsmRegionsTally {
  std::int64_t regions = 0;  // of the file
  std::int64_t sequences = 0;
  std::int64_t n_rich = 0;
  std::int64_t padded = 0;
  std::int64_t cut = 0;
};
// A table: columns region (the name in the BED, else as CHROM:FROM-TO), chrom, pos, ref, alt and a label for
// each profile; rows as write_ism has them, region after region, NA in one of which no base can be scored.
// Errors: as mutate_region and, of a shard or a resumed run, ChunkedOutputs.
IsmRegionsTally mutate_regions(const IsmRegionsOptions& options, kernels::Backend& backend);

// By the suffix of `path`. .npy: float32 [profiles, bases, 4], with STEM.rows.tsv (base chrom pos ref) and
// STEM.profiles.tsv (row index name group). .tsv, .tsv.gz or "-": columns chrom, pos (1-based), ref, alt and
// its label (profile_labels) for each profile; a row for each substitution, NA where there is no value, one
// row with alt NA for an N. Each file appears whole or not at all, the matrix last. Error{usage} for another
// suffix.
void write_ism(const std::string& path, const IsmResult& result, const std::vector<std::string>& comments);
// The Error of write_ism, before any work.
void check_ism_path(const std::string& path);

// Columns and rows of the table.
std::vector<std::string> ism_columns(const IsmResult& result);
void ism_rows(const IsmResult& result, const std::function<void(const std::vector<std::string>&)>& row);

}  // namespace bigbird
