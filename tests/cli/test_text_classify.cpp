// text classify finetune, predict and evaluate on texts of letters: what is learned comes back, every option
// reaches what it names, resumed runs are exact, and inputs that must be refused leave nothing behind.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/training/run_folder.h"
#include "tests/cli/text_fixture.h"
#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird::testing {
namespace {

// One encoder, one file of examples and one trained model for all tests of the file.
class TextClassify : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    TinyTextModel encoder;
    encoder.head = HeadType::masked_lm;
    write_tiny_text_model(path("pre"), encoder);
    // The letters of a class stand in none of the others.
    std::string rows = "id,text,label\n";
    for (int i = 0; i < 24; ++i) {
      const std::string letter(1, static_cast<char>('a' + 3 * (i % 2) + i % 3));
      rows += "t" + std::to_string(i) + "," + std::string(2 + static_cast<std::size_t>(i) % 4, letter[0]) +
              " " + letter + (i % 2 == 0 ? ",low\n" : ",high\n");
    }
    write("train.csv", rows);
    must(finetune("run", {"--valid", path("train.csv"), "--steps", "80", "--batch", "8", "--lr", "0.01",
                          "--optimizer", "torch", "--dropout", "0"}));
  }

  static Words finetune(const std::string& run, const Words& more, const std::string& train = "train.csv") {
    return Words{"text", "classify", "finetune", "--train", path(train), "--init", path("pre"),
                 "-o",   path(run),  "--device", "cpu",     "-@",        "1"} +
           more;
  }
  static Words predict(const Words& more, const std::string& model = "run/final") {
    return Words{"text", "classify", "predict", "-m", path(model), "--no-provenance"} + more;
  }
  static Words evaluate(const Words& more) {
    return Words{"text", "classify", "evaluate", "--no-provenance", "--data"} + more;
  }
  static nlohmann::json json_of(const RunResult& run) { return nlohmann::json::parse(run.out); }
};

TEST_F(TextClassify, WhatWasLearnedComesBack) {
  const nlohmann::json scores = json_of(must(evaluate({path("train.csv"), "-m", path("run/final")})));
  EXPECT_DOUBLE_EQ(scores["accuracy"], 1.0);
  EXPECT_EQ(scores["examples"], 24);
  const RunResult one = must(predict({"--text", "bb b"}));
  EXPECT_TRUE(holds(one.out, "id\tlabel\tscore\tp.high\tp.low\n0\tlow\t0.9")) << one.out;
  EXPECT_TRUE(holds(must(predict({"--text", "eee"})).out, "\n0\thigh\t"));
  const auto config = nlohmann::json::parse(read_text(path("run/final/config.json")));
  EXPECT_EQ(config["id2label"], nlohmann::json::parse(R"({"0": "high", "1": "low"})"));
  EXPECT_TRUE(holds(read_text(path("run/final/README.md")), "high 12, low 12"));
}

// The XML of SemEval-2019 task 4: the same texts, another form.
TEST_F(TextClassify, ArticlesTrainAndScoreAsATableOfThemDoes) {
  const auto xml = [](const std::string& inside) { return "<articles>\n" + inside + "</articles>\n"; };
  std::string table = "id,text,label\n", articles, labels;
  for (int i = 0; i < 6; ++i) {
    const std::string id = std::to_string(i), text = i % 2 == 0 ? "ab" : "de",
                      label = i % 2 == 0 ? "true" : "false";
    table += id + "," + text + "," + label + "\n";
    articles += "<article id=\"" + id + "\"><p>" + text + "</p></article>\n";
    labels = "<article hyperpartisan=\"" + label + "\" id=\"" + id + "\"/>\n" + labels;
  }
  write("a.csv", table);
  write("a.xml", xml(articles));
  write("truth.xml", xml(labels));
  const Words more = {"--steps", "2", "--batch", "4", "--no-provenance"};
  must(finetune("of-table", more, "a.csv"));
  must(finetune("of-articles", more + Words{"--label-files", path("truth.xml")}, "a.xml"));
  EXPECT_EQ(read_text(path("of-table/final/model.safetensors")),
            read_text(path("of-articles/final/model.safetensors")));
  const Words of_articles = {path("a.xml"), "-m", path("of-table/final")};
  EXPECT_EQ(must(evaluate(of_articles + Words{"--label-files", path("truth.xml")})).out,
            must(evaluate({path("a.csv"), "-m", path("of-table/final")})).out);
  const RunResult scores = run_bigbird(evaluate(of_articles));
  EXPECT_EQ(scores.status, 1) << scores.err;
  EXPECT_TRUE(holds(scores.err, "a.xml: articles without their labels")) << scores.err;
  EXPECT_TRUE(holds(scores.err, "--label-files")) << scores.err;
}

TEST_F(TextClassify, EveryOptionOfTheTrainingReachesItsField) {
  must(finetune("all", {"--valid",
                        path("train.csv"),
                        "--length",
                        "12",
                        "--batch",
                        "6",
                        "--accumulate",
                        "2",
                        "--steps",
                        "4",
                        "--epochs",
                        "9",
                        "--dropout",
                        "0.25",
                        "--lr",
                        "0.002",
                        "--warmup",
                        "1",
                        "--schedule",
                        "huggingface",
                        "--optimizer",
                        "torch",
                        "--beta1",
                        "0.8",
                        "--beta2",
                        "0.95",
                        "--epsilon",
                        "0.001",
                        "--weight-decay",
                        "0.5",
                        "--clip-norm",
                        "0.75",
                        "--average",
                        "0.9",
                        "--layer-decay",
                        "0.8",
                        "--seed",
                        "11",
                        "--save-every",
                        "2",
                        "--keep-last",
                        "0",
                        "--keep-best",
                        "0",
                        "--final",
                        "best",
                        "--patience",
                        "100",
                        "--eval-every",
                        "2",
                        "--memory-limit",
                        "1G",
                        "--grad-checkpoint",
                        "--debug-nan",
                        "--whitespace",
                        "keep",
                        "--ascii-punctuation",
                        "--second-type",
                        "--problem",
                        "single"}));
  must(finetune("paper", {"--recipe", "paper", "--steps", "2"}));
  const TrainState paper = read_train_state(path("paper/checkpoint-2"));
  EXPECT_EQ(paper.options.at("learning_rate"), "2e-05");
  EXPECT_EQ(paper.options.at("optimizer"), "google");
  const TrainState state = read_train_state(path("all/checkpoint-4"));
  const std::map<std::string, std::string> expected = {{"batch", "6"},
                                                       {"accumulate", "2"},
                                                       {"steps", "4"},
                                                       {"learning_rate", "0.002"},
                                                       {"warmup", "1"},
                                                       {"beta1", "0.8"},
                                                       {"beta2", "0.95"},
                                                       {"epsilon", "0.001"},
                                                       {"clip_norm", "0.75"},
                                                       {"average_decay", "0.9"},
                                                       {"layer_decay", "0.8"},
                                                       {"seed", "11"},
                                                       {"weight_decay", "0.5"},
                                                       {"optimizer", "torch"},
                                                       {"length", "12"},
                                                       {"schedule", "huggingface"},
                                                       {"model.hidden_dropout_prob", "0.25"},
                                                       {"init", path("pre")},
                                                       {"labels", "one class each: high, low"}};
  for (const auto& [name, value] : expected) {
    const auto found = state.options.find(name);
    ASSERT_NE(found, state.options.end()) << name;
    EXPECT_EQ(found->second, value) << name;
  }
  const auto settings = nlohmann::json::parse(read_text(path("all/final/text.json")));
  EXPECT_EQ(settings, nlohmann::json::parse(R"({"task": "classify", "data_format": "", "length": 12,
      "second_type": true, "white_space": "keep", "ascii_punctuation": true})"));
  EXPECT_TRUE(std::filesystem::exists(path("all/checkpoint-2")));
}

TEST_F(TextClassify, AResumedRunHasTheSameBytes) {
  const Words options = {"--steps", "6", "--batch", "5", "--save-every", "3", "--keep-last", "0"};
  must(finetune("whole", options));
  const std::string weights = read_text(path("whole/final/model.safetensors"));
  for (const char* part : {"whole/final", "whole/checkpoint-6"}) std::filesystem::remove_all(path(part));
  must(finetune("whole", options + Words{"--resume"}));
  EXPECT_TRUE(read_text(path("whole/final/model.safetensors")) == weights);
  // Other texts are another run.
  write("short.csv", "text,label\na,low\nd,high\n");
  refused(finetune("whole", options + Words{"--resume"}, "short.csv"), 2, "data (training texts)");
  std::string exchanged = read_text(path("train.csv"));
  exchanged.replace(exchanged.find("t0,aa a"), 7, "t0,aa b");
  write("exchanged.csv", exchanged);
  refused(finetune("whole", options + Words{"--resume"}, "exchanged.csv"), 2, "data (training texts)");
  refused(finetune("whole", options), 1, "whole");
  must(finetune("whole", {"--steps", "1", "--force"}));
}

TEST_F(TextClassify, PredictionsDependOnNeitherThreadsNorBatches) {
  const std::string data = path("train.csv");
  const std::string out = must(predict({data, "-@", "1", "--batch-tokens", "8"})).out;
  EXPECT_EQ(out, must(predict({data, "-@", "2", "--batch-tokens", "4k"})).out);
  EXPECT_TRUE(holds(out, "\nt23\thigh\t"));
  must(predict({data, "-o", path("out.tsv")}));
  EXPECT_EQ(read_text(path("out.tsv")), out);
  const Words words = {"text", "classify", "predict", "-m", path("run/final"), data, "--provenance"};
  EXPECT_TRUE(
      holds(run_bigbird(words + Words{"inline"}).out, "##bigbird_command=bigbird text classify predict"));
  EXPECT_EQ(run_bigbird(words + Words{"beside"}).out, out) << "stdout has nothing beside it";
  EXPECT_EQ(run_bigbird(words + Words{"there"}).status, 2);
}

TEST_F(TextClassify, JsonLinesHoldEveryClass) {
  const RunResult run = must(predict({"-", "--format", "jsonl", "-O", "jsonl"}),
                             "{\"id\": \"x\", \"text\": \"aa a\"}\n{\"id\": \"y\", \"text\": \"dd\"}\n");
  const nlohmann::json first = nlohmann::json::parse(run.out.substr(0, run.out.find('\n')));
  EXPECT_EQ(first["id"], "x");
  EXPECT_EQ(first["label"], "low");
  EXPECT_NEAR(first["scores"]["low"].get<double>() + first["scores"]["high"].get<double>(), 1, 1e-12);
  EXPECT_EQ(first["score"], first["scores"]["low"]);
  EXPECT_TRUE(holds(run.out, "{\"id\":\"y\",\"label\":\"high\""));
}

TEST_F(TextClassify, ColumnsAreReadAsNamed) {
  const std::string csv = write("named.csv", "key,head,body,other\nk1,a,aa,d\nk2,d,dd,a\n");
  const Words columns = {"--text-column", "head,body", "--id-column", "key"};
  const std::string out = must(predict(Words{csv} + columns)).out;
  EXPECT_TRUE(holds(out, "\nk1\tlow\t")) << out;
  EXPECT_TRUE(holds(out, "\nk2\thigh\t")) << out;
  const std::string bare = write("bare.csv", "k1,a,aa,d\nk2,d,dd,a\n");
  EXPECT_EQ(must(predict({bare, "--no-header", "--text-column", "2,3", "--id-column", "1"})).out, out);
  EXPECT_EQ(must(predict({csv, "--header", "--text-column", "2,3", "--id-column", "1"})).out, out);
  const std::string pair = must(predict(Words{csv, "--pair-column", "other"} + columns)).out;
  EXPECT_NE(pair, out);
  const RunResult one = must(predict({"--text", "a aa", "--text-pair", "d"}));
  const std::string values = one.out.substr(one.out.find("\n0\t") + 3);
  EXPECT_TRUE(holds(pair, values.substr(0, values.find('\n')))) << pair << values;
  refused(predict({csv, "--text-column", "nothing"}), 1, "nothing");
}

TEST_F(TextClassify, OddTextsAreReadAsAsked) {
  const std::string escapes = write("escapes.csv", "text\na\\na\n");
  EXPECT_NE(must(predict({escapes, "--newline-escapes"})).out, must(predict({escapes})).out);
  const std::string bytes = write("bytes.csv", "text\na\xFF\n");
  refused(predict({bytes}), 1, "bytes.csv:2: byte 2 of the line is not UTF-8");
  EXPECT_TRUE(holds(must(predict({bytes, "--replace-invalid"})).err, "U+FFFD"));
  const RunResult cut = must(predict({path("train.csv"), "--length", "4"}));
  EXPECT_TRUE(holds(cut.err, "24 of 24 inputs (100.0 %) are longer than 4 tokens and are cut")) << cut.err;
  const RunResult blank = must(predict({"--text", " "}));
  EXPECT_TRUE(holds(blank.err, "1 of 1 inputs are blank")) << blank.err;
  const RunResult unknown = must(predict({"--text", "a \xE2\x82\xAC \xE2\x82\xAC"}));
  EXPECT_TRUE(holds(unknown.err, "U+20AC")) << unknown.err;
}

TEST_F(TextClassify, ATableOfPredictionsScoresAsTheModel) {
  must(predict({path("train.csv"), "-o", path("table.tsv")}));
  const RunResult direct = must(
      evaluate({path("train.csv"), "-m", path("run/final"), "--length", "32", "--batch-tokens", "1k",
                "--table", path("classes.tsv"), "--svg", path("confusion.svg"), "-o", path("scores.json")}));
  EXPECT_EQ(direct.out, "");
  const RunResult table = must(evaluate({path("train.csv"), "--predictions", path("table.tsv")}));
  EXPECT_EQ(table.out, read_text(path("scores.json")));
  EXPECT_TRUE(holds(read_text(path("classes.tsv")), "\nlow\t1\t1\t1\t12\t0\t12\n"));
  EXPECT_TRUE(holds(read_text(path("confusion.svg")), ">12</text>"));
  const std::string columns = write("other.tsv", "name\ttruth\tx\nt0\tlow\t1\n");
  const nlohmann::json json =
      json_of(must(evaluate({columns, "--predictions", path("table.tsv"), "--id-column", "name",
                             "--label-column", "truth", "--text-column", "x", "--pair-column", "name",
                             "--format", "tsv", "--header", "--newline-escapes", "--replace-invalid"})));
  EXPECT_EQ(json["examples"], 1);
  const std::string bare = write("bare.tsv", "t0\tlow\t1\n");
  must(evaluate({bare, "--predictions", path("table.tsv"), "--no-header", "--id-column", "1",
                 "--label-column", "2", "--text-column", "3"}));
}

TEST_F(TextClassify, ListsOfLabelsAndNumbersAreLearnedToo) {
  std::string lists, numbers = "text,label\n";
  for (int i = 0; i < 12; ++i) {
    const std::string text = std::string(i % 2 == 0 ? "a" : "d") + (i % 3 == 0 ? " z" : " b");
    lists += R"({"text": ")" + text + R"(", "label": [)" + (i % 2 == 0 ? "\"a\"" : "") +
             (i % 2 == 0 && i % 3 == 0 ? ", " : "") + (i % 3 == 0 ? "\"z\"" : "") + "]}\n";
    numbers += text + "," + (i % 2 == 0 ? "1.5" : "-0.5") + "\n";
  }
  write("lists.jsonl", lists);
  write("numbers.csv", numbers);
  const Words options = {"--steps", "80", "--lr", "0.01", "--optimizer", "torch", "--dropout", "0"};
  must(finetune("lists", options, "lists.jsonl"));
  const nlohmann::json sets = json_of(must(evaluate({path("lists.jsonl"), "-m", path("lists/final")})));
  EXPECT_DOUBLE_EQ(sets["exact_match"], 1.0);
  must(predict({path("lists.jsonl"), "-o", path("lists.tsv")}, "lists/final"));
  const std::string table = read_text(path("lists.tsv"));
  EXPECT_TRUE(holds(table, "\n0\ta,z\t")) << table;
  EXPECT_TRUE(holds(table, "\n1\tNA\t")) << table;
  EXPECT_EQ(json_of(must(evaluate({path("lists.jsonl"), "--predictions", path("lists.tsv")}))), sets);

  must(finetune("numbers", options, "numbers.csv"));
  const nlohmann::json values = json_of(must(evaluate({path("numbers.csv"), "-m", path("numbers/final")})));
  EXPECT_GT(values["pearson"].get<double>(), 0.99);
  EXPECT_LT(values["mse"].get<double>(), 0.05);
  EXPECT_EQ(must(predict({"--text", "a b"}, "numbers/final")).out.substr(0, 9), "id\tscore\n");
  refused(evaluate({path("numbers.csv"), "-m", path("numbers/final"), "--table", path("no.tsv")}), 1,
          "table");

  write("three.csv", "text,label\na b,x\nd z,y\nd b,w\n");
  const Words other = {"text",   "classify",          "finetune", "--train",     path("three.csv"),
                       "--init", path("lists/final"), "-o",       path("three"), "--steps",
                       "2"};
  refused(other, 1, "leave this head out: --fresh-head");
  must(other + Words{"--fresh-head"});
  must(predict({"--text", "a b"}, "three/final"));
}

TEST_F(TextClassify, FoldersOfClassesAndColumnsOfTrainingAreRead) {
  for (const char* name : {"set/pos/1.txt", "set/pos/2.txt"}) write(name, "a b\n");
  write("set/neg/1.txt", "d e\n");
  must(finetune("folders", {"--steps", "1", "--format", "folder", "--newline-escapes", "--replace-invalid"},
                "set"));
  EXPECT_TRUE(holds(read_text(path("folders/final/config.json")), "\"neg\""));
  write("bare-train.csv", "1,x,a b,q\n2,y,d e,r\n");
  must(finetune("bare",
                {"--steps", "1", "--no-header", "--label-column", "1", "--text-column", "3", "--pair-column",
                 "4", "--id-column", "2"},
                "bare-train.csv"));
  write("head-train.csv", "label,text\n1,a\n2,b\n");
  must(finetune("head", {"--steps", "1", "--header"}, "head-train.csv"));
}

TEST_F(TextClassify, BadTrainingTextsAreRefused) {
  const auto bad = [&](const std::string& text, const std::string& what, const std::string& name = "bad.csv",
                       const Words& more = {}) {
    write(name, text);
    refused(finetune("bad", Words{"--steps", "1"} + more, name), 1, what);
    EXPECT_FALSE(std::filesystem::exists(path("bad"))) << what;
  };
  bad("text,label\na,x\nb,x\n", "bad.csv: all examples are of the class 'x'");
  bad("text,label\n", "bad.csv: there are no examples");
  bad("text,label\na,x\nb\n", "bad.csv:3: ");
  bad("text,label\na,x\n\"b,y\n", "bad.csv:3: ");
  bad("text,label\na,x\nb,\n", "bad.csv:3: ");
  bad("text,name\na,x\nb,y\n", "bad.csv: no column 'label'");
  bad("text,label\na,x\nb\xC0,y\n", "bad.csv:3: byte 2 of the line is not UTF-8");
  bad(std::string("text,label\na,x\nb\0,y\n", 20), "bad.csv:3: ");
  bad("id,text,label\n7,a,x\n7,b,y\n", "bad.csv:3: the id '7' is the one of ");
  bad("{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"b\", \"label\": null}\n", "bad.jsonl:2",
      "bad.jsonl");
  bad("{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": 7, \"label\": \"y\"}\n", "bad.jsonl:2", "bad.jsonl");
  bad("{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"b\"}\n", "bad.jsonl:2", "bad.jsonl");
  bad("{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"b\", \"la", "bad.jsonl:2", "bad.jsonl");
  bad("text,label\na,1\nb,x\n", "bad.csv:3: label 'x' is not a number", "bad.csv",
      {"--problem", "regression"});
  write("seen.csv", "text,label\na,low\nb,new\n");
  refused(finetune("bad", {"--steps", "1", "--valid", path("seen.csv")}), 1,
          "seen.csv:3: label 'new' is none of the 2 that were trained on");
  refused(finetune("bad", {"--steps", "1", "--length", "65"}), 2, "--length 65");
  refused(finetune("bad", {"--steps", "1", "--length", "2"}), 2, "--length 2");
  refused(finetune("bad", {"--steps", "1"}, "absent.csv"), 1, "absent.csv");
  Words standard_input = finetune("bad", {"--steps", "1"});
  standard_input[4] = "-";
  refused(standard_input, 2, "read from files");
  EXPECT_FALSE(std::filesystem::exists(path("bad")));
}

TEST_F(TextClassify, BadPredictionsAndModelsAreRefused) {
  refused(predict({path("train.csv")}, "pre"), 1, "pre");
  write_tiny_classifier(path("dna"));
  refused(predict({"--text", "a"}, "dna"), 1, "DNA");
  refused(predict({}), 2, "one way");
  refused(predict({path("train.csv"), "--text", "a"}), 2, "one way");
  refused(predict({path("train.csv"), "--text-pair", "a"}), 2, "one way");
  refused(predict({"--text", "a\xFF"}), 1, "--text: byte 2 is not UTF-8");
  refused(predict({path("train.csv"), "--length", "100"}), 2, "--length 100");
  refused(predict({write("empty.csv", "text\n")}), 1, "there are no texts");
  refused(predict({path("train.csv"), "--format", "xml"}), 2, "xml");
  refused(evaluate({path("train.csv")}), 2, "--predictions");
  refused(
      evaluate({write("more.csv", "id,text,label\nt0,a,low\nnew,a,low\n"), "--predictions", path("few.tsv")}),
      1, "few.tsv");
  write("few.tsv", "#id\tlabel\tscore\nt0\tlow\t1\n");
  refused(evaluate({path("more.csv"), "--predictions", path("few.tsv")}), 1,
          "more.csv:3: id new has no prediction in");
  refused(evaluate({write("other.csv", "text,label\na,medium\n"), "-m", path("run/final")}), 1,
          "label 'medium' is none of the model's classes");
  refused(predict({path("train.csv"), "-o", path("missing/out.tsv")}), 1, "missing");
}

TEST_F(TextClassify, LogitsThatAreNotFiniteLeaveNoOutput) {
  write_tiny_text_model(path("nan"));
  // The last weights in the file, those of the last layer of the head, as large as a float can be.
  std::string weights = read_text(path("nan/model.safetensors"));
  for (std::size_t i = 1; i <= 51; ++i) weights.replace(weights.size() - 4 * i, 4, "\xFF\xFF\x7F\x7F");
  write("nan/model.safetensors", weights);
  const RunResult run = run_bigbird(predict({path("train.csv"), "-o", path("nan.tsv")}, "nan"));
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_TRUE(holds(run.err, "finite")) << run.err;
  EXPECT_FALSE(std::filesystem::exists(path("nan.tsv")));
}

}  // namespace
}  // namespace bigbird::testing
