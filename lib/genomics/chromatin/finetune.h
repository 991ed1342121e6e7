// Fine-tuning a pretrained encoder to predict chromatin profiles (BigBird appendix F.3; DeepSEA's task): one
// sigmoid per profile, binary cross entropy with positives weighted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/finetuning/finetuning.h"
#include "lib/genomics/chromatin/dataset.h"
#include "lib/io/genome/fasta.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

class Tokenizer;

// Which strand of a training window is read. The labels speak of both.
enum class StrandSampling {
  both,     // the window and its reverse complement are two samples, as in DeepSEA's files
  coin,     // one sample; a seeded coin per draw decides
  forward,  // as the genome is written
};
std::string name_of(StrandSampling strands);
StrandSampling parse_strand_sampling(const std::string& name);  // Error{usage} listing the names

struct ChromatinFinetuneOptions : RunOptions {
  ChromatinFinetuneOptions() : RunOptions(finetuning_defaults()) {}

  std::string data;   // folder of `chromatin build` or `chromatin import-deepsea`
  std::string fasta;  // instead of the genome that the folder names; may be empty
  double positive_weight = 8.0;
  StrandSampling strands = StrandSampling::both;
  // Neighbouring training bins that one window holds and is asked for at once, as Basenji's and Enformer's
  // windows are: each computes what is around it once for all of them. 1: a window for each bin. More take a
  // model that pools, and inputs of their own length each. Prediction and validation are bin by bin.
  std::uint64_t bins = 1;
  // A training window begins so many bases earlier or later at most, by chance, and its bins lie elsewhere in
  // it: the stochastic shift of Basenji and Enformer (3 there). 0: it is always the same.
  std::int64_t shift = 0;
  // What the head reads; without it that of the model, or of a fresh head first (HeadForm::bigbird).
  std::optional<HeadPooling> pooling;
  // Without a length, that of the longest of so many random training windows is taken.
  std::uint64_t length_windows = 1000;
  std::uint64_t valid_bins = 4000;  // of the validation bins, a random choice by the seed; 0: all
};

// Writes RUN/final with window.json and profiles.tsv beside the weights. Errors: {bad_input} a data set
// without training bins, a model and tokenizer that do not belong together, a classifier of other profiles,
// an output folder that holds a run; {usage} options out of range or other than those of the run that is
// resumed; {environment} too little memory; {interrupted} after a signal, with everything saved.
TrainingSummary chromatin_finetune(const ChromatinFinetuneOptions& options, kernels::Backend& backend);

struct ChromatinSample {
  std::uint32_t row = 0;  // of the data set's bins
  bool reverse = false;
  std::uint32_t bins = 1;  // neighbours from that row on
  std::int32_t shift = 0;  // bases that the window is moved by, towards the contig's end
};

// Runs of bins that lie side by side, at most so many in each; `rows` ascending.
std::vector<ChromatinSample> neighbouring_bins(const ChromatinDataset& data,
                                               std::span<const std::uint32_t> rows, std::uint64_t most);

// The windows of a data set as token ids and targets, made when they are needed: nothing of the genome is
// held in memory. Cuts and encodes; safe to call from many threads at once.
class ChromatinWindows {
 public:
  // Both are referred to and must outlive the object.
  ChromatinWindows(const ChromatinDataset& data, const Tokenizer& tokenizer)
      : data_(data), tokenizer_(tokenizer) {}

  struct Encoded {
    // With [CLS] and [SEP], cut at their right end to `most` tokens.
    std::vector<std::vector<std::int32_t>> ids;
    // Of a sample of several bins the tokens of each, from left to right as the sample is read; else none.
    std::vector<std::vector<OutputSpan>> spans;
    std::size_t cut = 0;  // how many of them were cut
  };
  Encoded encode(std::span<const ChromatinSample> samples, std::int64_t most) const;
  // Tokens of the longest of `count` training windows (a random choice by seed), [CLS] and [SEP] included.
  std::int64_t longest_of_sample(std::span<const ChromatinSample> from, bool reverse_too, std::size_t count,
                                 std::int64_t most, std::uint64_t seed) const;

 private:
  void encode_neighbours(Fasta& fasta, const ChromatinSample& sample, std::vector<std::int32_t>& ids,
                         std::vector<OutputSpan>& spans) const;
  Fasta take_fasta() const;
  void give_back(Fasta fasta) const;

  const ChromatinDataset& data_;
  const Tokenizer& tokenizer_;
  mutable std::mutex mutex_;
  mutable std::vector<Fasta> idle_;
};

struct ChromatinTaskOptions {
  StrandSampling strands = StrandSampling::both;
  std::int64_t shift = 0;
  std::vector<ChromatinSample> train;  // as the genome is written
  std::vector<std::uint32_t> valid;    // ascending; read on the forward strand
};

// Multi-label batches: every label of a bin is a target.
class ChromatinTask : public SampleTask {
 public:
  // All but `task` are referred to and must outlive the object.
  ChromatinTask(const RunOptions& options, const ModelConfig& config, const ChromatinDataset& data,
                const ChromatinWindows& windows, ChromatinTaskOptions task);
  std::uint64_t samples() const;  // of an epoch
  std::uint64_t windows() const { return task_.train.size(); }
  // Training windows that were cut so far, and all of them.
  std::uint64_t cut() const { return cut_; }
  std::uint64_t seen() const { return seen_; }

 private:
  ChromatinSample sample(const Draw& draw) const;
  Batch training_batch(std::uint64_t first, std::uint64_t count) const;
  Batch valid_batch(std::uint64_t first, std::uint64_t count) const;
  Batch batch_of(std::span<const ChromatinSample> samples, std::size_t& cut) const;

  const RunOptions& options_;
  const ModelConfig& config_;
  const ChromatinDataset& data_;
  const ChromatinWindows& windows_;
  ChromatinTaskOptions task_;
  mutable std::atomic<std::uint64_t> cut_{0};
  mutable std::atomic<std::uint64_t> seen_{0};
};

}  // namespace bigbird
