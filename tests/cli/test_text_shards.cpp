// text classify predict and text qa predict in parts: shards put together by `bigbird merge`, and runs that
// were killed and go on, give the bytes of one run; what is of another run is refused.
#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/cli/running_program.h"
#include "tests/cli/text_fixture.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_question_model.h"

namespace bigbird::testing {
namespace {

constexpr int texts = 23;

// A classifier and a model that answers, both of random weights, and a file for each.
class TextShards : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    write_tiny_text_model(path("classes"));
    write_tiny_question_model(path("answers"));
    write("texts.csv", csv(texts));
    std::vector<TinyQuestion> questions;
    for (unsigned i = 0; i < texts; ++i) {
      const std::string words = tiny_text(i) + " " + tiny_text(i + 50);
      questions.push_back({"q" + std::to_string(i), tiny_text(i + 100), words, words.substr(0, 2), 0});
    }
    write("questions.json", tiny_questions_json(questions));
  }

  static std::string csv(unsigned rows) {
    std::string text = "id,text,text_pair\n";
    for (unsigned i = 0; i < rows; ++i)
      text += "t" + std::to_string(i) + "," + tiny_text(i) + "," + tiny_text(i + 1000) + "\n";
    return text;
  }

  static Words classify(const Words& more, const std::string& input = path("texts.csv")) {
    return Words{"text", "classify", "predict", "-m", path("classes"), input, "--chunk-size", "4"} + more;
  }
  // The three files of answers, NAME.p.json and so on.
  static Words answer(const std::string& name, const Words& more) {
    return Words{"text",
                 "qa",
                 "predict",
                 "-m",
                 path("answers"),
                 path("questions.json"),
                 "--version-2",
                 "--chunk-size",
                 "4",
                 "-o",
                 path(name + ".p.json"),
                 "--candidates",
                 path(name + ".n.json"),
                 "--null-odds",
                 path(name + ".o.json")} +
           more;
  }
  static Words merge(const Words& shards, const std::string& output) {
    return Words{"merge"} + shards + Words{"-o", path(output)};
  }
  static bool exists(const std::string& name) { return std::filesystem::exists(path(name)); }
  static std::string file(const std::string& name) { return read_text(path(name)); }

  // Runs the command until it has finished three chunks of many, and kills it then.
  static void kill_at_work(const Words& command, const std::string& parts) {
    Running running(command, path("stderr"));
    EXPECT_TRUE(running.wait_until([&] { return exists(parts + "/chunk-00000002"); })) << running.error();
    running.signal(SIGKILL);
    EXPECT_EQ(running.wait(), 1000 + SIGKILL);
  }
};

class MergedTexts : public TextShards, public ::testing::WithParamInterface<const char*> {};

TEST_P(MergedTexts, AreTheBytesOfOneRun) {
  const std::string type = GetParam();
  const auto name = [&](const std::string& stem) { return path(stem + "." + type); };
  must(classify({"-O", type.substr(0, type.find('.')), "-o", name("whole")}));
  EXPECT_FALSE(exists("whole." + type + ".shard.json"));
  Words shards;
  // 6 chunks: of 7 shards the last has none.
  for (const char* shard : {"3/7", "1/7", "2/7", "7/7", "4/7", "5/7", "6/7"}) {
    shards.push_back(name(std::string("shard") + shard[0]));
    must(classify({"-O", type.substr(0, type.find('.')), "-o", shards.back(), "--shard", shard, "-@", "1"}));
    EXPECT_FALSE(std::filesystem::exists(shards.back() + ".parts"));
  }
  must(merge(shards, "merged." + type));
  EXPECT_TRUE(file("merged." + type) == file("whole." + type));
  EXPECT_EQ(must(Words{"merge"} + shards + Words{"-o", "-"}).out,
            must(classify({"-O", type.substr(0, type.find('.'))})).out);
}

INSTANTIATE_TEST_SUITE_P(Forms, MergedTexts, ::testing::Values("tsv", "jsonl", "tsv.gz"));

TEST_F(TextShards, ChunksChangeNoBytes) {
  const std::string usual = must(classify({})).out;
  EXPECT_EQ(std::count(usual.begin(), usual.end(), '\n'), texts + 1) << usual;
  EXPECT_EQ(must({"text", "classify", "predict", "-m", path("classes"), path("texts.csv")}).out, usual);
  must(answer("small", {}));
  must({"text", "qa", "predict", "-m", path("answers"), path("questions.json"), "--version-2", "-o",
        path("large.p.json"), "--candidates", path("large.n.json"), "--null-odds", path("large.o.json")});
  for (const char* end : {".p.json", ".n.json", ".o.json"})
    EXPECT_EQ(file(std::string("small") + end), file(std::string("large") + end)) << end;
}

TEST_F(TextShards, FilesOfAnswersAreMergedOneByOne) {
  must(answer("whole", {}));
  for (const char* shard : {"1/3", "2/3", "3/3"})
    must(answer(std::string("shard") + shard[0], {"--shard", shard, "--batch-tokens", "100"}));
  for (const char* end : {".p.json", ".n.json", ".o.json"}) {
    Words shards;
    for (const char* name : {"shard2", "shard3", "shard1"}) shards.push_back(path(name + std::string(end)));
    must(merge(shards, std::string("merged") + end));
    EXPECT_TRUE(file(std::string("merged") + end) == file(std::string("whole") + end)) << end;
    EXPECT_EQ(nlohmann::json::parse(file(std::string("merged") + end)).size(),
              static_cast<std::size_t>(texts));
  }
  refused(merge({path("shard1.p.json"), path("shard2.n.json"), path("shard3.p.json")}, "never.json"), 1,
          "what is in them differs");
  // More shards than chunks: an object without entries among them.
  Words many;
  for (const char* shard : {"1/7", "2/7", "3/7", "4/7", "5/7", "6/7", "7/7"}) {
    must(answer(std::string("many") + shard[0], {"--shard", shard}));
    many.push_back(path(std::string("many") + shard[0] + ".n.json"));
  }
  EXPECT_EQ(file("many7.n.json"), "{}\n");
  must(merge(many, "many.json"));
  EXPECT_TRUE(file("many.json") == file("whole.n.json"));
}

TEST_F(TextShards, MergeRefusesWhatIsNotOneRun) {
  for (const char* shard : {"1/2", "2/2"})
    must(classify({"-o", path(std::string("half") + shard[0]), "--shard", shard}));
  const auto half = [&](const std::string& name, const Words& more, const std::string& input) {
    must(classify(Words{"-o", path(name), "--shard", "2/2"} + more, input));
    return Words{path("half1"), path(name)};
  };
  const auto never = [&](const Words& shards, const std::string& what) {
    refused(merge(shards, "never"), 1, what);
    EXPECT_FALSE(exists("never")) << what;
  };
  never({path("half1")}, "of 2, 2 is missing");
  never({path("half1"), path("half2"), path("half1")}, "given twice");
  never(half("length", {"--length", "6"}, path("texts.csv")),
        "half1 and " + path("length") + ": length differs");
  never(half("rows", {"-O", "jsonl"}, path("texts.csv")), "what is in them differs");
  // What tells of paths and machines may differ: that of the first shard is taken.
  must(merge(half("bare", {"--no-provenance"}, path("texts.csv")), "mixed"));
  must(merge({path("half1"), path("half2")}, "alike"));
  EXPECT_EQ(file("mixed"), file("alike"));
  write("fewer.csv", csv(texts - 1));
  never(half("fewer", {}, path("fewer.csv")), "made from different records");
  must({"text", "classify", "predict", "-m", path("classes"), path("texts.csv"), "--chunk-size", "5", "-o",
        path("chunk"), "--shard", "2/2"});
  never({path("half1"), path("chunk")}, "sizes of chunks differ");
  TinyTextModel other;
  other.seed = 2;
  write_tiny_text_model(path("other"), other);
  must({"text", "classify", "predict", "-m", path("other"), path("texts.csv"), "--chunk-size", "4", "-o",
        path("of"), "--shard", "2/2"});
  never({path("half1"), path("of")}, "model differs");
  write("third", "#id\n");
  never({path("third")}, "nothing that names its shard");
  write("third.summary.json", "{}");
  never({path("third")}, "third.summary.json: no summary of bigbird variants");
  write("third.shard.json", "{}");
  never({path("third")}, "third.shard.json: not written by bigbird");
  // A shard that says nothing of its last chunk, and does not hold it.
  const std::string text = file("half2"), whole = file("half2.shard.json");
  auto facts = nlohmann::ordered_json::parse(whole);
  std::string cut = text;
  for (auto rows = facts["shard"]["lines"].back().get<int>(); rows > 0; --rows)
    cut.erase(cut.rfind('\n', cut.size() - 2) + 1);
  write("half2", cut);
  facts["shard"]["lines"].erase(facts["shard"]["lines"].size() - 1);
  never({path("half1"), path("half2")}, "half2: was cut or changed");
  facts.erase("output");  // as an earlier version, which did not say what the file holds
  write("half2.shard.json", facts.dump(2) + "\n");
  never({path("half1"), path("half2")}, "chunks, the shards");
  facts = nlohmann::ordered_json::parse(whole);
  facts.erase("output");
  write("half2.shard.json", facts.dump(2) + "\n");
  write("half2", text.substr(0, text.rfind('\n', text.size() - 2) + 1));
  never({path("half1"), path("half2")}, "fewer rows");
  write("half2", text + "t\tx\n");
  never({path("half1"), path("half2")}, "more rows");
}

TEST_F(TextShards, AKilledRunGoesOnToTheSameBytes) {
  write("many.csv", csv(300));
  const Words whole = {"text",          "classify",        "predict", "-m",
                       path("classes"), "--no-provenance", "-o",      path("many.tsv")};
  const Words parts = whole + Words{path("many.csv"), "--chunk-size", "1"};
  must(whole + Words{path("many.csv")});
  const std::string expected = file("many.tsv");
  std::filesystem::remove(path("many.tsv"));
  kill_at_work(parts, "many.tsv.parts");
  EXPECT_FALSE(exists("many.tsv"));
  refused(parts, 2, "--resume goes on from them");
  refused(parts + Words{"--resume", "--length", "6"}, 1, "finished parts of another run");
  refused(parts + Words{"--resume", "--shard", "1/2"}, 1, "finished parts of another run");
  refused(parts + Words{"--resume", "--force"}, 2, "--resume and --force");
  refused(whole + Words{path("many.csv"), "--resume"}, 1, "finished parts of another run");
  // Neither threads nor batches nor the place of the input make it another run.
  std::filesystem::rename(path("many.csv"), path("moved.csv"));
  const RunResult resumed = must(
      whole + Words{path("moved.csv"), "--chunk-size", "1", "--resume", "-@", "1", "--batch-tokens", "100"});
  EXPECT_TRUE(holds(resumed.err, " of 300 records were finished by the run before")) << resumed.err;
  EXPECT_TRUE(file("many.tsv") == expected);
  EXPECT_FALSE(exists("many.tsv.parts"));

  std::string other = file("moved.csv");
  other.replace(other.find(tiny_text(0)), 1, "?");
  write("many.csv", other);
  std::filesystem::remove(path("many.tsv"));
  kill_at_work(parts, "many.tsv.parts");
  refused(whole + Words{path("moved.csv"), "--chunk-size", "1", "--resume"}, 1, "other records");
  must(whole + Words{path("moved.csv"), "--force"});
  EXPECT_TRUE(file("many.tsv") == expected);
  EXPECT_FALSE(exists("many.tsv.parts"));
}

TEST_F(TextShards, OfTwoRunsOfOneOutputTheSecondWaits) {
  write("many.csv", csv(300));
  const Words command = {"text",         "classify", "predict",        "-m", path("classes"),
                         "--chunk-size", "1",        path("many.csv"), "-o", path("many.tsv"),
                         "--shard",      "1/2"};
  must(command);
  const std::string expected = file("many.tsv");
  std::filesystem::remove(path("many.tsv"));
  const Words patient = command + Words{"--resume", "auto"};
  Running first(patient, path("first"));
  ASSERT_TRUE(first.wait_until([&] { return exists("many.tsv.parts/chunk-00000004"); })) << first.error();
  first.signal(SIGSTOP);
  for (const char* more : {"--resume", "--force"}) refused(command + Words{more}, 1, "held by process ");
  Running second(patient, path("second"));
  EXPECT_TRUE(second.wait_until([&] {
    return exists("second") && holds(second.error(), "; waiting for it");
  })) << second.error();
  first.signal(SIGCONT);
  EXPECT_EQ(first.wait(), 0) << first.error();
  EXPECT_EQ(second.wait(), 0) << second.error();
  EXPECT_TRUE(holds(second.error(), "is whole already, and of this run")) << second.error();
  EXPECT_TRUE(file("many.tsv") == expected);
  EXPECT_FALSE(exists("many.tsv.parts"));
  EXPECT_FALSE(exists("many.tsv.parts.lease"));
}

TEST_F(TextShards, AWholeOutputIsFoundBeforeWeightsAreRead) {
  const Words question = {"text", "qa", "predict", "-m", path("answers"), path("questions.json")};
  for (const auto& [model, typed] : {std::pair("classes", classify({})), std::pair("answers", question)}) {
    std::filesystem::remove_all(path("spoilt"));
    std::filesystem::copy(path(model), path("spoilt"));
    Words command = typed + Words{"-o", path("spoilt.out")};
    std::replace(command.begin(), command.end(), path(model), path("spoilt"));
    must(command + Words{"--resume", "auto"});
    spoil_weights(path("spoilt"), path("spoilt.out.shard.json"));
    EXPECT_TRUE(holds(must(command + Words{"--resume"}).err, "is whole already")) << model;
    refused(command + Words{"--force"}, 1, "nan at [");
  }
}

TEST_F(TextShards, AKilledRunOfQuestionsToo) {
  std::vector<TinyQuestion> questions;
  for (unsigned i = 0; i < 200; ++i)
    questions.push_back({"q" + std::to_string(i), tiny_text(i), tiny_text(i + 2000), "a", 0});
  write("many.json", tiny_questions_json(questions));
  const auto command = [&](const std::string& name) {
    return Words{"text",
                 "qa",
                 "predict",
                 "-m",
                 path("answers"),
                 path("many.json"),
                 "-o",
                 path(name + ".json"),
                 "--candidates",
                 path(name + ".nbest")};
  };
  must(command("straight"));
  const Words parts = command("killed") + Words{"--chunk-size", "1"};
  kill_at_work(parts, "killed.json.parts");
  EXPECT_FALSE(exists("killed.json"));
  refused(parts + Words{"--resume", "--n-best-size", "3"}, 1, "finished parts of another run");
  const RunResult resumed = must(parts + Words{"--resume"});
  EXPECT_TRUE(holds(resumed.err, " of 200 records were finished by the run before")) << resumed.err;
  EXPECT_TRUE(file("killed.json") == file("straight.json"));
  EXPECT_TRUE(file("killed.nbest") == file("straight.nbest"));
  kill_at_work(parts, "killed.json.parts");
  must(command("killed") + Words{"--force"});
  EXPECT_TRUE(file("killed.json") == file("straight.json"));
}

TEST_F(TextShards, WhatCannotBeDoneInPartsIsAUsageError) {
  refused(classify({"--resume"}), 2, "stdout");
  refused(classify({"--shard", "1/2"}), 2, "--shard 1/2: an output on stdout");
  refused(classify({"--shard", "3/2", "-o", path("x")}), 2, "3/2: no shard");
  refused(classify({"--resume", "-o", path("x")}, "-"), 2, "the standard input cannot be read a second time",
          "text\na\n");
  const Words at_once = {"text", "classify", "predict", "-m", path("classes"), "--text", "a"};
  refused(at_once + Words{"--resume"}, 2, "--shard and --resume are of a file");
  refused(at_once + Words{"--shard", "1/2"}, 2, "--shard and --resume are of a file");
  const Words asked = {"text",       "qa", "predict",        "-m", path("answers"),
                       "--question", "a",  "--context-text", "b"};
  refused(asked + Words{"--resume"}, 2, "--shard and --resume are of a file");
  refused({"text", "qa", "predict", "-m", path("answers"), "-", "--resume", "-o", path("x")}, 2,
          "the standard input cannot be read a second time", "{}");
  EXPECT_FALSE(exists("x"));
  // The standard input can be a shard's, and is read once.
  must(classify({"-o", path("piped"), "--shard", "2/2", "--no-provenance"}, "-"), file("texts.csv"));
  must(classify({"-o", path("named"), "--shard", "2/2", "--no-provenance"}));
  EXPECT_EQ(file("piped"), file("named"));
}

}  // namespace
}  // namespace bigbird::testing
