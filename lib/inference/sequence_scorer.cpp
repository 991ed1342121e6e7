// Probabilities of sequences; see sequence_scorer.h.
#include "lib/inference/sequence_scorer.h"

#include <algorithm>
#include <utility>

#include "lib/core/error.h"
#include "lib/inference/probabilities.h"
#include "lib/inference/sequence_runner.h"
#include "lib/inference/windows.h"
#include "lib/io/genome/fasta.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

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

SequenceScorer::SequenceScorer(const ScorerOptions& options, kernels::Backend& backend) {
  if (options.models.empty())
    throw_usage(message("no `model` is given"), "give the folder of a fine-tuned model");
  // All are checked before the first one's weights are read.
  for (const std::string& folder : options.models) {
    models_.emplace_back(folder);
    models_.back().require_like(models_.front());
  }
  strands_ = model().strands_of(options.strands);
  SequenceRunnerOptions run;
  run.batch = options.batch;
  run.sequence_logits = true;
  run.device = options.device ? options.device : device_thread_of(backend);
  run.says_memory = false;
  run.waits = options.waits;
  if (options.says_memory) {
    std::int64_t longest = 0;
    for (const FinetunedModel& one : models_) longest = std::max(longest, most_tokens(one.folder().config()));
    const auto plan = [&](const BatchSize& batch) {
      std::vector<MemoryRow> rows;
      SequenceRunnerOptions smaller = run;
      smaller.batch = batch;
      for (const FinetunedModel& one : models_)
        add_rows(rows, plan_runner_memory(one.folder().config(), smaller, backend));
      return rows;
    };
    require_inference_memory(plan, options.batch, longest, backend);
  }
  for (const FinetunedModel& model : models_) {
    runners_.push_back(std::make_unique<SequenceRunner>(model.folder(), run, backend));
  }
}

SequenceScorer::~SequenceScorer() = default;

kernels::Precision SequenceScorer::precision() const {
  return runners_.front()->precision();
}

bool SequenceScorer::computes_in_int8() const {
  return std::any_of(runners_.begin(), runners_.end(),
                     [](const auto& runner) { return runner->computes_in_int8(); });
}

void SequenceScorer::open() {
  for (const auto& runner : runners_) runner->open();
}

const std::vector<std::string>& SequenceScorer::digests() {
  if (digests_.empty()) {
    for (const FinetunedModel& model : models_) digests_.push_back(model.folder().weights_digest());
  }
  return digests_;
}

EncodedSequence SequenceScorer::encode(std::string_view sequence) const {
  return encode_both(sequence, nullptr, {});
}

EncodedSequence SequenceScorer::encode_like(std::string_view sequence, const KnownSequence& known,
                                            std::span<const std::int64_t> offsets) const {
  return encode_both(sequence, &known, offsets);
}

KnownSequence SequenceScorer::as_known(std::string_view sequence, const EncodedSequence& encoded) const {
  return {reads_forward() ? std::string(sequence) : "", reads_reverse() ? reverse_complement(sequence) : "",
          encoded};
}

const SpecialIds& SequenceScorer::first_special() const {
  return runners_.front()->tokenizer().special();
}

EncodedSequence SequenceScorer::encode_both(std::string_view sequence, const KnownSequence* known,
                                            std::span<const std::int64_t> offsets) const {
  EncodedSequence encoded;
  encoded.ids.resize(runners_.size() * strands());
  std::vector<std::int64_t> known_offsets;
  for (std::size_t strand = 0; strand < strands(); ++strand) {
    const bool reverse = strand == 1 || strands_ == Strands::reverse;
    const std::string reversed = reverse ? reverse_complement(sequence) : "";
    const std::string_view bases = reverse ? reversed : sequence;
    std::string_view known_bases;
    if (known != nullptr) {
      known_bases = reverse ? known->reverse : known->forward;
      known_offsets.assign(offsets.begin(), offsets.end());
      // Both counted from their other ends.
      const auto longer =
          static_cast<std::int64_t>(known_bases.size()) - static_cast<std::int64_t>(bases.size());
      for (std::int64_t& offset : known_offsets) offset = reverse ? longer - offset : offset;
    }
    for (std::size_t model = 0; model < runners_.size(); ++model) {
      const SequenceRunner& runner = *runners_[model];
      std::vector<std::int32_t>& ids = encoded.ids[model * strands() + strand];
      // Models of an ensemble mostly share their tokenizer: its work is done once.
      if (model > 0 && runner.tokenizer().digest() == runners_[0]->tokenizer().digest() &&
          most_tokens(runner.config()) == most_tokens(runners_[0]->config())) {
        ids = encoded.ids[strand];
        continue;
      }
      const std::int64_t most = most_tokens(runner.config());
      if (known == nullptr) {
        encoded.cut |= encode_window(runner.tokenizer(), bases, most, ids);
        continue;
      }
      const std::span<const std::int32_t> all = known->encoded.ids[model * strands() + strand];
      const std::size_t tokens = all.size() - runner.tokenizer().special().around();
      const KnownEncoding before{known_bases, all.subspan(1, tokens), known_offsets};
      encoded.cut |= encode_window_like(runner.tokenizer(), bases, most, before, ids, encoded.taken);
    }
  }
  return encoded;
}

// A runner gives its results in the order of the calls, so the last part of a sequence arrives before the
// last one of the next.
void SequenceScorer::add(EncodedSequence sequence, std::function<void(const SequenceScores&)> done) {
  struct Awaited {
    std::vector<double> values;
    std::size_t missing = 0;  // parts of [models, strands] that have not arrived
    std::function<void(const SequenceScores&)> done;
  };
  const std::size_t parts = sequence.ids.size();
  const auto awaited =
      std::make_shared<Awaited>(Awaited{std::vector<double>(parts * outputs()), parts, std::move(done)});
  for (std::size_t part = 0; part < parts; ++part) {
    SequenceRunner& runner = *runners_[part / strands()];
    runner.add({std::move(sequence.ids[part])},
               [this, awaited, part, problem = runner.config().problem_type](const SequenceResult& result) {
                 const auto values = std::span(awaited->values).subspan(part * outputs(), outputs());
                 values_of_logits(result.sequence_logits, problem, values);
                 if (--awaited->missing == 0) awaited->done({awaited->values, strands(), outputs()});
               });
  }
}

void SequenceScorer::add(std::string_view sequence, std::function<void(const SequenceScores&)> done) {
  add(encode(sequence), std::move(done));
}

void SequenceScorer::finish() {
  for (const auto& runner : runners_) runner->finish();
}

}  // namespace bigbird
