// What language models say of a change of sequence, without any fine-tuning: log-likelihood ratios of masked
// tokens, on one or both strands, and how far the change moves the vectors of the tokens around it. What
// comes out of a change is a function of the change and the models alone: not of batch, threads or
// neighbours.
//
// r and a are the tokens of both sequences, without p common ones at their beginning and s at their end;
// D_R and D_A are the places of what is left. p(. | x, M) is the softmax over the whole vocabulary at a place
// of x, with the places M masked: ids are replaced, the sequence is never tokenized with a mask in it. Then
//
//   left-to-right   L(x) = sum over i in D of ln p(x_i | x, D from i on), a proper joint probability of the
//                   tokens; |D_R| + |D_A| passes
//   joint           L(x) = sum over i in D of ln p(x_i | x, D); 1 pass where |D_R| = |D_A|, else 2
//   unmasked        L(x) = sum over i in D of ln p(x_i | x); 2 passes
//
// and the ratio is L(alternative) - L(reference). With a token a base and one base that changes the first two
// are ln p(ALT) - ln p(REF) at the masked base (GPN, Benegas et al. 2023). Passes of the same ids are run
// once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "lib/inference/model_task.h"
#include "lib/inference/sequence_runner.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {

enum class LanguagePasses { left_to_right, joint, unmasked };
// "left-to-right", "joint", "none": as --lm-passes takes them.
inline constexpr std::array<std::pair<LanguagePasses, const char*>, 3> language_passes_names{
    {{LanguagePasses::left_to_right, "left-to-right"},
     {LanguagePasses::joint, "joint"},
     {LanguagePasses::unmasked, "none"}}};

// Bases of a window where none are asked for: 512, or so many that they fit with a token a base, and what an
// allele of 30 bases inserts.
std::int64_t usual_language_window(const ModelConfig& config);
// The shortest of several models; 0 where the first has another head than a language model's. Errors as
// ModelFolder.
std::int64_t usual_language_window(const std::vector<std::string>& models);

struct LanguageScorerOptions {
  std::vector<std::string> models;  // folders with a masked-token head, of DNA
  Strands strands = Strands::both;  // automatic: both
  LanguagePasses passes = LanguagePasses::left_to_right;
  bool distances = true;  // two passes without masks more
  BatchSize batch;        // run at once by each model
};

// A sequence and what becomes of it: A C G T N, upper case, on the strand that is given.
struct SequenceChange {
  std::string reference;
  std::size_t begin = 0;    // first base that changes
  std::size_t removed = 0;  // bases from there; may be 0
  std::string added;        // what stands there instead; may be empty

  std::string alternative() const;
};

// On one strand, the mean over the models.
struct StrandChange {
  double ratio = 0;  // log-likelihood ratio, nats: below 0 the alternative is less likely
  // The same with ln of the frequency of each piece in place of ln p: what the ratio would be if the model
  // knew nothing else.
  double control = 0;
  // Of the last hidden states h, of the token over each base: sqrt of the sum over all bases that do not
  // change of |h_A - h_R|^2; and 1 - cos(h_R, h_A) of the tokens over the first base that changes, of the
  // last base where nothing follows. 0 without distances.
  double distance = 0;
  double cosine = 0;
};

struct ChangeScores {
  std::vector<StrandChange> strands;  // those that are read
  double token_share = 0;             // changed_token_share of the first strand and model
};

// A number of its own of every change.
struct ScoreColumn {
  std::string id;  // "LM_LLR"
  std::string description;
};
// Means over the strands, and a ratio of each of two.
std::vector<ScoreColumn> language_scores(const LanguageScorerOptions& options);
// Their values, in that order.
std::vector<float> language_values(const ChangeScores& scores, const LanguageScorerOptions& options);

class LanguageScorer {
 public:
  // Error{bad_input}: a folder that has no masked-token head, or whose tokenizer is none of DNA.
  LanguageScorer(const LanguageScorerOptions& options, kernels::Backend& backend);
  ~LanguageScorer();
  LanguageScorer(const LanguageScorer&) = delete;
  LanguageScorer& operator=(const LanguageScorer&) = delete;

  const LanguageScorerOptions& options() const { return options_; }
  std::size_t models() const { return models_.size(); }
  const ModelFolder& folder(std::size_t model) const;
  Strands strands_read() const { return options_.strands; }
  std::size_t strands() const { return options_.strands == Strands::both ? 2 : 1; }
  bool works_ahead() const;
  kernels::Precision precision() const;
  void open();  // reads the weights, once
  // sha256 of each model's weights, in order; computed at the first call.
  const std::vector<std::string>& digests();

  // Adds the pieces of a sequence, on the strands that are read, to those that frequencies are of; every
  // piece counts once more than it was seen.
  void count_pieces(std::string_view sequence);

  // Changes whose passes are put together. `done` is called once with a result for each, in the order of the
  // calls, now or later, on the calling thread; `planned`, if any, before the first pass is run.
  // Error{bad_input} naming `where` of a sequence that has more tokens than a model takes.
  using Done = std::function<void(const std::vector<ChangeScores>&)>;
  void add(const std::vector<SequenceChange>& changes, const std::vector<std::string>& where, Done done,
           const std::function<void()>& planned = {});
  // Every `done` has been called afterwards.
  void finish();
  // Forward passes of changes: those that are run, and those of every change for itself.
  struct Passes {
    std::uint64_t run = 0;
    std::uint64_t asked = 0;
  };
  // Of changes that would be put together, without running them. Errors as add().
  Passes passes_of(const std::vector<SequenceChange>& changes, const std::vector<std::string>& where);
  // Of all changes that were added.
  const Passes& passes() const { return passes_; }

 private:
  struct LanguageModel;
  struct Batch;
  std::shared_ptr<Batch> plan(const std::vector<SequenceChange>& changes,
                              const std::vector<std::string>& where);
  void stage(const std::string& where, std::size_t number, Batch& batch);
  void deliver(Batch& batch) const;
  void run(LanguageModel& model, std::size_t m, const std::shared_ptr<Batch>& batch);

  LanguageScorerOptions options_;
  std::vector<std::unique_ptr<LanguageModel>> models_;
  std::vector<std::string> digests_;
  Passes passes_;
};

// Counts the pieces of windows that lie evenly over a genome, 10,000 windows and 5 million bases at most:
// their frequencies are what LM_CONTROL is made of. Windows with more N than half are left out, and another
// one is taken.
void count_genome_pieces(const std::vector<Contig>& contigs, Fasta& fasta, std::int64_t window,
                         LanguageScorer& scorer);

}  // namespace bigbird
