// The script of `cluster sbatch`, made of hundreds of random words of bytes that a shell, a comment, a
// here-document or sbatch takes for something else, and run in a jail: nothing is on the PATH but stand-ins,
// which write down what they are called with. Wanted: the calls of the script, each with its words as they
// were typed; nothing else started, nothing else made.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "lib/core/rng.h"
#include "tests/cli/text_fixture.h"
#include "tests/support/programs.h"

namespace bigbird::testing {
namespace {

using Calls = std::vector<Words>;  // of a stand-in: its name, and the words behind it

class SbatchWords : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    // Each call: its name, how many words, the words; a NUL behind each.
    const auto stand_in = [](const std::string& name, const std::string& then) {
      write("bin/" + name,
            "#!" + bash() + "\nprintf '%s\\0' " + name + " \"$#\" \"$@\" >> \"$CALLS\"\n" + then);
      std::filesystem::permissions(path("bin/" + name), std::filesystem::perms::owner_all);
    };
    stand_in("bigbird", "");
    stand_in("touch", "");
    stand_in("pwned", "");
    stand_in("mkdir", "exec " + found("mkdir") + " \"$@\"\n");
    stand_in("sbatch", R"(script=$(</dev/stdin)
tasks=1
for word; do case $word in --array=1-2) tasks='1 2' ;; esac; done
for task in $tasks; do SLURM_JOB_ID=100 SLURM_ARRAY_JOB_ID=100 SLURM_ARRAY_TASK_ID=$task )" +
                           bash() + R"( <<< "$script" || exit; done
echo 100
)");
  }
  static std::string found(const std::string& program) {
    std::string where = run_program({"sh", "-c", "command -v " + program}).out;
    return where.substr(0, where.find('\n'));
  }
  static std::string bash() { return found("bash"); }

  // Up to `most` pieces, of dangerous bytes, of what they could begin, and of letters.
  static std::string random_word(CounterRng& random, std::uint64_t most, bool is_folder) {
    static const std::vector<std::string> pieces = {"'",
                                                    "\"",
                                                    "$",
                                                    "`",
                                                    "\n",
                                                    "\t",
                                                    " ",
                                                    ";",
                                                    "&",
                                                    "|",
                                                    "<",
                                                    ">",
                                                    "*",
                                                    "?",
                                                    "~",
                                                    "#",
                                                    "%",
                                                    "!",
                                                    "{",
                                                    "}",
                                                    "(",
                                                    ")",
                                                    "[",
                                                    "]",
                                                    "=",
                                                    "-",
                                                    "\\",
                                                    "\\\n",
                                                    "\r",
                                                    "\x1b",
                                                    "\x7f",
                                                    "\x01",
                                                    "\xff",
                                                    "\x80",
                                                    "\xc3\xa9",
                                                    "a",
                                                    "B",
                                                    "7",
                                                    "a b",
                                                    "$(",
                                                    "${",
                                                    "$'",
                                                    "$1",
                                                    "<<",
                                                    "pwned",
                                                    "\npwned\n",
                                                    "$(pwned)",
                                                    "`pwned`",
                                                    "\nTASK\npwned\n",
                                                    ">pwned",
                                                    ";touch pwned;",
                                                    "%a",
                                                    "%%",
                                                    "&&"};
    std::string word;
    for (std::uint64_t i = random.below(most + 1); i > 0; --i) {
      const std::string& piece = pieces[random.below(pieces.size())];
      // Refused: sbatch reads names of logs otherwise.
      if (!is_folder || piece.find('\\') == std::string::npos) word += piece;
    }
    return word;
  }

  static Calls calls() {
    const std::string text = read_text(path("calls"));
    std::vector<std::string> fields;
    for (std::size_t at = 0, end = 0; (end = text.find('\0', at)) != std::string::npos; at = end + 1)
      fields.push_back(text.substr(at, end - at));
    Calls all;
    for (std::size_t at = 0; at + 1 < fields.size();) {
      const auto count = static_cast<std::size_t>(std::stoull(fields[at + 1]));
      all.push_back({fields[at]});
      for (std::size_t i = 0; i < count; ++i) all.back().push_back(fields.at(at + 2 + i));
      at += 2 + count;
    }
    return all;
  }
  static std::set<std::string> names_in(const std::string& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      names.insert(entry.path().lexically_relative(folder).string());
    return names;
  }
};

// As bash reads them, to be read by people.
std::string shown(const Calls& calls) {
  std::string text;
  for (const Words& call : calls) {
    for (const std::string& word : call) text += "<" + word + "> ";
    text += "\n";
  }
  return text;
}

// What is typed, but for `--shards 2 --time 30` and `-o`.
struct Asked {
  Words command;
  std::string genome, output, folder, memory, account;
  bool stops;
};

// The calls of the script, of which Slurm makes no others.
Calls calls_of(const Asked& asked) {
  std::string logs;  // % begins a pattern there
  for (const char c : asked.folder) logs += c == '%' ? std::string("%%") : std::string(1, c);
  const auto sbatch = [&](const Words& job, const std::string& log) {
    return Words{"sbatch", "--parsable"} + job +
           Words{"--open-mode=append", "--output=" + logs + log, "--nodes=1", "--ntasks=1",
                 "--cpus-per-task=1",  "--mem=" + asked.memory,  "--time=30", "--account=" + asked.account};
  };
  Calls calls = {{"mkdir", "-p", asked.folder},
                 {"bigbird", "info", asked.genome},
                 sbatch({"--job-name=bigbird-variants", "--array=1-2", "--requeue"}, "/%a.log")};
  for (const std::string task : {"1", "2"})
    calls.push_back(Words{"bigbird"} + asked.command + Words{"--shard", task + "/2", "--resume", "auto"} +
                    (asked.stops ? Words{"--stop-before", "2m"} : Words{}) +
                    Words{"-o", asked.folder + "/" + task + ".vcf"});
  calls.push_back(
      sbatch({"--job-name=bigbird-variants-merge", "--dependency=afterok:100", "--kill-on-invalid-dep=yes"},
             "/merge.log"));
  calls.push_back({"bigbird", "merge", asked.folder + "/1.vcf", asked.folder + "/2.vcf", "-o", asked.output});
  return calls;
}

TEST_F(SbatchWords, AreTakenAsTheyWereTyped) {
  for (int round = 0; round < 32; ++round) {
    CounterRng random(7, Purpose::test, static_cast<std::uint64_t>(round));
    const auto word = [&](const std::string& begin) { return begin + random_word(random, 8, false); };
    const auto plain = [](const std::string& name) { return name.starts_with("-") ? "./" + name : name; };
    const std::string dash = round % 8 < 2 ? "-" : "";  // no option
    const std::string output = dash + random_word(random, 8, true) + "out.vcf";
    const std::string folder = dash + random_word(random, 8, true) + "parts";
    Asked asked{{"variants", "-m", word("")},
                word("g"),
                plain(output),
                plain(folder),
                word("m"),
                word("a"),
                round % 3 != 0};
    asked.command = asked.command + Words{"-f", asked.genome};
    for (int i = 0; i < 9; ++i) asked.command.push_back(word("in"));
    Words options = {"--shards=2", "--time=30", "--mem=" + asked.memory, "--account=" + asked.account};
    if (round % 2 == 1) {
      options.push_back("--folder=" + folder);
    } else {
      asked.folder = asked.output + ".shards";
    }
    if (!asked.stops) options.emplace_back("--stop-before=0");
    const std::string jail = "jail-" + std::to_string(round);
    const std::string program = random_word(random, 6, true) + "program";
    std::filesystem::create_directories(path(jail));
    std::filesystem::create_symlink(path("bin/bigbird"), path(jail + "/" + program));
    options.push_back("--program=" + path(jail + "/" + program));
    const std::string script =
        must(Words{"cluster", "sbatch"} + options + asked.command + Words{"-o", output}).out;
    write(jail + "/submit.sh", script);
    std::filesystem::remove(path("calls"));
    const RunResult run =
        run_program({"env", "-i", "-C", path(jail), "PATH=" + path("bin"), "CALLS=" + path("calls"),
                     "SLURM_JOB_END_TIME=4000000000", bash(), "submit.sh"});
    ASSERT_EQ(run.status, 0) << round << "\n" << run.err << script;
    EXPECT_EQ(run.err, "") << script;
    EXPECT_EQ(run.out, "shards: job 100; merge: job 100; logs: " + asked.folder + "\n") << script;
    ASSERT_TRUE(calls() == calls_of(asked)) << "seen:\n"
                                            << shown(calls()) << "wanted:\n"
                                            << shown(calls_of(asked)) << script;
    EXPECT_EQ(names_in(path(jail)),
              (std::set<std::string>{"submit.sh", program,
                                     std::filesystem::path(asked.folder).lexically_normal().string()}))
        << script;
  }
}

}  // namespace
}  // namespace bigbird::testing
