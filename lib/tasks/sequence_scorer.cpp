// Probabilities of DNA sequences; see sequence_scorer.h.
#include "lib/tasks/sequence_scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model/folder/checkpoint.h"
#include "lib/model/folder/config_json.h"
#include "lib/tasks/windows.h"

namespace bigbird {
namespace {

std::size_t outputs_of(const ModelConfig& config) {
  const bool two_classes = config.problem_type == ProblemType::single_label && config.num_labels == 2;
  return two_classes ? 1 : static_cast<std::size_t>(config.num_labels);
}

// What the logits of one sequence say, in double.
void append_values(std::span<const float> logits, ProblemType problem, std::vector<double>::iterator out) {
  if (problem == ProblemType::regression) {
    std::copy(logits.begin(), logits.end(), out);
  } else if (problem == ProblemType::multi_label) {
    for (const float logit : logits) *out++ = 1.0 / (1.0 + std::exp(-static_cast<double>(logit)));
  } else if (logits.size() == 2) {
    *out = 1.0 / (1.0 + std::exp(static_cast<double>(logits[0]) - static_cast<double>(logits[1])));
  } else {
    const double highest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(logit - highest);
    for (const float logit : logits) *out++ = std::exp(logit - highest) / sum;
  }
}

}  // namespace

std::vector<Profile> classifier_profiles(const std::string& folder, const ModelConfig& config) {
  std::vector<std::string> names = config.label_names;
  if (outputs_of(config) == 1 && names.size() == 2) names.erase(names.begin());
  return read_model_profiles(folder, outputs_of(config), names);
}

double SequenceScores::mean_of_models(std::size_t strand, std::size_t output) const {
  double sum = 0;
  for (std::size_t model = 0; model < models(); ++model) sum += at(model, strand, output);
  return sum / static_cast<double>(models());
}

double SequenceScores::mean(std::size_t output) const {
  double sum = 0;
  for (std::size_t strand = 0; strand < strands; ++strand) sum += mean_of_models(strand, output);
  return sum / static_cast<double>(strands);
}

// A sequence on its way: its values arrive model by model and strand by strand.
struct SequenceScorer::Entry {
  std::vector<double> values;
  std::size_t missing = 0;  // parts of [models, strands] that have not arrived
  std::function<void(const SequenceScores&)> done;
};

SequenceScorer::SequenceScorer(const ScorerOptions& options, kernels::Backend& backend) : options_(options) {
  if (options_.models.empty()) throw_usage("no model is given", "give a model folder with --model");
  for (const std::string& folder : options_.models) {
    const ModelConfig config = read_config(folder + "/config.json");
    if (config.head != HeadType::classification) {
      throw_bad_input(fmt::format("{}: the model's head is {}, no classifier", folder, name_of(config.head)),
                      "make one with `bigbird promoter finetune` or `bigbird chromatin finetune`");
    }
    const std::vector<Profile> profiles = classifier_profiles(folder, config);
    const std::optional<ModelWindow> window = read_model_window(folder);
    const bool probabilities = config.problem_type != ProblemType::regression;
    const std::string& first = options_.models.front();
    const auto refuse = [&](const char* what) {
      throw_bad_input(fmt::format("{}: its {} not those of {}", folder, what, first),
                      "models that are averaged must have been fine-tuned on the same data set");
    };
    if (runners_.empty()) {
      profiles_ = profiles;
      window_ = window;
      probabilities_ = probabilities;
    } else {
      if (profiles != profiles_) refuse("profiles are");
      if (window != window_) refuse("window and target are");
      if (probabilities != probabilities_) refuse("outputs are");
    }
    SequenceRunnerOptions run;
    run.batch_tokens = options_.batch_tokens;
    run.sequence_logits = true;
    runners_.push_back(std::make_unique<SequenceRunner>(folder, run, backend));
    if (!runners_.back()->tokenizer().is_dna()) {
      throw_bad_input(folder + ": its tokenizer is for text, not for DNA", "take a model that reads DNA");
    }
  }
}

SequenceScorer::~SequenceScorer() = default;

const std::vector<std::string>& SequenceScorer::digests() {
  if (digests_.empty()) {
    for (const std::string& folder : options_.models) digests_.push_back(weights_digest(folder));
  }
  return digests_;
}

EncodedSequence SequenceScorer::encode(std::string_view sequence) const {
  EncodedSequence encoded;
  encoded.ids.resize(runners_.size() * strands());
  for (std::size_t strand = 0; strand < strands(); ++strand) {
    const std::string bases = strand == 0 ? std::string(sequence) : reverse_complement(sequence);
    for (std::size_t model = 0; model < runners_.size(); ++model) {
      const SequenceRunner& runner = *runners_[model];
      // Models of an ensemble mostly share their tokenizer: its work is done once.
      if (model > 0 && runner.tokenizer().digest() == runners_[0]->tokenizer().digest() &&
          most_tokens(runner.config()) == most_tokens(runners_[0]->config())) {
        encoded.ids[model * strands() + strand] = encoded.ids[strand];
        continue;
      }
      encoded.cut |= encode_window(runner.tokenizer(), bases, most_tokens(runner.config()),
                                   encoded.ids[model * strands() + strand]);
    }
  }
  return encoded;
}

void SequenceScorer::add(EncodedSequence sequence, std::function<void(const SequenceScores&)> done) {
  const auto entry = std::make_shared<Entry>();
  entry->values.resize(sequence.ids.size() * outputs());
  entry->missing = sequence.ids.size();
  entry->done = std::move(done);
  queue_.push_back(entry);
  for (std::size_t part = 0; part < sequence.ids.size(); ++part) {
    SequenceRunner& runner = *runners_[part / strands()];
    const ProblemType problem = runner.config().problem_type;
    const auto place = static_cast<std::ptrdiff_t>(part * outputs());
    runner.add(std::move(sequence.ids[part]), {}, [entry, problem, place](const SequenceResult& result) {
      append_values(result.sequence_logits, problem, entry->values.begin() + place);
      --entry->missing;
    });
  }
  deliver();
}

void SequenceScorer::add(std::string_view sequence, std::function<void(const SequenceScores&)> done) {
  add(encode(sequence), std::move(done));
}

void SequenceScorer::finish() {
  for (const auto& runner : runners_) runner->finish();
  deliver();
}

void SequenceScorer::deliver() {
  while (!queue_.empty() && queue_.front()->missing == 0) {
    const std::shared_ptr<Entry> entry = std::move(queue_.front());
    queue_.pop_front();
    entry->done({entry->values, strands(), outputs()});
  }
}

}  // namespace bigbird
