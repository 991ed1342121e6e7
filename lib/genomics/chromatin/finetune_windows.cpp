// Windows, samples and batches of chromatin fine-tuning; see finetune_windows.h.
#include "lib/genomics/chromatin/finetune_windows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/core/rng.h"
#include "lib/inference/windows.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<StrandSampling, const char*>, 3> sampling_names{
    {{StrandSampling::both, "both"}, {StrandSampling::coin, "coin"}, {StrandSampling::forward, "forward"}}};

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

ChromatinWindows::Encoded ChromatinWindows::encode(std::span<const ChromatinSample> samples,
                                                   std::int64_t most) const {
  Encoded encoded;
  encoded.ids.resize(samples.size());
  std::atomic<std::size_t> cut{0};
  std::vector<std::optional<Fasta>> handles(static_cast<std::size_t>(kernels::thread_count()));
  kernels::parallel_for_worker(samples.size(), [&](std::size_t i, int worker) {
    std::optional<Fasta>& fasta = handles[static_cast<std::size_t>(worker)];
    if (!fasta) fasta.emplace(take_fasta());
    std::string sequence = data_.window_sequence(*fasta, samples[i].row);
    if (samples[i].reverse) sequence = reverse_complement(sequence);
    if (encode_window(tokenizer_, sequence, most, encoded.ids[i])) cut.fetch_add(1);
  });
  for (std::optional<Fasta>& fasta : handles) {
    if (fasta) give_back(std::move(*fasta));
  }
  encoded.cut = cut;
  return encoded;
}

std::int64_t ChromatinWindows::longest_of_sample(std::span<const std::uint32_t> rows, bool reverse_too,
                                                 std::size_t count, std::int64_t most,
                                                 std::uint64_t seed) const {
  const std::size_t chosen = std::min(count, rows.size());
  const RandomPermutation order(seed, Purpose::finetune_sample, 0, rows.size());
  std::vector<ChromatinSample> samples;
  for (std::size_t i = 0; i < chosen; ++i) {
    const std::uint32_t row = rows[static_cast<std::size_t>(order(i))];
    samples.push_back({row, false});
    if (reverse_too) samples.push_back({row, true});
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
  const std::uint64_t bins = task_.train.size();
  const std::uint32_t row = task_.train[static_cast<std::size_t>(draw.sample % bins)];
  switch (task_.strands) {
    case StrandSampling::both:
      return {row, draw.sample >= bins};
    case StrandSampling::coin:
      return {row, CounterRng(options_.seed, Purpose::finetune_strand, draw.number).below(2) == 1};
    case StrandSampling::forward:
      break;
  }
  return {row, false};
}

Batch ChromatinTask::batch_of(std::span<const ChromatinSample> samples, std::size_t& cut) const {
  const ChromatinWindows::Encoded encoded = windows_.encode(samples, config_.input_length);
  const std::size_t labels = data_.labels().profiles();
  Batch batch;
  batch.sequence_targets.resize(samples.size() * labels);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    batch.append(encoded.ids[i], {}, config_.block_size, static_cast<std::int32_t>(config_.pad_token_id),
                 config_.input_length);
    data_.labels().unpack(samples[i].row, std::span(batch.sequence_targets).subspan(i * labels, labels));
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
    windows.push_back({task_.valid[static_cast<std::size_t>(i)], false});
  std::size_t cut = 0;
  return batch_of(windows, cut);
}

}  // namespace bigbird
