// See evaluation_run.h.
#include "lib/training/evaluation_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/ordered_map.h"
#include "lib/data/token_shards.h"
#include "lib/io/files/sha256.h"
#include "lib/model_folder/open_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/evaluator.h"
#include "lib/training/markov_models.h"
#include "lib/training/memory_plan.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

const char* const bits_definition =
    "sum over the masked tokens of -log2 p(true token), over the bases of these tokens (N bases "
    "count; [UNK] and special pieces are never masked)";
const char* const text_bits_definition =
    "sum over the masked tokens (whole words) of -log2 p(true token): over the tokens, and over their bytes of text ([UNK] and special pieces are never masked)";

const char* const next_bits_definition =
    "sum over the tokens of -log2 p(token | those before it in its sample), over the bases of these tokens (N "
    "and special pieces are not predicted)";
const char* const next_text_bits_definition =
    "sum over the tokens of -log2 p(token | those before it in its sample): over the tokens, and over their "
    "characters and bytes of text (ends of documents are predicted and have none; [UNK] is not predicted)";

const char* definition_of_bits(bool next, bool text) {
  if (next) return text ? next_text_bits_definition : next_bits_definition;
  return text ? text_bits_definition : bits_definition;
}

// Of DNA bits for each base; of text for each token (the paper's \"BPC\"), of next tokens for each character,
// and each byte.
void append_bits(Json& json, double nats, const EvaluationResult& result, bool text, bool next) {
  const double bits = nats / std::log(2.0);
  if (text) json["bits_per_token"] = bits / static_cast<double>(result.sums[LossMean::mlm].count);
  if (text && next) json["bits_per_character"] = bits / static_cast<double>(result.characters_covered);
  json[text ? "bits_per_byte" : "bits_per_base"] = bits / static_cast<double>(result.bases_covered);
}

Json baseline_json(double nats, const EvaluationResult& result, bool text, bool next) {
  Json json;
  append_bits(json, nats, result, text, next);
  json[next ? "clm_loss" : "mlm_loss"] = nats / static_cast<double>(result.sums[LossMean::mlm].count);
  return json;
}

// Of the documents' bases, all of them: no token is masked for a Markov model.
Json markov_json(const EvaluationRunOptions& options, const TokenShards& training, const TokenShards& shards,
                 const Tokenizer& tokenizer) {
  log_info(fmt::format("Markov models of order 1 to {}: {} at most for their counts",
                       MarkovModels::highest_order, format_bytes(MarkovModels::bytes)));
  MarkovModels models;
  models.count(training, tokenizer, options.baseline_tokens, options.seed);
  const MarkovModels::Bits sums = models.score(shards, tokenizer);
  if (sums.bases == 0) return nullptr;
  Json json;
  const int best = sums.best_order();
  json["best_order"] = best;
  json["best_bits_per_base"] = sums.per_base(best);
  for (int order = 1; order <= MarkovModels::highest_order; ++order)
    json["bits_per_base"][fmt::format("order_{}", order)] = sums.per_base(order);
  json["smoothing"] = "Witten-Bell, interpolated down to 1/4";
  json["definition"] =
      "mean of -log2 p(base | the bases before it in its document) over every base of the held-out documents; "
      "N and special pieces end a context; the best order is the one that is best here";
  json["bases"] = models.bases();
  json["bases_scored"] = sums.bases;
  return json;
}

Json baselines(const EvaluationRunOptions& options, const TokenShards& held_out, const Tokenizer& tokenizer,
               const EvaluationResult& result) {
  const TokenShards shards(options.baseline_from);
  shards.require_tokenizer(tokenizer.digest(), tokenizer.vocab_size());
  const NgramModel ngrams(shards, tokenizer, options.baseline_tokens, options.seed);
  const BaselineScores scores = score_baselines(ngrams, result.scored);
  Json json;
  json["unigram"] = baseline_json(scores.unigram, result, shards.is_text(), options.objective.next);
  json["unigram"]["smoothing"] = "add-one over the ordinary pieces";
  json["bigram"] = baseline_json(scores.bigram, result, shards.is_text(), options.objective.next);
  json["bigram"]["smoothing"] = fmt::format(
      "(count(left, token) + k p_unigram(token)) / (count(left) + k), k = {:g} by leave-one-out; left is the "
      "true token, which the model may not see",
      ngrams.bigram_prior());
  if (tokenizer.is_dna()) json["markov"] = markov_json(options, shards, held_out, tokenizer);
  json["tokens"] = ngrams.tokens();
  json["from"] = options.baseline_from;
  return json;
}

Json result_json(const EvaluationResult& result, const PretrainingObjective& objective, bool text) {
  Json json;
  const LossTerm& tokens = result.sums[LossMean::mlm];
  const std::string name = objective.next ? "clm" : "mlm";
  json[name + "_loss"] = objective.mlm ? Json(result.mlm_loss()) : Json(nullptr);
  json[name + "_accuracy"] =
      objective.mlm ? Json(static_cast<double>(tokens.correct) / static_cast<double>(tokens.count))
                    : Json(nullptr);
  json["perplexity"] = objective.mlm ? Json(std::exp(result.mlm_loss())) : Json(nullptr);
  if (objective.mlm) {
    append_bits(json, tokens.sum, result, text, objective.next);
  } else {
    json[text ? "bits_per_byte" : "bits_per_base"] = nullptr;
  }
  json[text ? "bits_definition" : "bits_per_base_definition"] = definition_of_bits(objective.next, text);
  if (!objective.next) {
    const auto sequences = static_cast<double>(result.sums[LossMean::sequence].count);
    json["nsp_loss"] = objective.nsp ? Json(result.sums[LossMean::sequence].sum / sequences) : Json(nullptr);
    json["nsp_accuracy"] =
        objective.nsp ? Json(static_cast<double>(result.sums[LossMean::sequence].correct) / sequences)
                      : Json(nullptr);
  }
  json["samples"] = result.samples;
  json["tokens"] = result.tokens;
  json[objective.next ? "predicted_tokens" : "masked_tokens"] = tokens.count;
  if (!objective.next) json["masks"] = objective.masks == Masks::all ? "all" : "80-10-10";
  if (objective.next && text) json["characters_covered"] = result.characters_covered;
  json[text ? "bytes_covered" : "bases_covered"] = result.bases_covered;
  return json;
}

Json buckets_json(const AttentionBuckets& buckets) {
  Json json;
  json["segments"] = buckets.segments;
  const std::vector<std::pair<std::string, std::int64_t>> groups{
      {"compressed", buckets.compressed}, {"memory", buckets.plain}, {"segment", buckets.own}};
  for (const auto& [name, rows] : groups) {
    if (rows > 0) json["rows"][name] = rows;
  }
  json["layers"] = Json::array();
  for (const std::vector<double>& layer : buckets.layers) {
    Json& of = json["layers"].emplace_back();
    for (std::size_t group = 0; group < groups.size(); ++group) {
      if (groups[group].second == 0) continue;
      const auto first = layer.begin() + static_cast<std::ptrdiff_t>(group) * AttentionBuckets::parts;
      of[groups[group].first] = std::vector<double>(first, first + AttentionBuckets::parts);
    }
  }
  json["definition"] =
      "mean weight over queries and heads that a sixth of the rows has, the oldest first; of whole segments "
      "after a full memory";
  return json;
}

}  // namespace

std::optional<EvaluationReport> run_evaluation(
    EvaluationRunOptions options, RankTeam& team,
    const std::function<std::unique_ptr<kernels::Backend>()>& make_backend) {
  const ModelFolder folder(options.model);
  const Tokenizer& tokenizer = folder.tokenizer();
  const ModelConfig& config = folder.config();
  const TokenShards shards(options.data);
  shards.require_tokenizer(tokenizer.digest(), tokenizer.vocab_size());
  if (options.length == 0) options.length = config.max_position_embeddings;
  if (options.length > config.max_position_embeddings) {
    throw_usage(message("`length` {}: {} has {} positions", options.length, options.model,
                        config.max_position_embeddings),
                message("leave `length` out"));
  }
  if (options.evaluation.attention_buckets && !reads_streams(config)) {
    throw_usage(
        message("`attention_buckets`: {} remembers nothing", options.model),
        "it is of models that read left to right with attention transformer-xl, compressive or adaptive-span");
  }
  options.objective.next = config.causal;
  if (config.causal && options.objective.masks == Masks::all) {
    throw_usage(message("`masks` all: {} reads left to right, and nothing is masked", options.model),
                message("leave `masks` out"));
  }
  // A random next sentence needs a second document.
  options.objective.nsp = options.objective.nsp && shards.document_count() > 1;

  const PretrainingBatches batches(shards, tokenizer, config, options.objective, options.length,
                                   options.seed);
  const bool streams = reads_streams(config);
  options.evaluation.batch =
      std::min(options.evaluation.batch,
               static_cast<std::int64_t>(streams ? shards.document_count() : batches.sampler().size()));
  options.evaluation.keep_scored = options.token_losses || !options.baseline_from.empty();
  options.evaluation.progress = true;
  const std::unique_ptr<kernels::Backend> backend = make_backend();
  const auto limits = [&](const ModelConfig&) {
    BatchLimits of_batch = batches.limits(options.evaluation.batch);
    if (streams) of_batch.streams = options.evaluation.batch;
    return of_batch;
  };
  LoadOptions load;
  load.head = pretraining_head(config);
  load.seed = options.seed;
  ModelOptions how;
  how.key_weights = options.evaluation.attention_buckets;
  const std::unique_ptr<Model> model = open_model(folder, {*backend, limits, how, load}).model;
  team.enter(
      {{"the program", sampled_digest("/proc/self/exe")},
       {"the command", options.provenance.command},
       {"the device", backend->arithmetic()},
       {"the model", folder.weights_digest()},
       {"the data", fmt::format("{} samples, {} tokens", batches.sampler().size(), shards.token_count())}});
  EvaluationResult result =
      streams ? evaluate_streams(*model, shards, tokenizer, options.length, options.seed, options.evaluation,
                                 team.ranks())
              : evaluate_pretraining(*model, batches, tokenizer, options.evaluation, team.ranks());
  team.leave();
  if (team.ranks().rank() != 0) return std::nullopt;

  Json json = result_json(result, batches.objective(), shards.is_text());
  if (options.evaluation.attention_buckets) json["attention_buckets"] = buckets_json(result.buckets);
  if (!options.baseline_from.empty()) json["baseline"] = baselines(options, shards, tokenizer, result);
  if (options.with_provenance) {
    options.provenance.inputs.push_back(model_input(options.model, folder.weights_digest()));
    options.provenance.inputs.push_back({"data", options.data, ""});
    json["provenance"] = Json::parse(provenance_json(options.provenance));
  }
  if (!options.token_losses) result.scored.clear();
  return EvaluationReport{json_text(json, 2) + "\n", result.tokens, std::move(result.scored),
                          options.provenance};
}

}  // namespace bigbird
