// Fine-tuning of chromatin profiles; see finetune.h.
#include "lib/genomics/chromatin/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/core/rng.h"
#include "lib/finetuning/finetuning.h"
#include "lib/inference/sequence_runner.h"
#include "lib/inference/windows.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/model/network/layout.h"
#include "lib/model/network/validate_config.h"
#include "lib/model_folder/model_folder.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/training_run.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<StrandSampling, const char*>, 3> sampling_names{
    {{StrandSampling::both, "both"}, {StrandSampling::coin, "coin"}, {StrandSampling::forward, "forward"}}};

// The model to begin from, with a head for the profiles of the data.
LoadedModel load_for(const ChromatinFinetuneOptions& options, const ModelFolder& folder,
                     const ChromatinDataset& data) {
  const std::string& init = folder.path();
  const auto profiles = static_cast<std::int64_t>(data.profiles().size());
  LoadedModel loaded = folder.load(HeadType::classification, options.seed, profiles, options.fresh_head);
  ModelConfig& config = loaded.config;
  if (folder.config().head == HeadType::classification && !options.fresh_head) {
    if (config.num_labels != profiles || config.problem_type != ProblemType::multi_label) {
      throw_bad_input(fmt::format("{}: a classifier of {} classes or profiles, and {} has {} profiles", init,
                                  config.num_labels, options.data, profiles),
                      message("begin from a pretrained model, or leave this head out: `fresh_head`"));
    }
    if (file_exists(init + "/profiles.tsv") && read_profiles(init + "/profiles.tsv") != data.profiles()) {
      throw_bad_input(
          fmt::format("{}/profiles.tsv: other profiles than in {}, or in another order", init, options.data),
          message("begin from a pretrained model, leave this head out (`fresh_head`), or take the data "
                  "set that this model was made with"));
    }
  }
  const bool fresh_head = options.fresh_head || folder.config().head != HeadType::classification;
  choose_pooling(options.pooling, fresh_head, config);
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

// Bases, and so tokens at most, of a window of so many bins.
std::int64_t longest_stretch(const ChromatinDataset& data, std::uint64_t bins) {
  const ModelWindow& window = data.window();
  return window.length + (static_cast<std::int64_t>(bins) - 1) * window.target_length;
}

// Windows of several bins are never cut, and their head pools.
void require_room(const ChromatinFinetuneOptions& options, const ModelConfig& config, std::int64_t longest) {
  if (options.length != 0)
    throw_usage(
        message("`length` with `bins` {}: windows of several bins are as long as they are", options.bins),
        message("leave `length` out"));
  if (!config.pools())
    throw_usage(message("`bins` {} with a head that reads the first token", options.bins),
                message("add `pool` middle:N, N the tokens of a bin"));
  if (longest > config.max_position_embeddings)
    throw_usage(message("`bins` {}: windows of up to {} tokens, and the model takes {}", options.bins,
                        longest, config.max_position_embeddings),
                message("take fewer `bins`"));
}

// A shifted window still holds its bin.
void require_shift(const ChromatinFinetuneOptions& options, const ModelWindow& window) {
  const std::int64_t around =
      std::min(window.target_offset, window.length - window.target_offset - window.target_length);
  if (options.shift >= 0 && options.shift <= around) return;
  throw_usage(message("`shift` {}: windows of {} have {} bases on each side of their bin", options.shift,
                      options.data, around),
              message("take a smaller `shift`"));
}

// A fresh head begins with what its profiles are without a sequence: of the logit z that has the least loss
// for a fraction p of positives that count w times, exp(z) = w p / (1 - p). From zeros hundreds of updates
// would go into learning that peaks are rare (Lin et al. 2017, section 3.3, and the usual practice since).
// Half a bin is added to both sides, for profiles that have no positive, or nothing else.
void begin_at_fractions(const ChromatinFinetuneOptions& options, const ChromatinDataset& data,
                        std::span<const std::uint32_t> train_rows, LoadedModel& loaded) {
  const std::string bias = "classifier.out_proj.bias";
  if (std::find(loaded.fresh.begin(), loaded.fresh.end(), bias) == loaded.fresh.end()) return;
  const std::size_t profiles = data.profiles().size();
  std::vector<double> positives(profiles, 0.0);
  std::vector<float> labels(profiles);
  for (const std::uint32_t row : train_rows) {
    data.labels().unpack(row, labels);
    for (std::size_t k = 0; k < profiles; ++k) positives[k] += static_cast<double>(labels[k]);
  }
  const auto bins = static_cast<double>(train_rows.size());
  float* const logits = loaded.parameters.data() + ParameterLayout(loaded.config).offset(bias);
  for (std::size_t k = 0; k < profiles; ++k) {
    const double odds = (positives[k] + 0.5) / (bins - positives[k] + 0.5);
    logits[k] = static_cast<float>(std::log(options.positive_weight * odds));
  }
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

std::string name_of(StrandSampling strands) {
  return find_name(sampling_names, strands);
}

StrandSampling parse_strand_sampling(const std::string& name) {
  return parse_name(sampling_names, name, message("choice of `strand`"));
}

Fasta ChromatinWindows::take_fasta() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) return data_.fasta().clone();
  Fasta fasta = std::move(idle_.back());
  idle_.pop_back();
  return fasta;
}

void ChromatinWindows::give_back(Fasta fasta) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(fasta));
}

// The tokens that begin in a bin are its own.
void ChromatinWindows::encode_neighbours(Fasta& fasta, const ChromatinSample& sample,
                                         std::vector<std::int32_t>& ids,
                                         std::vector<OutputSpan>& spans) const {
  std::int64_t before = 0;
  std::string sequence = data_.stretch_sequence(fasta, sample.row, sample.bins, sample.shift, before);
  const std::int64_t bin = data_.window().target_length;
  if (sample.reverse) {
    before = static_cast<std::int64_t>(sequence.size()) - before - bin * sample.bins;
    sequence = reverse_complement(sequence);
  }
  std::vector<std::uint32_t> tokens, begins;
  tokenizer_.encode(sequence, tokens, &begins);
  ids = between_special_pieces(std::span<const std::uint32_t>(tokens), tokenizer_.special());
  const auto token_at = [&](std::int64_t base) {
    return std::lower_bound(begins.begin(), begins.end(), static_cast<std::uint32_t>(base)) - begins.begin();
  };
  for (std::uint32_t k = 0; k < sample.bins; ++k) {
    const auto first = token_at(before + k * bin), last = token_at(before + (k + 1) * bin);
    if (first == last) {
      throw_bad_input(fmt::format("{}: no token begins in a bin of {} bases", data_.folder(), bin),
                      message("leave `bins` out"));
    }
    spans.push_back({static_cast<std::int32_t>(first + 1), static_cast<std::int32_t>(last - first)});
  }
}

std::vector<ChromatinSample> neighbouring_bins(const ChromatinDataset& data,
                                               std::span<const std::uint32_t> rows, std::uint64_t most) {
  std::vector<ChromatinSample> samples;
  for (const std::uint32_t row : rows) {
    if (!samples.empty() && samples.back().bins < most && samples.back().row + samples.back().bins == row) {
      const ChromatinBin &last = data.bins()[row - 1], &next = data.bins()[row];
      if (last.contig == next.contig && last.begin + data.window().target_length == next.begin) {
        ++samples.back().bins;
        continue;
      }
    }
    samples.push_back({row, false, 1, 0});
  }
  return samples;
}

ChromatinWindows::Encoded ChromatinWindows::encode(std::span<const ChromatinSample> samples,
                                                   std::int64_t most) const {
  Encoded encoded;
  encoded.ids.resize(samples.size());
  encoded.spans.resize(samples.size());
  std::atomic<std::size_t> cut{0};
  std::vector<std::optional<Fasta>> handles(static_cast<std::size_t>(kernels::thread_count()));
  kernels::parallel_for_worker(samples.size(), [&](std::size_t i, int worker) {
    std::optional<Fasta>& fasta = handles[static_cast<std::size_t>(worker)];
    if (!fasta) fasta.emplace(take_fasta());
    const ChromatinSample& sample = samples[i];
    if (sample.bins > 1) {
      encode_neighbours(*fasta, sample, encoded.ids[i], encoded.spans[i]);
      return;
    }
    std::string sequence = data_.window_sequence(*fasta, sample.row, sample.shift);
    if (sample.reverse) sequence = reverse_complement(sequence);
    if (encode_window(tokenizer_, sequence, most, encoded.ids[i])) cut.fetch_add(1);
  });
  for (std::optional<Fasta>& fasta : handles) {
    if (fasta) give_back(std::move(*fasta));
  }
  encoded.cut = cut;
  return encoded;
}

std::int64_t ChromatinWindows::longest_of_sample(std::span<const ChromatinSample> from, bool reverse_too,
                                                 std::size_t count, std::int64_t most,
                                                 std::uint64_t seed) const {
  const std::size_t chosen = std::min(count, from.size());
  const RandomPermutation order(seed, Purpose::finetune_sample, 0, from.size());
  std::vector<ChromatinSample> samples;
  for (std::size_t i = 0; i < chosen; ++i) {
    ChromatinSample sample = from[static_cast<std::size_t>(order(i))];
    samples.push_back(sample);
    sample.reverse = true;
    if (reverse_too) samples.push_back(sample);
  }
  std::size_t longest = 0;
  for (const auto& ids : encode(samples, most).ids) longest = std::max(longest, ids.size());
  return static_cast<std::int64_t>(longest);
}

ChromatinTask::ChromatinTask(const RunOptions& options, const ModelConfig& config,
                             const ChromatinDataset& data, const ChromatinWindows& windows,
                             ChromatinTaskOptions task)
    : SampleTask(
          options, [this](std::uint64_t first, std::uint64_t count) { return training_batch(first, count); },
          task.valid.size(),
          [this](std::uint64_t first, std::uint64_t count) { return valid_batch(first, count); }),
      options_(options),
      config_(config),
      data_(data),
      windows_(windows),
      task_(std::move(task)) {}

std::uint64_t ChromatinTask::samples() const {
  return task_.train.size() * (task_.strands == StrandSampling::both ? 2 : 1);
}

ChromatinSample ChromatinTask::sample(const Draw& draw) const {
  const std::uint64_t windows = task_.train.size();
  ChromatinSample sample = task_.train[static_cast<std::size_t>(draw.sample % windows)];
  switch (task_.strands) {
    case StrandSampling::both:
      sample.reverse = draw.sample >= windows;
      break;
    case StrandSampling::coin:
      sample.reverse = CounterRng(options_.seed, Purpose::finetune_strand, draw.number).below(2) == 1;
      break;
    case StrandSampling::forward:
      break;
  }
  if (task_.shift > 0) {
    sample.shift = static_cast<std::int32_t>(
        CounterRng(options_.seed, Purpose::finetune_shift, draw.number).between(-task_.shift, task_.shift));
  }
  return sample;
}

Batch ChromatinTask::batch_of(std::span<const ChromatinSample> samples, std::size_t& cut) const {
  const ChromatinWindows::Encoded encoded = windows_.encode(samples, most_tokens(config_));
  const std::size_t labels = data_.labels().profiles();
  const bool neighbours = std::any_of(samples.begin(), samples.end(),
                                      [](const ChromatinSample& sample) { return sample.bins > 1; });
  Batch batch;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const ChromatinSample& sample = samples[i];
    const auto first = static_cast<std::int32_t>(batch.tokens());
    batch.append(encoded.ids[i], {}, config_.block_size, static_cast<std::int32_t>(config_.pad_token_id),
                 config_.input_length);
    for (std::uint32_t k = 0; k < sample.bins; ++k) {
      const std::uint32_t row = sample.row + (sample.reverse ? sample.bins - 1 - k : k);
      batch.sequence_targets.resize(batch.sequence_targets.size() + labels);
      data_.labels().unpack(row, std::span(batch.sequence_targets).last(labels));
    }
    if (sample.bins == 1 && neighbours) {  // as the model reads a single bin
      Batch alone;
      alone.append(encoded.ids[i], {}, 1, static_cast<std::int32_t>(config_.pad_token_id));
      alone.find_output_spans(config_.pooling);
      batch.output_spans.push_back({first + alone.output_spans[0].first, alone.output_spans[0].length});
    }
    for (const OutputSpan& span : encoded.spans[i])
      batch.output_spans.push_back({first + span.first, span.length});
  }
  cut += encoded.cut;
  return batch;
}

Batch ChromatinTask::training_batch(std::uint64_t first, std::uint64_t count) const {
  std::vector<ChromatinSample> drawn;
  for (const Draw& draw : draws_of_run(options_.seed, samples(), first, count)) drawn.push_back(sample(draw));
  std::size_t cut = 0;
  Batch batch = batch_of(drawn, cut);
  cut_ += cut;
  seen_ += drawn.size();
  return batch;
}

Batch ChromatinTask::valid_batch(std::uint64_t first, std::uint64_t count) const {
  std::vector<ChromatinSample> windows;
  for (std::uint64_t i = first; i < first + count; ++i)
    windows.push_back({task_.valid[static_cast<std::size_t>(i)], false, 1, 0});
  std::size_t cut = 0;
  return batch_of(windows, cut);
}

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
                    "bigbird chromatin build sets which bins are for training");
  }
  require_shift(options, data.window());
  const ModelFolder init(options.init);
  init.require(Alphabet::dna);
  LoadedModel loaded = load_for(options, init, data);
  begin_at_fractions(options, data, train_rows, loaded);
  ModelConfig& config = loaded.config;

  const ChromatinWindows windows(data, init.tokenizer());
  const std::size_t train_bins = train_rows.size();
  ChromatinTaskOptions task_options{options.strands, options.shift,
                                    neighbouring_bins(data, train_rows, options.bins),
                                    validation_rows(options, data)};
  std::int64_t longest = 0;
  if (options.length == 0 || options.bins > 1) {
    longest = windows.longest_of_sample(task_options.train, options.strands != StrandSampling::forward,
                                        options.length_windows, config.max_position_embeddings, options.seed);
  }
  if (options.bins > 1) {
    require_room(options, config, longest);
    config.input_length = 0;
  } else {
    config.input_length = input_length(options, config, longest);
  }
  validate(config, "the options of the model");

  const std::size_t valid_bins = task_options.valid.size();
  const ChromatinTask batches(options, config, data, windows, std::move(task_options));
  log_info(fmt::format("{} profiles, {} training bins, {} of {} validation bins, windows of {}",
                       data.profiles().size(), train_bins, valid_bins, data.rows(Split::valid).size(),
                       window_text(data.window())));
  const std::string looked_at =
      fmt::format("the longest of {} random training windows has {}",
                  std::min<std::uint64_t>(options.length_windows, batches.windows()), longest);
  if (options.bins > 1) {
    log_info(
        fmt::format("{} windows of up to {} bins; {} tokens", batches.windows(), options.bins, looked_at));
  } else {
    log_info(fmt::format("{} tokens a window{}", config.input_length,
                         options.length == 0 ? fmt::format(" ({})", looked_at) : ""));
  }

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
  if (options.shift > 0) task.identity["shift"] = std::to_string(options.shift);
  if (options.bins > 1) {
    task.identity["bins"] = std::to_string(options.bins);
    const std::int64_t block = config.block_size,
                       most = (longest_stretch(data, options.bins) + 2 + block - 1) / block * block;
    describe_ragged_inputs(task, config, std::min(most, config.max_position_embeddings));
    task.limits = [limits = task.limits, bins = options.bins](std::int64_t sequences, std::int64_t length) {
      BatchLimits of_bins = limits(sequences, length);
      of_bins.outputs = sequences * static_cast<std::int64_t>(bins);
      return of_bins;
    };
  }
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
