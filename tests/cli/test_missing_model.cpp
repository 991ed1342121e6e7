// A model folder that is not there: one line of error and its hint, before a device is said to compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

// What each verb that takes a model and a device needs beside the two; "@NAME" is a file of the fixture.
const std::map<std::string, std::vector<std::string>> arguments_of_verbs = {
    {"attribute", {"-f", "@g.fa", "-r", "c1:10-20"}},
    {"bench", {}},
    {"chromatin calibrate", {"--data", "@"}},
    {"chromatin evaluate", {"--data", "@"}},
    {"chromatin finetune", {"--data", "@", "-o", "@run"}},
    {"chromatin predict", {"--data", "@", "-o", "@out.npy"}},
    {"cluster plan", {"-f", "@g.fa", "@v.vcf"}},
    {"embed", {"@g.fa", "-o", "@out.npy"}},
    {"evaluate", {"--data", "@shards"}},
    {"fill-mask", {"AC[MASK]T"}},
    {"forward", {"-i", "@in.safetensors", "-o", "@out.safetensors"}},
    {"ism", {"-f", "@g.fa", "--region", "c1:10-20"}},
    {"pretrain", {"--train", "@shards", "--tokenizer", "@", "-o", "@run"}},
    {"promoter calibrate", {"--valid", "@windows.tsv"}},
    {"promoter evaluate", {"--data", "@windows.tsv"}},
    {"promoter finetune", {"--train", "@windows.tsv", "-o", "@run"}},
    {"promoter predict", {"@g.fa"}},
    {"promoter scan", {"-f", "@g.fa", "-o", "@out.bw"}},
    {"report", {"-f", "@g.fa", "-o", "@out.html", "@scores.tsv"}},
    {"text classify evaluate", {"--data", "@texts.tsv"}},
    {"text classify finetune", {"--train", "@texts.tsv", "-o", "@run"}},
    {"text classify predict", {"@texts.tsv"}},
    {"text embed", {"@texts.tsv", "-o", "@out.npy"}},
    {"text generate", {"--prompt", "a text"}},
    {"text glue evaluate", {"--task", "sst2", "--data", "@texts.tsv"}},
    {"text glue finetune", {"--task", "sst2", "--data", "@", "-o", "@run"}},
    {"text glue predict", {"--task", "sst2", "--data", "@", "-o", "@run"}},
    {"text hibert evaluate", {"--data", "@documents.jsonl"}},
    {"text hibert finetune", {"--train", "@documents.jsonl", "-o", "@run"}},
    {"text hibert predict", {"@documents.jsonl"}},
    {"text hibert pretrain", {"--train", "@documents.jsonl", "-m", "@tokenizer", "-o", "@run"}},
    {"text qa finetune", {"--train", "@questions.json", "-o", "@run"}},
    {"text qa predict", {"@questions.json", "-o", "@out.json"}},
    {"text summarize evaluate", {"--data", "@documents.jsonl"}},
    {"text summarize finetune", {"--train", "@documents.jsonl", "-o", "@run"}},
    {"text summarize predict", {"@documents.jsonl"}},
    {"text tag evaluate", {"--data", "@words.conll"}},
    {"text tag finetune", {"--train", "@words.conll", "-o", "@run"}},
    {"text tag predict", {"@words.conll"}},
    {"variants", {"-f", "@g.fa", "@v.vcf", "-o", "@out.vcf"}},
    {"variants background", {"-f", "@g.fa", "@v.vcf", "-o", "@out.safetensors"}},
};

std::vector<std::string> words_of(const std::string& verb) {
  std::vector<std::string> words{""};
  for (const char letter : verb) {
    if (letter == ' ') {
      words.emplace_back();
    } else {
      words.back() += letter;
    }
  }
  return words;
}

std::vector<std::string> verbs() {
  const std::string overview = run_bigbird({"--help"}).out;
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = overview.find("\n  ", at)) != std::string::npos; ++at)
    names.push_back(overview.substr(at + 3, overview.find("  ", at + 3) - at - 3));
  return names;
}

TEST(MissingModel, IsSaidInOneLineByEveryVerbBeforeItTakesADevice) {
  const TemporaryFolder folder;
  write_text(folder / "g.fa", ">c1\n" + std::string(60, 'A') + "\n");
  write_text(folder / "g.fa.fai", "c1\t60\t4\t60\t61\n");
  write_text(folder / "v.vcf", "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n");
  write_text(folder / "windows.tsv", "#sequence\tlabel\nACGT\t1\n");
  write_text(folder / "texts.tsv", "sentence\tlabel\na text\t1\n");
  write_text(folder / "test.tsv", "index\tsentence\n0\ta text\n");
  write_text(folder / "train.tsv", "sentence\tlabel\na text\t1\n");
  write_text(folder / "dev.tsv", "sentence\tlabel\na text\t1\n");
  write_text(folder / "scores.tsv", "#chrom\tpos\n");
  const std::string nope = (folder / "nope").string();
  std::size_t asked = 0;
  for (const std::string& verb : verbs()) {
    std::vector<std::string> words = words_of(verb);
    words.insert(words.end(), {"--help", "all"});
    const std::string help = run_bigbird(words).out;
    words.resize(words.size() - 2);
    const bool init = help.find("--init ") != std::string::npos;
    const bool takes_model = init || help.find("-m,--model ") != std::string::npos;
    if (!takes_model || help.find("--device ") == std::string::npos) continue;
    if (verb == "devices")
      continue;  // its model says which products --tune measures, on a device that is there
    const auto arguments = arguments_of_verbs.find(verb);
    ASSERT_NE(arguments, arguments_of_verbs.end()) << verb << ": say here what else it needs";
    words.insert(words.end(), {init ? "--init" : "--model", nope});
    for (const std::string& word : arguments->second)
      words.push_back(word.starts_with('@') ? (folder / word.substr(1)).string() : word);
    const RunResult result = run_bigbird(words);
    EXPECT_EQ(result.status, 1) << verb;
    EXPECT_NE(result.err.find("bigbird: error: " + nope + ": no such model folder\nhint: "),
              std::string::npos)
        << verb << ": " << result.err;
    EXPECT_EQ(result.err.find("comput"), std::string::npos) << verb << ": " << result.err;
    // Some verbs that train say first which numbers their data stand for.
    EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), init ? 3 : 2) << verb;
    ++asked;
  }
  EXPECT_EQ(asked, arguments_of_verbs.size());
}

}  // namespace
}  // namespace bigbird::testing
