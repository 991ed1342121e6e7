// `bigbird bench`: what this machine does in a second, before work is planned on it.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "lib/bench/machine_rates.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {
namespace {

// A folder of the system's for temporary files, removed with what is in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code error;
    const std::filesystem::path place = std::filesystem::temp_directory_path(error);
    path_ = ((error ? std::filesystem::path("/tmp") : place) / "bigbird-bench-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) {
      throw_environment(path_ + ": no folder can be made there",
                        "set TMPDIR to a folder that can be written; a genome and a model are put there");
    }
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// How much of its threads' time the program had the processors, from construction on: what is missing, other
// work had, or a thread that waited for one that was kept from running.
class ProcessorShare {
 public:
  double share() const {
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    const double cpu = static_cast<double>(std::clock() - cpu_begin_) / CLOCKS_PER_SEC;
    return wall > 0 ? cpu / wall / kernels::thread_count() : 1.0;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::clock_t cpu_begin_ = std::clock();
};
constexpr double quiet_share = 0.7;

// What the rates are of, as lines of the table; warns where the machine was not free.
std::vector<std::string> facts_of_run(const Verb& verb, const kernels::Backend& backend,
                                      const MachineRates& rates, double share) {
  std::vector<std::string> comments = verb.lines_of(verb.made_from());
  for (const std::string& line :
       {"processor=" + processor_name(), fmt::format("processors={}", processor_count()),
        fmt::format("threads={}", kernels::thread_count()), "device=" + backend.name(),
        "arithmetic=" + backend.arithmetic(), fmt::format("precision={}", name_of(backend.precision())),
        fmt::format("processor_share={:.2f}", share), "model=" + rates.model}) {
    comments.push_back(line);
  }
  for (const SkippedRate& skipped : rates.skipped)
    comments.push_back(fmt::format("skipped {}={}", skipped.what, skipped.reason));
  if (backend.in_host_memory() && share < quiet_share) {
    log_warning(fmt::format(
        "the processors were not free: {:.0f} % of the time of {} threads, so that a quiet machine does more; "
        "-@ with the cores that are free gives what this one does",
        100 * share, kernels::thread_count()));
  }
  return comments;
}

}  // namespace

int cmd_bench(int argc, char** argv) {
  Verb verb("bench", "Measure what this machine does in a second.",
            {"bigbird bench", "bigbird bench --size base -o rates.tsv",
             "bigbird bench -m demo-output/pretrain/final --seconds 5 --threads 1"});
  MachineRatesOptions options;
  std::string output = "-", size = "small";
  verb.add_option("-m,--model MODEL", options.model,
                  "Model folder to measure (default: a model of random weights of --size)");
  verb.add_option("--size", size,
                  "Size of the model. small: 4 layers of width 256, done in about a minute. base: 12 of 768, "
                  "as the machines of benchmarks/speed.md were measured, minutes",
                  CLI::IsMember({"small", "base"}));
  verb.add_option("--seconds SECONDS", options.rates.seconds,
                  "Least time of each measurement, and 3 runs of it", CLI::Range(0.0, 3600.0));
  verb.add_option("-o,--output FILE", output, "Table of the rates (TSV); - is stdout");
  verb.add_seed();
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  if (!verb.parse(argc, argv)) return 0;
  if (!options.model.empty() && verb.given("--size"))
    throw_usage("--size with --model, whose size is its own", "leave one of them out");

  stop_anywhere(true);
  options.size = parse_machine_size(size);
  options.seed = verb.seed();
  if (!options.model.empty()) require_model_folders({options.model});
  const auto backend = verb.make_backend();
  const ScratchFolder scratch;
  options.scratch = scratch.path();
  const ProcessorShare processors;
  const MachineRates rates = measure_machine(options, *backend, steady_seconds());

  const std::vector<std::string> facts = facts_of_run(verb, *backend, rates, processors.share());
  const std::vector<std::string> head = verb.head_of(output, facts);
  if (output == "-" && head.empty()) {
    for (const std::string& line : facts) log_info(line);
  }
  write_output(output, machine_rates_tsv(rates, head));
  for (const std::string& line : beside_known_machines(rates, name_of(backend->precision()))) log_info(line);
  return 0;
}

}  // namespace bigbird::apps
