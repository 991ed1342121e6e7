// `bigbird cluster plan`: what scoring a variant file costs, and into how many shards to cut it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/command_line.h"
#include "apps/job_limits.h"
#include "apps/variant_options.h"
#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/genomics/variants/cost.h"
#include "lib/parts/sharded_verbs.h"

namespace bigbird::apps {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

constexpr double seconds_of_an_hour = 3600;

// Why there are not more shards; empty: there are as many as were wanted.
std::string limit_of(const ShardAdvice& advice) {
  switch (advice.limit) {
    case ShardAdvice::Limit::array:
      return fmt::format("an array has at most {} tasks", ShardAdvice::most);
    case ShardAdvice::Limit::chunks:
      return "a shard has one chunk of records at least; a smaller --chunk-size makes more of them";
    case ShardAdvice::Limit::none:
      break;
  }
  return {};
}

// "58 s", "12 min", "3 h 20 min", "9 days".
std::string rough_duration(double seconds) {
  constexpr double minute = 60, day = 86'400;
  if (seconds < 2 * minute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * seconds_of_an_hour) return fmt::format("{:.0f} min", seconds / minute);
  if (seconds < 2 * day) {
    const double minutes = std::round(seconds / minute);
    return fmt::format("{:.0f} h {:.0f} min", std::floor(minutes / 60), std::fmod(minutes, 60));
  }
  return fmt::format("{:.1f} days", seconds / day);
}

// "0:30:00", as sbatch takes it.
std::string limit_text(double seconds) {
  const auto minutes = static_cast<std::int64_t>(std::ceil(seconds / 60));
  return fmt::format("{}:{:02}:00", minutes / 60, minutes % 60);
}

std::string sbatch_options(const ShardAdvice& advice, int threads) {
  return fmt::format("--shards {} --cpus-per-task {} --mem {}M --time {}", advice.shards, threads,
                     advice.memory_mib, limit_text(advice.limit_seconds));
}

struct Plan {
  VariantCost cost;
  ShardAdvice advice;
  double startup = 0;
  int threads = 1;
  std::string command;  // that would be run with these options
};

std::string plan_text(const Plan& plan) {
  const VariantCost& cost = plan.cost;
  const auto share = [](std::uint64_t part, std::uint64_t all) {
    return all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
  };
  const VariantCost::Timed sample = cost.whole_sample();
  const bool all = cost.judged_chunks == cost.chunks;
  const std::string about = all ? "" : "about ";
  const double work = cost.passes() * cost.seconds_per_pass();
  std::string text = fmt::format(
      "records         {} in {} chunk{}{}\n"
      "alleles         {}{:.0f}, of which {:.1f} % can be scored\n"
      "forward passes  {}{:.0f}; {:.1f} % of those asked for are shared\n"
      "timed sample    {} passes in {:.1f} s on {} threads: {:.4f} s each ({:.4f} to {:.4f})\n"
      "start-up        {:.1f} s a task: model and genome\n"
      "memory          {:.0f} MiB a task at the most\n"
      "in one task     {}, {:.2f} core-hours\n\n",
      cost.records, cost.chunks, cost.chunks == 1 ? "" : "s",
      all ? "" : fmt::format(", {} of them looked at", cost.judged_chunks), about, cost.alleles(),
      share(cost.judged.scored, cost.judged.alleles), about, cost.passes(),
      share(cost.judged.passes_asked - cost.judged.passes, cost.judged.passes_asked), sample.passes,
      sample.seconds, plan.threads, cost.seconds_per_pass(), cost.fastest(), cost.slowest(), plan.startup,
      static_cast<double>(cost.peak_memory) / (1 << 20), rough_duration(plan.startup + work),
      (plan.startup + work) * plan.threads / seconds_of_an_hour);
  const ShardAdvice& advice = plan.advice;
  const std::string limit = limit_of(advice);
  text += fmt::format("{} shard{} of about {}, {:.2f} core-hours{}:\n", advice.shards,
                      advice.shards == 1 ? "" : "s", rough_duration(advice.task_seconds), advice.core_hours,
                      limit.empty() ? "" : " (" + limit + ")");
  return text + fmt::format("bigbird cluster sbatch {} \\\n  {} -o OUT > submit.sh\n",
                            sbatch_options(advice, plan.threads), plan.command);
}

Json plan_json(const Plan& plan) {
  const VariantCost& cost = plan.cost;
  Json json;
  json["records"] = cost.records;
  json["chunks"] = cost.chunks;
  json["judged_chunks"] = cost.judged_chunks;
  json["alleles"] = std::llround(cost.alleles());
  json["scored_alleles"] = std::llround(cost.scored_alleles());
  json["passes"] = std::llround(cost.passes());
  json["sample"] = Json::array();
  for (const VariantCost::Timed& group : cost.sample)
    json["sample"].push_back(
        {{"records", group.records}, {"passes", group.passes}, {"seconds", group.seconds}});
  json["seconds_per_pass"] = cost.seconds_per_pass();
  json["startup_seconds"] = plan.startup;
  json["threads"] = plan.threads;
  json["peak_memory_bytes"] = cost.peak_memory;
  const std::string limit = limit_of(plan.advice);
  json["shards"] = plan.advice.shards;
  json["limited_by"] = limit.empty() ? Json() : Json(limit);
  json["task_seconds"] = plan.advice.task_seconds;
  json["core_hours"] = plan.advice.core_hours;
  json["memory_mib"] = plan.advice.memory_mib;
  json["time_limit_seconds"] = plan.advice.limit_seconds;
  json["sbatch_options"] = sbatch_options(plan.advice, plan.threads);
  json["command"] = plan.command;
  return json;
}

}  // namespace

int cmd_cluster_plan(int argc, char** argv) {
  Verb verb(
      "cluster plan",
      "Estimate what scoring a VCF costs, and into how many shards to cut it.\n\nIt runs and times a sample.",
      {("bigbird cluster plan -m demo-output/chromatin-run/final -f "
        "demo-output/genome/genome.fa.gz demo-output/genome/variants.vcf.gz"),
       ("bigbird cluster plan -m demo-output/chromatin-run/final -f "
        "demo-output/genome/genome.fa.gz demo-output/genome/variants.vcf.gz --sample-time 5s "
        "--task-time 2h -@ 1")});
  VariantOptions shared;
  std::string sample_time = "1m", task_time = "30m";
  bool as_json = false;
  shared.add(verb, false);
  shared.add_language(verb, true);
  const OptionGroup group(verb, "Plan");
  verb.add_option("--sample-time TIME", sample_time, "Time for which a sample of the records is run, about");
  verb.add_option("--task-time TIME", task_time, "Time that a shard should take");
  verb.add_flag("--json", as_json, "Print JSON instead of lines");
  for (const char* own : {"--sample-time", "--task-time"}) verb.leave_out_of_provenance(own);
  const auto begin = std::chrono::steady_clock::now();
  if (!verb.parse(argc, argv)) return 0;

  VariantCostOptions options;
  const std::int64_t language = shared.language_window(verb);
  options.scoring = shared.scoring(language);
  options.seconds = static_cast<double>(parse_duration(sample_time, "--sample-time"));
  const auto task_seconds = static_cast<double>(parse_duration(task_time, "--task-time"));
  if (task_seconds < 1) throw_usage("--task-time 0: a task takes some time", "30m, 2h");
  const auto backend = verb.make_backend(shared.models());
  Plan plan;
  const auto cost_with = [&](const auto& scorer) {
    plan.startup = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return variant_cost(options, *scorer);
  };
  plan.cost = language > 0 ? cost_with(shared.make_language_scorer(*backend))
                           : cost_with(shared.make_scorer(*backend));
  plan.startup += plan.cost.startup_seconds;
  plan.threads = kernels::thread_count();
  plan.advice = advise_shards(plan.cost, plan.startup, task_seconds, plan.threads);
  // "bigbird cluster plan ..." as typed, of the verb that is planned.
  const ShardedVerb& planned = *find_sharded_verb("variants");
  const std::string own = "bigbird cluster plan", json = " --json";
  plan.command = planned.name + verb.command().substr(own.size());
  if (const std::size_t at = plan.command.find(json); at != std::string::npos)
    plan.command.erase(at, json.size());
  // No content, but memory and speed are those with it.
  if (const CLI::Option* batch = verb.app().get_option("--batch-tokens"); batch->count() > 0)
    plan.command += " --batch-tokens " + batch->as<std::string>();
  std::cout << (as_json ? json_text(plan_json(plan), 2) + "\n" : plan_text(plan));
  verb.set_throughput(static_cast<double>(plan.cost.whole_sample().passes), "passes");
  return 0;
}

}  // namespace bigbird::apps
