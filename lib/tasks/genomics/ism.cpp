// In-silico mutagenesis; see ism.h.
#include "lib/tasks/genomics/ism.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/core/progress.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/tasks/effect_scores.h"
#include "lib/tasks/select_profiles.h"
#include "lib/tasks/windows.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<IsmWindow, const char*>, 3> window_names{
    {{IsmWindow::automatic, "auto"}, {IsmWindow::region, "region"}, {IsmWindow::base, "base"}}};
constexpr std::array<std::pair<IsmValue, const char*>, 2> value_names{
    {{IsmValue::difference, "diff"}, {IsmValue::log_fold_change, "lfc"}}};

constexpr std::size_t sequences_at_once = 256;  // tokenized together, by all threads
constexpr float unknown = std::numeric_limits<float>::quiet_NaN();

class Mutagenesis {
 public:
  Mutagenesis(const IsmOptions& options, kernels::Backend& backend)
      : options_(options),
        fasta_(options.fasta),
        names_(fasta_.contigs()),
        region_(parse_region(options.region, names_)),
        scorer_({options.models, options.strands, options.batch}, backend),
        window_(scorer_.model().window_of(options.window_length)) {
    if (options.value == IsmValue::log_fold_change && !scorer_.gives_probabilities()) {
      throw_usage(options.models.front() + ": its outputs are no probabilities, which have no odds",
                  "take `value` diff");
    }
    PredictionColumns columns = select_profiles(scorer_.profiles(), options.profiles);
    result_.profiles = std::move(columns.profiles);
    result_.selected = std::move(columns.selected);
    result_.chrom = names_[region_.contig].name;
    result_.begin = region_.begin;
    result_.end = region_.end;
    result_.strands = scorer_.strands_read();
    result_.window_length = window_.length;
    result_.bases = fasta_.fetch(region_.contig, region_.begin, region_.end);
    result_.values.assign(result_.selected.size() * result_.bases.size() * 4, unknown);
    reference_.resize(result_.selected.size() * scorer_.strands());
    alternative_.resize(scorer_.strands());
    place();
  }

  IsmResult run() {
    const auto known = static_cast<std::int64_t>(
        std::count_if(result_.bases.begin(), result_.bases.end(), [](char base) { return base != 'N'; }));
    const bool one_window = result_.window == IsmWindow::region;
    const std::int64_t expected = one_window ? 1 + 3 * known : 4 * known;
    log_info(fmt::format(
        "{} substitutions of {} bases: {} sequences of {} bp, through {} model{} on {} strand{}: {} passes",
        3 * known, known, expected, window_.length, scorer_.models(), scorer_.models() == 1 ? "" : "s",
        scorer_.strands(), scorer_.strands() == 1 ? "" : "s",
        expected * static_cast<std::int64_t>(scorer_.models() * scorer_.strands())));
    progress_.emplace("ism", static_cast<std::uint64_t>(expected), "sequences");
    if (one_window) {
      std::string window = cut_window(result_.window_begin);
      if (share_of_n(window) <= options_.max_n) {
        add_reference(window);
        for (std::size_t base = 0; base < result_.bases.size(); ++base)
          add_substitutions(window, result_.window_begin, base);
      } else {
        result_.n_rich = known;
      }
    } else {
      for (std::size_t base = 0; base < result_.bases.size(); ++base) mutate_alone(base);
    }
    flush();
    scorer_.finish();
    progress_.reset();
    if (result_.sequences == 0) {
      throw_bad_input(
          fmt::format("region {}: none of its bases can be scored: {} are N, {} have a window with more than "
                      "{:.3g} of N",
                      options_.region, result_.bases.size() - static_cast<std::size_t>(known), result_.n_rich,
                      options_.max_n),
          "check the region and `max_n`");
    }
    result_.digests = scorer_.digests();
    return std::move(result_);
  }

 private:
  // Where a window begins whose target's centre is on `position`.
  std::int64_t window_begin(std::int64_t position) const {
    const std::int64_t before = window_.target_offset + window_.target_length / 2;
    return position - (scorer_.strands_read() == Strands::reverse ? window_.length - 1 - before : before);
  }

  void place() {
    const std::int64_t begin = window_begin(region_.begin + (region_.end - region_.begin) / 2);
    const bool fits = begin <= region_.begin && region_.end <= begin + window_.length;
    if (options_.window_at == IsmWindow::region && !fits) {
      throw_bad_input(fmt::format("region {}: {} bp do not fit into the model's window of {} bp",
                                  options_.region, region_.end - region_.begin, window_.length),
                      "take `window_at` base, or a shorter region");
    }
    const bool base = options_.window_at == IsmWindow::base || !fits;
    result_.window = base ? IsmWindow::base : IsmWindow::region;
    result_.window_begin = begin;
  }

  // Forward strand; N beyond the ends of the contig.
  std::string cut_window(std::int64_t begin) {
    const std::int64_t end = begin + window_.length;
    const std::int64_t low = std::max<std::int64_t>(begin, 0);
    const std::int64_t high = std::min(end, names_[region_.contig].length);
    if (low != begin || high != end) ++result_.padded;
    return std::string(static_cast<std::size_t>(low - begin), 'N') + fasta_.fetch(region_.contig, low, high) +
           std::string(static_cast<std::size_t>(end - high), 'N');
  }

  void mutate_alone(std::size_t base) {
    if (result_.bases[base] == 'N') return;
    const std::int64_t begin = window_begin(region_.begin + static_cast<std::int64_t>(base));
    std::string window = cut_window(begin);
    if (share_of_n(window) > options_.max_n) {
      ++result_.n_rich;
      return;
    }
    add_reference(window);
    add_substitutions(window, begin, base);
  }

  void add_reference(const std::string& window) {
    add(window, [this](const SequenceScores& scores) {
      for (std::size_t i = 0; i < result_.selected.size(); ++i) {
        for (std::size_t strand = 0; strand < scores.strands; ++strand)
          reference_[i * scores.strands + strand] = scores.mean_of_models(strand, result_.selected[i]);
      }
    });
  }

  void add_substitutions(std::string& window, std::int64_t begin, std::size_t base) {
    const char reference = result_.bases[base];
    if (reference == 'N') return;
    const auto at = static_cast<std::size_t>(region_.begin + static_cast<std::int64_t>(base) - begin);
    for (std::size_t letter = 0; letter < 4; ++letter) {
      if (ism_letters[letter] == reference) {
        for (std::size_t i = 0; i < result_.selected.size(); ++i) value(i, base, letter) = 0;
        continue;
      }
      window[at] = ism_letters[letter];
      add(window, [this, base, letter](const SequenceScores& scores) { store(scores, base, letter); });
    }
    window[at] = reference;
  }

  void store(const SequenceScores& scores, std::size_t base, std::size_t letter) {
    for (std::size_t i = 0; i < result_.selected.size(); ++i) {
      for (std::size_t strand = 0; strand < scores.strands; ++strand)
        alternative_[strand] = scores.mean_of_models(strand, result_.selected[i]);
      const Effect effect = effect_of(
          std::span<const double>(reference_).subspan(i * scores.strands, scores.strands), alternative_);
      value(i, base, letter) = static_cast<float>(
          options_.value == IsmValue::difference ? effect.difference : effect.log_fold_change);
    }
  }

  float& value(std::size_t selected, std::size_t base, std::size_t letter) {
    return result_.values[(selected * result_.bases.size() + base) * 4 + letter];
  }

  void add(const std::string& window, std::function<void(const SequenceScores&)> done) {
    waiting_.emplace_back(window, std::move(done));
    if (waiting_.size() == sequences_at_once) flush();
  }

  void flush() {
    throw_if_cancelled();
    std::vector<EncodedSequence> encoded(waiting_.size());
    kernels::parallel_for_worker(waiting_.size(),
                                 [&](std::size_t i, int) { encoded[i] = scorer_.encode(waiting_[i].first); });
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      if (encoded[i].cut) ++result_.cut;
      scorer_.add(std::move(encoded[i]),
                  [this, done = std::move(waiting_[i].second)](const SequenceScores& scores) {
                    done(scores);
                    ++result_.sequences;
                    progress_->advance(1);
                  });
    }
    waiting_.clear();
  }

  const IsmOptions& options_;
  Fasta fasta_;
  ContigNames names_;
  Region region_;
  SequenceScorer scorer_;
  ModelWindow window_;
  IsmResult result_;
  std::vector<std::pair<std::string, std::function<void(const SequenceScores&)>>> waiting_;
  std::vector<double> reference_;    // [selected, strands] of the window at hand
  std::vector<double> alternative_;  // [strands]
  std::optional<Progress> progress_;
};

}  // namespace

IsmWindow parse_ism_window(const std::string& word) {
  return parse_name(window_names, word, "choice of `window_at`");
}

IsmValue parse_ism_value(const std::string& word) {
  return parse_name(value_names, word, "choice of `value`");
}

IsmResult mutate_region(const IsmOptions& options, kernels::Backend& backend) {
  return Mutagenesis(options, backend).run();
}

}  // namespace bigbird
