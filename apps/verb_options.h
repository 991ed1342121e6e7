// The options that verbs share, and what is made of them: one description of each for all.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "apps/random_mode_options.h"
#include "kernels/backend.h"

namespace bigbird::kernels {
struct RefusedProducts;
}

namespace bigbird::apps {

class VerbOptions {
 public:
  CLI::App& app() { return app_; }

  // Shared options; call those that the verb takes, before parse().
  void add_threads();                      // -@,--threads (0 = all cores): sets kernels::set_thread_count
  void add_seed(std::uint64_t value = 1);  // --seed
  void add_device();                       // --device auto|cpu|cuda[:N]: see make_backend()
  void add_precision();  // --precision auto|fp32|tf32|bf16; verbs without it compute in fp32
  // --random-mode, --plan: attention instead of that of the model folders, for all that are opened after
  // parse().
  void add_random_mode();
  void add_nondeterministic();  // --nondeterministic, for verbs that train
  // --stop-before TIME, for verbs that go on with --resume.
  void add_stop_before(const std::string& group);
  void add_force();  // --force: an output folder that holds a run may be overwritten

  // Whether the number of threads was left open.
  bool takes_all_cores() const { return has_threads_ && threads_ == 0; }
  std::uint64_t seed() const { return seed_; }
  // The device and precision that were asked for, said in one line of the log. auto is the first CUDA device
  // that can be used, else the cpu; and bf16 there, fp32 here. Error{environment} for a CUDA device that
  // cannot be used, Error{usage} for a precision that the device does not have.
  std::unique_ptr<kernels::Backend> make_backend() const;
  bool force() const { return force_; }
  const RandomModeOptions& random_mode() const { return random_mode_; }

 protected:
  VerbOptions(std::string verb, const std::string& sentence);
  // Before the console starts: threads, device and attention as they were parsed.
  void apply_options();
  // Once it can say so: what Slurm granted, and when the work stops for its end.
  void apply_job_limits() const;
  // The device that has no number is then the rank's own.
  void set_rank_on_machine(int rank) { rank_on_machine_ = rank; }

  std::string verb_;  // as typed after `bigbird`
  CLI::App app_;
  std::shared_ptr<kernels::RefusedProducts> refused_;  // of the backends that were made here

 private:
  std::string device_ = "auto";
  std::string precision_ = "fp32";
  RandomModeOptions random_mode_;
  std::uint64_t seed_ = 1;
  int threads_ = 0;
  bool force_ = false;
  bool nondeterministic_ = false;
  bool has_device_ = false;
  bool has_threads_ = false;
  std::string stop_before_;
  int rank_on_machine_ = 0;
};

}  // namespace bigbird::apps
