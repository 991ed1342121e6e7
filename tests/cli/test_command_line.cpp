// The conventions that every verb shares: streams, exit statuses, suggestions, help, configuration,
// interruption.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/shell.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(CommandLine, AloneItPrintsTheVerbsOnStderrWithStatusTwo) {
  const RunResult result = run_bigbird({});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(contains(result.err, "\nUse a model\n  demo"));
  EXPECT_TRUE(contains(result.err, "\nMake a model\n  chunk"));
}

TEST(CommandLine, HelpGoesToStdout) {
  for (const std::vector<std::string>& ask : {std::vector<std::string>{"--help"}, {"-h"}, {"help"}}) {
    const RunResult result = run_bigbird(ask);
    EXPECT_EQ(result.status, 0);
    EXPECT_TRUE(contains(result.out, "Usage: bigbird VERB"));
    EXPECT_EQ(result.err, "");
  }
}

TEST(CommandLine, VersionStartsWithTheNameAndVersionOnlyIsBare) {
  EXPECT_EQ(run_bigbird({"--version"}).out.rfind("bigbird " BIGBIRD_VERSION, 0), 0u);
  EXPECT_EQ(run_bigbird({"--version-only"}).out, BIGBIRD_VERSION "\n");
}

TEST(CommandLine, VerbHelpOpensWithASentenceAndExamples) {
  const RunResult by_option = run_bigbird({"chunk", "--help"});
  EXPECT_EQ(by_option.status, 0);
  EXPECT_EQ(by_option.err, "");
  const std::size_t first_line = by_option.out.find('\n');
  EXPECT_EQ(by_option.out[first_line - 1], '.');
  EXPECT_EQ(by_option.out.find("\nExamples:\n  bigbird chunk"), first_line + 1);
  EXPECT_TRUE(contains(by_option.out, "--passes"));
  EXPECT_EQ(run_bigbird({"help", "chunk"}).out, by_option.out);
  EXPECT_EQ(run_bigbird({"help", "promoter", "build"}).out, run_bigbird({"promoter", "build", "-h"}).out);
}

// Of a verb with many options --help has those that most calls need, --help all has all.
TEST(CommandLine, HelpBeginsWithWhatMostCallsNeed) {
  const RunResult few = run_bigbird({"pretrain", "--help"}), all = run_bigbird({"pretrain", "--help", "all"});
  EXPECT_EQ(few.status, 0);
  EXPECT_EQ(all.status, 0);
  EXPECT_LT(line_count(few.out), 50u);
  EXPECT_GT(line_count(all.out), 90u);
  for (const char* option : {"--train", "--layers", "--steps", "--help"})
    EXPECT_TRUE(contains(few.out, option));
  EXPECT_FALSE(contains(few.out, "--beta2"));
  EXPECT_TRUE(contains(few.out, " more options: bigbird pretrain --help all\n"));
  EXPECT_TRUE(contains(all.out, "--beta2"));
  EXPECT_FALSE(contains(all.out, "more options"));
  EXPECT_EQ(run_bigbird({"help", "pretrain"}).out, few.out);
  EXPECT_EQ(run_bigbird({"help", "pretrain", "all"}).out, all.out);
  EXPECT_EQ(run_bigbird({"chunk", "--help", "all"}).out, run_bigbird({"chunk", "--help"}).out);
  EXPECT_TRUE(contains(all.out, "--optimizer {google,torch,lamb,adafactor}=torch")) << "choices, not a type";
  EXPECT_TRUE(contains(all.out, "--average FLOAT=never")) << "a word, not 0";
}

// In a terminal of 60 columns no line of help is longer, in one of 200 the text stands beside the names.
TEST(CommandLine, HelpFitsTheTerminal) {
  if (run_program({"sh", "-c", "command -v script"}).status != 0)
    GTEST_SKIP() << "SKIPPED: script is not installed";
  const auto lines = [](int columns) {
    const RunResult run = run_program(
        {"script", "-qec",
         "stty cols " + std::to_string(columns) + "; '" + bigbird_binary() + "' variants --help all",
         "/dev/null"});
    EXPECT_EQ(run.status, 0) << run.err;
    std::vector<std::string> of;
    std::istringstream text(run.out);
    for (std::string line; std::getline(text, line);) of.push_back(line.substr(0, line.find('\r')));
    return of;
  };
  std::size_t shown = 0;
  for (const std::string& line : lines(100)) {
    if (line.starts_with("  bigbird ") || line.starts_with("  for "))
      continue;  // an example is one line, to be copied
    EXPECT_LE(line.size(), 100u) << line;
    ++shown;
  }
  EXPECT_GT(shown, 60u);
  EXPECT_GT(lines(60).size(), lines(100).size());
  EXPECT_LT(lines(200).size(), lines(100).size());
}

TEST(CommandLine, WordsOfOtherToolsLeadToTheVerb) {
  const auto hint = [](const std::vector<std::string>& words) {
    const RunResult run = run_bigbird(words);
    EXPECT_EQ(run.status, 2);
    return run.err.substr(run.err.find("hint: "));
  };
  EXPECT_EQ(hint({"scan"}), "hint: it is: promoter scan\n");
  EXPECT_EQ(hint({"vep"}), "hint: one of: variants, variants background, variants evaluate\n");
  EXPECT_EQ(hint({"promoter", "train"}), "hint: it is: promoter finetune\n");
  EXPECT_TRUE(contains(hint({"train"}), "pretrain, promoter finetune, chromatin finetune"));
  EXPECT_TRUE(contains(hint({"predict"}), "promoter predict, chromatin predict, text classify predict"));
  EXPECT_TRUE(contains(hint({"qa"}), "text qa predict"));
}

TEST(CommandLine, VersionTellsWhatThereIs) {
  const std::string text = run_bigbird({"--version"}).out;
  for (const char* line : {"\ncompiler ", "\nprocessor ", "\nCUDA ", "\nranks ", "\nlibraries  htslib "})
    EXPECT_TRUE(contains(text, line)) << text;
}

// Where --threads is not given.
TEST(CommandLine, ThreadsAreThoseThatTheEnvironmentGrants) {
  const TemporaryFolder folder;
  const auto told = [&](const std::string& before, const std::string& more = "") {
    const RunResult run =
        run_shell("cd '" + folder.path().string() +
                  "' && unset OMP_NUM_THREADS SLURM_JOB_ID PBS_JOBID JOB_ID LSB_JOBID; " + before +
                  " \"$bigbird\" simulate --force -o g --bp 100k --chromosome-count 1 " + more);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.err;
  };
  EXPECT_TRUE(contains(told("OMP_NUM_THREADS=3,2"), "3 threads, by OMP_NUM_THREADS"));
  EXPECT_TRUE(contains(told("JOB_ID=7 NSLOTS=2"), "2 threads, by NSLOTS"));
  EXPECT_FALSE(contains(told("NSLOTS=2"), "threads, by")) << "outside of a job";
  EXPECT_FALSE(contains(told("OMP_NUM_THREADS=3", "-@ 1"), "threads, by"));
  EXPECT_FALSE(contains(told("BIGBIRD_THREADS=1 OMP_NUM_THREADS=3"), "threads, by"));
  EXPECT_TRUE(contains(told("OMP_NUM_THREADS=3", "-@ auto"), "3 threads, by OMP_NUM_THREADS"));
}

TEST(CommandLine, EveryVerbHasHelpAndAManualPage) {
  const RunResult overview = run_bigbird({"--help"});
  std::size_t verbs = 0;
  for (std::size_t at = 0; (at = overview.out.find("\n  ", at)) != std::string::npos; ++at) {
    const std::size_t start = at + 3;
    std::string verb = overview.out.substr(start, overview.out.find("  ", start) - start);
    std::vector<std::string> words{verb};
    if (const std::size_t space = verb.find(' '); space != std::string::npos) {
      words = {verb.substr(0, space), verb.substr(space + 1)};
    }
    std::vector<std::string> ask_help = words;
    ask_help.push_back("--help");
    const RunResult help = run_bigbird(ask_help);
    EXPECT_EQ(help.status, 0) << verb;
    EXPECT_TRUE(contains(help.out, "Usage: bigbird " + verb)) << verb;
    words.insert(words.begin(), "man");
    const RunResult page = run_bigbird(words);
    EXPECT_EQ(page.status, 0) << verb;
    EXPECT_EQ(page.out.rfind(".TH \"bigbird-", 0), 0u) << verb;
    EXPECT_TRUE(contains(page.out, ".B \\-h,\\-\\-help")) << verb;
    ++verbs;
  }
  EXPECT_GE(verbs, 10u);
}

TEST(CommandLine, AWrongVerbSuggestsTheNearest) {
  const RunResult result = run_bigbird({"chnuk"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(
      result.err.rfind("bigbird: error: there is no verb 'chnuk'\nhint: did you mean `bigbird chunk`?", 0),
      0u);
  EXPECT_EQ(line_count(result.err), 2u);
  EXPECT_TRUE(contains(run_bigbird({"promoter", "biuld"}).err, "did you mean `bigbird promoter build`?"));
}

// Every beginning of a verb of several words: alone, with --help and after help.
TEST(CommandLine, TheFirstWordsOfVerbsListThem) {
  const std::string overview = run_bigbird({"--help"}).out;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"promoter"}, {"chromatin"}, {"text"}, {"text", "qa"}, {"cluster"}}) {
    const RunResult alone = run_bigbird(words);
    EXPECT_EQ(alone.status, 0);
    EXPECT_EQ(alone.err, "");
    std::string begin = "\n ";
    for (const std::string& word : words) begin += " " + word;
    begin += " ";
    std::size_t verbs = 0;
    for (std::size_t at = 0; (at = overview.find(begin, at)) != std::string::npos; ++at, ++verbs)
      EXPECT_TRUE(contains(alone.out, overview.substr(at, overview.find('\n', at + 1) - at))) << alone.out;
    EXPECT_GE(verbs, 2u);
    EXPECT_EQ(line_count(alone.out), verbs + 2);
    std::vector<std::string> ask = words;
    ask.push_back("--help");
    EXPECT_EQ(run_bigbird(ask).out, alone.out);
    ask.back() = "-h";
    EXPECT_EQ(run_bigbird(ask).out, alone.out);
    ask.pop_back();
    ask.insert(ask.begin(), "help");
    EXPECT_EQ(run_bigbird(ask).out, alone.out);
  }
  EXPECT_TRUE(contains(run_bigbird({"variants", "--help"}).out, "\n  variants evaluate "));
}

TEST(CommandLine, AWrongWordAfterThemListsThemToo) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"text", "qa", "fintune"}, {"text", "qa", "-m", "x"}}) {
    const RunResult result = run_bigbird(words);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.err, "choose one: text qa predict, text qa finetune, text qa evaluate"));
  }
  EXPECT_TRUE(
      contains(run_bigbird({"text", "qa", "fintune"}).err, "did you mean `bigbird text qa finetune`?"));
  EXPECT_TRUE(contains(run_bigbird({"text", "qa", "-m"}).err, "'text qa' needs a third word"));
}

TEST(CommandLine, AWrongOptionSuggestsTheNearestEvenWhenARequiredOneIsMissing) {
  const RunResult result = run_bigbird({"chunk", "--fasta-rfe", "x.fa"});
  EXPECT_EQ(result.status, 2);
  EXPECT_TRUE(contains(result.err, "unknown option '--fasta-rfe'"));
  EXPECT_TRUE(contains(result.err, "did you mean --fasta-ref?"));
}

TEST(CommandLine, UsageErrorsOfTheParserHaveStatusTwo) {
  EXPECT_EQ(run_bigbird({"chunk"}).status, 2);                                   // required options
  EXPECT_EQ(run_bigbird({"man", "chunk", "and", "more"}).status, 2);             // too many words
  EXPECT_EQ(run_bigbird({"completion", "klingon"}).status, 2);                   // not one of the set
  EXPECT_EQ(run_bigbird({"simulate", "-o", "x", "--bp", "5X"}).status, 2);       // not a count
  EXPECT_EQ(run_bigbird({"simulate", "-o", "x", "--threads", "-1"}).status, 2);  // out of range
  EXPECT_EQ(run_bigbird({"simulate", "-o", "x", "--seed"}).status, 2);           // without its value
}

TEST(CommandLine, AFullDiskOnStdoutIsNoticed) {
  const RunResult result = run_shell("\"$bigbird\" completion bash > /dev/full");
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(contains(result.err, "bigbird: error: standard output"));
  EXPECT_TRUE(contains(result.err, "\nhint: "));
}

TEST(CommandLine, TheClosingLineGivesVersionTimesAndMemoryUnlessQuiet) {
  const TemporaryFolder folder;
  const std::string out = folder / "genome";
  const RunResult result = run_bigbird({"simulate", "-o", out, "--bp", "100K", "--chromosome-count", "1"});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::string last = result.err.substr(result.err.rfind('\n', result.err.size() - 2) + 1);
  EXPECT_EQ(last.rfind("[simulate] bigbird " BIGBIRD_VERSION ": ", 0), 0u) << last;
  for (const char* part : {"s wall", "s CPU", "MiB peak memory", "bp/s"})
    EXPECT_TRUE(contains(last, part)) << last;
  const RunResult quiet = run_bigbird(
      {"simulate", "-o", (folder / "quiet").string(), "--bp", "100K", "--chromosome-count", "1", "-q"});
  EXPECT_EQ(quiet.status, 0);
  EXPECT_EQ(quiet.err, "");
}

TEST(CommandLine, TheCommandLineWinsOverTheFileAndTheFileOverTheEnvironment) {
  const TemporaryFolder folder;
  const std::string config = folder / "options.toml";
  write_text(config, "seed = 7\nchromosomes = 1\nbp = \"100K\"\n");
  const auto genome = [&](const std::string& name, const std::string& before, const std::string& options) {
    const std::string out = folder / name;
    const RunResult result =
        run_shell(before + " \"$bigbird\" simulate -q --no-provenance -o '" + out + "' " + options);
    EXPECT_EQ(result.status, 0) << result.err;
    return read_text(std::filesystem::path(out) / "genome.fa.gz");
  };
  const std::string seed_7 = genome("a", "", "--bp 100K --chromosome-count 1 --seed 7");
  const std::string seed_8 = genome("b", "", "--bp 100K --chromosome-count 1 --seed 8");
  ASSERT_NE(seed_7, seed_8);
  EXPECT_EQ(genome("c", "BIGBIRD_SEED=8", "--bp 100K --chromosome-count 1"), seed_8);
  EXPECT_EQ(genome("d", "BIGBIRD_SEED=8", "--config '" + config + "'"), seed_7);
  EXPECT_EQ(genome("e", "BIGBIRD_SEED=7", "--config '" + config + "' --seed 8"), seed_8);
}

TEST(CommandLine, AConfigFileThatIsWrongIsNamed) {
  const TemporaryFolder folder;
  const RunResult missing = run_bigbird({"simulate", "-o", folder / "x", "--config", folder / "absent.toml"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_TRUE(contains(missing.err, "absent.toml"));
  write_text(folder / "odd.toml", "sede = 7\n");
  const RunResult odd = run_bigbird({"simulate", "-o", folder / "x", "--config", folder / "odd.toml"});
  EXPECT_EQ(odd.status, 1);
  EXPECT_TRUE(contains(odd.err, "odd.toml"));
  EXPECT_TRUE(contains(odd.err, "sede"));
  EXPECT_TRUE(contains(odd.err, "did you mean seed?"));
}

TEST(CommandLine, TheLogFileKeepsTheMessages) {
  const TemporaryFolder folder;
  const std::string log = folder / "run.log";
  const RunResult result = run_bigbird({"simulate", "-q", "-o", (folder / "g").string(), "--bp", "100K",
                                        "--chromosome-count", "1", "--log", log});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(read_text(log), "[simulate] "));
  const RunResult bad =
      run_bigbird({"simulate", "-o", (folder / "h").string(), "--log", "/dev/null/run.log"});
  EXPECT_EQ(bad.status, 1);
  EXPECT_TRUE(contains(bad.err, "/dev/null/run.log"));
}

TEST(CommandLine, ADeviceThatIsNotThereIsAMatterOfTheEnvironment) {
  const RunResult result =
      run_bigbird({"pretrain", "--train", "x", "-m", "y", "-o", "z", "--device", "cuda:999"});
  EXPECT_EQ(result.status, 3) << result.err;
  EXPECT_TRUE(contains(result.err, "--device cuda:999: "));
  EXPECT_TRUE(contains(result.err, "hint: "));
}

TEST(CommandLine, WhatIsNoDeviceIsAMatterOfUsage) {
  for (const char* device : {"gpu", "cuda:", "cuda:one", "cuda:-1", "cuda:0x", "CPU"}) {
    const RunResult result =
        run_bigbird({"pretrain", "--train", "x", "-m", "y", "-o", "z", "--device", device});
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_TRUE(contains(result.err, "bigbird devices")) << result.err;
  }
}

TEST(CommandLine, PrecisionsThatTheCpuDoesNotHaveAreAMatterOfUsage) {
  const RunResult training = run_bigbird(
      {"pretrain", "--train", "x", "-m", "y", "-o", "z", "--device", "cpu", "--precision", "tf32"});
  EXPECT_EQ(training.status, 2) << training.err;
  EXPECT_TRUE(contains(training.err, "--precision tf32")) << training.err;
  EXPECT_TRUE(contains(training.err, "CUDA")) << training.err;
  const RunResult result =
      run_bigbird({"promoter", "predict", "-m", "x", "y.fa", "--device", "cpu", "--precision", "fp8"});
  EXPECT_EQ(result.status, 2) << result.err;
}

TEST(CommandLine, DevicesListsTheCpuAndSaysWhyThereIsNothingElse) {
  // Where the way of bf16 is probed, a busy machine may say another factor the second time.
  const RunResult result = run_shell("BIGBIRD_BF16=floats \"$bigbird\" devices");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("device\tname\t")) << result.out;
  EXPECT_TRUE(contains(result.out, "\ncpu\t")) << result.out;
  EXPECT_TRUE(contains(result.out, "\ncuda:0\t") || contains(result.err, "no CUDA: ")) << result.out;

  const RunResult json = run_shell("BIGBIRD_BF16=floats \"$bigbird\" devices --json");
  EXPECT_EQ(json.status, 0) << json.err;
  const auto parsed = nlohmann::json::parse(json.out);
  EXPECT_TRUE(parsed.at("cpu").is_string());
  EXPECT_TRUE(
      contains(result.err, "bf16 on the processor: " + parsed.at("cpu_bf16").get<std::string>() + "\n"))
      << result.out;
  EXPECT_EQ(parsed.at("cuda").at("devices").empty(), contains(result.err, "no CUDA: "));
  const auto& products = parsed.at("cpu_products");
  EXPECT_TRUE(
      contains(result.err, "products on the processor: " + products.at("shape").get<std::string>() + ", "));
  EXPECT_GT(products.at("fp32_gflops").get<double>(), 0.0);
  EXPECT_DOUBLE_EQ(products.at("bf16_gain").get<double>(),
                   products.at("bf16_gflops").get<double>() / products.at("fp32_gflops").get<double>());
}

// Which of two ways bf16 takes is pinned where the processor has both.
TEST(CommandLine, TheWayOfBf16IsSaidAndCanBeChosen) {
  const std::string own = run_bigbird({"devices"}).out;
  const bool both = contains(own, " bf16 (") || contains(own, "probed: ") || contains(own, "as measured");
  if (!both) GTEST_SKIP() << "this processor has AMX, or no bf16 instructions";
  const auto with = [](const std::string& way) {
    return run_program({"env", "BIGBIRD_BF16=" + way, bigbird_binary(), "devices"}).out;
  };
  EXPECT_TRUE(contains(with("instructions"), " bf16 (BIGBIRD_BF16)")) << with("instructions");
  EXPECT_TRUE(contains(with("floats"), "no faster than fp32 (BIGBIRD_BF16)")) << with("floats");
}

// The program is stopped when it has begun to write, however long a loaded machine takes to get there.
TEST(CommandLine, ASignalStopsTheWorkAndLeavesNothingHalfWritten) {
  for (const auto& [name, status] : {std::pair<std::string, int>{"INT", 130}, {"TERM", 143}}) {
    const TemporaryFolder folder;
    const std::string script = "\"$bigbird\" simulate -o '" + (folder / "genome").string() +
                               "' --bp 3G --chromosome-count 22 & child=$!\n"
                               "for i in $(seq 3000); do ls -d '" +
                               folder.path().string() +
                               "'/genome.tmp-* > /dev/null 2>&1 && break; sleep 0.02; done\n"
                               "ls -d '" +
                               folder.path().string() +
                               "'/genome.tmp-*\n"
                               "kill -" +
                               name + " $child; wait $child";
    const RunResult result = run_shell(script);
    EXPECT_TRUE(contains(result.out, "/genome.tmp-")) << "the work did not begin\n" << result.err;
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_TRUE(contains(result.err, "stopped by SIG" + name)) << result.err;
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

// What fish offers, by its own engine.
TEST(CommandLine, CompletionOfFish) {
  if (run_program({"sh", "-c", "command -v fish"}).status != 0)
    GTEST_SKIP() << "SKIPPED: fish is not installed";
  const auto complete = [](const std::string& words) {
    const RunResult result =
        run_program({"fish", "--no-config", "-c",
                     "'" + bigbird_binary() + "' completion fish | source; complete -C '" + words + "'"});
    EXPECT_EQ(result.err, "");
    return result.out;
  };
  EXPECT_TRUE(contains(complete("bigbird chu"), "chunk\tcut a genome")) << complete("bigbird chu");
  EXPECT_TRUE(contains(complete("bigbird promoter bui"), "build\t"));
  EXPECT_TRUE(contains(complete("bigbird chunk --pas"), "--passes\t"));
  EXPECT_FALSE(contains(complete("bigbird chunk --"), "--tss"));
  EXPECT_TRUE(contains(complete("bigbird merge --summary-p"), "--summary-prefix\t"));
  EXPECT_FALSE(contains(complete("bigbird merge --fa"), "--fasta-ref"));
  EXPECT_TRUE(contains(complete("bigbird text classify f"), "finetune\t"));
  EXPECT_TRUE(contains(complete("bigbird variants --edge "), "shift"));
}

// What zsh's completion functions are asked for: the script is zsh's to run, the functions stand in for its
// own.
TEST(CommandLine, CompletionOfZsh) {
  if (run_program({"sh", "-c", "command -v zsh"}).status != 0)
    GTEST_SKIP() << "SKIPPED: zsh is not installed";
  const auto complete = [](const std::string& words, int at) {
    const RunResult result = run_program(
        {"zsh", "-f", "-c",
         "compdef() { :; }; _files() { :; }; _describe() { print -rl -- ${(P)4}; }; _arguments() { print -r -- "
         "\"$words[1] $CURRENT\"; print -rl -- \"$@\"; }; eval \"$('" +
             bigbird_binary() + "' completion zsh)\"; words=(" + words + "); CURRENT=" + std::to_string(at) +
             "; _bigbird"});
    EXPECT_EQ(result.err, "");
    return result.out;
  };
  EXPECT_TRUE(contains(complete("bigbird ''", 2), "chunk:cut a genome")) << complete("bigbird ''", 2);
  EXPECT_TRUE(contains(complete("bigbird promoter ''", 3), "build:"));
  EXPECT_TRUE(contains(complete("bigbird chunk --pas", 3), "chunk 2\n"));
  EXPECT_TRUE(contains(complete("bigbird chunk --pas", 3), "--passes["))
      << complete("bigbird chunk --pas", 3);
  EXPECT_TRUE(contains(complete("bigbird text classify finetune --la", 5), "finetune 2\n"));
  EXPECT_FALSE(contains(complete("bigbird merge --fa", 3), "--fasta-ref"));
  EXPECT_TRUE(contains(complete("bigbird variants --ed", 3), ":value:(pad shift skip)"));
}

TEST(CommandLine, ManPagesOfAllVerbsAreWritten) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_bigbird({"man", "--all", (folder / "man1").string()}).status, 0);
  EXPECT_TRUE(contains(read_text(folder / "man1/bigbird.1"), ".B text classify finetune\n"));
  for (const char* section : {"EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO", "EXAMPLES"})
    EXPECT_TRUE(
        contains(read_text(folder / "man1/bigbird-variants.1"), std::string(".SH ") + section + "\n"));
  EXPECT_EQ(read_text(folder / "man1/bigbird-variants-evaluate.1"),
            run_bigbird({"man", "variants", "evaluate"}).out);
  EXPECT_EQ(run_bigbird({"man"}).status, 2);
}

TEST(CommandLine, CompletionIsAScriptThatOffersVerbsAndOptions) {
  const auto complete = [](const std::string& words, int at) {
    const RunResult result =
        run_program({"bash", "-c",
                     "eval \"$('" + bigbird_binary() + "' completion bash)\"; COMP_WORDS=(" + words +
                         "); COMP_CWORD=" + std::to_string(at) + "; _bigbird; echo \"${COMPREPLY[*]}\""});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "");
    return result.out;
  };
  EXPECT_EQ(complete("bigbird chu", 1), "chunk\n");
  EXPECT_EQ(complete("bigbird promoter bui", 2), "build\n");
  EXPECT_EQ(complete("bigbird chunk --pas", 2), "--passes\n");
  EXPECT_EQ(complete("bigbird promoter build --ts", 3), "--tss\n");
  EXPECT_EQ(complete("bigbird text cla", 2), "classify\n");
  EXPECT_EQ(complete("bigbird text classify f", 3), "finetune\n");
  EXPECT_EQ(complete("bigbird text classify finetune --label-c", 4), "--label-column\n");
  EXPECT_EQ(complete("bigbird variants --edge ''", 3), "pad shift skip\n");
  EXPECT_EQ(complete("bigbird pretrain --optimizer t", 3), "torch\n");
  EXPECT_EQ(complete("bigbird pretrain --device c", 3), "cpu cuda\n");
  EXPECT_EQ(complete("bigbird help tex", 2), "text\n");
  EXPECT_EQ(complete("bigbird man text cla", 3), "classify\n");
}

}  // namespace
}  // namespace bigbird::testing
