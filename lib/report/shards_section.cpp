// The folder of a job in shards in a report: which shards are whole, and what each took, from their logs.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "lib/core/error.h"
#include "lib/genomics/variants/summary.h"
#include "lib/io/files/file.h"
#include "lib/report/report_inputs.h"
#include "lib/report/shown_numbers.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;

// The number before `unit` in a closing line: "68.69" of "68.69 s wall, ...".
std::optional<double> number_before(std::string_view line, std::string_view unit) {
  const std::size_t end = line.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  std::size_t begin = end;
  while (begin > 0 && (line[begin - 1] == '.' || (line[begin - 1] >= '0' && line[begin - 1] <= '9'))) --begin;
  double value = 0;
  const auto [stop, error] = std::from_chars(line.data() + begin, line.data() + end, value);
  return error == std::errc() && stop == line.data() + end ? std::optional<double>(value) : std::nullopt;
}

struct ShardLog {
  std::size_t runs = 0;  // that came to their closing line
  double wall = 0, cpu = 0, memory = 0;
  std::string error;   // the last one
  bool ended = false;  // the last thing that it says is its closing line
};

ShardLog read_log(const std::string& path) {
  ShardLog log;
  LineReader lines(path);
  std::string_view line;
  while (lines.next(line)) {
    const auto wall = number_before(line, " s wall, "), cpu = number_before(line, " s CPU, "),
               memory = number_before(line, " MiB peak memory");
    if (wall && cpu && memory) {
      ++log.runs;
      log.wall += *wall;
      log.cpu += *cpu;
      log.memory = std::max(log.memory, *memory);
    }
    if (wall || !line.empty()) log.ended = wall.has_value();
    if (line.find("error: ") != std::string_view::npos) log.error = std::string(line);
  }
  return log;
}

struct ShardState {
  std::optional<ShardLog> log;
  bool output = false;      // a file of it, beside its log
  bool unfinished = false;  // finished chunks that wait for the rest
  std::optional<VariantSummary> summary;
};

// "12" of "12.vcf.gz"; nothing where a name does not begin with a number and a dot.
std::optional<std::uint64_t> shard_of(const std::string& name, std::string& rest) {
  std::uint64_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || end == name.data() + name.size() || *end != '.') return std::nullopt;
  rest = std::string(end, name.data() + name.size());
  return index;
}

}  // namespace

ReportSection shards_section(const std::string& path) {
  ReportSection section{path, "shards", {}};
  std::map<std::uint64_t, ShardState> shards;
  for (const auto& entry : fs::directory_iterator(path)) {
    std::string rest;
    const std::optional<std::uint64_t> index = shard_of(entry.path().filename().string(), rest);
    if (!index) continue;
    ShardState& shard = shards[*index];
    if (rest == ".log") {
      shard.log = read_log(entry.path().string());
    } else if (has_suffix(rest, ".parts")) {
      shard.unfinished = true;
    } else if (has_suffix(rest, ".summary.json")) {
      shard.summary = read_variant_summary(entry.path().string());
    } else if (!has_suffix(rest, ".lease") && !has_suffix(rest, ".skipped.tsv") &&
               !has_suffix(rest, ".shard.json")) {
      shard.output = true;
    }
  }
  if (shards.empty())
    throw_bad_input(path + ": neither a run nor shards: no metrics.tsv, no 1.log, 2.log ...",
                    "give a run folder, or the folder OUT.shards of `cluster sbatch`");
  ReportTable table{
      "shards", {"shard", "state", "runs", "wall s", "CPU s", "peak MB", "alleles", "scored"}, {}, false};
  BarChart wall{"wall time", "seconds", {}, {}}, memory{"peak memory", "MiB", {}, {}};
  std::size_t whole = 0;
  double all_wall = 0, all_cpu = 0, longest = 0, most = 0;
  std::uint64_t alleles = 0, scored = 0;
  ReportTable errors{"errors, the last of each shard that is not whole", {"shard", "error"}, {}, false};
  for (const auto& [index, shard] : shards) {
    const ShardLog log = shard.log.value_or(ShardLog{});
    const bool is_whole = shard.output && !shard.unfinished;
    whole += is_whole ? 1 : 0;
    const std::string name = std::to_string(index);
    const char* state = is_whole ? "whole" : shard.unfinished ? "unfinished" : "no output";
    if (!is_whole && !log.error.empty()) errors.rows.push_back({name, log.error});
    table.rows.push_back({name, state, std::to_string(log.runs), fmt::format("{:.2f}", log.wall),
                          fmt::format("{:.2f}", log.cpu), fmt::format("{:.0f}", log.memory),
                          shard.summary ? std::to_string(shard.summary->tally.alleles) : "",
                          shard.summary ? std::to_string(shard.summary->tally.scored) : ""});
    all_wall += log.wall;
    all_cpu += log.cpu;
    longest = std::max(longest, log.wall);
    most = std::max(most, log.memory);
    if (shard.summary) {
      alleles += shard.summary->tally.alleles;
      scored += shard.summary->tally.scored;
    }
    wall.bars.push_back({name, log.wall, {}});
    memory.bars.push_back({name, log.memory, {}});
  }
  const std::uint64_t last = shards.rbegin()->first;
  ReportFacts facts = {
      {"shards", std::to_string(shards.size())},
      {"whole", std::to_string(whole)},
      {"CPU hours", fmt::format("{:.4f}", all_cpu / 3600)},
      {"wall seconds, longest shard", fmt::format("{:.2f}", longest)},
      {"wall seconds, mean", fmt::format("{:.2f}", all_wall / static_cast<double>(shards.size()))},
      {"peak memory, MiB", fmt::format("{:.0f}", most)}};
  if (last > shards.size())
    facts.emplace_back("indices without any file", std::to_string(last - shards.size()));
  if (alleles > 0) {
    facts.emplace_back("alleles", std::to_string(alleles));
    facts.emplace_back("scored", std::to_string(scored));
  }
  section.first.asked = "job in shards";
  section.first.outcome = fmt::format("{} of {} shards are whole", whole, shards.size());
  section.first.figures = {
      {"shards that are whole", std::to_string(whole), fmt::format("of {}", shards.size())},
      {"CPU hours", three_digits(all_cpu / 3600), fmt::format("longest shard {} s", three_digits(longest))},
      {"peak memory of a shard", fmt::format("{} MB", three_digits(most))}};
  section.first.general = {{"shards", static_cast<double>(shards.size())},
                           {"whole", static_cast<double>(whole)}};
  if (alleles > 0) section.first.general.emplace_back("alleles scored", static_cast<double>(scored));
  if (whole < shards.size())
    section.first.warnings.push_back(fmt::format("Shards that are not whole: {}.", shards.size() - whole));
  if (last > shards.size())
    section.first.warnings.push_back(fmt::format("Shards that have not begun: {}.", last - shards.size()));
  section.add(std::move(facts));
  section.add(ReportCharts{std::move(wall), std::move(memory)});
  if (!errors.rows.empty()) section.add(std::move(errors));
  table.folded = table.rows.size() > 40;
  section.add(std::move(table));
  return section;
}

}  // namespace bigbird
