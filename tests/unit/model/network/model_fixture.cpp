// See model_fixture.h.
#include "tests/unit/model/network/model_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/core/rng.h"
#include "lib/model/network/attention_clusters.h"
#include "lib/model/plans/block_plan.h"

namespace bigbird::testing {

ModelConfig tiny_config() {
  ModelConfig config;
  config.vocab_size = 37;
  config.hidden_size = 24;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 40;
  config.max_position_embeddings = 64;
  config.block_size = 4;
  config.num_random_blocks = 1;
  config.random_mode = RandomMode::hf_train;  // sparse from 8 blocks on; google is full up to 512 tokens
  config.hidden_dropout_prob = 0.0;
  config.attention_probs_dropout_prob = 0.0;
  return config;
}

void add_decoder(ModelConfig& config) {
  config.norm_type = NormType::prenorm;
  config.embedding_norm = EmbeddingNorm::none;
  config.rescale_embeddings = true;
  config.type_vocab_size = 0;
  config.use_bias = false;
  config.output_bias = false;
  config.layer_norm_eps = 1e-5;
  config.head = HeadType::generation;
  config.decoder = {
      .num_hidden_layers = 3, .num_attention_heads = 3, .intermediate_size = 28, .start_token_id = 2};
}

void add_stem(ModelConfig& config, std::int64_t stride) {
  config.stem = {.kernel = 5, .channels = 12, .stride = stride};
  config.vocab_size = std::min<std::int64_t>(config.vocab_size, 12);
  config.sep_token_id = std::min<std::int64_t>(config.sep_token_id, 3);
  config.type_vocab_size = 0;
  config.position_type = PositionType::rotary;
  config.rotary_dim = config.head_size() / 2 * 2;
}

ModelConfig tiny_decoder_config() {
  ModelConfig config = tiny_config();
  add_decoder(config);
  return config;
}

ModelConfig tiny_coupled_config() {
  ModelConfig config = tiny_config();
  config.type_vocab_size = 0;
  config.head = HeadType::generation;
  config.eos_token_id = 1;
  config.bos_token_id = 2;
  config.decoder = {
      .num_hidden_layers = 2, .num_attention_heads = 2, .intermediate_size = 40, .coupled = true};
  return config;
}

ModelConfig tiny_own_decoder_config() {
  ModelConfig config = tiny_config();
  config.head = HeadType::generation;
  config.decoder = {
      .num_hidden_layers = 3, .num_attention_heads = 3, .intermediate_size = 28, .start_token_id = 2};
  return config;
}

void add_answer_scores(ModelConfig& config) {
  config.token_scores = {{"start", true}, {"sentence", false}, {"end", true}};
  config.label_names = {"span", "yes", "no"};
  config.num_labels = 3;
}

std::vector<TokenTargets> random_targets(const Batch& batch, const std::vector<TokenScore>& scores,
                                         std::uint64_t seed) {
  std::vector<TokenTargets> all;
  for (const TokenScore& score : scores) {
    TokenTargets& targets = all.emplace_back();
    for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
      // As everywhere here: of the length and the seed only.
      CounterRng rng(seed, Purpose::test, 5000 * all.size() + static_cast<std::uint64_t>(batch.lengths[s]));
      targets.open_group();
      for (std::int64_t i = 0; i < batch.lengths[s]; ++i) {
        const bool is_right = rng.below(8) == 0;
        if (score.softmax || rng.below(3) == 0) targets.add(batch.token_offsets[s] + i, is_right);
      }
    }
  }
  return all;
}

std::vector<float> random_parameters(const ModelConfig& config, std::uint64_t seed) {
  const ParameterLayout layout(config);
  std::vector<float> values(static_cast<std::size_t>(layout.count()));
  CounterRng rng(seed, Purpose::test, 1);
  for (const TensorSpec& spec : layout.tensors()) {
    const bool of_ones = spec.init == Init::ones || spec.init == Init::ones_normal;
    const double centre = of_ones ? 1.0 : 0.0;
    for (std::int64_t i = 0; i < spec.count; ++i) {
      double value = centre + 0.25 * rng.normal();
      if (spec.name.ends_with("centroids.counts")) value = std::abs(value);
      values[static_cast<std::size_t>(spec.offset + i)] = static_cast<float>(value);
    }
  }
  return values;
}

Batch random_batch(const ModelConfig& config, const std::vector<std::int64_t>& lengths, std::uint64_t seed) {
  Batch batch;
  const bool single =
      config.head == HeadType::pretraining || config.head == HeadType::structured_answers ||
      (config.head == HeadType::classification && config.problem_type == ProblemType::single_label);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    // A sequence depends on its length and the seed only, not on its place in the batch.
    CounterRng rng(seed, Purpose::test, 1000 + static_cast<std::uint64_t>(lengths[s]));
    std::vector<std::int32_t> ids, types;
    const std::int64_t first_row = batch.tokens();
    for (std::int64_t i = 0; i < lengths[s]; ++i) {
      ids.push_back(static_cast<std::int32_t>(rng.between(1, config.vocab_size - 1)));
      types.push_back(i < lengths[s] / 2 || config.type_vocab_size < 2 ? 0 : 1);
      if (config.has_mlm() && rng.below(4) == 0) {
        batch.masked_rows.push_back(static_cast<std::int32_t>(first_row + i));
        batch.masked_labels.push_back(static_cast<std::int32_t>(rng.between(0, config.vocab_size - 1)));
      }
    }
    batch.append(ids, types, config.block_size, static_cast<std::int32_t>(config.pad_token_id));
    if (single) {
      const std::int64_t classes = config.head == HeadType::pretraining ? 2 : config.num_labels;
      batch.sequence_labels.push_back(static_cast<std::int32_t>(rng.between(0, classes - 1)));
    } else if (config.head == HeadType::classification) {
      for (std::int64_t label = 0; label < config.num_labels; ++label) {
        batch.sequence_targets.push_back(static_cast<float>(rng.between(0, 1)));
      }
    } else if (config.head == HeadType::question_answering) {
      batch.start_positions.push_back(static_cast<std::int32_t>(rng.between(0, lengths[s] - 1)));
      batch.end_positions.push_back(static_cast<std::int32_t>(rng.between(0, lengths[s] - 1)));
    } else if (config.has_decoder()) {
      std::vector<std::int32_t> read, labels;
      for (std::int64_t i = 0; i < 3 + lengths[s] / 4; ++i) {
        read.push_back(static_cast<std::int32_t>(rng.between(1, config.vocab_size - 1)));
        labels.push_back(rng.below(5) == 0
                             ? ignored_label
                             : static_cast<std::int32_t>(rng.between(0, config.vocab_size - 1)));
      }
      batch.targets.append(read, labels, config.block_size, static_cast<std::int32_t>(config.pad_token_id));
    }
  }
  if (config.head == HeadType::structured_answers)
    batch.token_targets = random_targets(batch, config.token_scores, seed);
  return batch;
}

BatchLimits limits_of(const Batch& batch) {
  BatchLimits limits;
  limits.tokens = batch.tokens();
  limits.sequences = batch.sequences();
  limits.masked_tokens = static_cast<std::int64_t>(batch.masked_rows.size());
  limits.target_tokens = batch.targets.tokens();
  limits.globals = batch.globals.tokens();
  limits.streams = static_cast<std::int64_t>(batch.places.streams.size());
  limits.sentence_pairs = static_cast<std::int64_t>(batch.sentence_pairs.contexts.size());
  if (batch.global_rows) limits.global_tokens = static_cast<std::int64_t>(batch.global_rows->size());
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    limits.longest = std::max(limits.longest, batch.token_offsets[s + 1] - batch.token_offsets[s]);
  }
  return limits;
}

std::unique_ptr<Model> make_model(kernels::Backend& backend, const ModelConfig& config, const Batch& batch,
                                  const ModelOptions& options, const std::vector<float>& parameters) {
  auto model = std::make_unique<Model>(backend, config, limits_of(batch), options);
  model->set_parameters(parameters);
  return model;
}

namespace {

// With the rotations of passes that train nothing.
void add_hashes(const ModelConfig& config, reference::EncoderConfig& to) {
  to.by_hash = true;
  to.chunk = static_cast<std::size_t>(config.attention_options.reformer.chunk);
  to.causal_hash = config.causal;
  to.reversible = is_reversible(config);
  to.rotations = [config](std::size_t layer, std::size_t head) {
    constexpr std::int64_t columns = 32;  // more than such models have
    const auto rounds = static_cast<std::size_t>(config.attention_options.reformer.hashes);
    const auto size = static_cast<std::size_t>(config.head_size());
    const std::vector<float> all =
        hash_rotations(config, static_cast<std::int64_t>(layer), columns, fixed_hash_seed);
    std::vector<reference::Matrix> of_head;
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>((head * rounds + round) * columns * size);
      of_head.emplace_back(columns, size,
                           reference::Vector(begin, begin + static_cast<std::ptrdiff_t>(columns * size)));
    }
    return of_head;
  };
  to.bucket_factors = [config](std::size_t length) {
    const auto [first, second] = reformer_buckets(config, static_cast<std::int64_t>(length));
    return std::array<std::size_t, 2>{static_cast<std::size_t>(first), static_cast<std::size_t>(second)};
  };
}

}  // namespace

reference::EncoderConfig reference_config(const ModelConfig& config) {
  reference::EncoderConfig result;
  result.vocabulary = static_cast<std::size_t>(config.vocab_size);
  result.hidden = static_cast<std::size_t>(config.hidden_size);
  result.layers = static_cast<std::size_t>(config.num_hidden_layers);
  result.heads = static_cast<std::size_t>(config.num_attention_heads);
  result.intermediate = static_cast<std::size_t>(config.intermediate_size);
  result.positions = static_cast<std::size_t>(config.max_position_embeddings);
  result.types = static_cast<std::size_t>(config.type_vocab_size);
  result.block_size = static_cast<std::size_t>(config.block_size);
  result.layer_norm_epsilon = config.layer_norm_eps;
  result.pre_layer_norm = config.norm_type == NormType::prenorm;
  result.rescale_embeddings = config.rescale_embeddings;
  result.activation = static_cast<reference::Activation>(config.activation);
  if (config.head_activation)
    result.head_activation = static_cast<reference::Activation>(*config.head_activation);
  result.gated = config.gated_feed_forward;
  result.token_dropout = config.token_dropout;
  if (config.token_dropout) result.mask_token = static_cast<std::size_t>(config.mask_token_id);
  result.rotary_dim = static_cast<std::size_t>(config.rotary_dim);
  result.rotary_base = config.rotary_base;
  if (config.has_stem()) {
    result.block_size /= static_cast<std::size_t>(config.stem.stride);
    result.stem_stride = static_cast<std::size_t>(config.stem.stride);
    result.stem_kernel = static_cast<std::size_t>(config.stem.kernel);
  }
  if (config.attention == AttentionPattern::performer) {
    result.by_features = true;
    result.features.features = static_cast<reference::Features>(config.attention_options.performer.kernel);
    result.features.causal = config.causal;
  }
  if (config.attention == AttentionPattern::reformer) add_hashes(config, result);
  if (config.attention == AttentionPattern::routing) {
    result.by_routes = true;
    result.local_heads = static_cast<std::size_t>(local_heads(config));
    result.local_window = static_cast<std::size_t>(config.attention_options.routing.local_window);
    result.cluster_window = static_cast<std::size_t>(config.attention_options.routing.window);
    result.causal_routes = config.causal;
  }
  return result;
}

reference::Parameters reference_parameters(const ModelConfig& config, const std::vector<float>& parameters) {
  reference::Parameters result;
  const ParameterLayout layout(config);
  for (const TensorSpec& spec : layout.tensors()) {
    const auto begin = parameters.begin() + spec.offset;
    result[spec.name] = reference::Vector(begin, begin + spec.count);
  }
  return result;
}

reference::Sequences reference_sequences(const ModelConfig& config, const Batch& batch) {
  if (config.has_stem()) {
    // Rows of whole numbers of tokens, as the layers see them; written out here once more.
    const std::int64_t stride = config.stem.stride;
    ModelConfig of_rows = config;
    of_rows.stem = {};
    of_rows.block_size /= stride;
    of_rows.max_position_embeddings /= stride;
    Batch rows;
    for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
      const std::int64_t padded = batch.token_offsets[s + 1] - batch.token_offsets[s];
      rows.token_offsets.push_back(rows.token_offsets.back() + padded / stride);
      rows.lengths.push_back((batch.lengths[s] - 1) / stride + 1);
    }
    rows.ids.assign(static_cast<std::size_t>(rows.tokens()), 0);
    rows.types = rows.ids;
    reference::Sequences result = reference_sequences(of_rows, rows);
    result.letters.assign(batch.ids.begin(), batch.ids.end());
    result.letter_counts.assign(batch.lengths.begin(), batch.lengths.end());
    return result;
  }
  reference::Sequences result;
  PlanCache plans(config);
  result.query_lengths.assign(batch.given_lengths.begin(), batch.given_lengths.end());
  result.ids.assign(batch.ids.begin(), batch.ids.end());
  result.types.assign(batch.types.begin(), batch.types.end());
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int64_t rows = batch.token_offsets[s + 1] - batch.token_offsets[s];
    result.padded_lengths.push_back(static_cast<std::size_t>(rows));
    result.valid_lengths.push_back(static_cast<std::size_t>(batch.lengths[s]));
    std::vector<reference::AttentionPlan> layers;
    for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
      const kernels::BlockPlanView& view =
          plans.plan(layer, rows / config.block_size, batch.lengths[s]).view();
      reference::AttentionPlan plan(static_cast<std::size_t>(view.heads));
      for (std::int64_t row = 0; row < view.heads * view.blocks; ++row) {
        const std::int32_t* list = view.key_blocks + view.row_offsets[row];
        const std::int32_t* end = view.key_blocks + view.row_offsets[row + 1];
        plan[static_cast<std::size_t>(row / view.blocks)].emplace_back(list, end);
      }
      layers.push_back(std::move(plan));
    }
    result.plans.push_back(std::move(layers));
  }
  return result;
}

reference::EncoderDecoderConfig reference_decoder_config(const ModelConfig& config) {
  return {reference_config(config), static_cast<std::size_t>(config.decoder.num_hidden_layers),
          static_cast<std::size_t>(config.decoder.num_attention_heads), config.decoder.coupled};
}

reference::DecoderTargets reference_decoder_targets(const Batch& batch) {
  reference::DecoderTargets result;
  for (std::size_t s = 0; s < batch.targets.lengths.size(); ++s) {
    const auto first = batch.targets.token_offsets[s], end = first + batch.targets.lengths[s];
    const auto append = [&](const std::vector<std::int32_t>& from, auto& to) {
      to.insert(to.end(), from.begin() + first, from.begin() + end);
    };
    append(batch.targets.ids, result.ids);
    append(batch.targets.labels, result.labels);
    result.lengths.push_back(static_cast<std::size_t>(batch.targets.lengths[s]));
  }
  return result;
}

std::vector<float> target_rows(const std::vector<float>& all, const Batch& batch, std::int64_t width) {
  std::vector<float> rows;
  for (std::size_t s = 0; s < batch.targets.lengths.size(); ++s) {
    const auto first = all.begin() + batch.targets.token_offsets[s] * width;
    rows.insert(rows.end(), first, first + batch.targets.lengths[s] * width);
  }
  return rows;
}

std::vector<reference::TokenScoreLabels> reference_targets(const std::vector<TokenScore>& scores,
                                                           const std::vector<TokenTargets>& targets) {
  std::vector<reference::TokenScoreLabels> all;
  for (std::size_t score = 0; score < scores.size(); ++score) {
    reference::TokenScoreLabels& labels = all.emplace_back();
    labels.softmax = scores[score].softmax;
    const TokenTargets& of = targets[score];
    for (std::size_t group = 0; group + 1 < of.group_offsets.size(); ++group) {
      const auto begin = of.group_offsets[group], end = of.group_offsets[group + 1];
      labels.groups.push_back({{of.rows.begin() + begin, of.rows.begin() + end},
                               {of.right.begin() + begin, of.right.begin() + end},
                               static_cast<std::size_t>(of.parts_of(group))});
    }
  }
  return all;
}

int expect_steps_along_gradients(Model& model, const Batch& batch, const std::vector<float>& parameters,
                                 const ForwardOptions& options) {
  const LossScale scale = mean_scale(model.forward(batch, options));
  model.backward(scale);
  const std::vector<float> gradients = model.host_gradients();
  int tried = 0;
  for (const TensorSpec& tensor : model.layout().tensors()) {
    if (tensor.moving_decay) continue;
    double square = 0;
    for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.count; ++i)
      square += std::pow(static_cast<double>(gradients[static_cast<std::size_t>(i)]), 2);
    const double norm = std::sqrt(square);
    if (norm < 1e-2) continue;
    ++tried;
    const double step = 2e-3;
    const auto loss = [&](double by) {
      std::vector<float> at = parameters;
      for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
        const auto place = static_cast<std::size_t>(i);
        at[place] += static_cast<float>(by * static_cast<double>(gradients[place]) / norm);
      }
      model.set_parameters(at);
      return scaled_loss(model.forward(batch, options), scale);
    };
    EXPECT_NEAR((loss(step) - loss(-step)) / (2 * step), norm, 0.02 * norm) << tensor.name;
  }
  return tried;
}

void expect_gradients(const Model& model, const reference::Parameters& expected, double tolerance) {
  const std::vector<float> actual = model.host_gradients();
  double largest = 0.0;
  for (const TensorSpec& spec : model.layout().tensors()) {  // what moving averages get is larger, and none
    if (!spec.moving_decay) largest = std::max(largest, largest_magnitude(expected.at(spec.name)));
  }
  for (const TensorSpec& spec : model.layout().tensors()) {
    const auto& gradient = expected.at(spec.name);
    ASSERT_EQ(gradient.size(), static_cast<std::size_t>(spec.count)) << spec.name;
    const bool cancelled = spec.name.ends_with(".key.bias") || spec.name == "qa_classifier.qa_outputs.bias" ||
                           spec.name == "qa_classifier.output.LayerNorm.bias";
    const double floor = cancelled ? largest : 1e-3 * largest;
    EXPECT_LT(relative_error(actual.data() + spec.offset, gradient, floor), tolerance) << spec.name;
  }
}

double largest_magnitude(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

double relative_error(const float* actual, const std::vector<double>& expected, double floor) {
  double difference = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(static_cast<double>(actual[i]) - expected[i]);
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, error);
  }
  return difference / std::max(largest_magnitude(expected), floor);
}

}  // namespace bigbird::testing
