// The ranks of a run as its tasks see them: what keeps them together, and what becomes of an error.
//
// A run is prepared by every rank for itself (options, files, models), and then they work in step: each waits
// for the others in every update. enter() is the door between the two. Before it a rank may fail alone: it
// says so in fail(), where the others say in enter() that they are ready, and all end with one message.
// Behind it an error of one rank leaves the others waiting: who handles it prints it and calls
// Ranks::end_all(), which is what apps/rank_options.h does. An error that every rank meets alike (a loss that
// is not finite, a stop) is thrown by throw_together().
#pragma once

#include <map>
#include <memory>
#include <string>

#include "kernels/backend.h"
#include "kernels/ranks/ranks.h"
#include "lib/core/error.h"

namespace bigbird {

// What all ranks throw alike: one of them says it.
class ErrorOfAllRanks : public Error {
 public:
  explicit ErrorOfAllRanks(const Error& error) : Error(error) {}
};

class RankTeam {
 public:
  explicit RankTeam(std::unique_ptr<kernels::Ranks> ranks) : ranks_(std::move(ranks)) {}

  kernels::Ranks& ranks() { return *ranks_; }
  bool in_step() const { return in_step_; }
  bool finished() const { return finished_; }

  // Collective. `facts`: what must be the same everywhere, "learning_rate" -> "0.0001". Throws the same
  // ErrorOfAllRanks on all ranks: where some have failed, that of the first of them ("rank 3: ..."; as it is
  // when all failed with it); {usage} where a rank has other facts than rank 0, naming the rank, the fact and
  // both values.
  void enter(const std::map<std::string, std::string>& facts);
  // In place of enter(), for a rank that cannot go on.
  [[noreturn]] void fail(const Error& error);
  // More facts, of ranks in step.
  void agree(const std::map<std::string, std::string>& facts);
  // Collective: this work in step is done on all ranks; other may follow.
  void leave();
  // In place of another enter(): nothing follows.
  void finish();
  // Collective, too: a launcher may end the others as soon as one has gone, so they wait for the slowest.
  [[noreturn]] void throw_together(const Error& error);

 private:
  void meet(const std::string& mine);
  void wait_for_all();

  std::unique_ptr<kernels::Ranks> ranks_;
  bool in_step_ = false;
  bool finished_ = false;
};

// How the memories of the ranks' devices are copied to each other.
enum class BetweenDevices {
  automatic,  // by NCCL where every rank has it, else as `host`
  nccl,
  host,  // by way of the program's memory
};
std::string name_of(BetweenDevices way);
// Error{usage} listing the names.
BetweenDevices parse_between_devices(const std::string& name);

// Collective, before enter(), of ranks that each have made their backend: chooses the way between their
// devices and opens it (Ranks::use); nothing of backends in the program's memory. Ranks whose ways, NCCLs or
// kinds of device differ, or that share a device, are ErrorOfAllRanks; a rank without NCCL that has to have
// it throws Error{environment} of its own, for fail().
void connect_devices(RankTeam& team, const kernels::Backend& backend, BetweenDevices way);

// The ranks of a team; of none this process alone.
kernels::Ranks& ranks_of(RankTeam* team);
// Throws an error that every rank of the team, or the one process, has met.
[[noreturn]] void throw_on_all_ranks(RankTeam* team, const Error& error);

}  // namespace bigbird
