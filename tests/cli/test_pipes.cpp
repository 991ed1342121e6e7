// Named pipes and stdout in places where a file or a folder is needed: a verb that reads an input twice
// refuses a pipe at once, in a line that is true, and waits for nobody; what is several files does not go
// to "-".
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "lib/io/files/file.h"
#include "tests/cli/text_fixture.h"

namespace bigbird::testing {
namespace {

class Pipes : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    write("genome.fa", ">chr1\nACGTACGTACGT\n");
    write("dna.txt", "ACGTACGTTAGCA\n");
  }
  // Nobody writes to the pipe: who opened it would wait.
  static void refuses_the_pipe(const Words& words) {
    const RunResult run = run_program(Words{"timeout", "20", bigbird_binary()} + words);
    EXPECT_EQ(run.status, 1) << words.front() << ": " << run.err;
    EXPECT_TRUE(holds(run.err, path("pipe") + ": can be read only once, and ")) << run.err;
    EXPECT_TRUE(holds(run.err, "hint: write it to a file first")) << run.err;
  }
};

TEST_F(Pipes, AreRefusedAtOnceWhereAnInputIsReadTwice) {
  refuses_the_pipe({"report", path("pipe"), "-o", path("page.html")});
  refuses_the_pipe({"train-bpe", "--lines", path("pipe"), "-o", path("tokenizer")});
  refuses_the_pipe({"train-bpe", "-f", path("genome.fa"), "-d", path("pipe"), "-o", path("tokenizer")});
  refuses_the_pipe({"chunk", "-f", path("pipe"), "-o", path("documents.bed")});
}

// Packed weights lie in a mapped file. Somebody cuts it while the program waits for more rows.
TEST_F(Pipes, AFileThatIsCutWhileItIsMappedEndsInALine) {
  write_tiny_text_model(path("mapped"));
  write("rows.csv", "text\nab cd\n");
  const RunResult run = run_program({"timeout", "60", "sh", "-c", R"(cd "$1" && mkfifo rows
export BIGBIRD_WEIGHT_CACHE="$1/cache"
predict="text classify predict -q -m mapped --precision bf16 --format csv"
"$0" $predict rows.csv -o whole.tsv || exit 9
ls cache/*.packed >/dev/null 2>&1 || exit 77
"$0" $predict rows --chunk-size 1 -o cut.tsv & program=$!
exec 3>rows
trap '' PIPE
echo text >&3
until grep -q packed /proc/$program/maps; do echo 'ab cd' >&3; sleep 0.1; done
for file in cache/*.packed; do : > "$file"; done
for row in 1 2 3 4 5 6 7 8; do echo 'ab cd ef' >&3 || break; done 2>/dev/null
exec 3>&-
wait $program)",
                                     bigbird_binary(), path("")});
  if (run.status == 77) GTEST_SKIP() << "SKIPPED: no weights are packed in bf16 here";
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_TRUE(holds(run.err, "bigbird: error: a file was cut short while it was read\nhint: ")) << run.err;
  EXPECT_FALSE(std::filesystem::exists(path("cut.tsv")));

  // What it had begun stays under temporary names, as after a kill, and the next run that writes there
  // removes it.
  const auto left = [&] {
    Words names;
    for (const std::string& name : names_in(path(""))) {
      if (name.starts_with("cut.tsv")) names.push_back(name);
    }
    return names;
  };
  const Words begun = left();
  EXPECT_TRUE(std::any_of(begun.begin(), begun.end(), [](const auto& name) { return holds(name, ".tmp."); }));
  must({"text", "classify", "predict", "-q", "-m", path("mapped"), path("rows.csv"), "-o", path("cut.tsv"),
        "--force"});
  EXPECT_EQ(left(), (Words{"cut.tsv", "cut.tsv.provenance.json"}));
}

TEST_F(Pipes, WhatIsSeveralFilesDoesNotGoToStdout) {
  write_tiny_text_model(path("model"));
  const auto before = std::filesystem::current_path();
  std::filesystem::create_directories(path("here"));
  std::filesystem::current_path(path("here"));
  write("doc.txt", "ab cd\n");
  refused({"text", "pretrain-data", path("doc.txt"), "-m", path("model"), "-o", "-"}, 2, "not for stdout");
  refused({"train-bpe", "--lines", path("dna.txt"), "-o", "-", "--vocab-size", "11"}, 2,
          "cannot go to stdout");
  EXPECT_TRUE(std::filesystem::is_empty("."));
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace bigbird::testing
