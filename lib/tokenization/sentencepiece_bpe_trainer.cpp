// The SentencePiece library's BPE trainer behind our interface: same sample, same alphabet, same model
// layout. Its choice of pieces is its own (candidates are refreshed every 100 merges, so it is not exact BPE)
// and differs between library versions.
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/tokenization/bpe_trainer.h"
#include "lib/tokenization/sentencepiece_model.h"

namespace bigbird {
namespace {

// The library skips lines beyond max_sentence_length, and 0.1.97 crashes from 32,768 letters on: positions
// are 16 bits wide there. Longer sentences are handed over in parts; a merge across the cut is all that is
// lost.
constexpr std::size_t longest_line = 4000;
// The library accepts no larger max_sentencepiece_length.
constexpr std::uint32_t longest_piece = 512;

class SampleLines final : public sentencepiece::SentenceIterator {
 public:
  explicit SampleLines(const std::string& text) : text_(text) { read_line(); }

  bool done() const override { return line_.empty(); }
  void Next() override { read_line(); }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  void read_line() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::size_t size = std::min(end - at_, longest_line);
    line_ = text_.substr(at_, size);
    at_ += size;
    if (at_ < text_.size() && text_[at_] == '\n') ++at_;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::string line_;
};

// Fitted to measurements on one core of a 4-GHz machine: 0.1.97 with 2 to 20 Mb and 4,000 to 32,000 pieces.
double estimated_seconds(double bases, double pieces) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  std::sscanf(BIGBIRD_SENTENCEPIECE_VERSION, "%d.%d.%d", &major, &minor, &patch);
  const bool fast = major > 0 || minor > 2 || (minor == 2 && patch >= 3);
  if (fast) return 0.45e-6 * bases;
  const double thousands = pieces / 1000;
  const double growth = std::max(0.0, 0.077 * thousands - 0.12);
  return 1e-6 * bases * (2.5 + 0.8 * thousands + growth * bases / 1e6);
}

// The library tells nothing while it works: progress runs with the clock against the estimate.
class ClockProgress {
 public:
  explicit ClockProgress(double estimate)
      : progress_("train-bpe", static_cast<std::uint64_t>(estimate) + 1, "s of the estimate"),
        ticker_([this] { tick(); }) {}
  ~ClockProgress() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    ticker_.join();
  }
  ClockProgress(const ClockProgress&) = delete;
  ClockProgress& operator=(const ClockProgress&) = delete;

 private:
  void tick() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::seconds(1), [this] { return stop_; })) progress_.advance(1);
  }

  Progress progress_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread ticker_;
};

class SentencePieceBpeTrainer final : public BpeTrainer {
 public:
  std::string name() const override { return "sentencepiece " BIGBIRD_SENTENCEPIECE_VERSION; }

  std::vector<std::string> train(const BpeSample& sample, const BpeTrainingOptions& options) const override {
    if (options.max_piece_length == 0 || options.max_piece_length > longest_piece) {
      throw_usage(message("`trainer` sentencepiece needs `max_piece_length` between 1 and ") +
                      std::to_string(longest_piece),
                  message("give `max_piece_length`, or use `trainer` exact"));
    }
    const auto letters =
        static_cast<std::size_t>(std::count_if(dna_alphabet.begin(), dna_alphabet.end(), [&](char letter) {
          return sample.text().find(letter) != std::string::npos;
        }));
    constexpr std::size_t special_pieces = 5;
    const double estimate = estimated_seconds(static_cast<double>(sample.base_count()),
                                              static_cast<double>(options.learnt_pieces));
    log_info("training with the SentencePiece library " BIGBIRD_SENTENCEPIECE_VERSION ": about " +
             std::to_string(static_cast<long>(estimate) + 1) + " s; it cannot be interrupted half-way");
    const std::unordered_map<std::string, std::string> settings{
        {"model_type", "bpe"},
        {"vocab_size", std::to_string(options.learnt_pieces + special_pieces + letters)},
        {"hard_vocab_limit", "false"},
        {"character_coverage", "1.0"},
        {"max_sentencepiece_length", std::to_string(options.max_piece_length)},
        {"max_sentence_length", std::to_string(longest_line + 1)},
        {"split_by_unicode_script", "false"},
        {"split_by_whitespace", "false"},
        {"split_by_number", "false"},
        {"normalization_rule_name", "identity"},
        {"add_dummy_prefix", "false"},
        {"remove_extra_whitespaces", "false"},
        {"escape_whitespaces", "true"},  // the BPE trainer insists; there are no blanks in DNA
        {"pad_id", "0"},
        {"unk_id", "1"},
        {"bos_id", "-1"},
        {"eos_id", "-1"},
        {"pad_piece", "[PAD]"},
        {"unk_piece", "[UNK]"},
        {"control_symbols", "[CLS],[SEP],[MASK]"},
        {"minloglevel", "2"},
    };
    std::string bytes;
    {
      const ClockProgress progress(estimate);
      SampleLines lines(sample.text());
      const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &lines, &bytes);
      if (!status.ok()) {
        throw_runtime("the SentencePiece library could not train: " + status.ToString(),
                      message("try `trainer` exact"));
      }
    }
    throw_if_cancelled();
    SentencePieceModel model = parse_sentencepiece_model(bytes, "the SentencePiece trainer's model");
    std::erase_if(model.pieces, [](const ModelPiece& piece) {
      return piece.type != PieceType::normal || piece.text.size() < 2;
    });
    std::stable_sort(model.pieces.begin(), model.pieces.end(),
                     [](const ModelPiece& a, const ModelPiece& b) { return a.score > b.score; });
    std::vector<std::string> learnt;
    for (ModelPiece& piece : model.pieces) learnt.push_back(std::move(piece.text));
    return learnt;
  }
};

}  // namespace

std::unique_ptr<BpeTrainer> make_sentencepiece_bpe_trainer() {
  return std::make_unique<SentencePieceBpeTrainer>();
}

}  // namespace bigbird
