// The table of tensors; see layout.h. Names are Hugging Face's (docs/specification.md 2.2).
#include "lib/model/network/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/hash.h"
#include "lib/core/rng.h"
#include "lib/model/network/random_features.h"
#include "lib/model/plans/partition_lists.h"

namespace bigbird {
namespace {

// Values drawn from one random stream; part of what a seed means, so it never changes.
constexpr std::int64_t init_chunk = 65536;

// The standard deviation of what is drawn; none for constants.
std::optional<double> init_range(const TensorSpec& spec, const ModelConfig& config) {
  switch (spec.init) {
    case Init::zeros:
    case Init::ones:
    case Init::features:
    case Init::span_logits:
    case Init::xavier_uniform:
      break;
    case Init::normal:
    case Init::ones_normal:
      return config.initializer_range;
    case Init::relative_normal:
      return relative_init_range;
    case Init::unit_normal:
    case Init::centroids:
      return 1.0;
    case Init::width_normal:
      return 1.0 / std::sqrt(static_cast<double>(config.hidden_size));
    case Init::filter_normal:
      return 1.0 / std::sqrt(static_cast<double>(spec.shape.front()));
  }
  return std::nullopt;
}

// Rows of `size` numbers to mean 0 and variance 1.
void standardise(float* rows, std::int64_t count, std::int64_t size) {
  constexpr double epsilon = 1e-6;  // as kernels::RoutingBatch
  for (float* row = rows; row < rows + count; row += size) {
    double mean = 0.0, variance = 0.0;
    for (std::int64_t i = 0; i < size; ++i) mean += double{row[i]} / static_cast<double>(size);
    for (std::int64_t i = 0; i < size; ++i)
      variance += std::pow(double{row[i]} - mean, 2) / static_cast<double>(size);
    for (std::int64_t i = 0; i < size; ++i)
      row[i] = static_cast<float>((double{row[i]} - mean) / std::sqrt(variance + epsilon));
  }
}

// Of a matrix [out, in] with Init::xavier_uniform.
void fill_evenly(const TensorSpec& spec, std::uint64_t seed, float* to) {
  const double bound = std::sqrt(6.0 / static_cast<double>(spec.shape.front() + spec.shape.back()));
  const auto chunks = static_cast<std::size_t>((spec.count + init_chunk - 1) / init_chunk);
  kernels::parallel_for(chunks, [&](std::size_t chunk) {
    CounterRng rng(seed, Purpose::parameter_init, fnv1a_64(spec.name) + chunk);
    const std::int64_t begin = static_cast<std::int64_t>(chunk) * init_chunk;
    for (std::int64_t i = begin; i < std::min(begin + init_chunk, spec.count); ++i)
      to[i] = static_cast<float>(bound * (2.0 * rng.uniform() - 1.0));
  });
}

}  // namespace

void ParameterLayout::declare(const std::string& name, std::vector<std::int64_t> shape, Init init,
                              bool decay) {
  TensorSpec spec{name, std::move(shape), init, decay, count_, 1, depth_};
  for (const std::int64_t size : spec.shape) spec.count *= size;
  count_ += spec.count;
  tensors_.push_back(std::move(spec));
}

ParameterLayout::ParameterLayout(const ModelConfig& config) {
  const std::int64_t c = config.hidden_size, f = config.intermediate_size, v = config.vocab_size;
  const std::int64_t read = head_width(config);  // of what the heads read
  const auto weight = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    declare(name + ".weight", {out, in}, config.has_documents() ? Init::xavier_uniform : Init::normal, true);
  };
  const auto bias = [&](const std::string& name, std::int64_t out) {
    declare(name + ".bias", {out}, Init::zeros, false);
  };
  const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    weight(name, out, in);
    bias(name, out);
  };
  const bool xl = is_recurrent(config) && !has_spans(config);
  const Init norm_weight = xl ? Init::ones_normal : Init::ones;
  const auto layernorm_of = [&](const std::string& name, std::int64_t width) {
    declare(name + ".weight", {width}, norm_weight, false);
    declare(name + ".bias", {width}, Init::zeros, false);
  };
  const auto layernorm = [&](const std::string& name) { layernorm_of(name, c); };
  const auto attention_as = [&](const std::string& projections, const std::string& output) {
    const std::vector<std::string> names = shares_queries(config)
                                               ? std::vector<std::string>{"query", "value"}
                                               : std::vector<std::string>{"query", "key", "value"};
    for (const std::string& name : names) weight(projections + name, c, c);
    if (config.use_bias) {
      for (const std::string& name : names) bias(projections + name, c);
    }
    if (depth_ > 0 && config.attention == AttentionPattern::longformer &&
        depth_ <= config.num_hidden_layers) {  // of the encoder
      for (const char* name : {"query_global", "key_global", "value_global"})
        weight(projections + name, c, c);
      for (const char* name : {"query_global", "key_global", "value_global"}) bias(projections + name, c);
    }
    if (depth_ > 0 && config.attention == AttentionPattern::bpt) {  // a name of our own
      weight(projections + "relative", partition_labels(config.attention_options.bpt), config.head_size());
    }
    if (depth_ > 0 && draws_features(config)) {  // a name of our own
      declare(projections + "features.weight", {projected_features(config), config.head_size()},
              Init::features, false);
    }
    if (depth_ > 0 && routed_heads(config) > 0) {  // names of our own
      const RoutingOptions& routing = config.attention_options.routing;
      declare(projections + "centroids.sums", {routed_heads(config), routing.clusters, config.head_size()},
              Init::centroids, false);
      tensors_.back().moving_decay = routing.decay;
      declare(projections + "centroids.counts", {routed_heads(config), routing.clusters}, Init::zeros, false);
      tensors_.back().moving_decay = routing.decay;
    }
    if (depth_ > 0 && has_dynamic_spans(config)) {  // names of our own
      const std::int64_t heads = config.num_attention_heads;
      declare(projections + "span.weight", {heads, c}, Init::zeros, true);
      declare(projections + "span.bias", {heads}, Init::span_logits, false);
    }
    if (xl) {  // names of our own
      weight(projections + "position", c, c);
      if (config.attention_options.recurrent.untie) declare_recurrent_biases(config, projections);
      for (const std::string& name : compression_tensors(config)) {
        declare(projections + name + ".weight", {c, config.attention_options.compressive.rate, c},
                Init::normal, true);
        bias(projections + name, c);
      }
    }
    weight(output + "dense", c, c);
    if (config.output_bias) bias(output + "dense", c);
    layernorm(output + "LayerNorm");
  };
  const auto attention = [&](const std::string& prefix) {
    attention_as(prefix + "self.", prefix + "output.");
  };
  const auto feed_forward = [&](const std::string& prefix, std::int64_t inner) {
    const std::int64_t outputs = config.gated_feed_forward ? 2 * inner : inner;
    weight(prefix + "intermediate.dense", outputs, c);
    if (config.feed_forward_bias) bias(prefix + "intermediate.dense", outputs);
    weight(prefix + "output.dense", c, inner);
    if (config.feed_forward_bias) bias(prefix + "output.dense", c);
    layernorm(prefix + "output.LayerNorm");
  };

  const bool etc = config.attention == AttentionPattern::etc;
  declare("bert.embeddings.word_embeddings.weight", {v, c},
          config.has_documents() ? Init::width_normal : Init::normal, true);
  if (config.position_type == PositionType::absolute) {
    weight("bert.embeddings.position_embeddings", config.max_position_embeddings, c);
    if (etc) weight("bert.embeddings.global_position_embeddings", config.max_position_embeddings, c);
  }
  if (config.type_vocab_size > 0) weight("bert.embeddings.token_type_embeddings", config.type_vocab_size, c);
  if (config.embedding_norm != EmbeddingNorm::none) layernorm("bert.embeddings.LayerNorm");
  if (etc) layernorm("bert.embeddings.global_LayerNorm");
  if (config.has_stem()) {  // names of our own
    const StemConfig& stem = config.stem;
    declare("bert.embeddings.stem.convolution.weight", {stem.kernel, v, stem.channels}, Init::filter_normal,
            true);
    bias("bert.embeddings.stem.convolution", stem.channels);
    linear("bert.embeddings.stem.dense", c, stem.stride * stem.channels);
  }
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    depth_ = layer + 1;
    const std::string prefix = fmt::format("bert.encoder.layer.{}.", layer);
    if (etc) {
      declare_etc_layer(config, prefix + "attention.");
      feed_forward(prefix, f);
      if (!config.attention_options.etc.shared_feed_forward) feed_forward(prefix + "global_", f);
      continue;
    }
    attention(prefix + "attention.");
    feed_forward(prefix, f);
  }
  depth_ = config.num_hidden_layers + 1;
  if (xl && !config.attention_options.recurrent.untie) declare_recurrent_biases(config, "bert.encoder.");
  if (has_spans(config)) {  // names of our own
    declare("bert.encoder.distances.weight", {config.attention_options.spans.max_span, config.head_size()},
            Init::unit_normal, true);
    if (!has_dynamic_spans(config))
      declare("bert.encoder.spans", {config.num_hidden_layers, config.num_attention_heads}, Init::zeros,
              false);
  }
  if (config.has_final_norm()) layernorm_of("bert.encoder.LayerNorm", read);  // a name of our own
  if (config.has_pooler()) {
    declare("bert.pooler.weight", {c, read}, Init::normal, config.uses_pooler());
    bias("bert.pooler", c);
  }
  if (config.has_mlm()) {
    if (config.has_stem()) linear("cls.predictions.spread", config.stem.stride * c, c);  // ours
    linear("cls.predictions.transform.dense", c, read);
    layernorm("cls.predictions.transform.LayerNorm");
    bias("cls.predictions", v);
    if (config.has_own_output_table()) weight("cls.predictions.decoder", v, c);
  }
  if (config.predicts_next()) {  // the last part of the head for masked tokens
    bias("cls.predictions", v);
    if (config.has_own_output_table()) weight("cls.predictions.decoder", v, read);
  }
  if (config.head == HeadType::pretraining) linear("cls.seq_relationship", 2, c);
  if (config.has_contrast()) {  // names of our own
    linear("cls.contrast.context", c, c);
    linear("cls.contrast.target", c, c);
  }
  if (config.head == HeadType::classification) {
    linear("classifier.dense", c, read);
    linear("classifier.out_proj", config.num_labels, c);
  }
  if (config.head == HeadType::token_classification) linear("classifier", config.num_labels, read);
  if (config.has_plain_question_head()) linear("qa_outputs", 2, read);
  if (config.head == HeadType::question_answering && !config.has_plain_question_head()) {
    linear("qa_classifier.intermediate.dense", f, read);
    linear("qa_classifier.output.dense", read, f);
    layernorm_of("qa_classifier.output.LayerNorm", read);
    linear("qa_classifier.qa_outputs", 2, read);
  }
  if (config.head == HeadType::structured_answers) {  // names of our own
    linear("answer_scores.token", static_cast<std::int64_t>(config.token_scores.size()), read);
    if (config.num_labels > 0) linear("answer_scores.type", config.num_labels, read);
  }
  if (config.has_documents()) {  // names of our own, and a decoder's for what it has in common with others
    for (std::int64_t layer = 0; layer < config.documents.num_hidden_layers; ++layer) {
      const std::string prefix = fmt::format("documents.layer.{}.", layer);
      attention(prefix + "attention.");
      feed_forward(prefix, f);
    }
    if (!config.writes_sentences()) linear("sentence_labels", 2, c);
    for (std::int64_t layer = 0; config.writes_sentences() && layer < config.decoder.num_hidden_layers;
         ++layer) {
      const std::string prefix = fmt::format("decoder.layer.{}.", layer);
      attention(prefix + "attention.");
      layernorm(prefix + "sentence.LayerNorm");
      feed_forward(prefix, config.decoder.intermediate_size);
    }
    if (config.has_own_output_table()) declare("lm_head.weight", {v, c}, Init::width_normal, true);
  }
  if (config.is_coupled()) {  // names of the published code, in BERT's manner
    for (std::int64_t layer = 0; layer < config.decoder.num_hidden_layers; ++layer) {
      const std::string prefix = fmt::format("bert.encoder.layer.{}.attention.", layer);
      attention_as(prefix + "encdec.", prefix + "encdec_output.");
    }
  } else if (config.has_decoder()) {  // names of our own; lib/model_folder/pegasus.h has transformers'
    if (config.position_type == PositionType::absolute)
      weight("decoder.embeddings.position_embeddings", config.decoder_positions(), c);
    if (config.embedding_norm != EmbeddingNorm::none) layernorm("decoder.embeddings.LayerNorm");
    for (std::int64_t layer = 0; layer < config.decoder.num_hidden_layers; ++layer) {
      const std::string prefix = fmt::format("decoder.layer.{}.", layer);
      attention(prefix + "attention.");
      attention(prefix + "crossattention.");
      feed_forward(prefix, config.decoder.intermediate_size);
    }
    if (config.has_final_norm()) layernorm("decoder.LayerNorm");
    declare("final_logits_bias", {1, v}, Init::zeros, false);
    if (config.has_own_output_table()) weight("lm_head", v, c);
  }
}

std::vector<std::string> compression_tensors(const ModelConfig& config) {
  if (!learns_compression(config)) return {};
  if (config.attention_options.compressive.compression == Compression::conv) return {"compression"};
  return {"compression.0", "compression.1", "compression.2"};
}

void ParameterLayout::declare_recurrent_biases(const ModelConfig& config, const std::string& prefix) {
  for (const char* name : {"content_bias", "position_bias"})
    declare(prefix + name, {config.num_attention_heads, config.head_size()}, Init::normal, false);
}

void ParameterLayout::declare_etc_layer(const ModelConfig& config, const std::string& layer) {
  const std::int64_t c = config.hidden_size;
  for (const EtcProducts::Names& product : etc_products(config.attention_options.etc).distinct()) {
    for (const char* name : product)
      declare(fmt::format("{}{}.weight", layer, name), {c, c}, Init::normal, true);
    for (const char* name : product) declare(fmt::format("{}{}.bias", layer, name), {c}, Init::zeros, false);
  }
  for (const char* side : {"long", "global"}) {
    const std::string relative = fmt::format("{}{}_relative", layer, side);
    if (const std::int64_t labels = etc_labels(config.attention_options.etc); labels > 0) {
      declare(relative + ".weight", {labels, config.num_attention_heads, config.head_size()},
              Init::relative_normal, true);
      declare(relative + ".bias", {labels, config.num_attention_heads}, Init::zeros, false);
    }
    const std::string norm = fmt::format("{}{}_LayerNorm", layer, side);
    declare(norm + ".weight", {c}, Init::ones, false);
    declare(norm + ".bias", {c}, Init::zeros, false);
  }
}

EtcProducts etc_products(const EtcOptions& options) {
  EtcProducts products;
  products.long_query = products.global_query = {"long_query"};
  products.long_key_value = products.global_key_value = {"l2l_key", "l2l_value"};
  products.long_output = products.global_output = {"long_output"};
  if (options.projections != EtcProjections::shared) products.global_query = {"global_query"};
  if (options.projections == EtcProjections::by_query) {
    products.long_key_value = products.global_key_value = {"l2l_key", "l2l_value", "g2g_key", "g2g_value"};
  }
  if (options.projections == EtcProjections::separate) {
    products.long_key_value = {"l2l_key", "l2l_value", "g2l_key", "g2l_value"};
    products.global_key_value = {"g2g_key", "g2g_value", "l2g_key", "l2g_value"};
  }
  if (!options.shared_output) products.global_output = {"global_output"};
  return products;
}

std::vector<EtcProducts::Names> EtcProducts::distinct() const {
  std::vector<Names> all;
  for (const Names& names :
       {long_query, global_query, long_key_value, global_key_value, long_output, global_output}) {
    if (std::find(all.begin(), all.end(), names) == all.end()) all.push_back(names);
  }
  return all;
}

std::int64_t ParameterLayout::offset(const std::string& name) const {
  const TensorSpec* spec = find(name);
  if (spec == nullptr) throw_runtime("the model has no tensor " + name);
  return spec->offset;
}

const TensorSpec* ParameterLayout::find(const std::string& name) const {
  for (const TensorSpec& spec : tensors_) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

bool is_decoder_tensor(const std::string& name) {
  return name.starts_with("decoder.") || name.find(".attention.encdec") != std::string::npos;
}

bool is_position_table(const std::string& name) {
  return name.ends_with("embeddings.position_embeddings.weight") ||
         name.ends_with("embeddings.global_position_embeddings.weight");
}

std::vector<float> initial_parameters(const ParameterLayout& layout, const ModelConfig& config,
                                      std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(layout.count()), 0.0f);
  for (const TensorSpec& spec : layout.tensors()) {
    float* target = values.data() + spec.offset;
    if (spec.init == Init::ones || spec.init == Init::span_logits)
      std::fill_n(target, spec.count, spec.init == Init::ones ? 1.0f : first_span_logit);
    if (spec.init == Init::features) {
      const std::vector<float> rows = drawn_features(config, spec.depth - 1, seed, 0);
      std::copy(rows.begin(), rows.end(), target);
    }
    if (spec.init == Init::xavier_uniform) fill_evenly(spec, seed, target);
    const std::optional<double> drawn = init_range(spec, config);
    if (!drawn) continue;
    const double range = *drawn, centre = spec.init == Init::ones_normal ? 1.0 : 0.0;
    const bool cut =
        spec.init != Init::unit_normal && spec.init != Init::width_normal && spec.init != Init::centroids;
    // A tensor's random stream depends on its name, not on its place in the table.
    const std::uint64_t random_stream = fnv1a_64(spec.name);
    const std::int64_t chunks = (spec.count + init_chunk - 1) / init_chunk;
    kernels::parallel_for(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
      CounterRng rng(seed, Purpose::parameter_init, random_stream + chunk);
      const std::int64_t begin = static_cast<std::int64_t>(chunk) * init_chunk;
      const std::int64_t end = std::min(begin + init_chunk, spec.count);
      for (std::int64_t i = begin; i < end; ++i) {
        double draw = rng.normal();
        while (cut && (draw < -2.0 || draw > 2.0)) draw = rng.normal();
        target[i] = static_cast<float>(centre + draw * range);
      }
    });
    if (spec.init == Init::centroids) standardise(target, spec.count, config.head_size());
    if (spec.name == "bert.embeddings.word_embeddings.weight") {
      float* row = target + config.pad_token_id * config.hidden_size;
      for (std::int64_t i = 0; i < config.hidden_size; ++i) row[i] = 0.0f;
    }
  }
  return values;
}

}  // namespace bigbird
