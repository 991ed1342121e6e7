// See data.h.
#include "lib/quantization/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/core/error.h"
#include "lib/data/token_shards.h"
#include "lib/genomics/chromatin/dataset.h"
#include "lib/genomics/chromatin/evaluate.h"
#include "lib/genomics/promoter/predict.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/inference/windows.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/model_folder/open_model.h"
#include "lib/quantization/layers.h"
#include "lib/training/evaluator.h"

namespace bigbird {
namespace {

constexpr double most_n = 0.5;  // as promoter evaluate and chromatin evaluate have it

// Windows by their number: which of them are evenly spaced ones.
bool is_taken(std::size_t number, std::size_t all, std::size_t count) {
  return count >= all || number * count / all != (number + 1) * count / all;
}

}  // namespace

QuantizationWindows::QuantizationWindows(const FinetunedModel& model, std::string data, std::string fasta,
                                         std::uint64_t most, std::uint64_t seed)
    : chromatin_(model.made_for("chromatin")),
      data_(std::move(data)),
      fasta_(std::move(fasta)),
      most_(most),
      seed_(seed) {
  if (chromatin_) {
    if (!folder_exists(data_)) {
      throw_bad_input(data_ + ": not a folder",
                      "a chromatin model is measured on a data set of `bigbird chromatin build`");
    }
    return;
  }
  if (!folder_exists(data_)) {
    train_.path = valid_.path = data_;
    return;
  }
  const std::optional<LabelledSource> valid = labelled_side(data_, "valid");
  if (!valid)
    throw_bad_input(data_ + ": holds no valid side",
                    "a data folder holds valid.tsv or dev.csv; or name a file");
  valid_ = *valid;
  train_ = labelled_side(data_, "train").value_or(valid_);
}

std::vector<std::string> QuantizationWindows::sample(std::size_t count) const {
  std::vector<std::string> sequences;
  if (chromatin_) {
    const ChromatinDataset data(data_, fasta_);
    Fasta fasta(data.fasta().path());
    std::vector<std::uint32_t> rows = data.rows(Split::train);
    if (rows.empty()) rows = data.rows(Split::valid);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (is_taken(i, rows.size(), count)) sequences.push_back(data.window_sequence(fasta, rows[i]));
    }
  } else {
    std::size_t all = 0;
    Window window;
    for (const auto windows = read_labelled_windows(train_); windows->next(window);) ++all;
    std::size_t number = 0;
    for (const auto windows = read_labelled_windows(train_); windows->next(window); ++number) {
      if (is_taken(number, all, count)) sequences.push_back(window.sequence);
    }
  }
  std::erase_if(sequences, [](const std::string& sequence) { return share_of_n(sequence) > most_n; });
  if (sequences.empty()) throw_bad_input(data_ + ": no window to choose layers by", "give windows of bases");
  return sequences;
}

LabelledScores QuantizationWindows::scores(const std::string& model, kernels::Backend& backend) const {
  SequenceScorer scorer({.models = {model}, .strands = Strands::forward, .batch = {}}, backend);
  if (!chromatin_) {
    require_two_classes(scorer);
    return score_labelled_windows(scorer, valid_, most_n);
  }
  const ChromatinDataset data(data_, fasta_);
  require_profiles(scorer, data);
  return score_labelled_bins(scorer, data, calibration_rows(data, Split::valid, most_, seed_), most_n);
}

std::string QuantizationWindows::digest() const {
  if (!chromatin_) return sha256_file(valid_.path);
  return sha256_bytes(sha256_file(data_ + "/bins.bed.gz") + sha256_file(data_ + "/labels.npy"));
}

std::string shards_digest(const std::string& prefix) {
  const std::string facts = prefix + ".json";  // it has the digest of every shard
  return sha256_file(file_exists(facts) ? facts : prefix + ".bin");
}

RepeatedLoss repeat_quantization_loss(const std::string& folder, const std::string& data,
                                      const std::string& fasta, kernels::Backend& backend) {
  const ModelFolder model(folder);
  const QuantizationLoss& before = model.config().quantization->measured;
  const std::string& place = data.empty() ? before.data : data;
  const auto require_same = [&](const std::string& digest) {
    if (digest == before.data_sha256) return;
    throw_bad_input(place + ": not the data that the loss was measured on",
                    "take those that the folder names");
  };
  const auto most = static_cast<std::uint64_t>(before.most_examples);
  if (before.measure == "auroc") {
    const QuantizationWindows windows(FinetunedModel(folder), place, fasta, most, before.seed);
    require_same(windows.digest());
    const double auroc = mean_auroc(windows.scores(folder, backend));
    return {auroc, before.full - auroc};
  }
  require_same(shards_digest(place));
  const TokenShards shards(place);
  shards.require_tokenizer(model.tokenizer().digest(), model.tokenizer().vocab_size());
  PretrainingObjective objective;
  objective.nsp = false;
  const ModelConfig& config = model.config();
  const PretrainingBatches batches(shards, model.tokenizer(), config, objective,
                                   config.max_position_embeddings, before.seed);
  EvaluationOptions options;
  options.batch = 1;
  options.max_samples = most;
  const auto limits = [&](const ModelConfig&) { return batches.limits(options.batch); };
  const std::unique_ptr<Model> network = open_model(model, {backend, limits}).model;
  const double nats = evaluate_pretraining(*network, batches, model.tokenizer(), options).mlm_loss();
  return {nats, nats - before.full};
}

}  // namespace bigbird
