// text qa with BigBird-ETC: each data set learns a few questions by heart in two inputs, answers them, and is
// scored as perfect; answers that depend on neither batch nor threads; what such a model lacks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/text_fixture.h"
#include "tests/support/tiny_answer_model.h"

namespace bigbird::testing {
namespace {

namespace fs = std::filesystem;

class TextQaEtc : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    write_tiny_etc_init(folder_->path() / "etc");
    write("hotpot.json", tiny_hotpotqa_json());
    write("nq.jsonl", tiny_nq_jsonl());
    write("trivia.json", tiny_triviaqa_json(folder_->path() / "evidence"));
    write("hop.json", tiny_wikihop_json());
    write("squad.json", tiny_questions_json(four_tiny_questions()));
  }
  static Words finetune(const std::string& run, const std::string& format, const std::string& data,
                        const Words& more = {}) {
    Words words = {"text",      "qa", "finetune", "--format", format,    "--init",
                   path("etc"), "-o", path(run),  "--train",  path(data)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static void learn(const std::string& format, const std::string& data, const std::string& batch,
                    const Words& more = {}) {
    Words words = {"--batch", batch, "--steps", "400", "--lr", "0.003", "--save-every", "1000"};
    words.insert(words.end(), more.begin(), more.end());
    must(finetune(format, format, data, words));
  }
  static Words predict(const std::string& format, const std::string& data, const Words& more = {}) {
    Words words = {"text", "qa", "predict", "-m", path(format + "/final"), path(data)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The predictions, which are the same however they are computed; and their scores.
  static std::string answers(const std::string& format, const std::string& data, const Words& more = {}) {
    const std::string usual = must(predict(format, data, more)).out;
    for (const Words& how :
         std::vector<Words>{{"--batch-tokens", "64"}, {"--batch-tokens", "1k", "-@", "3"}}) {
      Words words = more;
      words.insert(words.end(), how.begin(), how.end());
      EXPECT_EQ(must(predict(format, data, words)).out, usual);
    }
    return usual;
  }
  static nlohmann::json scores(const std::string& format, const std::string& data,
                               const std::string& answers) {
    write("p.json", answers);
    return nlohmann::json::parse(must({"text", "qa", "evaluate", "--format", format, "--data", path(data),
                                       "--predictions", path("p.json")})
                                     .out);
  }
};

TEST_F(TextQaEtc, HotpotQa) {
  learn("hotpotqa", "hotpot.json", "4", {"--valid", path("hotpot.json"), "--eval-every", "400"});
  const std::string usual = answers("hotpotqa", "hotpot.json");
  const auto found = scores("hotpotqa", "hotpot.json", usual);
  for (const char* key : {"em", "sp_em", "joint_em"}) EXPECT_EQ(found.at(key), 1.0) << usual;
  const auto all =
      nlohmann::json::parse(must(predict("hotpotqa", "hotpot.json", {"--support-threshold", "0"})).out);
  EXPECT_EQ(all.at("sp").at("h1").size(), 4U);
  const RunResult cut = must(predict("hotpotqa", "hotpot.json", {"--length", "24"}));
  EXPECT_NE(cut.err.find("sentences are beyond 24 tokens"), std::string::npos) << cut.err;
  const RunResult shorter = must(
      finetune("shorter", "hotpotqa", "hotpot.json", {"--length", "24", "--steps", "1", "--batch", "1"}));
  EXPECT_NE(shorter.err.find("left out: answers beyond the length 1, no supporting fact in the input 1"),
            std::string::npos)
      << shorter.err;
}

TEST_F(TextQaEtc, NaturalQuestions) {
  learn("nq", "nq.jsonl", "5", {"--keep-null", "1"});
  const std::string usual = answers("nq", "nq.jsonl");
  const auto found = scores("nq", "nq.jsonl", usual);
  EXPECT_EQ(found.at("long-best-threshold-f1"), 1.0) << usual;
  EXPECT_EQ(found.at("short-best-threshold-f1"), 1.0) << usual;
  answers("nq", "nq.jsonl", {"--length", "24", "--step", "5"});
  // The rule of etcmodel, and what is no rule of this data set.
  const auto other = nlohmann::json::parse(answers("nq", "nq.jsonl", {"--decode", "etcmodel"}));
  EXPECT_EQ(other.at("predictions").size(), 5U);
  refused(predict("nq", "nq.jsonl", {"--decode", "pipeline"}), 2, "the pipeline's decoding is squad's");
  refused(predict("nq", "nq.jsonl", {"--decode", "run_qa"}), 2, "--decode run_qa is of squad");
}

TEST_F(TextQaEtc, TriviaQa) {
  const Words evidence = {"--evidence", path("evidence")};
  learn("triviaqa", "trivia.json", "4", evidence);
  const std::string usual = answers("triviaqa", "trivia.json", evidence);
  EXPECT_EQ(
      usual,
      "{\n    \"t1\": \"blue\",\n    \"t2\": \"red\",\n    \"t3\": \"near\",\n    \"t4\": \"far\"\n}\n");
  EXPECT_EQ(scores("triviaqa", "trivia.json", usual).at("exact_match"), 100.0);
  answers("triviaqa", "trivia.json", {"--evidence", path("evidence"), "--length", "24"});
}

TEST_F(TextQaEtc, WikiHop) {
  learn("wikihop", "hop.json", "3");
  const std::string usual = answers("wikihop", "hop.json");
  EXPECT_EQ(usual, "{\n    \"w1\": \"blue\",\n    \"w2\": \"red\",\n    \"w3\": \"far\"\n}\n");
  EXPECT_EQ(scores("wikihop", "hop.json", usual).at("accuracy"), 1.0);
  answers("wikihop", "hop.json", {"--length", "24"});
  refused(predict("wikihop", "hop.json", {"--length", "8"}), 2, "leave no room for query and candidates");
}

TEST_F(TextQaEtc, Squad) {
  learn("squad", "squad.json", "4");
  const std::string usual = answers("squad", "squad.json");
  EXPECT_EQ(scores("squad", "squad.json", usual).at("exact_match"), 100.0) << usual;
  const RunResult one = must({"text", "qa", "predict", "-m", path("squad/final"), "--question", "dog",
                              "--context-text", "a cat is red and a dog is blue"});
  EXPECT_EQ(one.out.substr(0, 5), "blue ");
  refused(predict("squad", "squad.json", {"--decode", "etcmodel"}), 2, "etcmodel's decoding is of nq");
}

TEST_F(TextQaEtc, RunsGoOnToTheSameBytes) {
  const Words more = {"--steps",     "6", "--batch",      "4", "--save-every", "2",
                      "--keep-last", "0", "--accumulate", "2"};
  must(finetune("whole", "hotpotqa", "hotpot.json", more));
  must(finetune("parts", "hotpotqa", "hotpot.json", more));
  for (const char* gone : {"final", "checkpoint-6", "checkpoint-4"})
    fs::remove_all(folder_->path() / "parts" / gone);
  Words resumed = more;
  resumed.push_back("--resume");
  must(finetune("parts", "hotpotqa", "hotpot.json", resumed));
  const std::string weights = read_text(path("whole/final/model.safetensors"));
  EXPECT_EQ(read_text(path("parts/final/model.safetensors")), weights);
  Words threads = more;
  threads.insert(threads.end(), {"-@", "3"});
  must(finetune("threads", "hotpotqa", "hotpot.json", threads));
  EXPECT_EQ(read_text(path("threads/final/model.safetensors")), weights);
}

TEST_F(TextQaEtc, FoldersThatLackWhatAQuestionNeedsAreRefused) {
  write_tiny_etc_init(folder_->path() / "types", 64, 5);
  refused({"text", "qa", "finetune", "--format", "wikihop", "--init", path("types"), "-o", path("none"),
           "--train", path("hop.json")},
          1, "the model has 5 token types, the parts of a question take 8");
  write_tiny_etc_init(folder_->path() / "few", 4);
  refused({"text", "qa", "finetune", "--format", "wikihop", "--init", path("few"), "-o", path("none"),
           "--train", path("hop.json")},
          2, "4 global tokens leave no room");
  refused({"text", "qa", "finetune", "--format", "hotpotqa", "--init", path("few"), "-o", path("none"),
           "--train", path("hotpot.json")},
          2, "4 global tokens leave no room next to a question of 3");
  // No weight depends on it.
  must({"convert", path("few"), path("more"), "--max-globals", "32"});
  must({"text", "qa", "finetune", "--format", "wikihop", "--init", path("more"), "-o", path("wide"),
        "--train", path("hop.json"), "--steps", "1"});
  EXPECT_FALSE(fs::exists(path("none")));
}

}  // namespace
}  // namespace bigbird::testing
