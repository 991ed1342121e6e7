// text qa finetune, predict and evaluate on a tiny model: every option, answers at once, exact resume, files
// that appear whole or not at all, and inputs that must be refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/words.h"
#include "tests/support/support.h"
#include "tests/support/tiny_question_model.h"

namespace bigbird::testing {
namespace {

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// One model that knows its four questions, for all tests of the file.
class TextQa : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_tiny_question_model(folder_->path() / "init", HeadType::masked_lm);
    write("four.json", tiny_questions_json(four_tiny_questions()));
    std::vector<TinyQuestion> questions = four_tiny_questions();
    questions.push_back({"q5", "pig", "moon far sun near", "", 0});
    write("five.json", tiny_questions_json(questions));
    const RunResult run = run_bigbird(finetune(
        "tuned", {"--train", path("four.json"), "--steps", "400", "--lr", "0.003", "--save-every", "1000"}));
    ASSERT_EQ(run.status, 0) << run.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }
  static std::string write(const std::string& name, const std::string& text) {
    write_text(folder_->path() / name, text);
    return path(name);
  }
  static Words finetune(const std::string& run, const Words& more) {
    Words arguments = {"text", "qa", "finetune", "--init", path("init"), "-o", path(run), "--batch", "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static Words predict(const Words& more) {
    Words arguments = {"text", "qa", "predict", "-m", path("tuned/final")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static Words evaluate(const Words& more) {
    Words arguments = {"text", "qa", "evaluate"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static std::string must(const Words& arguments, const std::string& input = {}) {
    const RunResult run = run_bigbird(arguments, input);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.out;
  }
  // One line that says what is wrong, one that says what to do, and nothing on stdout.
  static void refused(const Words& arguments, int status, const std::string& words) {
    const RunResult run = run_bigbird(arguments);
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_EQ(run.out, "");
    const std::size_t error = run.err.find("error: ");
    ASSERT_NE(error, std::string::npos) << run.err;
    EXPECT_NE(run.err.find(words, error), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("hint: ", error), std::string::npos) << run.err;
    EXPECT_EQ(lines_of(run.err.substr(error)), 2U) << run.err;
    for (const char* field :
         {"n_best", "max_answer", "max_question", "null_threshold", "version_2", "null_odds"})
      EXPECT_EQ(run.err.find(field, error), std::string::npos)
          << "a field instead of its option: " << run.err;
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* TextQa::folder_ = nullptr;

TEST_F(TextQa, AnswersItsQuestionsAndScoresThem) {
  EXPECT_EQ(must(predict({path("four.json"), "--format", "squad", "-o", path("p.json")})), "");
  EXPECT_EQ(
      read_text(path("p.json")),
      "{\n    \"q1\": \"blue\",\n    \"q2\": \"red\",\n    \"q3\": \"near\",\n    \"q4\": \"far\"\n}\n");
  const std::string json = must(evaluate({"--format", "squad", "--data", path("four.json"), "--predictions",
                                          path("p.json"), "--html", path("p.html"), "--worst", "2"}));
  const auto scores = nlohmann::json::parse(json);
  EXPECT_EQ(scores.at("exact_match"), 100.0);
  EXPECT_EQ(scores.at("f1"), 100.0);
  EXPECT_TRUE(scores.contains("provenance"));
  const std::string html = read_text(path("p.html"));
  EXPECT_NE(html.find("<mark class=\"both\">blue</mark>"), std::string::npos) << html;
  EXPECT_EQ(html.find("<mark class=\"both\">near</mark>"), std::string::npos) << "two of four";
  EXPECT_EQ(must(evaluate({"--format", "squad", "--data", path("four.json"), "--predictions", path("p.json"),
                           "-o", path("scores.json"), "--no-provenance", "--replace-invalid"})),
            "");
  EXPECT_FALSE(nlohmann::json::parse(read_text(path("scores.json"))).contains("provenance"));
}

TEST_F(TextQa, OneQuestionIsAnsweredAtOnce) {
  const std::string context = "a cat is red and a dog is blue";
  const std::string file = write("context.txt", context);
  const std::string line = must(predict({"--question", "dog", "--context-text", context}));
  EXPECT_EQ(line.substr(0, 18), "blue (probability ");
  EXPECT_NE(line.find(", characters 26-30)\n"), std::string::npos) << line;
  EXPECT_EQ(must(predict({"--question", "dog", "--context", file})), line);
  EXPECT_EQ(must(predict({"--question", "dog", "--context", "-"}), context), line);
  const auto json = nlohmann::json::parse(must(predict({"--question", "dog", "--context", file, "--json"})));
  EXPECT_EQ(json.at("answer"), "blue");
  EXPECT_EQ(json.at("start"), 26);
  EXPECT_EQ(json.at("end"), 30);
  EXPECT_GT(json.at("probability"), 0.3);
  const auto first = nlohmann::json::parse(
      must(predict({"--question", "dog", "--context", file, "--json", "--decode", "pipeline"})));
  EXPECT_EQ(first.at("answer"), "blue");
  EXPECT_EQ(must(predict({"--question", "dog", "--context-text", " "})).substr(0, 9), "no answer");
  EXPECT_NE(must(predict({"--question", "dog", "--context-text", "a \xFF", "--replace-invalid"})), "");
}

TEST_F(TextQa, AnswersDependOnNeitherBatchNorThreads) {
  const auto answers = [&](const Words& more) {
    Words arguments = {path("five.json"), "--candidates", path("nbest.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string predictions = must(predict(arguments));
    return predictions + read_text(path("nbest.json"));
  };
  const std::string usual = answers({});
  EXPECT_EQ(answers({"--batch-tokens", "64"}), usual);
  EXPECT_EQ(answers({"-@", "1"}), usual);
  EXPECT_EQ(answers({"--batch-tokens", "2k", "-@", "3"}), usual);
  const std::string piped =
      must(predict({"-", "--candidates", path("nbest.json")}), read_text(path("five.json")));
  EXPECT_EQ(piped + read_text(path("nbest.json")), usual);
}

TEST_F(TextQa, CandidatesAndNullOddsStandBesideThePredictions) {
  must(predict({path("five.json"), "-o", path("v2.json"), "--candidates", path("v2n.json"), "--null-odds",
                path("v2o.json"), "--version-2", "--n-best-size", "3", "--max-answer", "2"}));
  const auto predictions = nlohmann::json::parse(read_text(path("v2.json")));
  const auto odds = nlohmann::json::parse(read_text(path("v2o.json")));
  const auto nbest = nlohmann::json::parse(read_text(path("v2n.json")));
  ASSERT_EQ(predictions.size(), 5U);
  for (const auto& [id, text] : predictions.items()) {
    EXPECT_EQ(text.get<std::string>().empty(), odds.at(id) > 0.0) << id;
    EXPECT_LE(nbest.at(id).size(), 4U) << "the empty one is put back";
    double sum = 0;
    for (const auto& candidate : nbest.at(id)) sum += candidate.at("probability").get<double>();
    EXPECT_NEAR(sum, 1, 1e-9);
  }
  const auto silent =
      nlohmann::json::parse(must(predict({path("five.json"), "--version-2", "--null-threshold", "-10000"})));
  for (const auto& text : silent) EXPECT_EQ(text, "");
  const std::string json =
      must(evaluate({"--format", "squad", "--data", path("five.json"), "--predictions", path("v2.json"),
                     "--null-odds", path("v2o.json"), "--null-threshold", "0"}));
  EXPECT_EQ(nlohmann::json::parse(json).at("total"), 5);
  EXPECT_TRUE(nlohmann::json::parse(json).contains("best_f1_thresh"));
  EXPECT_TRUE(nlohmann::json::parse(must(evaluate({"--format", "squad", "--data", path("four.json"),
                                                   "--predictions", path("v2.json"), "--version-2"})))
                  .contains("HasAns_f1"));
}

TEST_F(TextQa, WindowsAreCutAsAsked) {
  const auto answers = [&](const Words& more) {
    Words arguments = {path("four.json"), "--candidates", path("w.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    must(predict(arguments));
    return read_text(path("w.json"));
  };
  const std::string usual = answers({});
  const std::string overlap = answers({"--length", "24", "--overlap", "6", "--max-question", "3"});
  EXPECT_NE(overlap, usual);
  // A window of 24 tokens holds 18 of the context beside a question of 3: 12 further is an overlap of 6.
  EXPECT_EQ(answers({"--length", "24", "--step", "12", "--max-question", "3"}), overlap);
  EXPECT_NE(answers({"--length", "24", "--step", "5", "--max-question", "3"}), overlap);
  EXPECT_NE(answers({"--max-question", "1"}), usual);
  refused(predict({path("four.json"), "--length", "24", "--overlap", "18"}), 2, "--overlap is 18");
  refused(predict({path("four.json"), "--length", "24", "--step", "23"}), 2, "--step is 23");
  refused(predict({path("four.json"), "--length", "129"}), 2, "--length 129");
  refused(predict({path("four.json"), "--step", "5", "--overlap", "5"}), 2, "--overlap");
}

TEST_F(TextQa, OptionsOfTrainingReachTheRun) {
  const Words more = {"--train",
                      path("five.json"),
                      "--valid",
                      path("five.json"),
                      "--format",
                      "squad",
                      "--version-2",
                      "--length",
                      "40",
                      "--overlap",
                      "8",
                      "--max-question",
                      "6",
                      "--whitespace",
                      "keep",
                      "--ascii-punctuation",
                      "--replace-invalid",
                      "--accumulate",
                      "2",
                      "--epochs",
                      "2",
                      "--dropout",
                      "0.1",
                      "--lr",
                      "0.001",
                      "--warmup",
                      "1",
                      "--schedule",
                      "huggingface",
                      "--optimizer",
                      "torch",
                      "--beta1",
                      "0.8",
                      "--beta2",
                      "0.99",
                      "--epsilon",
                      "1e-7",
                      "--weight-decay",
                      "0.1",
                      "--clip-norm",
                      "1",
                      "--average",
                      "0.9",
                      "--layer-decay",
                      "0.8",
                      "--grad-checkpoint",
                      "--memory-limit",
                      "1G",
                      "--debug-nan",
                      "--save-every",
                      "1",
                      "--keep-last",
                      "1",
                      "--keep-best",
                      "1",
                      "--final",
                      "best",
                      "--patience",
                      "100",
                      "--eval-every",
                      "1",
                      "--seed",
                      "3"};
  must(finetune("options", more));
  must(finetune("paper", {"--train", path("four.json"), "--recipe", "paper", "--steps", "2"}));
  EXPECT_NE(read_text(path("paper/config.toml")).find("lr = 3e-05"), std::string::npos);
  const auto newest = read_text(path("options/config.toml"));
  EXPECT_NE(newest.find("average = 0.9"), std::string::npos) << newest;
  EXPECT_NE(newest.find("layer-decay = 0.8"), std::string::npos) << newest;
  const auto text = nlohmann::json::parse(read_text(path("options/final/text.json")));
  EXPECT_EQ(text.at("task"), "qa");
  EXPECT_EQ(text.at("data_format"), "squad");
  EXPECT_EQ(text.at("length"), 40);
  EXPECT_EQ(text.at("white_space"), "keep");
  EXPECT_EQ(text.at("ascii_punctuation"), true);
  EXPECT_EQ(text.at("overlap"), 8);
  EXPECT_EQ(text.at("max_question"), 6);
  EXPECT_EQ(text.at("version_2"), true);
  // What a folder says of its training holds without a word at prediction.
  const Words model = {"text", "qa", "predict", "-m", path("options/final"), path("five.json")};
  const auto with = [&](const Words& words) {
    Words arguments = model;
    arguments.insert(arguments.end(), words.begin(), words.end());
    must(arguments);
    return read_text(path("said.json"));
  };
  const std::string said = with({"--candidates", path("said.json")});
  EXPECT_EQ(said, with({"--candidates", path("said.json"), "--version-2", "--overlap", "8", "--max-question",
                        "6"}));
  EXPECT_NE(said, with({"--candidates", path("said.json"), "--no-version-2"}));
  const std::string config = read_text(path("options/config.toml"));
  for (const char* line : {"overlap = 8", "max-question = 6", "clip-norm = 1", "seed = 3"})
    EXPECT_NE(config.find(line), std::string::npos) << line << "\n" << config;
  EXPECT_NE(read_text(path("options/final/README.md")).find("5, 1 without an answer"), std::string::npos);
  EXPECT_GT(lines_of(read_text(path("options/valid.tsv"))), 3U);

  // Whole windows by their distance instead; the same as with the overlap that it leaves.
  must(finetune("step", {"--train", path("four.json"), "--steps", "2", "--length", "24", "--step", "12",
                         "--max-question", "3"}));
  must(finetune("overlap", {"--train", path("four.json"), "--steps", "2", "--length", "24", "--overlap", "6",
                            "--max-question", "3"}));
  EXPECT_EQ(read_text(path("step/final/model.safetensors")),
            read_text(path("overlap/final/model.safetensors")));
}

// The paper's global question tokens: a plan that is given stays with the model.
TEST_F(TextQa, APlanIsTrainedWithAndKept) {
  must({"attention", "--length", "128", "--block-size", "8", "--heads", "2", "--random-blocks", "1",
        "--random-mode", "hf-train", "--max-positions", "128", "--global-tokens", "16", "-o",
        path("question-plan.json"), "--no-provenance"});
  const Words more = {"--train", path("four.json"), "--steps", "2", "--no-provenance"};
  const auto with = [&](const Words& options) {
    Words all = more;
    all.insert(all.end(), options.begin(), options.end());
    return all;
  };
  must(finetune("planned", with({"--plan", path("question-plan.json")})));
  const auto plan = nlohmann::json::parse(read_text(path("planned/final/attention_plan.json")));
  EXPECT_EQ(plan["heads"][0]["rows"],
            nlohmann::json::parse(read_text(path("question-plan.json")))["heads"][0]["rows"]);
  EXPECT_NE(must({"info", path("planned/final")}).find("file"), std::string::npos);
  must(finetune("unplanned", with({"--random-mode", "hf-train"})));
  EXPECT_FALSE(std::filesystem::exists(path("unplanned/final/attention_plan.json")));
  EXPECT_NE(
      must({"text", "qa", "predict", "-m", path("planned/final"), "--question", "cat", "--context", "-"},
           "red green blue"),
      "");
  must({"attention", "--length", "32", "--block-size", "8", "--heads", "2", "--random-blocks", "1",
        "--random-mode", "none", "-o", path("short-plan.json")});
  refused(finetune("none", with({"--plan", path("short-plan.json")})), 2, "is for 32 tokens");
  refused(finetune("none", with({"--plan", path("question-plan.json"), "--random-mode", "google"})), 2,
          "--plan");
}

TEST_F(TextQa, AResumedRunEndsInTheSameWeights) {
  const Words more = {"--train", path("four.json"), "--steps", "6", "--save-every", "2", "--keep-last", "0"};
  must(finetune("whole", more));
  must(finetune("parts", more));
  std::filesystem::remove_all(path("parts/final"));
  std::filesystem::remove_all(path("parts/checkpoint-6"));
  std::filesystem::remove_all(path("parts/checkpoint-4"));
  Words resumed = more;
  resumed.push_back("--resume");
  must(finetune("parts", resumed));
  EXPECT_EQ(read_text(path("parts/final/model.safetensors")),
            read_text(path("whole/final/model.safetensors")));
  refused(finetune("parts", {"--train", path("five.json"), "--version-2", "--steps", "6", "--resume"}), 2,
          "training questions");
  refused(finetune("parts", more), 1, "parts");
  Words forced = more;
  forced.push_back("--force");
  must(finetune("parts", forced));
}

TEST_F(TextQa, ModelsOfSpansAnswerNoOtherFormat) {
  for (const char* format : {"hotpotqa", "nq", "wikihop"}) {
    refused(predict({path("four.json"), "--format", format}), 1, "and the model's is question-answering");
    refused(predict({"--question", "dog", "--context-text", "a", "--format", format}), 2, "--question is of");
  }
  refused(predict({path("four.json"), "--format", "quac"}), 2, "quac");
  refused(finetune("none", {"--train", path("four.json"), "--format", "wikihop"}), 1, "<sep_0>");
  refused(finetune("none", {"--train", path("four.json"), "--keep-null", "0.5"}), 2, "--keep-null is of nq");
  refused(predict({path("four.json"), "--evidence", "x"}), 2, "--evidence is of triviaqa");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  const std::string gold =
      write("hop.json", R"([{"id": "w", "query": "q", "answer": "a", "candidates": ["a", "b"],
      "supports": ["s"]}])");
  const std::string predictions = write("hop_p.json", R"({"w": "A", "x": "b"})");
  const RunResult run =
      run_bigbird(evaluate({"--format", "wikihop", "--data", gold, "--predictions", predictions}));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out).at("accuracy"), 1.0);
  EXPECT_EQ(nlohmann::json::parse(run.out).at("predictions").at("unknown"), 1);
  EXPECT_NE(run.err.find("1 predictions are of ids that the data lack: x"), std::string::npos) << run.err;
}

TEST_F(TextQa, BadInputIsRefusedAndLeavesNothing) {
  const std::string broken =
      write("broken.json", "{\"data\": [{\"id\": \"a\", \"question\": \"b\", \"context\": ");
  refused(predict({broken, "-o", path("none.json"), "--candidates", path("none_n.json")}), 1,
          "broken.json:1:");
  const std::string twice =
      write("twice.json", tiny_questions_json({{"a", "b", "c d", "d", 2}, {"a", "e", "c", "c", 0}}));
  refused(predict({twice, "-o", path("none.json")}), 1, "number 2 of the file and has the id of number 1");
  refused(predict({write("empty.json", "{\"data\": []}"), "-o", path("none.json")}), 1, "no questions");
  refused(predict({path("absent.json"), "-o", path("none.json")}), 1, "absent.json");
  refused({"text", "qa", "predict", "-m", path("absent"), "--evidence", path("e"), broken}, 1,
          "no such model folder");
  EXPECT_FALSE(std::filesystem::exists(path("none.json")));
  EXPECT_FALSE(std::filesystem::exists(path("none_n.json")));
  refused(finetune("none", {"--train", path("five.json")}), 1, "'q5'");
  refused(finetune("none", {"--train", "-"}), 2, "read from files");
  EXPECT_FALSE(std::filesystem::exists(path("none/final")));
  const std::string bad = write("bad_p.json", "{\"q1\": \"a\",\n \"q2\": 5 5}");
  refused(evaluate({"--format", "squad", "--data", path("four.json"), "--predictions", bad}), 1,
          "bad_p.json:2:");
  refused(evaluate(
              {"--format", "squad", "--data", path("four.json"), "--predictions", write("list.json", "[1]")}),
          1, "not an object");
}

TEST_F(TextQa, ContradictionsAreUsageErrors) {
  refused(predict({}), 2, "in one way");
  refused(predict({path("four.json"), "--question", "a", "--context-text", "b"}), 2, "in one way");
  refused(predict({"--question", "a"}), 2, "in one way");
  refused(predict({"--question", " ", "--context-text", "b"}), 2, "question is empty");
  refused(predict({"--question", "a", "--context-text", "b", "--candidates", path("x.json")}), 2,
          "--candidates");
  refused(predict({path("four.json"), "--json"}), 2, "--json");
  refused(predict({path("four.json"), "--null-odds", path("x.json")}), 2, "--version-2");
  refused(predict({path("four.json"), "--n-best-size", "0"}), 2, "--n-best-size");
  refused(predict({path("four.json"), "--max-answer", "0"}), 2, "--max-answer");
  refused(predict({path("four.json"), "--null-threshold", "1"}), 2, "--version-2");
  refused(predict({path("four.json"), "--version-2", "--decode", "pipeline", "--null-threshold", "1"}), 2,
          "--null-threshold");
  refused(evaluate({"--format", "squad", "--data", path("four.json"), "--predictions", path("four.json"),
                    "--null-threshold", "1"}),
          2, "--null-odds");
  refused(evaluate({"--format", "squad", "--data", "-", "--predictions", "-"}), 2, "standard input");
  const RunResult wrong_model = run_bigbird({"text", "qa", "predict", "-m", path("init"), path("four.json")});
  EXPECT_EQ(wrong_model.status, 1);
  EXPECT_NE(wrong_model.err.find("no question answering head"), std::string::npos) << wrong_model.err;
}

}  // namespace
}  // namespace bigbird::testing
