// Short fuzzing runs over the seeds of tests/fuzz: files of questions and of predictions, damaged, are read
// or refused, and what is read has inputs and labels that hold.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/fuzz/entry_hotpotqa.h"
#include "tests/fuzz/entry_natural_questions.h"
#include "tests/fuzz/entry_predictions.h"
#include "tests/fuzz/entry_squad.h"
#include "tests/fuzz/entry_triviaqa.h"
#include "tests/fuzz/entry_wikihop.h"
#include "tests/fuzz/short_run.h"

namespace bigbird {
namespace {

using fuzz::short_run;

class QuestionsFuzz : public ::testing::Test {
 protected:
  static void TearDownTestSuite() {
    for (const char* suffix : {".json", ".jsonl"}) {
      std::filesystem::remove("/tmp/bigbird-fuzz-" + std::to_string(getpid()) + suffix);
    }
    std::filesystem::remove_all(fuzz::evidence_path());
  }
};

TEST_F(QuestionsFuzz, DamagedSquadIsReadOrRefused) {
  short_run("squad", fuzz::squad, 200);
}

TEST_F(QuestionsFuzz, DamagedHotpotQaIsReadOrRefused) {
  short_run("hotpotqa", fuzz::hotpotqa, 200);
}

TEST_F(QuestionsFuzz, DamagedNaturalQuestionsAreReadOrRefused) {
  short_run("natural_questions", fuzz::natural_questions, 200);
}

TEST_F(QuestionsFuzz, DamagedTriviaQaIsReadOrRefused) {
  short_run("triviaqa", fuzz::triviaqa, 200);
}

TEST_F(QuestionsFuzz, DamagedWikiHopIsReadOrRefused) {
  short_run("wikihop", fuzz::wikihop, 200);
}

TEST_F(QuestionsFuzz, DamagedPredictionsAreReadOrRefused) {
  short_run("predictions", fuzz::predictions, 200);
}

}  // namespace
}  // namespace bigbird
