// What keeps ranks together; see rank_team.h.
#include "lib/training/rank_team.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "kernels/ranks/ranks.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/names.h"

namespace bigbird {
namespace {

using Facts = std::map<std::string, std::string>;

constexpr std::array<std::pair<BetweenDevices, const char*>, 3> way_names{
    {{BetweenDevices::automatic, "auto"}, {BetweenDevices::nccl, "nccl"}, {BetweenDevices::host, "host"}}};

// Messages hold bytes of file names, which need not be UTF-8.
std::string text_of(const nlohmann::json& json) {
  return json_text(json);
}

Error error_in(const nlohmann::json& said, const std::string& where) {
  return {static_cast<ErrorKind>(said.at("kind").get<int>()), where + said.at("error").get<std::string>(),
          said.at("hint").get<std::string>()};
}

// Of the ranks that have failed, the first; nothing when all are ready.
void throw_first_failure(const std::vector<nlohmann::json>& said) {
  std::size_t failed = said.size();
  bool alike = true;
  for (std::size_t rank = said.size(); rank-- > 0;) {
    if (said[rank].contains("error")) failed = rank;
    alike = alike && said[rank] == said.front();
  }
  if (failed == said.size()) return;
  throw ErrorOfAllRanks(error_in(said[failed], alike ? "" : fmt::format("rank {}: ", failed)));
}

void require_equal_facts(const std::vector<nlohmann::json>& said) {
  const auto first = said.front().at("facts").get<Facts>();
  for (std::size_t rank = 1; rank < said.size(); ++rank) {
    if (said[rank] == said.front()) continue;
    const auto other = said[rank].at("facts").get<Facts>();
    std::set<std::string> names;
    for (const auto& [name, value] : first) names.insert(name);
    for (const auto& [name, value] : other) names.insert(name);
    const auto shown = [](const Facts& of, const std::string& name) {
      const auto found = of.find(name);
      return found == of.end() ? std::string("nothing") : "'" + found->second + "'";
    };
    for (const std::string& name : names) {
      const std::string here = shown(first, name), there = shown(other, name);
      if (here == there) continue;
      throw ErrorOfAllRanks(Error(
          ErrorKind::usage, fmt::format("rank {} has {} for {}, rank 0 has {}", rank, there, name, here),
          "start all ranks with the same program, options and files, on machines of one kind"));
    }
  }
}

}  // namespace

void RankTeam::meet(const std::string& mine) {
  std::vector<nlohmann::json> said;
  for (const std::string& text : kernels::gather_texts(*ranks_, mine))
    said.push_back(nlohmann::json::parse(text));
  throw_first_failure(said);
  require_equal_facts(said);
}

void RankTeam::enter(const Facts& facts) {
  meet(text_of({{"facts", facts}}));
  in_step_ = true;
}

void RankTeam::fail(const Error& error) {
  meet(text_of(
      {{"error", error.message()}, {"hint", error.hint()}, {"kind", static_cast<int>(error.kind())}}));
  throw error;  // not reached: meet() has thrown
}

void RankTeam::agree(const Facts& facts) {
  try {
    meet(text_of({{"facts", facts}}));
  } catch (const ErrorOfAllRanks&) {
    in_step_ = false;
    throw;
  }
}

void RankTeam::wait_for_all() {
  const double here = 1;
  kernels::gather_numbers(*ranks_, {&here, 1});
}

void RankTeam::leave() {
  wait_for_all();
  in_step_ = false;
}

void RankTeam::finish() {
  meet(text_of({{"facts", Facts{}}}));
  finished_ = true;
}

void RankTeam::throw_together(const Error& error) {
  wait_for_all();
  in_step_ = false;
  throw ErrorOfAllRanks(error);
}

std::string name_of(BetweenDevices way) {
  return find_name(way_names, way);
}

BetweenDevices parse_between_devices(const std::string& name) {
  return parse_name(way_names, name, message("choice of `between_devices`"));
}

void connect_devices(RankTeam& team, const kernels::Backend& backend, BetweenDevices way) {
  kernels::Ranks& ranks = team.ranks();
  if (ranks.count() == 1) return;
  const bool apart = !backend.in_host_memory();
  std::string nccl, without;
  if (apart && way != BetweenDevices::host) {
    try {
      nccl = kernels::nccl_version();
    } catch (const kernels::RanksError& error) {
      if (way == BetweenDevices::nccl)
        throw_environment(error.what(), error.hint() + message(", or take `between_devices` host"));
      without = error.what();
    }
  }
  team.enter({{"the device", backend.arithmetic()},
              {message("`between_devices`"), name_of(way)},
              {"NCCL", nccl.empty() ? "none" : nccl}});
  try {
    if (apart) kernels::require_own_devices(ranks, backend);
    if (!nccl.empty()) ranks.use(kernels::make_nccl_copies(ranks, backend));
  } catch (const kernels::RanksError& error) {
    team.throw_together(Error(ErrorKind::environment, error.what(), error.hint()));
  }
  team.leave();
  if (!nccl.empty()) log_info("between the devices: " + nccl);
  if (apart && nccl.empty()) {
    const std::string text = "between the devices: by way of the program's memory";
    if (without.empty()) log_info(text);
    if (!without.empty()) log_warning(text + ", which is slow: " + without);
  }
}

kernels::Ranks& ranks_of(RankTeam* team) {
  return team != nullptr ? team->ranks() : kernels::this_process();
}

void throw_on_all_ranks(RankTeam* team, const Error& error) {
  if (team != nullptr) team->throw_together(error);
  throw error;
}

}  // namespace bigbird
