// See machine_scoring.h.
#include "lib/bench/machine_scoring.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.h"
#include "lib/data/tokenize.h"
#include "lib/data/vocabulary.h"
#include "lib/genomes/simulate/simulate.h"
#include "lib/genomics/variants/scoring.h"
#include "lib/inference/model_task.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/fasta.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird {
namespace {

constexpr std::int64_t genome_bases = 400'000;
constexpr std::int64_t window_of_tokenization = 10'000;
constexpr int passes_of_tokenization = 10;  // so that making three files is little beside it
constexpr std::uint32_t pieces = 2'000;
constexpr std::uint64_t records_of_a_chunk = 8, windows_of_a_scan = 16;
constexpr std::size_t profiles_of_deepsea = 919;
constexpr std::int64_t usual_window = 1'000;

}  // namespace

MachineGenome::MachineGenome(const std::string& scratch, std::uint64_t seed)
    : scratch_(scratch), seed_(seed) {
  SimulateOptions options;
  options.output = scratch + "/genome";
  options.bases = genome_bases;
  options.chromosomes = 1;
  options.seed = seed;
  options.with_provenance = false;
  simulate_genome(options);
  std::string lines;
  for (int pass = 0; pass < passes_of_tokenization; ++pass) {
    for (std::int64_t begin = 0; begin < genome_bases; begin += window_of_tokenization)
      lines += fmt::format("chr1\t{}\t{}\n", begin, begin + window_of_tokenization);
  }
  write_text_atomic(windows(), lines);
}

std::string MachineGenome::train_vocabulary() const {
  VocabularyOptions options;
  options.source.fasta = fasta();
  options.source.windows = windows();
  options.output = scratch_ + "/tokenizer";
  options.vocab_size = pieces;
  options.sample_bases = static_cast<std::uint64_t>(genome_bases);
  options.seed = seed_;
  bigbird::train_vocabulary(options);
  return options.output;
}

double MachineGenome::tokenize(const Tokenizer& tokenizer) const {
  SourceOptions source;
  source.fasta = fasta();
  source.windows = windows();
  return static_cast<double>(
      tokenize_to_shards(source, tokenizer, scratch_ + "/shards", 0, std::nullopt).bases);
}

std::string write_machine_classifier(const std::string& scratch, ModelConfig config,
                                     const std::string& folder, const std::string& tokenizer,
                                     std::uint64_t seed) {
  std::vector<float> parameters;
  if (folder.empty()) {
    config.head = HeadType::classification;
    config.num_labels = static_cast<std::int64_t>(profiles_of_deepsea);
    parameters = initial_parameters(ParameterLayout(config), config, seed);
  } else {
    LoadedModel loaded = ModelFolder(folder).load(HeadType::classification, seed,
                                                  static_cast<std::int64_t>(profiles_of_deepsea));
    config = loaded.config;
    parameters = std::move(loaded.parameters);
  }
  config.problem_type = ProblemType::multi_label;
  config.label_names.clear();
  std::vector<Profile> profiles;
  for (std::int64_t i = 0; i < config.num_labels; ++i)
    profiles.push_back({fmt::format("profile{}", i + 1), "."});
  const std::string model = scratch + "/classifier";
  make_folders(model);
  write_model_files(model, config, ParameterLayout(config), parameters, tokenizer,
                    "Made by `bigbird bench` to time what scoring takes.\n");
  // A model of few positions reads what is likely to fit, with three bases a token.
  constexpr std::int64_t bases_of_a_token = 3, target = 200;
  const std::int64_t window =
      std::max(target, std::min(usual_window, config.max_position_embeddings * bases_of_a_token));
  for (const auto& [name, text] :
       model_task_files(ModelWindow{"chromatin", window, (window - target) / 2, target}, profiles))
    write_text_atomic(model + "/" + name, text);
  return model;
}

MachineScorer::MachineScorer(const MachineGenome& genome, const std::string& model,
                             kernels::Backend& backend) {
  ScorerOptions scoring;
  scoring.models = {model};
  scoring.strands = Strands::both;
  scoring.says_memory = false;  // measure_machine() has said it
  scorer_ = std::make_unique<SequenceScorer>(scoring, backend);
  options_.input = genome.variants();
  options_.fasta = genome.fasta();
  options_.chunk = records_of_a_chunk;
  if (!scorer_->window()) options_.windows.window = usual_window;
  context_ = std::make_unique<ScoringContext>(options_, *scorer_);
  chunk_scorer_ = std::make_unique<ChunkScorer>(
      *scorer_, context_->fasta, context_->contigs,
      ChunkScorerOptions{context_->rules, context_->windows, {}, false}, nullptr);
  // A chunk from the middle of the genome's variants on: at its ends are gaps.
  VariantInput input(options_, context_->fasta, context_->contigs);
  std::vector<VcfRecord> records;
  while (input.next(records)) {
    VariantTally tally;
    context_->count(records, chunk_scorer_->judge(records), tally);
    if (tally.scored == tally.alleles && records.size() == records_of_a_chunk) break;
  }
  records_ = std::move(records);
  if (records_.empty()) throw_runtime("the simulated genome has no variants that this model can score");
  const std::int64_t length = window(), step = machine_scan_step;
  const std::int64_t first = records_.front().position / step * step;
  for (std::uint64_t i = 0; i < windows_of_a_scan; ++i) {
    const std::int64_t begin =
        (first + static_cast<std::int64_t>(i) * step) % std::max<std::int64_t>(genome_bases - length, 1);
    sequences_.push_back(context_->fasta.fetch(0, begin, begin + length));
  }
}

MachineScorer::~MachineScorer() = default;

std::int64_t MachineScorer::window() const {
  return context_->windows.window;
}

double MachineScorer::score_variants() {
  VariantTally tally;
  context_->count(records_, chunk_scorer_->score(records_), tally);
  return static_cast<double>(tally.scored);
}

double MachineScorer::scan() {
  std::size_t scored = 0;
  for (const std::string& sequence : sequences_)
    scorer_->add(sequence, [&scored](const SequenceScores&) { ++scored; });
  scorer_->finish();
  return static_cast<double>(scored) * static_cast<double>(machine_scan_step);
}

}  // namespace bigbird
