// Ranks of a verb; see rank_options.h.
#include "apps/rank_options.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/parallel.h"
#include "kernels/ranks/launcher.h"
#include "lib/core/log.h"

namespace bigbird::apps {
namespace {

std::unique_ptr<RankTeam>& the_team() {
  static std::unique_ptr<RankTeam> team;
  return team;
}

std::string machine_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// The machine, then '0' or '1' for every processor that this process may use.
std::string processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::string text = machine_name() + "/";
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) text += CPU_ISSET(cpu, &set) ? '1' : '0';
  return text;
}

// The processors of this rank, those that others may use too shared evenly.
int own_processors(kernels::Ranks& ranks) {
  const std::vector<std::string> all = kernels::gather_texts(ranks, processors());
  const std::string& own = all[static_cast<std::size_t>(ranks.rank())];
  const std::size_t bits = own.find('/');
  double share = 0;
  for (std::size_t at = bits; at < own.size(); ++at) {
    if (own[at] != '1') continue;
    const auto users = std::count_if(all.begin(), all.end(), [&](const std::string& other) {
      return other.compare(0, bits, own, 0, bits) == 0 && at < other.size() && other[at] == '1';
    });
    share += 1.0 / static_cast<double>(users);
  }
  return std::max(1, static_cast<int>(share + 1e-6));
}

}  // namespace

void RankOptions::add(Verb& verb) {
  const OptionGroup group(verb, "Ranks");
  verb.add_option(
          "--ranks", choice_,
          "Processes that were started together: none is only this one, open-mpi and mpich name the MPI; "
          "folder:DIR needs none: processes that know their number (srun's, or RANK and WORLD_SIZE) meet in "
          "a folder that all see (default: what the launcher started, mpirun or srun)")
      ->check([](const std::string& word) {
        const bool known = word == "auto" || word == "none" || word == "open-mpi" || word == "mpich" ||
                           word.rfind("folder:", 0) == 0;
        return known ? std::string() : word + " is none of auto, none, open-mpi, mpich, folder:DIR";
      });
  verb.add_option("--between-devices {auto,nccl,host}", between_devices_,
                  "Way in which CUDA devices of several ranks get each other's gradients: nccl, or host, by "
                  "way of the processes' memory (default: nccl where it is found)");
  verb.add_flag(
      "--log-ranks", log_,
      "Print messages of every rank, not only of the first; into FILE.rank-N where --log FILE is given");
}

RankTeam& RankOptions::open(Verb& verb) const {
  try {
    the_team() = std::make_unique<RankTeam>(kernels::open_ranks(choice_, kernels::read_launch()));
  } catch (const kernels::RanksError& error) {
    throw_environment(error.what(), error.hint());
  }
  RankTeam& team = *the_team();
  kernels::Ranks& ranks = team.ranks();
  if (ranks.count() == 1) return team;
  verb.become_rank(ranks.rank(), ranks.rank_on_machine(), log_);
  const int cores = own_processors(ranks);
  if (verb.takes_all_cores()) kernels::set_thread_count(cores);
  if (kernels::thread_count() > cores) {
    log_warning(fmt::format("{} threads a rank on {} processors a rank: fewer threads will be faster",
                            kernels::thread_count(), cores));
  }
  log_info(fmt::format("rank {} of {} ({} on this machine), {}, {} thread{} each", ranks.rank(),
                       ranks.count(), ranks.count_on_machine(), ranks.engine(), kernels::thread_count(),
                       kernels::thread_count() == 1 ? "" : "s"));
  return team;
}

std::unique_ptr<kernels::Backend> RankOptions::make_backend(const Verb& verb) const {
  const BetweenDevices way = parse_between_devices(between_devices_);
  std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  connect_devices(*running_team(), *backend, way);
  return backend;
}

RankTeam* running_team() {
  return the_team().get();
}

void close_team(int status) {
  if (running_team() != nullptr) running_team()->ranks().set_exit_status(status);
  the_team().reset();
}

RankFailure share_failure(const Error& error, int (*report)(const Error&)) {
  RankTeam* const team = running_team();
  if (team == nullptr || team->ranks().count() == 1 || team->finished()) return {error};
  kernels::Ranks& ranks = team->ranks();
  const bool first = ranks.rank() == 0;
  if (dynamic_cast<const ErrorOfAllRanks*>(&error) != nullptr) return {error, first};
  if (!team->in_step()) {
    try {
      team->fail(error);
    } catch (const ErrorOfAllRanks& of_all) {
      return {of_all, first};
    } catch (const kernels::RanksError&) {
      // The others are gone: what follows ends whoever is left.
    }
  }
  const Error named(error.kind(), fmt::format("rank {}: {}", ranks.rank(), error.message()), error.hint());
  ranks.end_all(report(named));
  return {named, false};
}

}  // namespace bigbird::apps
