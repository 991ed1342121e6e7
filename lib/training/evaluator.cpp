// See evaluator.h.
#include "lib/training/evaluator.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/progress.h"
#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"
#include "lib/model/network/model.h"
#include "lib/training/sampled_documents.h"

namespace bigbird {
namespace {

// What one batch adds to a result, as doubles: its losses, tokens, bases, and how many tokens were scored.
constexpr std::size_t row_width = LossSums::width + 4;

struct BatchResult {
  std::array<double, row_width> numbers{};
  std::vector<ScoredToken> scored;
};

BatchResult evaluate_batch(Model& model, const PretrainingBatches& batches, const Tokenizer& tokenizer,
                           std::span<const std::uint64_t> pieces, bool keep_scored) {
  std::vector<std::int32_t> left;
  const Batch batch = batches.piece_batch(pieces, &left);
  BatchResult result;
  const ForwardResult forward = model.forward(batch, {});
  const auto losses = LossSums(forward).numbers();
  std::copy(losses.begin(), losses.end(), result.numbers.begin());
  double &tokens = result.numbers[LossSums::width], &bases = result.numbers[LossSums::width + 1];
  for (const std::int64_t length : batch.lengths) tokens += static_cast<double>(length);
  const std::int32_t ahead = batches.objective().next ? 1 : 0;  // a row predicts the token behind it
  for (std::size_t i = 0, sample = 0; i < batch.masked_labels.size(); ++i) {
    while (batch.masked_rows[i] >= batch.token_offsets[sample + 1]) ++sample;
    const std::int32_t label = batch.masked_labels[i];
    bases += static_cast<double>(tokenizer.piece_length(static_cast<std::uint32_t>(label)));
    result.numbers[LossSums::width + 3] +=
        static_cast<double>(tokenizer.piece_characters(static_cast<std::uint32_t>(label)));
    if (!keep_scored) continue;
    const auto first = static_cast<std::int32_t>(batch.token_offsets[sample]);
    result.scored.push_back(
        {left[i], label, forward.mlm_losses[i], batch.masked_rows[i] - first + ahead, pieces[sample]});
  }
  result.numbers[LossSums::width + 2] = static_cast<double>(result.scored.size());
  return result;
}

void add(EvaluationResult& result, const double* numbers) {
  result.sums.add(LossSums::of_numbers(numbers));
  result.tokens += static_cast<std::uint64_t>(numbers[LossSums::width]);
  result.bases_covered += static_cast<std::uint64_t>(numbers[LossSums::width + 1]);
  result.characters_covered += static_cast<std::uint64_t>(numbers[LossSums::width + 3]);
}

std::uint64_t pair_key(std::int32_t left, std::int32_t token) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(token);
}

}  // namespace

std::vector<std::uint64_t> evaluation_pieces(const PretrainSampler& sampler, std::uint64_t max_samples) {
  const std::uint64_t all = sampler.size();
  const std::uint64_t count = max_samples == 0 ? all : std::min(all, max_samples);
  std::vector<std::uint64_t> pieces(static_cast<std::size_t>(count));
  const RandomPermutation order(sampler.options().seed, Purpose::pretrain_order, 0, all);
  for (std::uint64_t i = 0; i < count; ++i) pieces[static_cast<std::size_t>(i)] = count == all ? i : order(i);
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

double EvaluationResult::mlm_loss() const {
  return sums[LossMean::mlm].sum / static_cast<double>(sums[LossMean::mlm].count);
}

EvaluationResult evaluate_pretraining(Model& model, const PretrainingBatches& batches,
                                      const Tokenizer& tokenizer, const EvaluationOptions& options,
                                      kernels::Ranks& ranks) {
  const std::vector<std::uint64_t> pieces = evaluation_pieces(batches.sampler(), options.max_samples);
  std::optional<Progress> progress;
  if (options.progress) progress.emplace("evaluate", pieces.size(), "samples");
  const auto size = static_cast<std::size_t>(options.batch), count = static_cast<std::size_t>(ranks.count());
  const std::size_t number = (pieces.size() + size - 1) / size;
  const std::size_t rounds = (number + count - 1) / count;
  std::vector<double> mine(rounds * row_width);
  std::string scored;
  for (std::size_t round = 0; round < rounds; ++round) {
    if (count == 1) throw_if_cancelled();
    const std::size_t begin = (round * count + static_cast<std::size_t>(ranks.rank())) * size;
    if (begin >= pieces.size()) break;
    const std::size_t end = std::min(pieces.size(), begin + size);
    const BatchResult result = evaluate_batch(
        model, batches, tokenizer, std::span(pieces).subspan(begin, end - begin), options.keep_scored);
    std::copy(result.numbers.begin(), result.numbers.end(),
              mine.begin() + static_cast<std::ptrdiff_t>(round * row_width));
    scored.append(reinterpret_cast<const char*>(result.scored.data()),
                  result.scored.size() * sizeof(ScoredToken));
    if (progress) progress->advance(std::min(pieces.size(), begin + size * count) - begin);
  }
  // In the order of the batches, whoever took them.
  EvaluationResult result;
  result.samples = pieces.size();
  const std::vector<double> all = kernels::gather_numbers(ranks, mine);
  const std::vector<std::string> texts = kernels::gather_texts(ranks, scored);
  std::vector<std::size_t> read(count);
  for (std::size_t batch = 0; batch < number; ++batch) {
    const std::size_t rank = batch % count, round = batch / count;
    const double* const numbers = all.data() + (rank * rounds + round) * row_width;
    add(result, numbers);
    const auto tokens = static_cast<std::size_t>(numbers[LossSums::width + 2]);
    const std::size_t before = result.scored.size();
    result.scored.resize(before + tokens);
    if (tokens > 0)
      std::memcpy(result.scored.data() + before, texts[rank].data() + read[rank],
                  tokens * sizeof(ScoredToken));
    read[rank] += tokens * sizeof(ScoredToken);
  }
  return result;
}

namespace {

// What the segments of a stream add to AttentionBuckets: how many, then every layer's parts.
class BucketSums {
 public:
  BucketSums(const ModelConfig& config, std::int64_t length)
      : compressed_(compresses(config) ? config.attention_options.compressive.compressed : 0),
        plain_(remembered_rows(config) - compressed_),
        own_(length),
        layers_(config.num_hidden_layers) {}

  std::size_t width() const { return 1 + static_cast<std::size_t>(layers_ * 3 * parts); }
  void add(const KeyWeights& of, double* sums) const {
    const auto rows = static_cast<std::int64_t>(of.rows.size());
    if (of.remembered != compressed_ + plain_ || rows != of.remembered + own_) return;
    if (of.layer == 0) sums[0] += 1.0;
    double* const layer = sums + 1 + of.layer * 3 * parts;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int64_t at = row, all = compressed_, group = 0;
      if (at >= all) at -= std::exchange(all, plain_), group = 1;
      if (group == 1 && at >= all) at -= std::exchange(all, own_), group = 2;
      layer[group * parts + at * parts / all] += of.rows[static_cast<std::size_t>(row)];
    }
  }
  AttentionBuckets means(const std::vector<double>& sums) const {
    AttentionBuckets made{static_cast<std::uint64_t>(sums[0]), compressed_, plain_, own_, {}};
    for (std::int64_t layer = 0; made.segments > 0 && layer < layers_; ++layer) {
      std::vector<double>& of = made.layers.emplace_back();
      for (std::int64_t part = 0; part < 3 * parts; ++part)
        of.push_back(sums[static_cast<std::size_t>(1 + layer * 3 * parts + part)] / sums[0]);
    }
    return made;
  }

 private:
  static constexpr std::int64_t parts = AttentionBuckets::parts;
  std::int64_t compressed_, plain_, own_, layers_;
};

}  // namespace

EvaluationResult evaluate_streams(Model& model, const TokenShards& shards, const Tokenizer& tokenizer,
                                  std::int64_t length, std::uint64_t seed, const EvaluationOptions& options,
                                  kernels::Ranks& ranks) {
  // As many streams whatever the batch and the ranks are: sums are of streams, in their order.
  constexpr std::int64_t most_streams = 64;
  const StreamSampler sampler(shards, tokenizer.special(),
                              {.length = length,
                               .streams = most_streams,
                               .seed = seed,
                               .once = true,
                               .segments = options.max_samples});
  const NextTokens next(tokenizer, model.config());
  std::optional<Progress> progress;
  if (options.progress) progress.emplace("evaluate", sampler.segments(), "segments");
  const std::int64_t streams = sampler.options().streams, count = ranks.count();
  const std::int64_t groups = (streams + options.batch - 1) / options.batch;
  const std::int64_t rounds = (groups + count - 1) / count;
  // Of each stream its loss, tokens, bases, scored tokens and characters; its labels and hits.
  constexpr std::size_t losses_width = 7;
  const BucketSums buckets(model.config(), length);
  const std::size_t width = losses_width + (options.attention_buckets ? buckets.width() : 0);
  std::vector<double> mine(static_cast<std::size_t>(rounds * options.batch) * width);
  std::vector<std::vector<ScoredToken>> scored(static_cast<std::size_t>(rounds * options.batch));
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::int64_t first = (round * count + ranks.rank()) * options.batch;
    if (first >= streams) break;
    const kernels::IndexRange group{first, std::min(options.batch, streams - first)};
    for (std::uint64_t number = 0;; ++number) {
      if (count == 1) throw_if_cancelled();
      std::vector<std::int32_t> left;
      const Batch batch = stream_batch(sampler, next, group, number, -first, &left);
      if (batch.sequences() == 0) break;
      const auto place_of = [&](std::size_t s) {
        return static_cast<std::size_t>(round * options.batch + batch.places.streams[s]);
      };
      ForwardOptions pass;
      if (options.attention_buckets) {
        pass.key_weights = [&](const KeyWeights& of) {
          buckets.add(of,
                      mine.data() + place_of(static_cast<std::size_t>(of.sequence)) * width + losses_width);
        };
      }
      const ForwardResult result = model.forward(batch, pass);
      std::size_t label = 0;
      for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
        const std::size_t place = place_of(s);
        double* const sums = mine.data() + place * width;
        sums[1] += static_cast<double>(batch.lengths[s]);
        StreamPlace at;
        if (options.keep_scored) at = sampler.place(group.first + batch.places.streams[s], number);
        const auto ahead = static_cast<std::int32_t>(at.token - batch.token_offsets[s] + 1);
        for (; label < batch.masked_rows.size() && batch.masked_rows[label] < batch.token_offsets[s + 1];
             ++label) {
          const auto id = static_cast<std::uint32_t>(batch.masked_labels[label]);
          sums[0] += static_cast<double>(result.mlm_losses[label]);
          sums[2] += static_cast<double>(tokenizer.piece_length(id));
          sums[4] += static_cast<double>(tokenizer.piece_characters(id));
          sums[5] += 1;
          if (!options.keep_scored) continue;
          scored[place].push_back({left[label], batch.masked_labels[label], result.mlm_losses[label],
                                   batch.masked_rows[label] + ahead, at.document});
        }
      }
      // Hits are whole numbers: whose they are does not matter.
      mine[static_cast<std::size_t>(round * options.batch) * width + 6] +=
          static_cast<double>(result[Loss::mlm].correct);
      if (progress) progress->advance(static_cast<std::uint64_t>(batch.sequences()));
    }
  }
  std::string texts_of_rank;
  for (std::size_t place = 0; place < scored.size(); ++place) {
    mine[place * width + 3] = static_cast<double>(scored[place].size());
    texts_of_rank.append(reinterpret_cast<const char*>(scored[place].data()),
                         scored[place].size() * sizeof(ScoredToken));
  }
  const std::vector<double> all = kernels::gather_numbers(ranks, mine);
  const std::vector<std::string> texts = kernels::gather_texts(ranks, texts_of_rank);
  EvaluationResult result;
  result.samples = sampler.segments();
  std::vector<std::size_t> read(static_cast<std::size_t>(count));
  LossTerm term;
  std::vector<double> of_buckets(width - losses_width);
  for (std::int64_t stream = 0; stream < groups * options.batch; ++stream) {
    const std::int64_t group = stream / options.batch;
    const auto rank = static_cast<std::size_t>(group % count);
    const std::int64_t place = group / count * options.batch + stream % options.batch;
    const double* const sums = all.data() + rank * mine.size() + static_cast<std::size_t>(place) * width;
    term.add({sums[0], static_cast<std::int64_t>(sums[5]), static_cast<std::int64_t>(sums[6])});
    for (std::size_t i = 0; i < of_buckets.size(); ++i) of_buckets[i] += sums[losses_width + i];
    result.tokens += static_cast<std::uint64_t>(sums[1]);
    result.bases_covered += static_cast<std::uint64_t>(sums[2]);
    result.characters_covered += static_cast<std::uint64_t>(sums[4]);
    const auto tokens = static_cast<std::size_t>(sums[3]), before = result.scored.size();
    result.scored.resize(before + tokens);
    if (tokens > 0)
      std::memcpy(result.scored.data() + before, texts[rank].data() + read[rank],
                  tokens * sizeof(ScoredToken));
    read[rank] += tokens * sizeof(ScoredToken);
  }
  ForwardResult losses;
  losses[Loss::mlm] = term;
  result.sums = LossSums(losses);
  if (options.attention_buckets) result.buckets = buckets.means(of_buckets);
  return result;
}

NgramModel::NgramModel(const TokenShards& shards, const Tokenizer& tokenizer, std::uint64_t max_tokens,
                       std::uint64_t seed)
    : counts_(tokenizer.vocab_size()), left_counts_(tokenizer.vocab_size()) {
  shards.require_ids_below(tokenizer.vocab_size());
  for (std::uint32_t id = 0; id < tokenizer.vocab_size(); ++id)
    if (!tokenizer.is_special(id)) ++ordinary_pieces_;
  if (shards.token_count() == 0)
    throw_bad_input(shards.prefix() + ": no tokens to count", "give the training shards");
  const std::uint64_t wanted =
      max_tokens == 0 ? shards.token_count() : std::min(max_tokens, shards.token_count());
  pairs_.reserve(static_cast<std::size_t>(wanted));
  for_each_sampled_document(shards, max_tokens, seed, [&](const TokenView& view, std::size_t count) {
    std::int32_t left = -1;
    for (std::size_t t = 0; t < count; ++t) {
      const auto token = static_cast<std::int32_t>(view[t]);
      ++tokens_;
      ++counts_[static_cast<std::size_t>(token)];
      if (left >= 0) {
        ++left_counts_[static_cast<std::size_t>(left)];
        pairs_.push_back(pair_key(left, token));
      }
      left = token;
    }
  });
  std::sort(pairs_.begin(), pairs_.end());
  double best = 0;
  for (double k = 1; k <= 1e6; k *= 10) {
    const double likelihood = leave_one_out(k);
    if (k == 1 || likelihood > best) {
      best = likelihood;
      k_ = k;
    }
  }
}

double NgramModel::unigram(std::int32_t token) const {
  return (static_cast<double>(counts_[static_cast<std::size_t>(token)]) + 1.0) /
         static_cast<double>(tokens_ + ordinary_pieces_);
}

std::uint64_t NgramModel::pair_count(std::int32_t left, std::int32_t token) const {
  const auto [first, last] = std::equal_range(pairs_.begin(), pairs_.end(), pair_key(left, token));
  return static_cast<std::uint64_t>(last - first);
}

double NgramModel::bigram(std::int32_t left, std::int32_t token) const {
  const auto seen = static_cast<double>(left_counts_[static_cast<std::size_t>(left)]);
  return (static_cast<double>(pair_count(left, token)) + k_ * unigram(token)) / (seen + k_);
}

// Log likelihood of every training pair under the counts without it.
double NgramModel::leave_one_out(double k) const {
  double sum = 0;
  for (auto first = pairs_.begin(); first != pairs_.end();) {
    auto last = first + 1;
    while (last != pairs_.end() && *last == *first) ++last;
    const auto count = static_cast<double>(last - first);
    const auto left = static_cast<std::size_t>(*first >> 32);
    const auto token = static_cast<std::int32_t>(*first & 0xffffffffu);
    const double probability =
        (count - 1.0 + k * unigram(token)) / (static_cast<double>(left_counts_[left]) - 1.0 + k);
    sum += count * std::log(probability);
    first = last;
  }
  return sum;
}

BaselineScores score_baselines(const NgramModel& model, const std::vector<ScoredToken>& tokens) {
  BaselineScores scores;
  for (const ScoredToken& token : tokens) {
    scores.unigram -= std::log(model.unigram(token.label));
    scores.bigram -= std::log(model.bigram(token.left, token.label));
  }
  return scores;
}

void write_token_losses(const std::string& path, const std::vector<ScoredToken>& tokens,
                        const std::vector<std::string>& comments) {
  OutputStream out(path);
  TsvWriter table(out, {"sample", "position", "token", "nats"}, comments);
  for (const ScoredToken& token : tokens)
    table.row({std::to_string(token.sample), std::to_string(token.position), std::to_string(token.label),
               fmt::format("{}", token.nats)});
  out.close();
}

}  // namespace bigbird
