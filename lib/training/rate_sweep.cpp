// Several learning rates; see rate_sweep.h.
#include "lib/training/rate_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

struct SweptRate {
  double rate = 0;
  TrainingSummary summary;
};

// Gives `run` and `learning_rate` back what they were, also when a training is stopped.
class Restore {
 public:
  explicit Restore(RunOptions& options)
      : options_(options), run_(options.run), rate_(options.learning_rate) {}
  ~Restore() {
    options_.run = run_;
    options_.learning_rate = rate_;
  }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;
  const std::string& run() const { return run_; }

 private:
  RunOptions& options_;
  std::string run_;
  double rate_;
};

// A model folder has no folders inside.
void copy_final(const std::string& from, const std::string& to) {
  AtomicFolder folder(to, true);
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    std::filesystem::copy_file(entry.path(), folder.file(name));
  }
  folder.commit();
}

std::string table(const std::vector<SweptRate>& swept, std::size_t best,
                  const std::vector<std::string>& comments) {
  std::string text;
  for (const std::string& comment : comments) text += "##" + comment + "\n";
  text += "rate\tbest_step\tvalid_loss\tchosen\n";
  for (std::size_t i = 0; i < swept.size(); ++i) {
    text += fmt::format("{:g}\t{}\t{:.7g}\t{}\n", swept[i].rate, swept[i].summary.final_step,
                        *swept[i].summary.final_valid_loss, i == best ? 1 : 0);
  }
  return text;
}

}  // namespace

std::string rate_folder(double rate) {
  return fmt::format("lr-{:g}", rate);
}

TrainingSummary sweep_learning_rates(RunOptions& options, const std::function<TrainingSummary()>& train) {
  const std::vector<double>& rates = options.rate_choices;
  if (rates.size() < 2) {
    if (!rates.empty()) options.learning_rate = rates.front();
    return train();
  }
  const Restore restore(options);
  std::set<std::string> folders;
  for (const double rate : rates) {
    options.learning_rate = rate;
    check_options(options);  // all of them, before the first is trained
    if (!folders.insert(rate_folder(rate)).second)
      throw_usage(message("`learning_rate` {:g}: given twice", rate), "give every rate once");
  }
  const bool writes = ranks_of(options.team).rank() == 0;
  const bool was_there = folder_exists(restore.run());
  std::optional<RunFolder> run;  // held until the last rate is trained
  if (writes) run.emplace(restore.run(), options.start);
  std::vector<SweptRate> swept;
  std::size_t best = 0;
  for (const double rate : rates) {
    options.learning_rate = rate;
    options.run = restore.run() + "/" + rate_folder(rate);
    log_info(fmt::format("learning rate {:g}, {} of {}", rate, swept.size() + 1, rates.size()));
    try {
      swept.push_back({rate, train()});
    } catch (...) {
      // Of a run that came to nothing, as of data that cannot be read, nothing stays.
      run.reset();
      if (writes && !was_there && folder_is_empty(restore.run())) remove_folder(restore.run());
      throw;
    }
    if (!swept.back().summary.final_valid_loss) {
      throw_runtime(fmt::format("{}: no validation gave a finite loss", options.run),
                    message("lower `learning_rate`"));
    }
    if (*swept.back().summary.final_valid_loss < *swept[best].summary.final_valid_loss)
      best = swept.size() - 1;
  }
  if (run) {
    run->check_still_ours();
    copy_final(run->file(rate_folder(swept[best].rate)) + "/final", run->file("final"));
    write_text_atomic(run->file("config.toml"), options.config_toml);
    if (!options.provenance_json.empty())
      write_text_atomic(run->file("provenance.json"), options.provenance_json + "\n");
    write_text_atomic(run->file("rates.tsv"), table(swept, best, options.comments));
  }
  TrainingSummary chosen = swept[best].summary;
  chosen.tokens = 0;
  chosen.seconds = 0;
  chosen.update_seconds = 0;
  chosen.operations = 0;
  for (const SweptRate& each : swept) {
    chosen.tokens += each.summary.tokens;
    chosen.seconds += each.summary.seconds;
    chosen.update_seconds += each.summary.update_seconds;
    chosen.operations += each.summary.operations;
    log_info(fmt::format("learning rate {:g}: validation loss {:.4f} after step {}", each.rate,
                         *each.summary.final_valid_loss, each.summary.final_step));
  }
  log_info(fmt::format("chosen: learning rate {:g}", swept[best].rate));
  return chosen;
}

}  // namespace bigbird
