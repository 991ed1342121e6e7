// text summarize predict: options that reach what they name, outputs that depend on neither batch nor shard,
// the defaults of a folder, and inputs that must be refused. tests/golden/test_generation.cpp holds the
// searches against generate(), tests/golden/test_huggingface.cpp the model.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/text_fixture.h"

namespace bigbird::testing {
namespace {

class SummarizePredict : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    std::filesystem::create_directories(path("model"));
    write_tiny_summary_model(path("model"));
    std::filesystem::create_directories(path("eager"));
    write_tiny_summary_model(path("eager"), 2.0f);
    std::string rows;
    for (std::uint64_t i = 0; i < 7; ++i) {
      std::string text;
      for (std::uint64_t part = 0; part <= i; ++part) text += tiny_text(10 * i + part) + " ";
      rows += nlohmann::json{{"id", "d" + std::to_string(i)}, {"article", text}}.dump() + "\n";
    }
    write("data.jsonl", rows);
  }

  static Words predict(const Words& more = {}, const std::string& input = "data.jsonl") {
    return Words{"text", "summarize", "predict", "-m", path("model"), path(input)} + more;
  }
  static std::vector<nlohmann::json> rows(const Words& more = {}, const std::string& input = "data.jsonl") {
    std::vector<nlohmann::json> all;
    std::istringstream lines(must(predict(more, input)).out);
    for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
};

TEST_F(SummarizePredict, WritesARowForEveryDocumentInTheirOrder) {
  const std::vector<nlohmann::json> all = rows({"--max-tokens", "12"});
  ASSERT_EQ(all.size(), 7u);
  std::set<std::string> different;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].at("id"), "d" + std::to_string(i));
    EXPECT_LE(all[i].at("tokens").get<int>(), 12);
    different.insert(all[i].at("summary"));
  }
  EXPECT_GE(different.size(), 3u) << "the document is not read";
}

TEST_F(SummarizePredict, NothingDependsOnWhatRunsTogether) {
  const std::string one = must(predict({"--max-tokens", "10", "--batch", "1", "--threads", "1"})).out;
  EXPECT_EQ(must(predict({"--max-tokens", "10", "--batch", "3", "--threads", "2", "--chunk-size", "5"})).out,
            one);
  for (const char* shard : {"1/2", "2/2"}) {
    must(predict({"--max-tokens", "10", "--chunk-size", "2", "--shard", shard, "-o",
                  path(std::string("part") + shard[0] + ".jsonl")}));
  }
  must({"merge", path("part1.jsonl"), path("part2.jsonl"), "-o", path("merged.jsonl")});
  EXPECT_EQ(read_text(path("merged.jsonl")), one);
  refused({"merge", path("part1.jsonl"), path("part1.jsonl"), "-o", path("again.jsonl")}, 1, "part1.jsonl");
}

TEST_F(SummarizePredict, CanBeStartedAgain) {
  const auto work = [](const char* output) { return predict({"--max-tokens", "6", "-o", path(output)}); };
  refused(work("again.jsonl") + Words{"--resume", "--force"}, 2, "--resume and --force");
  must(work("again.jsonl") + Words{"--resume", "auto"});
  must(work("forced.jsonl") + Words{"--force"});
  EXPECT_EQ(read_text(path("again.jsonl")), read_text(path("forced.jsonl")));
}

TEST_F(SummarizePredict, OptionsReachTheSearch) {
  const auto tokens = [&](const Words& more) {
    std::vector<int> counts;
    for (const nlohmann::json& row : rows(more)) counts.push_back(row.at("tokens"));
    return counts;
  };
  for (const int count : tokens({"--max-tokens", "30", "--min-tokens", "9"})) EXPECT_GE(count, 9);
  for (const int count : tokens({"--max-tokens", "3"})) EXPECT_LE(count, 3);
  const Words length{"--max-tokens", "12"};
  EXPECT_EQ(must(predict(length + Words{"--beams", "1"})).out,
            must(predict(length + Words{"--decoding", "greedy"})).out);
  const std::string usual = must(predict(length)).out;
  EXPECT_EQ(must(predict(length + Words{"--beams", "5", "--length-penalty", "0.8", "--decoding",
                                        "huggingface", "--early-stopping", "no", "--no-repeat-ngram", "0",
                                        "--repetition-penalty", "1"}))
                .out,
            usual)
      << "the paper's defaults";
  for (const Words& other : {Words{"--beams", "2"},
                             {"--length-penalty", "-3"},
                             {"--decoding", "google"},
                             {"--no-repeat-ngram", "1"},
                             {"--repetition-penalty", "4"}}) {
    EXPECT_NE(must(predict(length + other)).out, usual) << other[0];
  }
  const auto ended = [&](const char* when) {
    return must({"text", "summarize", "predict", "-m", path("eager"), path("data.jsonl"), "--length-penalty",
                 "2", "--early-stopping", when})
        .out;
  };
  EXPECT_NE(ended("yes"), ended("never"));
  const RunResult cut = must(predict(length + Words{"--length", "5"}));
  EXPECT_NE(cut.out, usual);
  EXPECT_TRUE(holds(cut.err, "documents are longer than 5 tokens and were cut"));
}

TEST_F(SummarizePredict, DrawsAsTheSeedAndTheDocumentSay) {
  const Words sample{"--decoding", "sample", "--max-tokens", "12"};
  const std::string one = must(predict(sample + Words{"--seed", "5", "--batch", "1"})).out;
  EXPECT_EQ(must(predict(sample + Words{"--seed", "5", "--batch", "3", "--chunk-size", "2"})).out, one);
  EXPECT_NE(must(predict(sample + Words{"--seed", "6"})).out, one);
  EXPECT_NE(must(predict(sample + Words{"--seed", "5", "--temperature", "3"})).out, one);
  EXPECT_EQ(must(predict(sample + Words{"--top-k", "1"})).out,
            must(predict({"--decoding", "greedy", "--max-tokens", "12"})).out);
  EXPECT_EQ(must(predict(sample + Words{"--top-p", "1e-9"})).out,
            must(predict({"--decoding", "greedy", "--max-tokens", "12"})).out);
  for (const char* shard : {"1/2", "2/2"}) {
    must(predict(sample + Words{"--seed", "5", "--chunk-size", "2", "--shard", shard, "-o",
                                path(std::string("drawn") + shard[0] + ".jsonl")}));
  }
  must({"merge", path("drawn1.jsonl"), path("drawn2.jsonl"), "-o", path("drawn.jsonl")});
  EXPECT_EQ(read_text(path("drawn.jsonl")), one);
  // The same document twice is two documents.
  write("twice.jsonl", "{\"article\": \"ab cd\"}\n{\"article\": \"ab cd\"}\n");
  const std::vector<nlohmann::json> twice = rows(sample, "twice.jsonl");
  ASSERT_EQ(twice.size(), 2u);
  EXPECT_NE(twice[0].at("summary"), twice[1].at("summary"));
}

TEST_F(SummarizePredict, NoTokenComesTwiceWhereNoNgramOfOneMay) {
  for (const nlohmann::json& row :
       rows({"--max-tokens", "9", "--no-repeat-ngram", "1", "--min-tokens", "9"})) {
    // A token is a letter with or without the blank before it; of the first the blank is gone.
    const std::string text = row.at("summary");
    std::set<std::string> seen;
    for (std::size_t at = 1; at < text.size();) {
      const std::size_t length = text[at] == ' ' ? 2 : 1;
      EXPECT_TRUE(seen.insert(text.substr(at, length)).second) << text;
      at += length;
    }
    EXPECT_GE(seen.size(), 4u) << text;
  }
}

TEST_F(SummarizePredict, AFolderHasItsOwnDefaults) {
  std::filesystem::copy(path("model"), path("own"), std::filesystem::copy_options::recursive);
  const auto with = [&](const std::string& text) {
    write("own/generation_config.json", text);
    return must({"text", "summarize", "predict", "-m", path("own"), path("data.jsonl")}).out;
  };
  EXPECT_EQ(with(R"({"num_beams": 2, "max_length": 9, "length_penalty": 1.5})"),
            must(predict({"--beams", "2", "--max-tokens", "8", "--length-penalty", "1.5"})).out);
  EXPECT_EQ(with(R"({"max_new_tokens": 8, "no_repeat_ngram_size": 2, "min_new_tokens": 4})"),
            must(predict({"--beams", "1", "--max-tokens", "8", "--length-penalty", "1", "--no-repeat-ngram",
                          "2", "--min-tokens", "4"}))
                .out)
      << "what the file leaves out is generate()'s";
  EXPECT_EQ(
      with(R"({"do_sample": true, "top_k": 7, "temperature": 2.0, "max_length": 9})"),
      must(predict({"--decoding", "sample", "--top-k", "7", "--temperature", "2", "--max-tokens", "8"})).out);
  write(
      "own/generation_config.json",
      R"({"num_beams": 2, "max_length": 9, "min_p": 0.5, "typical_p": 1.0, "use_cache": true, "unheard_of": [1]})");
  EXPECT_NE(must({"text", "summarize", "predict", "-m", path("own"), path("data.jsonl")})
                .err.find("generation_config.json: not followed: min_p 0.5, unheard_of [1]"),
            std::string::npos);
  // A converted folder searches as its source does, and says so in a file of its own.
  write("own/generation_config.json", R"({"num_beams": 3, "max_length": 7})");
  must({"convert", path("own"), path("copy")});
  EXPECT_EQ(read_text(path("copy/generation_config.json")), read_text(path("own/generation_config.json")));
  std::filesystem::remove(path("own/generation_config.json"));
  nlohmann::json config = nlohmann::json::parse(read_text(path("own/config.json")));
  config["num_beams"] = 2;
  config["max_length"] = 9;
  write("own/config.json", config.dump());
  const auto summaries = [](const char* model) {
    return must({"text", "summarize", "predict", "-m", path(model), path("data.jsonl")}).out;
  };
  must({"convert", path("own"), path("older"), "--force"});
  EXPECT_EQ(summaries("older"), summaries("own"));
  EXPECT_EQ(summaries("own"),
            must(predict({"--beams", "2", "--max-tokens", "8", "--length-penalty", "1"})).out);
  const auto wrong = [&](const std::string& text, const std::string& what) {
    write("own/generation_config.json", text);
    refused({"text", "summarize", "predict", "-m", path("own"), path("data.jsonl")}, 1, what);
  };
  wrong(R"({"max_length": 9, "min_length": 12})",
        "generation_config.json: min_length 12 is above max_length 9");
  wrong(R"({"num_beams": "five"})",
        "generation_config.json: field num_beams is \"five\", not a whole number from 1 on");
  wrong(R"({"early_stopping": 3})",
        "generation_config.json: field early_stopping is 3, not true, false or \"never\"");
  wrong(R"({"forced_eos_token_id": 1})", "generation_config.json: field forced_eos_token_id is 1");
  wrong(R"({"do_sample": true, "top_p": 0})", "generation_config.json: field top_p is 0");
  wrong("[]", "generation_config.json: not a JSON object");
}

// text summarize evaluate -m: the same numbers as of summaries that were written before.
TEST_F(SummarizePredict, EvaluateWritesTheSummariesThatItScores) {
  const Words fields{"--document-field", "body", "--id-field", "key"};
  const Words search{"--length",
                     "30",
                     "--newlines-are-blanks",
                     "--batch",
                     "3",
                     "--beams",
                     "3",
                     "--length-penalty",
                     "1.2",
                     "--max-tokens",
                     "9",
                     "--min-tokens",
                     "3",
                     "--no-repeat-ngram",
                     "3",
                     "--repetition-penalty",
                     "1.1",
                     "--early-stopping",
                     "yes",
                     "--decoding",
                     "huggingface"};
  const auto evaluate = [](const Words& more, const std::string& file = "scored.jsonl") {
    return Words{"text", "summarize",       "evaluate", "--data",       path(file), "--summary-field",
                 "best", "--no-provenance", "--types",  "rouge1,rougeL"} +
           more;
  };
  std::vector<std::string> written;
  const auto data = [&] {
    std::string text;
    for (std::uint64_t i = 0; i < 5; ++i) {
      // The summaries of documents 0, 2 and 4 are what the model writes.
      const bool right = i < written.size() && i % 2 == 0;
      text += nlohmann::json{{"key", i},
                             {"body", tiny_text(i) + " " + tiny_text(i + 20)},
                             {"best", right ? written[i] : "nothing like it"}}
                  .dump() +
              "\n";
    }
    return text;
  };
  write("scored.jsonl", data());
  for (const nlohmann::json& row : rows(fields + search, "scored.jsonl"))
    written.push_back(row.at("summary"));
  write("scored.jsonl", data());
  must(predict(fields + search + Words{"-o", path("before.jsonl")}, "scored.jsonl"));
  const std::string wanted = must(evaluate(Words{"--id-field", "key", "--predictions", path("before.jsonl"),
                                                 "--prediction-field", "summary"}))
                                 .out;
  EXPECT_EQ(must(evaluate(fields + search + Words{"-m", path("model")})).out, wanted);
  EXPECT_EQ(
      must(evaluate(fields + search + Words{"-m", path("model"), "--summaries", path("kept.jsonl")})).out,
      wanted);
  EXPECT_EQ(read_text(path("kept.jsonl")), read_text(path("before.jsonl")));
  const Words drawn{"--decoding", "sample",  "--temperature", "2",      "--top-k",
                    "9",          "--top-p", "0.95",          "--seed", "4"};
  must(evaluate(fields + drawn +
                Words{"-m", path("model"), "--summaries", path("kept.jsonl"), "--max-tokens", "9"}));
  EXPECT_NE(read_text(path("kept.jsonl")), read_text(path("before.jsonl")));

  write("scored_blank.jsonl", data() + "{\"key\": 7, \"body\": \"\", \"best\": \"ab\"}\n");
  const Words few{"-m", path("model"), "--max-tokens", "4", "--newlines-are-marks"};
  refused(evaluate(fields + few, "scored_blank.jsonl"), 1, "scored_blank.jsonl:6: a document without a word");
  const nlohmann::json passed =
      nlohmann::json::parse(must(evaluate(fields + few + Words{"--skip-bad"}, "scored_blank.jsonl")).out);
  EXPECT_EQ(passed.at("documents"), 5);
  EXPECT_EQ(passed.at("bad_records_skipped"), 1);
  refused(evaluate({}), 2, "neither predictions nor a model");
  refused(evaluate(few + Words{"--predictions", path("before.jsonl")}), 2, "--predictions");
  refused(evaluate(Words{"--predictions", path("before.jsonl"), "--summaries", path("x.jsonl")}), 2,
          "--model");
  refused({"text", "summarize", "evaluate", "--data", "-", "-m", path("model")}, 2, "read twice");
}

TEST_F(SummarizePredict, WritesTablesAndLinesToo) {
  const Words length{"--max-tokens", "6", "--no-provenance"};
  const std::string table = must(predict(length + Words{"-O", "tsv"})).out;
  EXPECT_TRUE(table.starts_with("id\tsummary\tscore\ttokens\nd0\t")) << table;
  const std::string lines = must(predict(length + Words{"-O", "lines"})).out;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 7);
  EXPECT_TRUE(holds(
      table, "d3\t" + [&] {
        std::istringstream in(lines);
        std::string line;
        for (int i = 0; i < 4; ++i) std::getline(in, line);
        return line;
      }() + "\t"));
}

TEST_F(SummarizePredict, ReadsAFolderOfTextsAndTheStandardInput) {
  write("texts/one.txt", "ab cd\nef gh");
  write("texts/two.txt", "xy zz");
  const std::vector<nlohmann::json> all = rows({"--max-tokens", "5"}, "texts");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].at("id"), "one");
  const std::string text = read_text(path("data.jsonl"));
  EXPECT_EQ(
      must({"text", "summarize", "predict", "-m", path("model"), "-", "--format", "jsonl", "--max-tokens",
            "5", "--document-field", "article", "--id-field", "id", "--replace-invalid"},
           text)
          .out,
      must(predict({"--max-tokens", "5"})).out);
  // The vocabulary has no "<n>": with marks a newline is three unknown signs, as a blank it is none.
  EXPECT_NE(must(predict({"--max-tokens", "5"}, "texts")).out,
            must(predict({"--max-tokens", "5", "--newlines-are-blanks"}, "texts")).out);
}

TEST_F(SummarizePredict, SaysWhatMemoryItTakesBeforeItStarts) {
  const std::string said = must(predict({"--max-tokens", "5"})).err;
  EXPECT_TRUE(std::regex_search(said, std::regex("memory planned: [0-9.]+ MiB"))) << said;
  EXPECT_FALSE(holds(said, "peak to expect")) << "the parts are for -v: " << said;
  const std::string more = must(predict({"--max-tokens", "5", "-v"})).err;
  for (const char* row : {"memory planned: ", "parameters", "keys and values", "peak to expect"})
    EXPECT_TRUE(holds(more, row)) << row << '\n' << more;
}

TEST_F(SummarizePredict, RefusesWhatItCannotDo) {
  write("blank.jsonl", "{\"id\": \"a\", \"article\": \"ab\"}\n{\"id\": \"b\", \"article\": \" \"}\n");
  refused(predict({"-o", path("blank.out")}, "blank.jsonl"), 1, "blank.jsonl:2: a document without a word");
  EXPECT_FALSE(std::filesystem::exists(path("blank.out")));
  const RunResult passed = must(predict({"--skip-bad", "--max-tokens", "4"}, "blank.jsonl"));
  EXPECT_EQ(std::count(passed.out.begin(), passed.out.end(), '\n'), 1);
  EXPECT_TRUE(holds(passed.err, "blank.jsonl:2: a document without a word")) << passed.err;
  write("no_field.jsonl", "{\"id\": \"a\", \"title\": \"ab\"}\n");
  refused(predict({}, "no_field.jsonl"), 1, "no_field.jsonl:1");
  write("empty.jsonl", "");
  refused(predict({}, "empty.jsonl"), 1, "empty.jsonl");
  write("bytes.jsonl", "{\"article\": \"a\xff\"}\n");
  refused(predict({}, "bytes.jsonl"), 1, "bytes.jsonl");
  refused(predict({}, "missing.jsonl"), 1, "missing.jsonl");
  refused(predict({"--length", "65"}), 2, "--length 65");
  refused(predict({"--beams", "0"}), 2, "beams");
  refused(predict({"--max-tokens", "100"}), 2, "64 positions");
  refused(predict({"--max-tokens", "5", "--min-tokens", "9"}), 2, "--min-tokens is above --max-tokens");
  refused(predict({"--decoding", "nucleus"}), 2, "nucleus");
  refused(predict({"--decoding", "sample", "--beams", "2"}), 2, "one beam");
  refused(predict({"--decoding", "sample", "--temperature", "0"}), 2, "temperature");
  refused(predict({"--beams", "10001"}), 2, "--beams");
  refused(predict({"--beams", "10000", "--batch", "4096"}), 3, "would fit: --batch");
  refused(predict({"--early-stopping", "soon"}), 2, "soon");
  refused(predict({"-O", "csv"}), 2, "csv");
  std::filesystem::create_directories(path("classifier"));
  write_tiny_text_model(path("classifier"));
  refused({"text", "summarize", "predict", "-m", path("classifier"), path("data.jsonl")}, 1,
          "the model has no decoder, its head is classification");
}

}  // namespace
}  // namespace bigbird::testing
