// lib/training holds one training run, whatever it trains: options, batches, optimizer, schedule, the loop,
// run folders, validation, ranks. Tasks come in by TrainingTask; none of them is known here.
//
// An evaluation of a pretrained model folder on held-out token shards (evaluator.h), beside n-gram baselines
// (of DNA beside Markov models of its bases too, markov_models.h), as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/data/pretrain_sampler.h"
#include "lib/io/files/provenance.h"
#include "lib/training/evaluator.h"
#include "lib/training/rank_team.h"

namespace bigbird {

struct EvaluationRunOptions {
  std::string model;          // folder
  std::string data;           // prefix of the held-out token shards
  std::string baseline_from;  // prefix of the training shards; empty: no baselines
  std::int64_t length = 0;    // most tokens of a sample; 0: the model's number of positions
  EvaluationOptions evaluation;
  bool token_losses = false;                   // wanted in EvaluationReport::scored
  std::uint64_t baseline_tokens = 20'000'000;  // that are counted; 0: all
  PretrainingObjective objective;              // nsp needs shards of more than one document
  std::uint64_t seed = 1;
  bool with_provenance = true;  // the model and the data are added to its inputs
  Provenance provenance;
};

struct EvaluationReport {
  std::string json;  // one object, indented
  std::uint64_t tokens = 0;
  std::vector<ScoredToken> scored;  // where token_losses are asked for
  Provenance provenance;            // with the model and the data
};

// Collective: ranks share the batches, and the first one has the report. Folder and data are looked at before
// the device is made. Error{bad_input} for shards of another tokenizer; Error{usage} for a length beyond the
// model's positions.
std::optional<EvaluationReport> run_evaluation(
    EvaluationRunOptions options, RankTeam& team,
    const std::function<std::unique_ptr<kernels::Backend>()>& make_backend);

}  // namespace bigbird
