// From text to a pretrained model as a user goes: text vocabulary and text pretrain-data, every option by
// what it changes, one line with a hint for every bad input; then pretrain, evaluate and fill-mask on what
// they wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/data/token_shards.h"
#include "lib/tokenization/tokenizer.h"
#include "tests/cli/words.h"
#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird::testing {
namespace {

namespace fs = std::filesystem;
const std::string e_acute = "\xC3\xA9";

// Sixty documents about a few things, ten lines each, and their vocabulary: made once.
class TextPretrainData : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_text(path("books.txt"), documents(60, 0));
    write_text(path("held-out.txt"), documents(12, 60));
    must({"text", "vocabulary", path("books.txt"), "-o", path("tokenizer"), "--vocab-size", "200"});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }

  static std::string documents(int count, int first) {
    const Words things = {"the river", "a mountain", "the old mill", "our harbour", "a garden"};
    const Words actions = {"runs past", "looks over", "was built beside", "belongs to", "shelters"};
    std::string text;
    for (int d = first; d < first + count; ++d) {
      for (int line = 0; line < 10; ++line) {
        const auto one = static_cast<std::size_t>(d + line * line) % things.size();
        const auto other = static_cast<std::size_t>(d * 3 + line + 1) % things.size();
        text += things[one] + " " + actions[static_cast<std::size_t>(d / 2 + line) % actions.size()] + " " +
                things[other] + ".\n";
      }
      text += "\n";
    }
    return text;
  }

  static RunResult must(const Words& words, const std::string& input = {}) {
    const RunResult run = run_bigbird(words, input);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  }
  // One line that says `message`, one hint, and nothing at `output`.
  static void refused(const Words& words, int status, const std::string& message,
                      const std::string& output = {}) {
    const RunResult run = run_bigbird(words);
    EXPECT_EQ(run.status, status) << run.err;
    const std::size_t at = run.err.find("error: ");
    ASSERT_NE(at, std::string::npos) << run.err;
    EXPECT_NE(run.err.substr(at, run.err.find('\n', at) - at).find(message), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("\nhint: ", at), std::string::npos) << run.err;
    EXPECT_TRUE(run.out.empty()) << run.out;
    if (output.empty()) return;
    for (const auto& entry : fs::directory_iterator(folder_->path())) {
      const std::string name = entry.path().filename().string();
      EXPECT_FALSE(name.starts_with(output) || name.starts_with("." + output)) << name << " is left";
    }
  }

  // What `text pretrain-data` makes of these inputs.
  static nlohmann::json shards(const std::string& name, const Words& more) {
    Words words = {"text", "pretrain-data", "-m", path("tokenizer"), "-o", path(name)};
    words.insert(words.end(), more.begin(), more.end());
    must(words);
    return nlohmann::json::parse(read_text(path(name + ".json")));
  }
  static nlohmann::json vocabulary(const std::string& name, const Words& more) {
    Words words = {"text", "vocabulary", "-o", path(name), "--vocab-size", "200"};
    words.insert(words.end(), more.begin(), more.end());
    must(words);
    return nlohmann::json::parse(read_text(path(name + "/tokenizer_config.json"))).at("bigbird");
  }
  // Ids of a text, one by one, under a tokenizer.
  static std::vector<std::uint32_t> ids(const std::string& tokenizer, const std::string& text) {
    std::vector<std::uint32_t> all;
    load_tokenizer(path(tokenizer))->encode(text, all);
    return all;
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(TextPretrainData, AVocabularyIsAFolderWithThePublishedSpecialPieces) {
  for (const char* name : {"spiece.model", "spiece.vocab", "tokenizer_config.json"})
    EXPECT_TRUE(fs::exists(path("tokenizer") + "/" + name)) << name;
  const auto tokenizer = load_tokenizer(path("tokenizer"));
  EXPECT_EQ(tokenizer->vocab_size(), 200u);
  EXPECT_EQ(tokenizer->special().cls, 65u);
  EXPECT_EQ(tokenizer->special().sep, 66u);
  EXPECT_EQ(tokenizer->special().mask, 67u);
  EXPECT_EQ(tokenizer->special().unknown, 100u);
  const auto config = nlohmann::json::parse(read_text(path("tokenizer/tokenizer_config.json")));
  EXPECT_EQ(config.at("tokenizer_class"), "PreTrainedTokenizerFast");
  EXPECT_NE(config.dump().find("bigbird text vocabulary"), std::string::npos) << "its command";
}

TEST_F(TextPretrainData, OptionsOfAVocabularyDecideItsPieces) {
  const auto plain = vocabulary("v-plain", {path("books.txt"), "--no-provenance"});
  EXPECT_FALSE(plain.contains("provenance"));
  EXPECT_EQ(plain.at("byte_fallback"), false);
  EXPECT_EQ(ids("v-plain", e_acute).back(), 100u) << "a letter that was never seen is unknown";

  // The 256 bytes are pieces of their own: room for them.
  must({"text", "vocabulary", path("books.txt"), "-o", path("v-bytes"), "--vocab-size", "500",
        "--byte-fallback"});
  const auto bytes = ids("v-bytes", e_acute);
  EXPECT_GE(bytes.size(), 2u);
  for (const std::uint32_t id : bytes) EXPECT_NE(id, 100u);

  // "@" stands nowhere in the books.
  EXPECT_EQ(ids("v-plain", "@").back(), 100u);
  vocabulary("v-required", {path("books.txt"), "--required-characters", "@" + e_acute});
  EXPECT_NE(ids("v-required", "@").back(), 100u);
  EXPECT_NE(ids("v-required", e_acute).back(), 100u);
  must({"text", "vocabulary", path("books.txt"), "-o", path("v-ascii"), "--vocab-size", "600"});
  EXPECT_NE(ids("v-ascii", "@").back(), 100u);
  must({"text", "vocabulary", path("books.txt"), "-o", path("v-none"), "--vocab-size", "600",
        "--required-characters", ""});
  EXPECT_EQ(ids("v-none", "@").back(), 100u);

  vocabulary("v-short", {path("books.txt"), "--max-piece-length", "2"});
  const auto is_longer = [&](const std::string& name) {
    const auto tokenizer = load_tokenizer(path(name));
    bool longer = false;
    for (std::uint32_t id = 101; id < tokenizer->vocab_size(); ++id)
      longer = longer || tokenizer->piece(id).size() > 3 + 2;  // U+2581 has three bytes
    return longer;
  };
  EXPECT_TRUE(is_longer("v-plain"));
  EXPECT_FALSE(is_longer("v-short"));

  // One letter of ten thousand is left out by the coverage asked for, and kept by all of it.
  write_text(path("rare.txt"), documents(60, 0) + "\nq\n");
  vocabulary("v-covered", {path("rare.txt"), "--character-coverage", "0.999"});
  vocabulary("v-all", {path("rare.txt"), "--character-coverage", "1"});
  EXPECT_EQ(ids("v-covered", "q").back(), 100u);
  EXPECT_NE(ids("v-all", "q").back(), 100u);

  std::string long_line;
  for (int i = 0; i < 200; ++i) long_line += "a long line without an end ";
  write_text(path("long.txt"), documents(60, 0) + "\n" + long_line + "\n");
  EXPECT_NE(must({"text", "vocabulary", path("long.txt"), "-o", path("v-cut"), "--vocab-size", "200",
                  "--max-sentence-bytes", "1000"})
                .err.find(" 1 of them cut"),
            std::string::npos);
  EXPECT_NE(must({"text", "vocabulary", path("long.txt"), "-o", path("v-cut"), "--vocab-size", "200",
                  "--max-sentence-bytes", "20000", "--force"})
                .err.find(" 0 of them cut"),
            std::string::npos);
}

TEST_F(TextPretrainData, AVocabularyIsLearntFromEveryFormOfDocuments) {
  const std::string object = R"({"body": "the river runs past the old mill"})";
  write_text(path("v.jsonl"), object + "\n" + object + "\n");
  must({"text", "vocabulary", path("v.jsonl"), "-o", path("v-json"), "--vocab-size", "125", "--format",
        "jsonl", "--field", "body"});
  EXPECT_EQ(ids("v-json", "{").back(), 100u) << "the braces of JSON are not text";
  // A file in which a byte is no UTF-8, and whose lines would be documents.
  write_text(path("v-invalid.txt"), documents(30, 0) + "the \xE9 river\n");
  must({"text", "vocabulary", path("v-invalid.txt"), "-o", path("v-invalid"), "--vocab-size", "150",
        "--one-per-line", "--replace-invalid", "--character-coverage", "1"});
  EXPECT_NE(ids("v-invalid", "\xEF\xBF\xBD").back(), 100u);
}

TEST_F(TextPretrainData, ABadVocabularyIsRefusedInOneLine) {
  const Words good = {"text", "vocabulary", path("books.txt"), "-o", path("refused")};
  const auto with = [&](const Words& more) {
    Words words = good;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  refused(with({"--vocab-size", "101"}), 2, "--vocab-size", "refused");
  refused(with({"--vocab-size", "110"}), 2, "--vocab-size", "refused");
  refused(with({"--vocab-size", "300", "--byte-fallback"}), 2, "--vocab-size", "refused");
  refused(with({"--character-coverage", "1.5"}), 2, "--character-coverage", "refused");
  refused(with({"--max-piece-length", "0"}), 2, "--max-piece-length", "refused");
  refused(with({"--max-sentence-bytes", "10"}), 2, "--max-sentence-bytes", "refused");
  refused(with({"--format", "latex"}), 2, "latex", "refused");
  refused({"text", "vocabulary", path("books.txt"), "-o", path("tokenizer")}, 1, "tokenizer");
  refused({"text", "vocabulary", path("no-such.txt"), "-o", path("refused")}, 1, "no-such.txt", "refused");
  write_text(path("latin1.txt"), "a caf\xE9\n");
  refused({"text", "vocabulary", path("latin1.txt"), "-o", path("refused")}, 1, "latin1.txt:1: byte 6",
          "refused");
  write_text(path("blank.txt"), " \n\n\t\n");
  refused({"text", "vocabulary", path("blank.txt"), "-o", path("refused")}, 1, "no text", "refused");
}

TEST_F(TextPretrainData, ADocumentIsWhatTheFormatSays) {
  write_text(path("plain.txt"), "the river\nruns\n\na garden\n");
  EXPECT_EQ(shards("d-plain", {path("plain.txt")}).at("documents"), 2);
  EXPECT_EQ(shards("d-lines", {path("plain.txt"), "--one-per-line"}).at("documents"), 3);
  EXPECT_EQ(shards("d-twice", {path("plain.txt"), path("plain.txt"), "--format", "plain"}).at("documents"),
            4);
  fs::create_directory(path("folder"));
  write_text(path("folder/b.txt"), "the river\n\na garden\n");
  write_text(path("folder/a.txt"), "the mill\n");
  EXPECT_EQ(shards("d-folder", {path("folder")}).at("documents"), 2) << "a file each";

  write_text(path("objects.jsonl"), "{\"text\": \"the river\", \"body\": \"a garden\\nthe mill\"}\n");
  EXPECT_EQ(shards("d-json", {path("objects.jsonl")}).at("sentences"), 1);
  EXPECT_EQ(shards("d-field", {path("objects.jsonl"), "--field", "body"}).at("sentences"), 2);

  write_text(path("wiki"), "<doc id=\"1\" url=\"u\" title=\"Mill\">\nMill\nthe old mill\n</doc>\n");
  EXPECT_EQ(shards("d-wiki", {path("wiki")}).at("sentences"), 1) << "the repeated title is dropped";
  EXPECT_EQ(shards("d-wiki-plain", {path("wiki"), "--format", "plain"}).at("sentences"), 4);

  write_text(path("wikitext"), " \n = Mill = \n \n the old mill \n \n = Harbour = \n \n our harbour \n");
  EXPECT_EQ(shards("d-wikitext", {path("wikitext")}).at("documents"), 2);

  const Words from_stdin = {"text", "pretrain-data", "-", "-m", path("tokenizer"), "-o", path("d-stdin")};
  must(from_stdin, "the river\n\n\na garden\n");
  EXPECT_EQ(TokenShards(path("d-stdin")).document_count(), 2u);
}

TEST_F(TextPretrainData, OptionsOfShardsSayHowTextIsReadAndKept) {
  write_text(path("marks.txt"), "the\triver \xE2\x80\x93 a garden\n\nthe mill\n");
  const auto folded = shards("s-fold", {path("marks.txt")});
  EXPECT_EQ(folded.at("white_space"), "fold");
  EXPECT_EQ(folded.at("ascii_punctuation"), false);
  EXPECT_EQ(folded.at("join"), true);
  EXPECT_EQ(folded.at("unknown_tokens"), 1) << "the dash";
  EXPECT_NE(folded.at("provenance").at("command").get<std::string>().find("text pretrain-data"),
            std::string::npos);
  const auto kept =
      shards("s-keep", {path("marks.txt"), "--whitespace", "keep", "--no-pack", "--no-provenance"});
  EXPECT_EQ(kept.at("white_space"), "keep");
  EXPECT_EQ(kept.at("join"), false);
  EXPECT_EQ(kept.at("unknown_tokens"), 2) << "the tab too";
  EXPECT_FALSE(kept.contains("provenance"));
  EXPECT_FALSE(TokenShards(path("s-keep")).joins_documents());
  // "-" is no letter of this vocabulary either; the word before it keeps its end.
  const auto ascii = shards("s-ascii", {path("marks.txt"), "--ascii-punctuation"});
  EXPECT_EQ(ascii.at("ascii_punctuation"), true);

  write_text(path("invalid.txt"), "the \xE9 river\n");
  EXPECT_EQ(shards("s-invalid", {path("invalid.txt"), "--replace-invalid"}).at("unknown_tokens"), 1);

  const auto whole = shards("s-whole", {path("books.txt"), "-@", "1"});
  const auto parts = shards("s-parts", {path("books.txt"), "--shard-tokens", "1k", "-@", "3"});
  EXPECT_EQ(TokenShards(path("s-whole")).shard_count(), 1u);
  EXPECT_GT(TokenShards(path("s-parts")).shard_count(), 2u);
  EXPECT_EQ(whole.at("tokens"), parts.at("tokens"));
  EXPECT_EQ(whole.at("documents"), 60);
}

TEST_F(TextPretrainData, CharactersThatTheVocabularyLacksAreNamed) {
  write_text(path("accents.txt"), "caf" + e_acute + " caf" + e_acute + "\n");
  const RunResult run =
      must({"text", "pretrain-data", path("accents.txt"), "-m", path("tokenizer"), "-o", path("accents")});
  EXPECT_NE(run.err.find("warning: "), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("U+00E9"), std::string::npos) << run.err;
}

TEST_F(TextPretrainData, ABadInputIsRefusedInOneLineAndLeavesNothing) {
  const auto refuse = [&](const std::string& name, const std::string& text, const std::string& message,
                          int status = 1, const Words& more = {}) {
    write_text(path(name), text);
    Words words = {"text", "pretrain-data", path(name), "-m", path("tokenizer"), "-o", path("refused")};
    words.insert(words.end(), more.begin(), more.end());
    refused(words, status, message, "refused");
  };
  refuse("bad-utf8.txt", "the river\nthe \xFF mill\n", "bad-utf8.txt:2: byte 5");
  refuse("bad-nul.txt", std::string("the\0mill\n", 9), "NUL");
  refuse("bad-blank.txt", "\n \n", "no text");
  refuse("bad-empty.txt", "", "no text");
  refuse("bad.jsonl", "{\"text\": \"the mill\"}\n{\"text\": \"cut", "bad.jsonl:2");
  refuse("bad-field.jsonl", "{\"body\": \"the mill\"}\n", "no field 'text'");
  refuse("bad-type.jsonl", "{\"text\": 5}\n", "number, not a string");
  refuse("bad-wiki", "<doc id=\"1\" url=\"u\" title=\"Mill\">\nthe mill\n", "bad-wiki:1");
  refuse("bad-wikitext", "the mill\n", "title", 1, {"--format", "wikitext"});
  refuse("bad-format.txt", "the mill\n", "latex", 2, {"--format", "latex"});
  refuse("bad-lines.jsonl", "{\"text\": \"a\"}\n", "--one-per-line", 2,
         {"--one-per-line", "--format", "jsonl"});
  refused({"text", "pretrain-data", path("no-such"), "-m", path("tokenizer"), "-o", path("refused")}, 1,
          "no-such", "refused");
  refused({"text", "pretrain-data", path("books.txt"), "-m", path("no-such"), "-o", path("refused")}, 1,
          "no-such", "refused");
  write_tiny_tokenizer(folder_->path() / "dna");
  refused({"text", "pretrain-data", path("books.txt"), "-m", path("dna"), "-o", path("refused")}, 1,
          "a tokenizer of DNA", "refused");
}

// Whole words of joined documents; bits for each token and each byte; a masked word filled in.
TEST_F(TextPretrainData, ShardsOfTextArePretrainedOnAndEvaluated) {
  shards("train", {path("books.txt")});
  shards("valid", {path("held-out.txt")});
  must({"pretrain", "--train",      path("train"), "--valid",  path("valid"), "-m",       path("tokenizer"),
        "-o",       path("run"),    "--layers",    "2",        "--width",     "32",       "--heads",
        "2",        "--block-size", "16",          "--length", "64",          "--batch",  "16",
        "--steps",  "150",          "--lr",        "3e-3",     "--warmup",    "10",       "--dropout",
        "0",        "--optimizer",  "torch",       "-@",       "1",           "--device", "cpu"});
  const RunResult run = must({"evaluate", "-m", path("run/final"), "--data", path("valid"), "--baseline-from",
                              path("train"), "-@", "1", "--device", "cpu"});
  const auto json = nlohmann::json::parse(run.out);
  const double masked = json.at("masked_tokens"), bytes = json.at("bytes_covered");
  const double bits = json.at("mlm_loss").get<double>() / std::log(2.0);
  EXPECT_NEAR(json.at("bits_per_token").get<double>(), bits, 1e-9);
  EXPECT_NEAR(json.at("bits_per_byte").get<double>(), bits * masked / bytes, 1e-9);
  EXPECT_GT(bytes, masked);
  EXPECT_FALSE(json.contains("bits_per_base"));
  EXPECT_TRUE(json.at("nsp_accuracy").is_null()) << "text has no next-sentence task";
  const auto& unigram = json.at("baseline").at("unigram");
  EXPECT_LT(json.at("bits_per_token").get<double>(), unigram.at("bits_per_token").get<double>());
  EXPECT_LT(json.at("bits_per_byte").get<double>(), unigram.at("bits_per_byte").get<double>());

  const RunResult filled = must({"fill-mask", "-m", path("run/final"), "the old[MASK] runs past a garden.",
                                 "--top", "2", "-@", "1", "--device", "cpu", "--no-provenance"});
  EXPECT_EQ(std::count(filled.out.begin(), filled.out.end(), '\n'), 3) << filled.out;
}

}  // namespace
}  // namespace bigbird::testing
