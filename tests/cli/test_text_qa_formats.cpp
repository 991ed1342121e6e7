// text qa on HotpotQA, Natural Questions, TriviaQA and WikiHop: each learns a few questions by heart, answers
// them into the file of its official script, and is scored as perfect; answers that depend on neither batch
// nor threads; bad input that leaves nothing behind.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/io/files/file.h"
#include "lib/model/network/layout.h"
#include "lib/model_folder/checkpoint.h"
#include "tests/cli/words.h"
#include "tests/support/support.h"
#include "tests/support/tiny_answer_model.h"

namespace bigbird::testing {
namespace {

class TextQaFormats : public ::testing::Test {
 protected:
  TextQaFormats() { write_tiny_answer_init(folder_ / "init"); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    write_text(folder_ / name, text);
    return path(name);
  }
  Words finetune(const std::string& run, const std::string& format, const Words& more) const {
    Words arguments = {"text", "qa", "finetune", "--format", format, "--init", path("init"), "-o", path(run)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // A model that knows the questions of a file.
  void learn(const std::string& format, const std::string& train, const std::string& batch,
             const Words& more = {}) const {
    Words words = {"--train", train,  "--batch", batch,          "--steps",
                   "400",     "--lr", "0.003",   "--save-every", "1000"};
    words.insert(words.end(), more.begin(), more.end());
    const RunResult run = run_bigbird(finetune("tuned", format, words));
    ASSERT_EQ(run.status, 0) << run.err;
  }
  Words predict(const Words& more) const {
    Words arguments = {"text", "qa", "predict", "-m", path("tuned/final")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static RunResult done(const Words& arguments, const std::string& input = {}) {
    RunResult run = run_bigbird(arguments, input);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  }
  static std::string must(const Words& arguments, const std::string& input = {}) {
    return done(arguments, input).out;
  }
  nlohmann::json scores(const std::string& format, const std::string& data,
                        const std::string& predictions) const {
    return nlohmann::json::parse(
        must({"text", "qa", "evaluate", "--format", format, "--data", data, "--predictions", predictions}));
  }
  // The same predictions, however they are computed.
  void expect_the_same_anyhow(const Words& question_file, const std::string& usual) const {
    for (const Words& how : std::vector<Words>{{"--batch-tokens", "128"},
                                               {"--batch-tokens", "2k", "-@", "1"},
                                               {"--batch-tokens", "512", "-@", "3"}}) {
      Words words = question_file;
      words.insert(words.end(), how.begin(), how.end());
      EXPECT_EQ(must(predict(words)), usual);
    }
  }
  // The same predictions from shards, and from more shards than there are chunks.
  void expect_the_same_of_shards(const Words& question_file, const std::string& usual) const {
    for (const unsigned count : {2U, 6U}) {
      Words merge = {"merge", "-o", "-"};
      for (unsigned shard = count; shard >= 1; --shard) {
        Words words = question_file;
        merge.push_back(path("shard" + std::to_string(shard)));
        for (const std::string& word : {std::string("--chunk-size"), std::string("1"), std::string("--shard"),
                                        fmt::format("{}/{}", shard, count), std::string("-o"), merge.back()})
          words.push_back(word);
        must(predict(words));
        EXPECT_FALSE(std::filesystem::exists(merge.back() + ".parts"));
      }
      EXPECT_EQ(must(merge), usual) << count << " shards";
    }
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
    const std::string told = run.err.substr(error);
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2) << run.err;
    for (const char* field : {"max_answer", "max_question", "support_threshold", "keep_null", "max_windows"})
      EXPECT_EQ(run.err.find(field, error), std::string::npos) << run.err;
  }
  void expect_nothing_left(const std::string& name) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      EXPECT_EQ(entry.path().filename().string().find(name), std::string::npos) << entry.path();
  }

  TemporaryFolder folder_;
};

TEST_F(TextQaFormats, HotpotQa) {
  const std::string train = write("hotpot.json", tiny_hotpotqa_json());
  learn("hotpotqa", train, "4", {"--valid", train, "--eval-every", "400", "--max-question", "12"});
  EXPECT_NE(read_text(path("tuned/valid.tsv")).find("answer_loss"), std::string::npos);
  const auto text = nlohmann::json::parse(read_text(path("tuned/final/text.json")));
  EXPECT_EQ(text.at("data_format"), "hotpotqa");
  EXPECT_EQ(text.at("max_question"), 12);
  EXPECT_FALSE(text.contains("overlap"));

  must(predict({train, "-o", path("p.json")}));
  const std::string usual = read_text(path("p.json"));
  const auto json = nlohmann::json::parse(usual);
  EXPECT_EQ(json.at("answer"), nlohmann::json({{"h1", "blue"}, {"h2", "red"}, {"h3", "yes"}, {"h4", "no"}}));
  EXPECT_EQ(json.at("sp").at("h4"), nlohmann::json::parse(R"([["pets", 0], ["sky", 1]])"));
  const auto found = scores("hotpotqa", train, path("p.json"));
  for (const char* key : {"em", "f1", "sp_em", "sp_f1", "joint_em", "joint_f1"})
    EXPECT_EQ(found.at(key), 1.0);
  expect_the_same_anyhow({train, "--format", "hotpotqa"}, usual);
  expect_the_same_of_shards({train}, usual);
  must(predict({train, "--shard", "1/2", "-o", path("half1")}));
  must(predict({train, "--shard", "2/2", "-o", path("half2"), "--support-threshold", "1"}));
  const RunResult halves = run_bigbird({"merge", path("half1"), path("half2"), "-o", path("none.json")});
  EXPECT_EQ(halves.status, 1);
  EXPECT_NE(halves.err.find("half2: support_threshold differs"), std::string::npos) << halves.err;
  EXPECT_EQ(must(predict({"-", "--max-question", "12", "--replace-invalid"}), tiny_hotpotqa_json()), usual);

  // No sentence is certain enough for all, and every one for nothing.
  const auto all = nlohmann::json::parse(must(predict({train, "--support-threshold", "0"})));
  EXPECT_EQ(all.at("sp").at("h1").size(), 4U);
  const auto none = nlohmann::json::parse(must(predict({train, "--support-threshold", "1"})));
  EXPECT_EQ(none.at("sp").at("h1").size(), 0U);
  EXPECT_EQ(none.at("answer").at("h1"), "");
  EXPECT_EQ(none.at("answer").at("h3"), "yes");
  const auto letter =
      nlohmann::json::parse(must(predict({train, "--max-answer", "1", "--n-best-size", "90"})));
  EXPECT_EQ(letter.at("answer").at("h1").get<std::string>().size(), 1U);
  const RunResult cut = done(predict({train, "--length", "32"}));
  EXPECT_NE(cut.err.find("sentences are beyond 32 tokens"), std::string::npos) << cut.err;

  refused(predict({train, "--overlap", "5"}), 2, "--overlap is of squad, nq, triviaqa");
  refused(predict({train, "--candidates", path("x.json")}), 2, "--candidates is of squad");
  refused(predict({train, "--max-answer", "0", "-o", path("none.json")}), 2, "--max-answer");
  refused(predict({train, "--format", "nq"}), 1, "nq needs a head structured-answers with short_start");
  refused(predict({train, "--format", "squad"}), 1, "its head is structured-answers");
  refused(predict({"--question", "dog", "--context-text", "a"}), 2, "--question is of squad and triviaqa");
  const std::string broken = write("broken.json", tiny_hotpotqa_json().substr(0, 400));
  refused(predict({broken, "-o", path("none.json")}), 1, "broken.json:");
  refused(predict({write("empty.json", "[]"), "-o", path("none.json")}), 1, "no questions");
  expect_nothing_left("none");
}

TEST_F(TextQaFormats, NaturalQuestions) {
  const std::string train = write("nq.jsonl", tiny_nq_jsonl());
  learn("nq", train, "5", {"--keep-null", "1"});
  must(predict({train, "-o", path("p.json")}));
  const std::string usual = read_text(path("p.json"));
  const auto found = scores("nq", train, path("p.json"));
  for (const char* key :
       {"long-best-threshold-f1", "short-best-threshold-f1", "long-recall-at-precision>=0.9"})
    EXPECT_EQ(found.at(key), 1.0) << key << "\n" << usual;
  const auto json = nlohmann::json::parse(usual).at("predictions");
  ASSERT_EQ(json.size(), 5U);
  EXPECT_EQ(json[0].at("example_id"), -1);
  EXPECT_EQ(json[0].at("short_answers")[0].at("start_token"), 4);
  EXPECT_EQ(json[2].at("yes_no_answer"), "YES");
  EXPECT_EQ(json[2].at("short_answers").size(), 0U);
  EXPECT_GT(json[0].at("short_answers_score"), json[4].at("short_answers_score"));
  expect_the_same_anyhow({train}, usual);
  expect_the_same_of_shards({train}, usual);
  expect_the_same_anyhow({train, "--length", "24", "--step", "5"},
                         must(predict({train, "--length", "24", "--step", "5"})));
  {
    OutputStream zipped(path("nq.jsonl.gz"));
    zipped.write(tiny_nq_jsonl());
    zipped.close();
  }
  EXPECT_EQ(must(predict({path("nq.jsonl.gz"), "--max-answer", "38"})), usual);
  std::string bytes = read_text(path("nq.jsonl.gz"));
  write("cut.jsonl.gz", bytes.substr(0, bytes.size() - 20));
  refused(predict({path("cut.jsonl.gz"), "-o", path("none.json")}), 1, "cut.jsonl.gz");
  std::string beyond = tiny_nq_jsonl();
  beyond.replace(beyond.find("\"candidate_index\": 0"), 20, "\"candidate_index\": 7");
  refused(finetune("none", "nq", {"--train", write("beyond.jsonl", beyond)}), 1, "is 7 of 2 candidates");
  refused(finetune("none", "nq", {"--train", train, "--keep-null", "2"}), 2, "--keep-null");
  refused(finetune("none", "nq", {"--train", train, "--max-windows", "2"}), 2,
          "--max-windows is of triviaqa, wikihop");
  refused(predict({train, "--max-answer", "0"}), 2, "--max-answer");
  refused(predict({train, "--version-2"}), 2, "--version-2 is of squad");
  expect_nothing_left("none");
}

TEST_F(TextQaFormats, TriviaQa) {
  const std::string train = write("trivia.json", tiny_triviaqa_json(folder_ / "evidence"));
  learn("triviaqa", train, "4",
        {"--evidence", path("evidence"), "--domain", "wikipedia", "--accumulate", "2"});
  const auto text = nlohmann::json::parse(read_text(path("tuned/final/text.json")));
  EXPECT_EQ(text.at("data_format"), "triviaqa");
  EXPECT_EQ(text.at("overlap"), 42);
  must(predict({train, "--evidence", path("evidence"), "-o", path("p.json")}));
  const std::string usual = read_text(path("p.json"));
  EXPECT_EQ(
      usual,
      "{\n    \"t1\": \"blue\",\n    \"t2\": \"red\",\n    \"t3\": \"near\",\n    \"t4\": \"far\"\n}\n");
  const auto found = scores("triviaqa", train, path("p.json"));
  EXPECT_EQ(found.at("exact_match"), 100.0);
  EXPECT_EQ(found.at("f1"), 100.0);
  expect_the_same_anyhow({train, "--evidence", path("evidence")}, usual);
  // A model of spans answers one question at once too.
  EXPECT_EQ(
      must(predict({"--question", "dog", "--context", path("evidence/wikipedia/pets.txt")})).substr(0, 5),
      "blue ");

  // Of two documents one answer comes back, in the domain Web one of each.
  std::string both = tiny_triviaqa_json(folder_ / "evidence");
  const std::string one = "\"EntityPages\": [{\"Filename\": \"pets.txt\"}]";
  both.replace(both.find(one), one.size(),
               "\"EntityPages\": [{\"Filename\": \"sky.txt\"}, {\"Filename\": \"gone.txt\"}, "
               "{\"Filename\": \"pets.txt\"}]");
  const RunResult two = done(predict({write("both.json", both), "--evidence", path("evidence")}));
  const auto answers = nlohmann::json::parse(two.out);
  EXPECT_EQ(answers.size(), 4U);
  EXPECT_EQ(two.out.find("\"t1\""), two.out.rfind("\"t1\"")) << "one answer of all its documents";
  EXPECT_NE(two.err.find("document not in the folder of evidence 1"), std::string::npos) << two.err;
  // A question's documents are in one chunk.
  expect_the_same_of_shards({path("both.json"), "--evidence", path("evidence")}, two.out);
  std::string web = both;
  web.replace(web.find("\"Wikipedia\""), 11, "\"Web\"");
  const auto each = nlohmann::json::parse(
      must(predict({write("web.json", web), "--evidence", path("evidence"), "--domain", "web"})));
  EXPECT_EQ(each.size(), 5U);
  EXPECT_EQ(each.at("t1--pets.txt"), "blue");
  EXPECT_TRUE(answers.at("t1") == each.at("t1--pets.txt") || answers.at("t1") == each.at("t1--sky.txt"));
  EXPECT_EQ(
      nlohmann::json::parse(must(predict({train, "--evidence", path("evidence"), "--max-answer", "1"}))),
      nlohmann::json::parse(usual));

  refused(predict({train}), 2, "triviaqa needs --evidence");
  refused(predict({train, "--evidence", path("nowhere"), "-o", path("none.json")}), 1,
          "none of its 4 documents");
  refused(predict({path("web.json"), "--evidence", path("evidence"), "-o", path("none.json")}), 1,
          "\"Domain\"");
  refused(finetune("none", "triviaqa", {"--train", train}), 2, "triviaqa needs --evidence");
  refused(finetune("none", "triviaqa", {"--train", train, "--evidence", path("evidence"), "--version-2"}), 2,
          "--version-2 is of squad");
  expect_nothing_left("none");
}

TEST_F(TextQaFormats, DocumentsAreTrainedOnWindowByWindow) {
  const std::string train = write("trivia.json", tiny_triviaqa_json(folder_ / "evidence"));
  const Words more = {"--train",       train, "--evidence",   path("evidence"),
                      "--length",      "24",  "--steps",      "6",
                      "--batch",       "4",   "--save-every", "2",
                      "--keep-last",   "0",   "--accumulate", "2",
                      "--max-windows", "2"};
  must(finetune("whole", "triviaqa", more));
  must(finetune("parts", "triviaqa", more));
  for (const char* gone : {"final", "checkpoint-6", "checkpoint-4"})
    std::filesystem::remove_all(folder_ / "parts" / gone);
  Words resumed = more;
  resumed.push_back("--resume");
  must(finetune("parts", "triviaqa", resumed));
  EXPECT_EQ(read_text(path("parts/final/model.safetensors")),
            read_text(path("whole/final/model.safetensors")));
  *(std::find(resumed.begin(), resumed.end(), "--max-windows") + 1) = "1";
  const RunResult one = run_bigbird(finetune("parts", "triviaqa", resumed));
  EXPECT_EQ(one.status, 2) << one.err;
  // Windows of a document compete together, so that a batch in one part has the same gradient.
  Words at_once = more;
  *(std::find(at_once.begin(), at_once.end(), "--accumulate") + 1) = "1";
  must(finetune("once", "triviaqa", at_once));
  const auto loss = [&](const std::string& run) {
    const std::string rows = read_text(path(run + "/metrics.tsv"));
    return std::stod(rows.substr(rows.find("\n1\t") + 3));
  };
  EXPECT_NEAR(loss("once"), loss("whole"), 1e-4);
}

TEST_F(TextQaFormats, WikiHop) {
  const std::string train = write("hop.json", tiny_wikihop_json());
  learn("wikihop", train, "3");
  must(predict({train, "-o", path("p.json")}));
  const std::string usual = read_text(path("p.json"));
  EXPECT_EQ(usual, "{\n    \"w1\": \"blue\",\n    \"w2\": \"red\",\n    \"w3\": \"far\"\n}\n");
  EXPECT_EQ(scores("wikihop", train, path("p.json")).at("accuracy"), 1.0);
  expect_the_same_anyhow({train}, usual);
  expect_the_same_of_shards({train}, usual);
  expect_the_same_anyhow({train, "--length", "40"}, must(predict({train, "--length", "40"})));
  const Words shorter = {"--train", train, "--length", "40", "--steps", "2"};
  const RunResult all = done(finetune("short", "wikihop", shorter));
  EXPECT_EQ(all.err.find("beyond"), std::string::npos) << all.err;
  Words less = shorter;
  less.insert(less.end(), {"--max-windows", "1"});
  const RunResult cut = done(finetune("cut", "wikihop", less));
  EXPECT_NE(cut.err.find("inputs beyond --max-windows "), std::string::npos) << cut.err;
  EXPECT_NE(read_text(path("cut/metrics.tsv")), read_text(path("short/metrics.tsv")));

  std::string other = tiny_wikihop_json();
  other.replace(other.find("\"answer\": \"blue\""), 16, "\"answer\": \"pink\"");
  refused(finetune("none", "wikihop", {"--train", write("other.json", other)}), 1, "is not a candidate");
  EXPECT_EQ(must(predict({path("other.json")})), usual) << "answers are not looked at";
  refused(finetune("none", "wikihop", {"--train", train, "--max-question", "9"}), 2, "--max-question is of");
  refused(predict({train, "--length", "20", "-o", path("none.json")}), 2, "--length 20 leaves no room");
  refused(predict({train, "--max-answer", "3"}), 2, "--max-answer is of");
  expect_nothing_left("none");
}

TEST_F(TextQaFormats, AModelWhoseLogitsAreNoNumbersWritesNothing) {
  const std::string train = write("hop.json", tiny_wikihop_json());
  must(finetune("tuned", "wikihop", {"--train", train, "--steps", "1"}));
  LoadedModel model = load_model(path("tuned/final"), {});
  const ParameterLayout layout(model.config);
  // Of weights this large, sixteen add up beyond the range of floats.
  for (const TensorSpec& tensor : layout.tensors()) {
    if (tensor.name.find("answer_scores") == std::string::npos) continue;
    std::fill_n(model.parameters.begin() + static_cast<std::ptrdiff_t>(tensor.offset), tensor.count, 3e38f);
  }
  write_model_files(path("tuned/final"), model.config, layout, model.parameters, "", "tiny\n");
  refused(predict({train, "-o", path("none.json")}), 1,
          "question 'w1': the model gives logits that are not finite");
  expect_nothing_left("none");
}

}  // namespace
}  // namespace bigbird::testing
