// Roles to Hugging Face names; see tensors.h.
#include "lib/model/network/tensors.h"

#include <fmt/format.h>

#include <string>

#include "lib/model/network/random_features.h"

namespace bigbird {

std::vector<LinearTensors*> written_once(const ModelConfig& config, ModelTensors& tensors) {
  std::vector<LinearTensors*> weights;
  if (config.attention == AttentionPattern::etc || config.is_coupled()) return weights;
  for (LayerTensors& layer : tensors.layers) {
    if (is_recurrent(config)) {
      AttentionTensors& of = layer.attention;
      weights.insert(weights.end(), {&of.query, &of.key_value});
      if (!has_spans(config)) weights.push_back(&of.position);
      weights.insert(weights.end(), {&of.output, &layer.feed_forward.inner, &layer.feed_forward.output});
      continue;
    }
    weights.insert(weights.end(), {&layer.attention.qkv, &layer.attention.output, &layer.feed_forward.inner,
                                   &layer.feed_forward.output});
  }
  return weights;
}

GradientRanges mark_written_once(const ModelConfig& config, const float* base, kernels::Index count,
                                 ModelTensors& gradients) {
  GradientRanges ranges;
  kernels::Index end = 0;  // of what came so far
  for (LinearTensors* const weight : written_once(config, gradients)) {
    weight->fresh = true;
    const kernels::FloatRange range{weight->weight - base, weight->in * weight->out};
    ranges.written.push_back(range);
    ranges.added_to.push_back({end, range.first - end});
    end = range.first + range.count;
  }
  ranges.added_to.push_back({end, count - end});
  return ranges;
}

ModelTensors model_tensors(const ModelConfig& config, const ParameterLayout& layout, float* base) {
  const auto tensor = [&](const std::string& name) { return base + layout.offset(name); };
  const auto linear = [&](const std::string& name) {
    float* const weight = tensor(name + ".weight");
    const std::vector<std::int64_t>& shape = layout.find(name + ".weight")->shape;
    return LinearTensors{weight, tensor(name + ".bias"), shape[1], shape[0]};
  };
  const auto norm = [&](const std::string& name) {
    return NormTensors{tensor(name + ".weight"), tensor(name + ".bias"),
                       static_cast<float>(config.layer_norm_eps), layout.find(name + ".weight")->shape[0]};
  };

  // Query, key and value, of which the first begins at output `first` and there are `count`.
  const auto projections = [&](const std::string& prefix, kernels::Index first, kernels::Index count) {
    const kernels::Index c = config.hidden_size;
    float* const bias = config.use_bias ? tensor(prefix + "query.bias") + first * c : nullptr;
    return LinearTensors{tensor(prefix + "query.weight") + first * c * c, bias, c, count * c};
  };
  const auto attention_output = [&](const std::string& prefix) {
    float* const bias = config.output_bias ? tensor(prefix + "dense.bias") : nullptr;
    return LinearTensors{tensor(prefix + "dense.weight"), bias, config.hidden_size, config.hidden_size};
  };
  const auto attention = [&](const std::string& prefix) {
    return AttentionTensors{projections(prefix + "self.", 0, shares_queries(config) ? 2 : 3),
                            attention_output(prefix + "output."), norm(prefix + "output.LayerNorm")};
  };
  const auto recurrent_attention = [&](const std::string& prefix, std::int64_t layer) {
    const kernels::Index c = config.hidden_size;
    const std::string self = prefix + "self.";
    AttentionTensors tensors;
    tensors.query = {tensor(self + "query.weight"), nullptr, c, c};
    tensors.key_value = {tensor(self + "key.weight"), nullptr, c, 2 * c};
    if (has_spans(config)) {
      tensors.position = {tensor("bert.encoder.distances.weight"), nullptr, config.head_size(),
                          config.attention_options.spans.max_span};
      if (has_dynamic_spans(config)) {
        tensors.span = linear(self + "span");
        tensors.span.exact = true;
      } else {
        tensors.spans = tensor("bert.encoder.spans") + layer * config.num_attention_heads;
      }
    } else {
      tensors.position = {tensor(self + "position.weight"), nullptr, c, c};
      tensors.query.bias =
          tensor((config.attention_options.recurrent.untie ? self : "bert.encoder.") + "content_bias");
      tensors.biases = {tensors.query.bias, nullptr, c, 2};
      auto product = tensors.compression.begin();
      for (const std::string& name : compression_tensors(config)) {
        *product++ = {tensor(self + name + ".weight"), tensor(self + name + ".bias"),
                      config.attention_options.compressive.rate * c, c};
      }
    }
    tensors.output = attention_output(prefix + "output.");
    tensors.norm = norm(prefix + "output.LayerNorm");
    return tensors;
  };
  const auto encoder_attention = [&](const std::string& prefix, std::int64_t layer) {
    if (is_recurrent(config)) return recurrent_attention(prefix, layer);
    AttentionTensors tensors = attention(prefix);
    if (config.attention == AttentionPattern::bpt)
      tensors.label_weight = tensor(prefix + "self.relative.weight");
    if (draws_features(config)) tensors.features = tensor(prefix + "self.features.weight");
    if (routed_heads(config) > 0) {
      tensors.centroid_sums = tensor(prefix + "self.centroids.sums");
      tensors.centroid_counts = tensor(prefix + "self.centroids.counts");
    }
    if (config.attention != AttentionPattern::longformer) return tensors;
    const kernels::Index c = config.hidden_size;
    tensors.global_query = linear(prefix + "self.query_global");
    tensors.global_key_value = linear(prefix + "self.key_global");
    tensors.global_key_value.out = 2 * c;
    return tensors;
  };
  const auto feed_forward = [&](const std::string& prefix) {
    const auto product = [&](const std::string& name) {
      if (config.feed_forward_bias) return linear(name);
      const std::vector<std::int64_t>& shape = layout.find(name + ".weight")->shape;
      return LinearTensors{tensor(name + ".weight"), nullptr, shape[1], shape[0]};
    };
    return FeedForwardTensors{product(prefix + "intermediate.dense"), product(prefix + "output.dense"),
                              norm(prefix + "output.LayerNorm")};
  };
  // One product of BigBird-ETC.
  const auto product = [&](const std::string& prefix, const EtcProducts::Names& names) {
    LinearTensors made = linear(prefix + names.front());
    made.out *= static_cast<kernels::Index>(names.size());
    return made;
  };
  const auto etc_side = [&](const std::string& layer, bool global) {
    const EtcProducts of = etc_products(config.attention_options.etc);
    const std::string prefix = layer + "attention.", side = prefix + (global ? "global_" : "long_");
    EtcSideTensors tensors;
    tensors.query = product(prefix, global ? of.global_query : of.long_query);
    tensors.key_value = product(prefix, global ? of.global_key_value : of.long_key_value);
    tensors.output = product(prefix, global ? of.global_output : of.long_output);
    tensors.norm = norm(side + "LayerNorm");
    if (etc_labels(config.attention_options.etc) > 0) {
      tensors.relative_weight = tensor(side + "relative.weight");
      tensors.relative_bias = tensor(side + "relative.bias");
    }
    const bool own = global && !config.attention_options.etc.shared_feed_forward;
    tensors.feed_forward = feed_forward(own ? layer + "global_" : layer);
    return tensors;
  };
  const auto cross_attention = [&](const std::string& queries, const std::string& output) {
    return CrossAttentionTensors{projections(queries, 0, 1), projections(queries, 1, 2),
                                 attention_output(output), norm(output + "LayerNorm")};
  };

  ModelTensors tensors;
  tensors.embeddings.word = tensor("bert.embeddings.word_embeddings.weight");
  if (config.position_type == PositionType::absolute) {
    tensors.embeddings.position = tensor("bert.embeddings.position_embeddings.weight");
  }
  if (config.type_vocab_size > 0)
    tensors.embeddings.type = tensor("bert.embeddings.token_type_embeddings.weight");
  if (config.embedding_norm != EmbeddingNorm::none)
    tensors.embeddings.norm = norm("bert.embeddings.LayerNorm");
  if (config.has_stem()) {
    StemTensors& stem = tensors.embeddings.stem;
    stem = {tensor("bert.embeddings.stem.convolution.weight"),
            tensor("bert.embeddings.stem.convolution.bias"),
            config.stem.kernel,
            config.vocab_size,
            config.stem.channels,
            config.stem.stride,
            linear("bert.embeddings.stem.dense"),
            {}};
    if (config.has_mlm()) stem.spread = linear("cls.predictions.spread");
  }
  if (config.attention == AttentionPattern::etc) {
    tensors.embeddings.global_norm = norm("bert.embeddings.global_LayerNorm");
    if (config.position_type == PositionType::absolute)
      tensors.embeddings.global_position = tensor("bert.embeddings.global_position_embeddings.weight");
  }
  if (config.has_final_norm()) tensors.final_norm = norm("bert.encoder.LayerNorm");
  if (has_spans(config) && !has_dynamic_spans(config)) tensors.spans = tensor("bert.encoder.spans");
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string prefix = fmt::format("bert.encoder.layer.{}.", layer);
    if (config.attention == AttentionPattern::etc) {
      LayerTensors& of = tensors.layers.emplace_back();
      of.sides = {etc_side(prefix, false), etc_side(prefix, true)};
      continue;
    }
    tensors.layers.push_back({encoder_attention(prefix + "attention.", layer), feed_forward(prefix)});
  }
  // Of heads that read one row of a sequence; see kernels::Linear::exact.
  const auto exact_linear = [&](const std::string& name) {
    LinearTensors layer = linear(name);
    layer.exact = true;
    return layer;
  };
  if (config.uses_pooler()) tensors.pooled.pooler = exact_linear("bert.pooler");
  if (config.has_mlm()) {
    tensors.masked.transform = linear("cls.predictions.transform.dense");
    tensors.masked.norm = norm("cls.predictions.transform.LayerNorm");
  }
  if (config.has_mlm() || config.predicts_next()) {
    tensors.masked.decoder = {
        config.has_own_output_table() ? tensor("cls.predictions.decoder.weight") : tensors.embeddings.word,
        tensor("cls.predictions.bias"), config.has_mlm() ? config.hidden_size : head_width(config),
        config.vocab_size};
  }
  if (config.head == HeadType::pretraining)
    tensors.pooled.next_sentence = exact_linear("cls.seq_relationship");
  if (config.has_contrast())
    tensors.contrast = {exact_linear("cls.contrast.context"), exact_linear("cls.contrast.target")};
  if (config.head == HeadType::classification) {
    tensors.classification.dense = exact_linear("classifier.dense");
    tensors.classification.output = exact_linear("classifier.out_proj");
  } else if (config.head == HeadType::token_classification) {
    tensors.classification.output = exact_linear("classifier");
  }
  if (config.has_plain_question_head()) {
    tensors.question.output = linear("qa_outputs");
  } else if (config.head == HeadType::question_answering) {
    tensors.question.block = {linear("qa_classifier.intermediate.dense"),
                              linear("qa_classifier.output.dense"), norm("qa_classifier.output.LayerNorm")};
    tensors.question.output = linear("qa_classifier.qa_outputs");
  }
  if (config.head == HeadType::structured_answers) {
    tensors.answers.token = linear("answer_scores.token");
    if (config.num_labels > 0) tensors.answers.type = linear("answer_scores.type");
  }
  for (std::int64_t layer = 0; config.has_documents() && layer < config.documents.num_hidden_layers;
       ++layer) {
    const std::string prefix = fmt::format("documents.layer.{}.", layer);
    tensors.documents.layers.push_back({attention(prefix + "attention."), feed_forward(prefix)});
  }
  if (config.head == HeadType::sentence_labels) tensors.documents.labels = exact_linear("sentence_labels");
  if (config.writes_sentences()) {
    DecoderTensors& of = tensors.decoder;
    of.embeddings.word = tensors.embeddings.word;
    for (std::int64_t layer = 0; layer < config.decoder.num_hidden_layers; ++layer) {
      const std::string prefix = fmt::format("decoder.layer.{}.", layer);
      CrossAttentionTensors added;
      added.norm = norm(prefix + "sentence.LayerNorm");
      of.layers.push_back({attention(prefix + "attention."), added, feed_forward(prefix)});
    }
    of.output = {config.has_own_output_table() ? tensor("lm_head.weight") : tensors.embeddings.word, nullptr,
                 config.hidden_size, config.vocab_size};
  }
  if (config.is_coupled()) {
    DecoderTensors& of = tensors.decoder;
    of.embeddings = tensors.embeddings;
    for (std::int64_t layer = 0; layer < config.decoder.num_hidden_layers; ++layer) {
      const std::string prefix = fmt::format("bert.encoder.layer.{}.attention.", layer);
      const LayerTensors& shared = tensors.layers.at(static_cast<std::size_t>(layer));
      of.layers.push_back({shared.attention, cross_attention(prefix + "encdec.", prefix + "encdec_output."),
                           shared.feed_forward});
    }
    of.output = {tensors.embeddings.word, nullptr, config.hidden_size, config.vocab_size};
  } else if (config.has_decoder()) {
    DecoderTensors& of = tensors.decoder;
    of.embeddings.word = tensors.embeddings.word;
    if (config.embedding_norm != EmbeddingNorm::none)
      of.embeddings.norm = norm("decoder.embeddings.LayerNorm");
    if (config.position_type == PositionType::absolute)
      of.embeddings.position = tensor("decoder.embeddings.position_embeddings.weight");
    for (std::int64_t layer = 0; layer < config.decoder.num_hidden_layers; ++layer) {
      const std::string prefix = fmt::format("decoder.layer.{}.", layer);
      const std::string cross = prefix + "crossattention.";
      of.layers.push_back({attention(prefix + "attention."),
                           cross_attention(cross + "self.", cross + "output."), feed_forward(prefix)});
    }
    if (config.has_final_norm()) of.final_norm = norm("decoder.LayerNorm");
    of.output = {config.has_own_output_table() ? tensor("lm_head.weight") : tensors.embeddings.word,
                 tensor("final_logits_bias"), config.hidden_size, config.vocab_size};
  }
  return tensors;
}

}  // namespace bigbird
