// Verbs that several processes run together, as mpirun and srun start them: their options, and how such a
// process differs from one that runs alone: threads, device, and who speaks.
#pragma once

#include <memory>
#include <string>

#include "apps/command_line.h"
#include "lib/core/error.h"
#include "lib/training/rank_team.h"

namespace bigbird::apps {

class RankOptions {
 public:
  // --ranks, --between-devices and --log-ranks.
  void add(Verb& verb);
  // After parsing, before a device is taken: meets the other ranks. From here on rank 0 alone speaks (with
  // --log-ranks all do), threads that were not asked for are the cores that a rank has for itself, and `cuda`
  // is the device of the rank. Error{environment}, or {usage} for a launcher and a choice that do not go
  // together.
  RankTeam& open(Verb& verb) const;
  // Verb::make_backend() of every rank; then the way between their devices.
  std::unique_ptr<kernels::Backend> make_backend(const Verb& verb) const;

 private:
  std::string choice_ = "auto";
  std::string between_devices_ = "auto";
  bool log_ = false;
};

// The ranks that a verb has opened; null: none.
RankTeam* running_team();
// Ends them; main calls it when the verb is done. `status`: what this process is about to end with.
void close_team(int status);

// Of an error that ended this process: what is to be said here (nothing where another rank says it), after
// the others have heard of it. Does not return where they can only be ended by force; `report` then prints
// the error and gives the exit status.
struct RankFailure {
  Error error;
  bool said_here = true;
};
RankFailure share_failure(const Error& error, int (*report)(const Error&));

}  // namespace bigbird::apps
