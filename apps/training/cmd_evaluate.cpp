// `bigbird evaluate`: how well a model predicts held-out shards, beside n-gram baselines and, of DNA, Markov
// models.
#include <optional>
#include <string>

#include "apps/command_line.h"
#include "apps/rank_options.h"
#include "apps/scoring_options.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/training/evaluation_run.h"

namespace bigbird::apps {

namespace {

struct EvaluateCommand {
  EvaluationRunOptions options;
  bool no_nsp = false;
  std::string output = "-", losses;
  std::string masks = "80-10-10";
};

void add_options(Verb& verb, EvaluateCommand& typed) {
  auto& [options, no_nsp, output, losses, masks] = typed;
  verb.add_required("-m,--model MODEL", options.model, "Model folder");
  verb.add_required("--data P", options.data, "Prefix of the held-out token shards");
  verb.add_option(
      "--baseline-from P", options.baseline_from,
      "Training shards, by their prefix, to fit n-grams of tokens and, of DNA, Markov models of bases");
  verb.add_option("-o,--output FILE", output, "File of the JSON; - is stdout");
  verb.with_word(verb.add_count("--length", options.length,
                                "Most tokens of a sample (default: the model's number of positions)"),
                 "auto", "0");
  verb.add_option("--batch", options.evaluation.batch,
                  "Sequences at a time; the result does not depend on it", CLI::Range(1, 1 << 20));
  verb.with_word(verb.add_count("--samples", options.evaluation.max_samples,
                                "Samples that are measured, a seeded choice of so many, or all"),
                 "all", "0");
  verb.add_option("--mask-probability", options.objective.mask_probability, "Fraction of tokens to predict");
  verb.add_option(
      "--masks", masks,
      "Replacement of a token that is to be predicted: [MASK], another one or itself, as in training "
      "(80-10-10), or [MASK] always (all): only then the model knows no more of it than n-grams do",
      CLI::IsMember({"80-10-10", "all"}));
  verb.with_word(verb.add_count("--baseline-tokens", options.baseline_tokens,
                                "Training tokens to count for the baselines, or all"),
                 "all", "0");
  verb.add_option("--losses FILE", losses,
                  "TSV of what every predicted token costs, in nats: number of its sample (of a model with a "
                  "memory: document), its position there, [CLS] being 0, and its id");
  verb.leave_out_of_provenance("--losses");
  verb.add_flag("--attention-buckets", options.evaluation.attention_buckets,
                "Print how much weight keys have by their age, where a model remembers; on the CPU");
  verb.add_flag("--no-nsp", no_nsp, "Leave next-sentence prediction out: samples are [CLS] tokens [SEP]");
}

}  // namespace

int cmd_evaluate(int argc, char** argv) {
  Verb verb("evaluate",
            "Measure a pretrained model on held-out token shards, compared with n-grams of tokens and Markov "
            "models of bases.",
            {("bigbird evaluate -m demo-output/pretrain/final --data demo-output/valid --baseline-from "
              "demo-output/train --samples 200"),
             ("bigbird evaluate -m demo-output/pretrain/final --data demo-output/valid --masks all "
              "--samples 200 --no-nsp")});
  EvaluateCommand typed;
  add_options(verb, typed);
  verb.add_seed();
  add_machine(verb);
  RankOptions ranks;
  ranks.add(verb);
  if (!verb.parse(argc, argv)) return 0;
  auto& [options, no_nsp, output, losses, masks] = typed;
  options.objective.nsp = !no_nsp;
  if (masks == "all") options.objective.masks = Masks::all;
  options.seed = verb.seed();
  options.with_provenance = verb.provenance();
  options.provenance = verb.made_from();
  RankTeam& team = ranks.open(verb);
  OutputSet outputs({{"--output", output}, {"--losses", losses}});
  options.token_losses = !losses.empty();
  const std::optional<EvaluationReport> report =
      run_evaluation(options, team, [&] { return ranks.make_backend(verb); });
  if (report && !losses.empty())
    write_token_losses(losses, report->scored, verb.head_of(losses, report->provenance));
  if (report) write_output(output, report->json);
  if (report) outputs.commit();
  team.finish();
  if (report) verb.set_throughput(static_cast<double>(report->tokens), "tokens");
  return 0;
}

}  // namespace bigbird::apps
