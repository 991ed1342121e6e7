// Shared training options; see training_options.h.
#include "apps/training_options.h"

#include <fmt/format.h>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {
namespace {
constexpr const char* training_group = "Training";
constexpr const char* checkpoint_group = "Checkpoints and validation";
}  // namespace

void add_optimizer_options(CLI::App& app, TypedSchedule& typed, double& learning_rate,
                           OptimizerOptions& optimizer) {
  app.add_option("--lr", learning_rate, "Highest learning rate")->group(training_group);
  app.add_option("--warmup", typed.warmup, "Steps of warm-up; default 10 % of the steps, at most 10000")
      ->transform(count_suffix())
      ->default_str("")
      ->group(training_group);
  app.add_option("--schedule", typed.schedule,
                 "Linear decay from step 0 (google) or from the end of warm-up (huggingface)")
      ->group(training_group);
  app.add_option("--optimizer", typed.optimizer, "AdamW without (google) or with bias correction (torch)")
      ->group(training_group);
  app.add_option("--beta1", optimizer.beta1, "Decay of the first moment")
      ->check(CLI::Range(0.0, 0.9999999))
      ->group(training_group);
  app.add_option("--beta2", optimizer.beta2, "Decay of the second moment")
      ->check(CLI::Range(0.0, 0.9999999))
      ->group(training_group);
  app.add_option("--epsilon", optimizer.epsilon,
                 "Of AdamW; 0 is the optimizer's own: 1e-6 (google), 1e-8 (torch)")
      ->check(CLI::NonNegativeNumber)
      ->group(training_group);
  app.add_option("--weight-decay", optimizer.weight_decay, "Decoupled; not for biases and LayerNorm")
      ->check(CLI::NonNegativeNumber)
      ->group(training_group);
  app.add_option("--clip-norm", optimizer.clip_norm, "Cut the gradient to this norm; 0 never (as published)")
      ->check(CLI::NonNegativeNumber)
      ->group(training_group);
}

void add_machine_options(CLI::App& app, bool& grad_checkpoint, std::size_t& memory_limit, bool& debug_nan) {
  app.add_flag("--grad-checkpoint", grad_checkpoint, "Recompute activations in backward: slower, less memory")
      ->group(training_group);
  app.add_option("--memory-limit", memory_limit,
                 "Bytes the run may take, of the device's memory where it has its own; 0 is what is free")
      ->transform(count_suffix())
      ->group(training_group);
  app.add_flag("--debug-nan", debug_nan,
               "When a loss or gradient is NaN or infinite, search for the layer that it comes from")
      ->group(training_group);
}

void add_checkpoint_options(CLI::App& app, std::uint64_t& save_every, std::uint64_t& keep_last,
                            std::uint64_t& keep_best, std::uint64_t& eval_every, const std::string& eval_help,
                            bool& resume) {
  app.add_option("--save-every", save_every, "Steps between checkpoints; the last step is always saved")
      ->transform(count_suffix())
      ->group(checkpoint_group);
  app.add_option("--keep-last", keep_last, "Newest checkpoints to keep; 0 keeps all")
      ->group(checkpoint_group);
  app.add_option("--keep-best", keep_best, "Checkpoints of lowest validation loss to keep beside them")
      ->group(checkpoint_group);
  app.add_option("--eval-every", eval_every, eval_help)->transform(count_suffix())->group(checkpoint_group);
  app.add_flag("--resume", resume,
               "Go on from the newest checkpoint in the output folder, exactly; also on another device, and "
               "with a warning in another precision")
      ->group(checkpoint_group);
}

void add_finetune_options(CLI::App& app, TypedSchedule& typed, FinetuneOptions& options, bool& resume,
                          const std::string& length_help) {
  app.add_option("--init", options.init, "Model folder to begin from")->required()->type_name("MODEL");
  app.add_option("-o,--output", options.run, "Run folder to write")->required()->type_name("RUN");
  app.add_option("--length", options.length, "Tokens every window is padded or cut to; 0 is " + length_help)
      ->transform(count_suffix())
      ->group(training_group);
  app.add_option("--batch", options.batch, "Windows of one update")
      ->transform(count_suffix())
      ->group(training_group);
  app.add_option("--accumulate", options.accumulate, "Parts that the batch is cut into, to save memory")
      ->group(training_group);
  app.add_option("--epochs", options.epochs, "Passes over the training windows")->group(training_group);
  app.add_option("--steps", options.steps, "Updates; 0 is --epochs")
      ->transform(count_suffix())
      ->group(training_group);
  app.add_option("--dropout", options.dropout, "Dropout of the hidden states; negative is the model's own")
      ->check(CLI::Range(-1.0, 0.999))
      ->group(training_group);
  add_optimizer_options(app, typed, options.learning_rate, options.optimizer);
  add_machine_options(app, options.grad_checkpoint, options.memory_limit, options.debug_nan);
  add_checkpoint_options(app, options.save_every, options.keep_last, options.keep_best, options.eval_every,
                         "Steps between validations; 0 is once an epoch", resume);
}

void finish_finetune_options(const Verb& verb, const CLI::App& app, const TypedSchedule& typed, bool resume,
                             const std::string& fasta, FinetuneOptions& options) {
  options.start = run_start(resume, verb.force());
  options.schedule = parse_schedule_form(typed.schedule);
  options.optimizer.variant = parse_optimizer_variant(typed.optimizer);
  options.warmup = typed_warmup(app, typed);
  options.seed = verb.seed();
  options.config_toml = verb.resolved_toml();
  if (!verb.provenance()) return;
  options.comments = provenance_lines({bigbird_version(), verb.command(), verb.seed(), fasta, {}});
  options.command = verb.command();
}

void say_finetuned(Verb& verb, const FinetuneOptions& options, const TrainingSummary& summary) {
  log_info(fmt::format("{}: {} steps, last loss {:.4f}; the model is {}/final", options.run, summary.steps,
                       summary.loss, options.run));
  verb.set_throughput(static_cast<double>(summary.tokens), "tokens");
}

std::optional<std::uint64_t> typed_warmup(const CLI::App& app, const TypedSchedule& typed) {
  return app.count("--warmup") > 0 ? std::optional<std::uint64_t>(typed.warmup) : std::nullopt;
}

RunStart run_start(bool resume, bool force) {
  if (resume && force) throw_usage("--resume and --force contradict each other", "keep one of them");
  if (resume) return RunStart::resume;
  return force ? RunStart::overwrite : RunStart::fresh;
}

}  // namespace bigbird::apps
