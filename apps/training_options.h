// Options that every fine-tuning and training verb takes under the same names and in the same groups.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "apps/command_line.h"
#include "lib/tasks/finetuning.h"
#include "lib/training/optimizer.h"
#include "lib/training/run_folder.h"
#include "lib/training/schedule.h"

namespace bigbird::apps {

// Bound to the fields of a verb's own options by add_optimizer_options() and add_run_options(), with those
// fields' values as defaults; read after parsing.
struct TypedSchedule {
  std::string schedule = "google";
  std::string optimizer = "google";
  std::uint64_t warmup = 0;
};

// --lr, --warmup, --schedule, --optimizer, --beta1, --beta2, --epsilon, --weight-decay, --clip-norm.
void add_optimizer_options(CLI::App& app, TypedSchedule& typed, double& learning_rate,
                           OptimizerOptions& optimizer);
// --grad-checkpoint, --memory-limit, --debug-nan.
void add_machine_options(CLI::App& app, bool& grad_checkpoint, std::size_t& memory_limit, bool& debug_nan);
// --save-every, --keep-last, --keep-best, --eval-every, --resume.
void add_checkpoint_options(CLI::App& app, std::uint64_t& save_every, std::uint64_t& keep_last,
                            std::uint64_t& keep_best, std::uint64_t& eval_every, const std::string& eval_help,
                            bool& resume);

// What a fine-tuning verb takes beside its data: --init, -o, --length, --batch, --accumulate, --epochs,
// --steps, --dropout, and all of the above. `length_help` says what --length 0 is.
void add_finetune_options(CLI::App& app, TypedSchedule& typed, FinetuneOptions& options, bool& resume,
                          const std::string& length_help);

// After parsing: the rest of the options, from what was typed and what the verb knows; and provenance, with
// `fasta` where there is one.
void finish_finetune_options(const Verb& verb, const CLI::App& app, const TypedSchedule& typed, bool resume,
                             const std::string& fasta, FinetuneOptions& options);
// The closing lines of such a verb.
void say_finetuned(Verb& verb, const FinetuneOptions& options, const TrainingSummary& summary);

// --warmup, when it was given.
std::optional<std::uint64_t> typed_warmup(const CLI::App& app, const TypedSchedule& typed);
// Error{usage} when --resume and --force come together.
RunStart run_start(bool resume, bool force);

}  // namespace bigbird::apps
