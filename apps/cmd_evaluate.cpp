// `bigbird evaluate`: how well a model predicts held-out shards, beside n-gram baselines.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/command_line.h"
#include "apps/rank_options.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/ordered_map.h"
#include "lib/data/token_shards.h"
#include "lib/io/files/file.h"
#include "lib/io/files/file_digest.h"
#include "lib/io/files/provenance.h"
#include "lib/model/folder/open_model.h"
#include "lib/training/evaluator.h"
#include "lib/training/ngram_baselines.h"

namespace bigbird::apps {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

struct EvaluateCommand {
  std::string model;
  std::string data;
  std::string baseline_from;
  std::int64_t length = 0;
  EvaluationOptions evaluation;
  std::uint64_t baseline_tokens = 20'000'000;
  PretrainingObjective objective;
};

const char* const bits_definition =
    "sum over the masked tokens of -log2 p(true token), over the bases that these tokens stand for (N bases "
    "count; [UNK] and special pieces are never masked)";
const char* const text_bits_definition =
    "sum over the masked tokens (whole words) of -log2 p(true token): over the tokens, and over the bytes of "
    "text that they stand for ([UNK] and special pieces are never masked)";

// Of DNA bits for each base; of text for each token (the paper's \"BPC\") and each byte.
void append_bits(Json& json, double nats, const EvaluationResult& result, bool text) {
  const double bits = nats / std::log(2.0);
  if (text) json["bits_per_token"] = bits / static_cast<double>(result.sums[LossMean::mlm].count);
  json[text ? "bits_per_byte" : "bits_per_base"] = bits / static_cast<double>(result.bases_covered);
}

Json baseline_json(double nats, const EvaluationResult& result, bool text) {
  Json json;
  append_bits(json, nats, result, text);
  json["mlm_loss"] = nats / static_cast<double>(result.sums[LossMean::mlm].count);
  return json;
}

Json baselines(const EvaluateCommand& options, const Tokenizer& tokenizer, const EvaluationResult& result,
               std::uint64_t seed) {
  const TokenShards shards(options.baseline_from);
  shards.require_tokenizer(tokenizer.digest(), tokenizer.vocab_size());
  const NgramModel ngrams(shards, tokenizer, options.baseline_tokens, seed);
  const BaselineScores scores = score_baselines(ngrams, result.scored);
  Json json;
  json["unigram"] = baseline_json(scores.unigram, result, shards.is_text());
  json["unigram"]["smoothing"] = "add-one over the ordinary pieces";
  json["bigram"] = baseline_json(scores.bigram, result, shards.is_text());
  json["bigram"]["smoothing"] = fmt::format(
      "(count(left, token) + k p_unigram(token)) / (count(left) + k), k = {:g} by leave-one-out; left is the "
      "true token, which the model may not see",
      ngrams.bigram_prior());
  json["tokens"] = ngrams.tokens();
  json["from"] = options.baseline_from;
  return json;
}

Json result_json(const EvaluationResult& result, const PretrainingObjective& objective, bool text) {
  Json json;
  json["mlm_loss"] = objective.mlm ? Json(result.mlm_loss()) : Json(nullptr);
  json["mlm_accuracy"] = objective.mlm ? Json(static_cast<double>(result.sums[LossMean::mlm].correct) /
                                              static_cast<double>(result.sums[LossMean::mlm].count))
                                       : Json(nullptr);
  json["perplexity"] = objective.mlm ? Json(std::exp(result.mlm_loss())) : Json(nullptr);
  if (objective.mlm) {
    append_bits(json, result.sums[LossMean::mlm].sum, result, text);
  } else {
    json[text ? "bits_per_byte" : "bits_per_base"] = nullptr;
  }
  json[text ? "bits_definition" : "bits_per_base_definition"] = text ? text_bits_definition : bits_definition;
  const auto sequences = static_cast<double>(result.sums[LossMean::sequence].count);
  json["nsp_loss"] = objective.nsp ? Json(result.sums[LossMean::sequence].sum / sequences) : Json(nullptr);
  json["nsp_accuracy"] = objective.nsp
                             ? Json(static_cast<double>(result.sums[LossMean::sequence].correct) / sequences)
                             : Json(nullptr);
  json["samples"] = result.samples;
  json["tokens"] = result.tokens;
  json["masked_tokens"] = result.sums[LossMean::mlm].count;
  json[text ? "bytes_covered" : "bases_covered"] = result.bases_covered;
  return json;
}

}  // namespace

int cmd_evaluate(int argc, char** argv) {
  Verb verb("evaluate", "Measure a pretrained model on held-out token shards; JSON on stdout.",
            {"bigbird evaluate -m run/final --data held_out --baseline-from train",
             "bigbird evaluate -m run/checkpoint-5000 --data held_out --samples 200 --no-nsp"});
  EvaluateCommand options;
  bool no_nsp = false;
  CLI::App& app = verb.app();
  app.add_option("-m,--model", options.model, "Model folder")->required()->type_name("MODEL");
  app.add_option("--data", options.data, "Prefix of the held-out token shards")->required()->type_name("P");
  app.add_option("--baseline-from", options.baseline_from,
                 "Prefix of the training shards, to fit n-gram baselines")
      ->type_name("P");
  app.add_option("--length", options.length, "Most tokens of a sample; 0 is the model's number of positions")
      ->transform(count_suffix());
  app.add_option("--batch", options.evaluation.batch, "Sequences at a time; the result does not depend on it")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--samples", options.evaluation.max_samples, "A seeded choice of so many samples; 0 is all")
      ->transform(count_suffix());
  app.add_option("--mask-probability", options.objective.mask_probability, "Share of tokens to predict");
  app.add_option("--baseline-tokens", options.baseline_tokens,
                 "Training tokens to count for the baselines; 0 is all")
      ->transform(count_suffix());
  app.add_flag("--no-nsp", no_nsp, "Leave next-sentence prediction out: samples are [CLS] tokens [SEP]");
  verb.add_seed();
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  verb.add_random_mode();
  RankOptions ranks;
  ranks.add(verb);
  if (!verb.parse(argc, argv)) return 0;
  RankTeam& team = ranks.open(verb);

  const ModelFolder folder(options.model);
  const ModelConfig& config = folder.config();
  const Tokenizer& tokenizer = folder.tokenizer();
  const TokenShards shards(options.data);
  shards.require_tokenizer(tokenizer.digest(), tokenizer.vocab_size());
  if (options.length == 0) options.length = config.max_position_embeddings;
  if (options.length > config.max_position_embeddings) {
    throw_usage(fmt::format("--length {}: {} has {} positions", options.length, options.model,
                            config.max_position_embeddings),
                "leave --length out");
  }
  // A random next sentence needs a second document.
  options.objective.nsp = !no_nsp && shards.document_count() > 1;

  const PretrainingBatches batches(shards, tokenizer, config, options.objective, options.length, verb.seed());
  options.evaluation.batch =
      std::min(options.evaluation.batch, static_cast<std::int64_t>(batches.sampler().size()));
  options.evaluation.keep_scored = !options.baseline_from.empty();
  options.evaluation.progress = true;
  const std::unique_ptr<kernels::Backend> backend = ranks.make_backend(verb);
  const auto limits = [&](const ModelConfig&) { return batches.limits(options.evaluation.batch); };
  LoadOptions load;
  load.head = HeadType::pretraining;
  load.seed = verb.seed();
  const std::unique_ptr<Model> model = open_model(folder, {*backend, limits, {}, load}).model;
  team.enter(
      {{"the program", sampled_digest("/proc/self/exe")},
       {"the command", verb.command()},
       {"the device", backend->arithmetic()},
       {"the model", folder.weights_digest()},
       {"the data", fmt::format("{} samples, {} tokens", batches.sampler().size(), shards.token_count())}});
  const EvaluationResult result =
      evaluate_pretraining(*model, batches, tokenizer, options.evaluation, team.ranks());
  team.leave();
  if (team.ranks().rank() != 0) {
    team.finish();
    return 0;
  }

  Json json = result_json(result, batches.objective(), shards.is_text());
  if (!options.baseline_from.empty()) json["baseline"] = baselines(options, tokenizer, result, verb.seed());
  if (verb.provenance()) {
    Provenance provenance;
    provenance.version = bigbird_version();
    provenance.command = verb.command();
    provenance.seed = verb.seed();
    provenance.inputs.push_back(model_input(options.model, folder.weights_digest()));
    provenance.inputs.push_back({"data", options.data, ""});
    json["provenance"] = Json::parse(provenance_json(provenance));
  }
  OutputStream out("-");
  out.write(json_text(json, 2) + "\n");
  out.close();
  team.finish();
  verb.set_throughput(static_cast<double>(result.tokens), "tokens");
  return 0;
}

}  // namespace bigbird::apps
