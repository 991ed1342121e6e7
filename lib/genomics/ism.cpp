// In-silico mutagenesis; see ism.h.
#include "lib/genomics/ism.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/core/progress.h"
#include "lib/core/unicode.h"
#include "lib/genomics/effect_scores.h"
#include "lib/inference/model_identity.h"
#include "lib/inference/model_task.h"
#include "lib/inference/windows.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/genome/base_letters.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/io/tables/tsv.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<IsmWindow, const char*>, 3> window_names{
    {{IsmWindow::automatic, "auto"}, {IsmWindow::region, "region"}, {IsmWindow::base, "base"}}};
constexpr std::array<std::pair<IsmValue, const char*>, 2> value_names{
    {{IsmValue::difference, "diff"}, {IsmValue::log_fold_change, "lfc"}}};

constexpr std::size_t sequences_at_once = 256;  // tokenized together, by all threads
constexpr float unknown_base = std::numeric_limits<float>::quiet_NaN();

constexpr std::size_t bases_at_once = 64;  // whose changes a language model reads together

// The scores of a language model that are wanted; decides whether it takes distances too.
PredictionColumns language_profiles(const IsmOptions& options, LanguageScorerOptions& asked) {
  asked.distances = false;
  const std::size_t without_distances = language_scores(asked).size();
  asked.distances = true;
  std::vector<Profile> profiles;
  for (const ScoreColumn& score : language_scores(asked))
    profiles.push_back({lower_ascii(score.id), missing_field});
  PredictionColumns columns = select_profiles(profiles, options.profiles);
  if (options.profiles.empty()) columns.selected.resize(without_distances);
  asked.distances = std::any_of(columns.selected.begin(), columns.selected.end(),
                                [&](std::size_t column) { return column >= without_distances; });
  return columns;
}

// What all regions share. One of the two scorers is there.
struct IsmContext {
  IsmContext(const IsmOptions& of, kernels::Backend& backend)
      : options(of), fasta(of.fasta), names(fasta.contigs()) {
    const std::int64_t usual = usual_language_window(of.models);
    if (of.value == IsmValue::log_fold_change && usual > 0) refuse_odds();
    if (usual > 0) {
      LanguageScorerOptions asked{.models = of.models,
                                  .strands = of.strands == Strands::automatic ? Strands::both : of.strands,
                                  .passes = of.passes,
                                  .batch = of.batch};
      columns = language_profiles(of, asked);
      window = centred_window(of.window_length > 0 ? of.window_length : usual);
      language = std::make_unique<LanguageScorer>(asked, backend);
    } else {
      scorer = std::make_unique<SequenceScorer>(
          ScorerOptions{.models = of.models, .strands = of.strands, .batch = of.batch, .waits = true},
          backend);
      columns = select_profiles(scorer->profiles(), of.profiles);
      window = scorer->model().window_of(of.window_length);
      if (of.value == IsmValue::log_fold_change && !scorer->gives_probabilities()) refuse_odds();
    }
    window = with_offset(window, of.offset);
  }

  Strands strands_read() const { return language ? language->strands_read() : scorer->strands_read(); }
  std::size_t strands() const { return language ? language->strands() : scorer->strands(); }
  const std::vector<std::string>& digests() { return language ? language->digests() : scorer->digests(); }
  void open() {
    if (std::exchange(opened_, true)) return;
    if (!language) return scorer->open();
    count_genome_pieces(names.contigs(), fasta, window.length, *language);
    language->open();
  }

  const IsmOptions& options;
  Fasta fasta;
  ContigNames names;
  std::unique_ptr<SequenceScorer> scorer;
  std::unique_ptr<LanguageScorer> language;
  ModelWindow window;
  PredictionColumns columns;
  bool told_passes = false;  // how many a substitution takes

 private:
  [[noreturn]] void refuse_odds() const {
    throw_usage(options.models.front() + ": its outputs are not probabilities, so that they have no odds",
                message("take `value` diff"));
  }

  bool opened_ = false;
};

class Mutagenesis {
 public:
  // `middle`: the base of the region that stands at the window's scored_place.
  Mutagenesis(IsmContext& context, const Region& region, std::int64_t middle)
      : options_(context.options),
        fasta_(context.fasta),
        names_(context.names),
        region_(region),
        context_(context),
        window_(context.window) {
    result_.is_language = context.language != nullptr;
    result_.profiles = context.columns.profiles;
    result_.selected = context.columns.selected;
    result_.chrom = names_[region_.contig].name;
    result_.begin = region_.begin;
    result_.end = region_.end;
    result_.strands = context.strands_read();
    result_.window_length = window_.length;
    result_.bases = fasta_.fetch(region_.contig, region_.begin, region_.end);
    result_.values.assign(result_.selected.size() * result_.bases.size() * 4, unknown_base);
    reference_.resize(result_.selected.size() * context.strands());
    alternative_.resize(context.strands());
    place(middle);
  }
  Mutagenesis(IsmContext& context, const Region& region)
      : Mutagenesis(context, region, middle_base(region.begin, region.end)) {}

  // Sequences that will be predicted.
  std::int64_t expected() const {
    if (result_.is_language) return 3 * known();
    return result_.window == IsmWindow::region ? 1 + 3 * known() : 4 * known();
  }
  // Bases that are not N.
  std::int64_t known() const {
    return static_cast<std::int64_t>(
        std::count_if(result_.bases.begin(), result_.bases.end(), [](char base) { return base != 'N'; }));
  }

  IsmResult run(Progress& progress) {
    progress_ = &progress;
    context_.open();
    const bool one_window = result_.window == IsmWindow::region;
    if (one_window) {
      std::string window = cut_window(result_.window_begin);
      if (share_of_n(window) <= options_.max_n) {
        add_reference(window);
        for (std::size_t base = 0; base < result_.bases.size(); ++base)
          add_substitutions(window, result_.window_begin, base);
      } else {
        result_.n_rich = known();
      }
    } else {
      for (std::size_t base = 0; base < result_.bases.size(); ++base) mutate_alone(base);
    }
    if (result_.is_language) {
      score_changes();
      context_.language->finish();
    } else {
      flush();
      context_.scorer->finish();
    }
    result_.digests = context_.digests();
    return std::move(result_);
  }

 private:
  // Where a window begins that scores `position`.
  std::int64_t window_begin(std::int64_t position) const { return position - scored_place(window_); }

  void place(std::int64_t middle) {
    const std::int64_t begin = window_begin(middle);
    const bool fits = begin <= region_.begin && region_.end <= begin + window_.length;
    if (options_.window_at == IsmWindow::region && !fits) {
      throw_bad_input(fmt::format("region {}: {} bp do not fit into the model's window of {} bp",
                                  options_.region, region_.end - region_.begin, window_.length),
                      message("take `window_at` base, or a shorter region"));
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
    if (result_.is_language) return;  // a change has its own
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
      if (result_.is_language) {
        changes_.push_back({window, at, 1, std::string(1, ism_letters[letter])});
        places_.emplace_back(base, letter);
        continue;
      }
      window[at] = ism_letters[letter];
      add(window, [this, base, letter](const SequenceScores& scores) { store(scores, base, letter); });
    }
    window[at] = reference;
    if (places_.size() >= 3 * bases_at_once) score_changes();
  }

  // Of a language model: what was laid out. Passes that several changes share are run once.
  void score_changes() {
    throw_if_cancelled();
    std::vector<std::string> where;
    for (const auto& [base, letter] : places_) {
      where.push_back(
          fmt::format("{}:{}", result_.chrom, result_.begin + static_cast<std::int64_t>(base) + 1));
    }
    context_.language->add(
        changes_, where,
        [this, places = std::move(places_)](const std::vector<ChangeScores>& scores) {
          for (std::size_t i = 0; i < places.size(); ++i) {
            const std::vector<float> values = language_values(scores[i], context_.language->options());
            for (std::size_t column = 0; column < result_.selected.size(); ++column)
              value(column, places[i].first, places[i].second) = values[result_.selected[column]];
          }
          result_.sequences += static_cast<std::int64_t>(places.size());
          progress_->advance(places.size());
        },
        [&] {
          if (changes_.empty() || std::exchange(context_.told_passes, true)) return;
          log_info(fmt::format(
              "language model: {:.2f} forward passes a substitution, of the first {}",
              static_cast<double>(context_.language->passes().run) / static_cast<double>(changes_.size()),
              changes_.size()));
        });
    changes_.clear();
    places_.clear();
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
    kernels::parallel_for_worker(waiting_.size(), [&](std::size_t i, int) {
      encoded[i] = context_.scorer->encode(waiting_[i].first);
    });
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      if (encoded[i].cut) ++result_.cut;
      context_.scorer->add(std::move(encoded[i]),
                           [this, done = std::move(waiting_[i].second)](const SequenceScores& scores) {
                             done(scores);
                             ++result_.sequences;
                             progress_->advance(1);
                           });
    }
    waiting_.clear();
  }

  const IsmOptions& options_;
  Fasta& fasta_;
  const ContigNames& names_;
  Region region_;
  IsmContext& context_;
  const ModelWindow& window_;
  IsmResult result_;
  std::vector<std::pair<std::string, std::function<void(const SequenceScores&)>>> waiting_;
  std::vector<SequenceChange> changes_;  // of a language model, and the base and letter of each
  std::vector<std::pair<std::size_t, std::size_t>> places_;
  std::vector<double> reference_;    // [selected, strands] of the window at hand
  std::vector<double> alternative_;  // [strands]
  Progress* progress_ = nullptr;
};

// `where` names the region for people. Bases that are N are not known yet, and count.
void require_few_sequences(const IsmOptions& options, const std::string& where, std::int64_t sequences) {
  if (options.max_sequences == 0 || sequences <= options.max_sequences) return;
  throw_usage(
      message("{}: {} sequences to predict, more than `max_sequences` {}", where, sequences,
              options.max_sequences),
      message("give a smaller region, as in chr1:20000-20059, or `max_sequences` 0 to predict them all"));
}

struct NamedRegion {
  std::string name;
  Region place;
};

// The regions of a BED, none of them empty or beyond its contig.
class RegionReader {
 public:
  RegionReader(const std::string& path, const ContigNames& names) : bed_(path, 4), names_(names) {}

  bool next(NamedRegion& region) {
    BedRecord record;
    if (!bed_.next(record)) return false;
    const std::size_t contig = names_.require(record.chrom, bed_.where());
    if (record.end > names_[contig].length) {
      throw_bad_input(fmt::format("{}: {}-{} reaches beyond {} ({} bp)", bed_.where(), record.begin,
                                  record.end, record.chrom, names_[contig].length),
                      "check that the regions are of this assembly");
    }
    if (record.begin == record.end) {
      throw_bad_input(bed_.where() + ": the region is empty", "remove it, or give the bases around it");
    }
    const std::string place = format_region(names_[contig].name, record.begin, record.end);
    region = {record.name == "." ? place : record.name, {contig, record.begin, record.end}};
    return true;
  }

 private:
  BedReader bed_;
  const ContigNames& names_;
};

RunIdentity language_identity(const LanguageScorer& scorer) {
  RunIdentity identity;
  identity["version"] = bigbird_version();
  for (std::size_t model = 0; model < scorer.models(); ++model)
    identity["models"] += (model == 0 ? "" : ",") + model_digest(scorer.folder(model));
  identity["strands"] = name_of(scorer.strands_read());
  identity["precision"] = kernels::name_of(scorer.precision());
  identity["passes"] = find_name(language_passes_names, scorer.options().passes);
  return identity;
}

RunIdentity identity_of(const IsmOptions& options, const IsmContext& context) {
  RunIdentity identity =
      context.language ? language_identity(*context.language) : scorer_identity(*context.scorer);
  identity["reference"] = genome_fingerprint(options.fasta);
  identity["profiles"] = fmt::format("{}", fmt::join(context.columns.selected, ","));
  identity["window_at"] = find_name(window_names, options.window_at);
  identity["value"] = find_name(value_names, options.value);
  identity["window_length"] = std::to_string(context.window.length);
  identity["window_place"] = std::to_string(scored_place(context.window));
  identity["max_n"] = fmt::format("{}", options.max_n);
  return identity;
}

}  // namespace

IsmWindow parse_ism_window(const std::string& word) {
  return parse_name(window_names, word, message("choice of `window_at`"));
}

IsmValue parse_ism_value(const std::string& word) {
  return parse_name(value_names, word, message("choice of `value`"));
}

IsmResult mutate_region(const IsmOptions& options, kernels::Backend& backend) {
  IsmContext context(options, backend);
  Mutagenesis mutagenesis(context, parse_region(options.region, context.names));
  const std::int64_t known = mutagenesis.known(), expected = mutagenesis.expected();
  require_few_sequences(options, "region " + options.region, expected);
  const std::size_t models = options.models.size(), strands = context.strands();
  std::string told = fmt::format(
      "{} substitutions of {} bases: {} sequences of {} bp, through {} model{} on {} "
      "strand{}",
      3 * known, known, expected, context.window.length, models, models == 1 ? "" : "s", strands,
      strands == 1 ? "" : "s");
  // Those of a language model are known when its first changes are tokenized.
  if (!context.language)
    told += fmt::format(": {} passes", expected * static_cast<std::int64_t>(models * strands));
  log_info(told);
  Progress progress("ism", static_cast<std::uint64_t>(expected), "sequences");
  IsmResult result = mutagenesis.run(progress);
  warn_of_replaced_letters(options.fasta, context.fasta.iupac_replaced());
  if (result.sequences == 0) {
    throw_bad_input(
        fmt::format("region {}: none of its bases can be scored: {} are N, {} have a window with more than "
                    "{:.3g} of N",
                    options.region, result.bases.size() - static_cast<std::size_t>(known), result.n_rich,
                    options.max_n),
        message("check the region and `max_n`"));
  }
  return result;
}

struct RegionMutator::Context {
  Context(const IsmOptions& of, kernels::Backend& backend) : options(of), ism(options, backend) {}
  IsmOptions options;
  IsmContext ism;
};

RegionMutator::RegionMutator(const IsmOptions& options, kernels::Backend& backend)
    : context_(std::make_unique<Context>(options, backend)) {}

RegionMutator::~RegionMutator() = default;

const std::vector<std::string>& RegionMutator::digests() const {
  return context_->ism.digests();
}

IsmResult RegionMutator::around(const std::string& chrom, std::int64_t position, std::int64_t reach,
                                Progress& progress) {
  const ContigNames& names = context_->ism.names;
  Region region = parse_region(fmt::format("{}:{}-{}", chrom, position + 1, position + 1), names);
  region.begin = std::max<std::int64_t>(0, position - reach);
  region.end = std::min(names[region.contig].length, position + reach + 1);
  return Mutagenesis(context_->ism, region, position).run(progress);
}

IsmRegionsTally mutate_regions(const IsmRegionsOptions& options, kernels::Backend& backend) {
  IsmContext context(options.ism, backend);
  RegionReader reader(options.regions, context.names);
  // Names of columns are those of a result, which there is none of yet.
  IsmResult empty;
  empty.profiles = context.columns.profiles;
  empty.selected = context.columns.selected;
  std::vector<std::string> columns = ism_columns(empty);
  columns.insert(columns.begin(), "region");
  std::string head;
  for (const std::string& comment : options.comments) head += "##" + comment + "\n";
  head += fmt::format("{}\n", fmt::join(columns, "\t"));
  ChunkedOutputs outputs({{options.output, "ism", ChunkForm::lines, head}}, identity_of(options.ism, context),
                         options.regions, options.work);
  IsmRegionsTally tally;
  if (outputs.are_whole()) return tally;
  context.open();
  Progress progress("ism", 0, "sequences");
  outputs.run<NamedRegion>(
      [&](NamedRegion& region) { return reader.next(region); },
      [&](Sha256& digest, const NamedRegion& region) {
        const std::string line =
            fmt::format("{}\t{}\t{}\t{}\n", region.name, context.names[region.place.contig].name,
                        region.place.begin, region.place.end);
        digest.update(line.data(), line.size());
      },
      [&](const std::vector<NamedRegion>& chunk) {
        for (const NamedRegion& region : chunk) {
          Mutagenesis mutagenesis(context, region.place);
          require_few_sequences(options.ism, fmt::format("{}: region {}", options.regions, region.name),
                                mutagenesis.expected());
          const IsmResult result = mutagenesis.run(progress);
          tally.sequences += result.sequences;
          tally.n_rich += result.n_rich;
          tally.padded += result.padded;
          tally.cut += result.cut;
          ism_rows(result, [&](const std::vector<std::string>& fields) {
            outputs.write(0, fmt::format("{}\t{}\n", escape_controls(region.name), fmt::join(fields, "\t")));
          });
        }
      },
      {options.regions + ": no regions in it", "give at least one"});
  warn_of_replaced_letters(options.ism.fasta, context.fasta.iupac_replaced());
  tally.regions = static_cast<std::int64_t>(outputs.records());
  return tally;
}

}  // namespace bigbird
