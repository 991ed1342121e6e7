// Predictions of windows against the scorer on the same sequences, bit for bit, whatever runs together.
#include "lib/genomics/promoter/predict.h"

#include <gtest/gtest.h>

#include <memory>

#include "kernels/parallel.h"
#include "lib/core/rng.h"
#include "lib/io/genome/fasta.h"
#include "tests/support/tiny_classifier.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::TinyClassifier;

class PromoterWindows : public WindowReader {
 public:
  explicit PromoterWindows(std::vector<std::string> sequences) : sequences_(std::move(sequences)) {}
  bool next(Window& window) override {
    if (next_ == sequences_.size()) return false;
    window = {"w" + std::to_string(next_), ".", 0, 0, '+', -1, sequences_[next_]};
    ++next_;
    return true;
  }

 private:
  std::vector<std::string> sequences_;
  std::size_t next_ = 0;
};

class PromoterPredict : public ::testing::Test {
 protected:
  PromoterPredict() : backend_(kernels::make_cpu_backend()) {
    for (std::uint64_t i = 0; i < 150; ++i) {
      CounterRng rng(3, Purpose::test, i);
      std::string bases(20 + i % 90, 'A');
      for (char& base : bases) base = "ACGT"[rng.below(4)];
      if (i % 7 == 3) bases.replace(0, bases.size() * 2 / 3, bases.size() * 2 / 3, 'N');
      sequences_.push_back(bases);
    }
  }
  ~PromoterPredict() override { kernels::set_thread_count(0); }
  void write(std::int64_t classes) const {
    TinyClassifier shape;
    shape.problem = ProblemType::single_label;
    shape.labels = classes;
    shape.profiles = {{"promoter", "."}};
    for (std::int64_t c = 1; classes > 2 && c < classes; ++c) shape.profiles.push_back({"class", "."});
    shape.window = {"promoter", 100, 60, 1};
    shape.input_length = 64;
    testing::write_tiny_classifier(path_, shape);
  }
  // As the scorer gives them, one sequence at a time; empty for windows that are not scored.
  std::vector<std::vector<double>> one_by_one(Strands strands) {
    std::vector<std::vector<double>> all;
    SequenceScorer scorer({{path_}, strands, {1}}, *backend_);
    for (const std::string& sequence : sequences_) {
      std::vector<double>& row = all.emplace_back();
      if (share_of_n(sequence) > 0.5) continue;
      scorer.add(sequence, [&](const SequenceScores& scores) {
        for (std::size_t k = 0; k < scores.outputs; ++k) row.push_back(scores.mean(k));
      });
      scorer.finish();
    }
    return all;
  }
  std::vector<std::vector<double>> predicted(Strands strands, const BatchSize& batch, int threads) {
    kernels::set_thread_count(threads);
    SequenceScorer scorer({{path_}, strands, batch}, *backend_);
    PromoterWindows windows(sequences_);
    std::vector<std::vector<double>> all;
    const std::int64_t count =
        predict_promoters(scorer, windows, 0.5, [&](const Window& window, std::span<const double> scores) {
          EXPECT_EQ(window.id, "w" + std::to_string(all.size())) << "in order";
          all.emplace_back(scores.begin(), scores.end());
        });
    EXPECT_EQ(count, 150);
    return all;
  }

  testing::TemporaryFolder folder_;
  std::string path_ = folder_ / "model";
  std::unique_ptr<kernels::Backend> backend_;
  std::vector<std::string> sequences_;
};

TEST_F(PromoterPredict, EqualsTheScorerForAnyBatchAndThreads) {
  write(2);
  const auto expected = one_by_one(Strands::forward);
  EXPECT_EQ(expected[0].size(), 1u);
  EXPECT_TRUE(expected[3].empty()) << "too much N";
  EXPECT_NE(expected[0], expected[1]);
  for (const int threads : {1, 2, 3}) {
    EXPECT_EQ(predicted(Strands::forward, {1}, threads), expected) << threads;
    EXPECT_EQ(predicted(Strands::forward, {1000}, threads), expected) << threads;
    EXPECT_EQ(predicted(Strands::forward, {8192, 5}, threads), expected) << threads;
  }
}

TEST_F(PromoterPredict, SeveralClassesAndBothStrands) {
  write(3);
  const auto expected = one_by_one(Strands::both);
  EXPECT_EQ(predicted(Strands::both, {700}, 2), expected);
  ASSERT_EQ(expected[0].size(), 3u);
  EXPECT_NEAR(expected[0][0] + expected[0][1] + expected[0][2], 1.0, 1e-12);
}

TEST_F(PromoterPredict, TheReverseStrandIsTheReverseComplement) {
  write(2);
  const auto forward = one_by_one(Strands::forward), reverse = one_by_one(Strands::reverse),
             both = one_by_one(Strands::both);
  for (std::string& sequence : sequences_) sequence = reverse_complement(sequence);
  EXPECT_EQ(one_by_one(Strands::forward), reverse);
  EXPECT_EQ(both[0][0], (forward[0][0] + reverse[0][0]) / 2);
  EXPECT_NE(forward, reverse);
}

TEST_F(PromoterPredict, ModelsOfSeveralLabelsAreNoPromoterClassifiers) {
  testing::write_tiny_classifier(path_);
  SequenceScorer scorer({{path_}, Strands::forward, {}}, *backend_);
  testing::expect_bad_input(testing::error_of([&] { require_classes(scorer); }), path_,
                            "not a promoter classifier");
}

}  // namespace
}  // namespace bigbird
