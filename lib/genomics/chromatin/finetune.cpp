// Fine-tuning of chromatin profiles; see finetune.h.
#include "lib/genomics/chromatin/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/rng.h"
#include "lib/finetuning/finetuning.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/model/folder/model_folder.h"
#include "lib/model/network/validate_config.h"
#include "lib/training/training_run.h"

namespace bigbird {
namespace {

// The model to begin from, with a head for the profiles of the data.
LoadedModel load_for(const ChromatinFinetuneOptions& options, const ModelFolder& folder,
                     const ChromatinDataset& data) {
  const std::string& init = folder.path();
  const auto profiles = static_cast<std::int64_t>(data.profiles().size());
  LoadedModel loaded = folder.load(HeadType::classification, options.seed, profiles);
  ModelConfig& config = loaded.config;
  if (folder.config().head == HeadType::classification) {
    if (config.num_labels != profiles || config.problem_type != ProblemType::multi_label) {
      throw_bad_input(fmt::format("{}: a classifier of {} classes or profiles, and {} has {} profiles", init,
                                  config.num_labels, options.data, profiles),
                      "begin from a pretrained model");
    }
    if (file_exists(init + "/profiles.tsv") && read_profiles(init + "/profiles.tsv") != data.profiles()) {
      throw_bad_input(fmt::format("{}/profiles.tsv: other profiles than those of {}, or in another order",
                                  init, options.data),
                      "begin from a pretrained model, or take the data set that this model was made with");
    }
  }
  config.problem_type = ProblemType::multi_label;
  config.positive_weight = options.positive_weight;
  // Replicates share a name, and config.json needs distinct ones: then it has LABEL_0, LABEL_1 ..., and
  // profiles.tsv the names.
  config.label_names.clear();
  std::set<std::string> distinct;
  for (const Profile& profile : data.profiles()) distinct.insert(profile.name);
  if (distinct.size() == data.profiles().size()) {
    for (const Profile& profile : data.profiles()) config.label_names.push_back(profile.name);
  }
  return loaded;
}

// All validation bins, or a random choice; ascending.
std::vector<std::uint32_t> validation_rows(const ChromatinFinetuneOptions& options,
                                           const ChromatinDataset& data) {
  std::vector<std::uint32_t> rows = data.rows(Split::valid);
  if (options.valid_bins == 0 || rows.size() <= options.valid_bins) return rows;
  const RandomPermutation order(options.seed, Purpose::finetune_sample, 1, rows.size());
  std::vector<std::uint32_t> chosen;
  for (std::uint64_t i = 0; i < options.valid_bins; ++i) {
    chosen.push_back(rows[static_cast<std::size_t>(order(i))]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::string window_text(const ModelWindow& window) {
  return fmt::format("{} bp, target {} bp at {}", window.length, window.target_length, window.target_offset);
}

ModelCard describe_model(const ChromatinFinetuneOptions& options, const ModelConfig& config,
                         const Schedule& schedule, const ChromatinDataset& data, std::size_t train_bins,
                         const kernels::Backend& backend) {
  ModelCard card = finetune_card(
      options, config, schedule, backend, "BigBird chromatin profiles, fine-tuned by bigbird",
      {"dna", "chromatin"},
      {{"data", fmt::format("{} bins, {} profiles (profiles.tsv)", train_bins, data.profiles().size())},
       {"window", window_text(data.window())},
       {"strands", name_of(options.strands)},
       {"weight of positives", fmt::format("{:g}", options.positive_weight)}});
  card.use = fmt::format(
      "Output k is the sigmoid of logit k, profile k of profiles.tsv. Use: `bigbird chromatin predict -m "
      "FOLDER ...`. The probabilities are not calibrated: with positives weighted by {:g} their log odds are "
      "higher by about {:.2f}. `bigbird chromatin calibrate` fits them.\n",
      options.positive_weight, std::log(options.positive_weight));
  return card;
}

}  // namespace

TrainingSummary chromatin_finetune(const ChromatinFinetuneOptions& asked, kernels::Backend& backend) {
  ChromatinFinetuneOptions options = asked;
  check_run(options);
  if (!(options.positive_weight > 0.0 && options.positive_weight <= 1e6)) {
    throw_usage(message("`positive_weight` {}: must be above 0 and at most 1e6", options.positive_weight));
  }
  const ChromatinDataset data(options.data, options.fasta);
  std::vector<std::uint32_t> train_rows = data.rows(Split::train);
  if (train_rows.empty()) {
    throw_bad_input(options.data + ": no bin is of the training split",
                    "bigbird chromatin build says which bins are for training");
  }
  const ModelFolder init(options.init);
  init.require(Alphabet::dna);
  LoadedModel loaded = load_for(options, init, data);
  ModelConfig& config = loaded.config;

  const ChromatinWindows windows(data, init.tokenizer());
  std::int64_t longest = 0;
  if (options.length == 0) {
    longest = windows.longest_of_sample(train_rows, options.strands != StrandSampling::forward,
                                        options.length_windows, config.max_position_embeddings, options.seed);
  }
  config.input_length = input_length(options, config, longest);
  validate(config, "the options of the model");

  ChromatinTaskOptions task_options{options.strands, std::move(train_rows), validation_rows(options, data)};
  const std::size_t train_bins = task_options.train.size(), valid_bins = task_options.valid.size();
  const ChromatinTask batches(options, config, data, windows, std::move(task_options));
  log_info(fmt::format("{} profiles, {} training bins, {} of {} validation bins, windows of {}",
                       data.profiles().size(), train_bins, valid_bins, data.rows(Split::valid).size(),
                       window_text(data.window())));
  log_info(fmt::format("{} tokens a window{}", config.input_length,
                       options.length == 0
                           ? fmt::format(" (the longest of {} random training windows has {})",
                                         std::min<std::uint64_t>(options.length_windows, train_bins), longest)
                           : ""));

  TaskDescription task = describe_finetuning(options, loaded);
  task.name = "chromatin finetune";
  task.columns.sequence = "profile";
  task.columns.sequence_accuracy = false;
  task.samples = batches.samples();
  task.validates = valid_bins > 0;
  // of labels.npy, at the end
  task.mapped_bytes = data.labels().rows() * ((data.labels().profiles() + 7) / 8);
  task.identity["data (bins, training bins, profiles, window)"] =
      fmt::format("{}, {}, {}, {}", data.bins().size(), train_bins,
                  sha256_bytes(profiles_tsv(data.profiles())).substr(0, 16), window_text(data.window()));
  task.identity["strand"] = name_of(options.strands);
  choose_batch(options, task, backend);
  task.extras.model_card = model_card(
      describe_model(options, config, schedule_of(options, task.samples), data, train_bins, backend));
  task.extras.files = model_task_files(data.window(), data.profiles());

  const TrainingSummary summary = run_training(batches, task, options, backend);
  if (batches.cut() > 0) {
    log_warning(
        fmt::format("{} of {} training windows had more than {} tokens and were cut at their right end",
                    batches.cut(), batches.seen(), config.input_length));
  }
  return summary;
}

}  // namespace bigbird
