// The script for Slurm, run with an sbatch that does at once what it is given: its merged output has the
// bytes of one run, for every verb that takes shards; what cannot be made into a script is refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "lib/parts/sharded_verbs.h"
#include "tests/cli/text_fixture.h"
#include "tests/cli/variants_fixture.h"
#include "tests/support/tiny_question_model.h"

namespace bigbird::testing {
namespace {

class ClusterSbatch : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    // As sbatch: options, then the script on stdin; the tasks of an array one after the other; their number
    // on stdout. What it was asked is kept.
    write("bin/sbatch", R"(#!/usr/bin/env bash
set -e
echo "$*" >> "$ASKED"
cat > "$ASKED.script"
for word in "$@"; do
  case $word in
    --array=*) tasks=${word#--array=1-}; tasks=${tasks%%%*} ;;
    --output=*) log=${word#--output=} ;;
  esac
done
log_of() { # %a is the task, %% a %
  printf '%s' "$log" | sed -e 's/%%/\x01/g' -e "s/%a/$1/g" -e 's/\x01/%/g'
}
for task in $(seq "${tasks:-1}"); do
  to=$(log_of $task)
  job=100 # Slurm gives the array's own number to its last task
  [ "$task" = "${tasks:-1}" ] || job=$((100 + task))
  SLURM_JOB_ID=$job SLURM_ARRAY_JOB_ID=100 SLURM_ARRAY_TASK_ID=$task bash "$ASKED.script" >> "$to" 2>&1 || [ "$GO_ON" ]
done
echo 100
)");
    // The end of a job, one line for each of an array; and a job that is queued again.
    write("bin/squeue", R"(#!/bin/sh
[ "$END" = unknown ] && exit 1
for word; do case $word in *_*) lines=1 ;; esac; done
for line in 1 ${lines:-2 3}; do date -d '+1 hour' +%Y-%m-%dT%H:%M:%S; [ "$lines" ] && break; done
)");
    write("bin/scontrol", "#!/bin/sh\necho \"scontrol $*\" >> \"$ASKED\"\n");
    for (const char* name : {"bin/sbatch", "bin/squeue", "bin/scontrol"})
      std::filesystem::permissions(path(name), std::filesystem::perms::owner_all);
    TinyClassifier shape;
    write_tiny_classifier(path("chromatin"), shape);
    shape.problem = ProblemType::single_label;
    shape.profiles = {{"promoter", "."}};
    shape.labels = 2;
    shape.window = {"promoter", 100, 60, 1};
    write_tiny_classifier(path("promoter"), shape);
    CounterRng random(6, Purpose::test, 0);
    std::string bases;
    for (int i = 0; i < 3000; ++i) bases += "ACGT"[random.below(4)];
    write("genome.fa", ">chr1\n" + bases + "\n");
    std::string bins, variants = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
    for (int i = 0; i < 20; ++i)
      bins += "chr1\t" + std::to_string(i * 40) + "\t" + std::to_string(i * 40 + 20) + "\n";
    for (std::size_t i = 100; i < 1000; i += 45)
      variants += "chr1\t" + std::to_string(i + 1) + "\t.\t" + bases[i] + "\t" +
                  (bases[i] == 'A' ? "C" : "A") + "\t.\t.\t.\n";
    write("bins.bed", bins);
    write("in.vcf", variants);
    write_tiny_text_model(path("classes"));
    write_tiny_question_model(path("answers"));
    std::filesystem::create_directories(path("summaries"));
    write_tiny_summary_model(path("summaries"));
    std::string texts = "id,text\n", documents;
    std::vector<TinyQuestion> questions;
    for (unsigned i = 0; i < 11; ++i) {
      const std::string id = std::to_string(i), words = tiny_text(i) + " " + tiny_text(i + 50);
      texts += id + "," + tiny_text(i) + "\n";
      documents += "{\"id\": \"" + id + "\", \"document\": \"" + words + "\"}\n";
      questions.push_back({id, tiny_text(i + 100), words, words.substr(0, 2), 0});
    }
    write("texts.csv", texts);
    write("documents.jsonl", documents);
    write("questions.json", tiny_questions_json(questions));
    write("region.bed", "chr1\t1000\t1002\nchr1\t1100\t1102\nchr1\t1200\t1201\n");
  }
  static std::string file(const std::string& name) { return read_text(path(name)); }
  static bool exists(const std::string& name) { return std::filesystem::exists(path(name)); }

  // What the jobs of an output said, of a run that failed.
  static std::string logs(const std::string& output) {
    std::string text;
    for (const char* name : {"1", "2", "3", "merge"}) {
      const std::string log = "sharded" + output + ".shards/" + name + ".log";
      if (exists(log)) text += log + ":\n" + file(log);
    }
    return text;
  }

  // The command through the script and by itself: the same bytes.
  static void same(const Words& command, const std::string& output, const Words& more = {},
                   const Words& others = {}) {
    const auto with = [&](const std::string& stem) {
      Words words = command + Words{"-o", path(stem + output)};
      for (std::size_t i = 0; i + 1 < others.size(); i += 2)
        words = words + Words{others[i], path(stem + others[i + 1])};
      return words;
    };
    must(with("whole"));
    const std::string script =
        must(Words{"cluster", "sbatch", "--shards", "3", "--program", bigbird_binary()} + more +
             with("sharded"))
            .out;
    const std::string to = write("submit.sh", script);
    const std::string run = "cd '" + path("") + "' && PATH='" + path("bin") + "':$PATH ASKED='" +
                            path("asked") + "' bash '" + to + "' > '" + path("said") + "' 2>&1";
    std::filesystem::remove(path("asked"));
    ASSERT_EQ(std::system(run.c_str()), 0) << script << file("said") << logs(output);
    EXPECT_TRUE(file("whole" + output) == file("sharded" + output)) << output;
    for (std::size_t i = 1; i < others.size(); i += 2)
      EXPECT_TRUE(file("whole" + others[i]) == file("sharded" + others[i])) << others[i];
    EXPECT_TRUE(holds(file("said"), "shards: job 100; merge: job 100; logs: ")) << file("said");
    EXPECT_EQ(std::system(("bash -n '" + to + "'").c_str()), 0);
    EXPECT_EQ(std::system(run.c_str()), 0) << "again: " << file("said") << logs(output);
    EXPECT_TRUE(holds(file("sharded" + output + ".shards/1.log"), "whole already")) << output;
  }
};

TEST_F(ClusterSbatch, TheScriptGivesTheBytesOfOneRun) {
  const Words genome = {"-f", path("genome.fa")};
  same(Words{"variants", "-m", path("chromatin"), path("in.vcf"), "--chunk-size", "4"} + genome, ".vcf.gz");
  same(Words{"chromatin", "predict", "-m", path("chromatin"), "-R", path("bins.bed"), "-O", "bigwig",
             "--profiles", "1", "--chunk-size", "4"} +
           genome,
       ".bw");
  same(Words{"promoter", "scan", "-m", path("promoter"), "--step", "20", "--chunk-size", "30", "--threshold",
             "0.3"} +
           genome,
       ".bedgraph.gz", {}, {"--calls", ".calls.bed", "--summary", ".counts.json"});
  same(Words{"embed", "-m", path("chromatin"), "-R", path("bins.bed"), "--chunk-size", "4"} + genome, ".npy");
  same(Words{"ism", "-m", path("chromatin"), "-R", path("region.bed"), "--chunk-size", "1"} + genome, ".tsv");
}

TEST_F(ClusterSbatch, TheScriptGivesTheBytesOfOneRunOfText) {
  same({"text", "classify", "predict", "-m", path("classes"), path("texts.csv"), "--chunk-size", "2"},
       ".tsv");
  same({"text", "qa", "predict", "-m", path("answers"), path("questions.json"), "--version-2", "--chunk-size",
        "2"},
       ".json", {}, {"--candidates", ".nbest.json", "--null-odds", ".odds.json"});
  same(
      {"text", "summarize", "predict", "-m", path("summaries"), path("documents.jsonl"), "--chunk-size", "2"},
      ".jsonl");
}

TEST_F(ClusterSbatch, EveryVerbOfTheTableTakesAShard) {
  for (const ShardedVerb& verb : sharded_verbs()) {
    Words help;
    std::istringstream words(verb.name);
    for (std::string word; words >> word;) help.push_back(word);
    const std::string text = must(help + Words{"--help", "all"}).out;
    for (const std::string& option : {std::string("--shard"), std::string("--resume")})
      EXPECT_TRUE(holds(text, option)) << verb.name;
    for (const auto* options : {&verb.more, &verb.merged})
      for (const std::string& option : *options) EXPECT_TRUE(holds(text, option)) << verb.name << option;
  }
}

TEST_F(ClusterSbatch, SlurmIsAskedForWhatWasTyped) {
  same({"variants", "-m", path("chromatin"), "-f", path("genome.fa"), path("in.vcf")}, ".tsv",
       {"--at-once",
        "2",
        "--cpus-per-task",
        "2",
        "--mem",
        "900M",
        "--time",
        "30",
        "--partition",
        "long",
        "--account",
        "lab x",
        "--qos",
        "normal",
        "--constraint",
        "zen4|zen5",
        "--gres",
        "gpu:1",
        "--sbatch",
        "--exclude=n7 --mail-type=END",
        "--sbatch=--nice=5",
        "--before",
        "export OF_BEFORE=1\necho \"first: $OF_BEFORE\"",
        "--folder",
        "parts here"});
  const std::string asked = file("asked");
  EXPECT_TRUE(holds(asked, "--array=1-3%2 ")) << asked;
  const std::string both =
      " --partition=long --account=lab x --qos=normal --constraint=zen4|zen5 --exclude=n7 --mail-type=END "
      "--nice=5";
  EXPECT_TRUE(holds(asked, "--cpus-per-task=2 --mem=900M --time=30" + both + " --gres=gpu:1\n")) << asked;
  EXPECT_TRUE(holds(asked, "--cpus-per-task=1 --mem=900M --time=30" + both + "\n")) << asked;
  for (const char* log : {"parts here/1.log", "parts here/3.log", "parts here/merge.log"})
    EXPECT_TRUE(holds(file(log), "first: 1\n")) << log;
  EXPECT_TRUE(holds(asked, "--output=parts here/%a.log")) << asked;
  EXPECT_TRUE(holds(asked, "--dependency=afterok:100 --kill-on-invalid-dep=yes")) << asked;
}

TEST_F(ClusterSbatch, TheMergeWritesTheIndex) {
  same({"variants", "-m", path("chromatin"), "-f", path("genome.fa"), path("in.vcf"), "--write-index"},
       ".bcf");
  EXPECT_TRUE(file("whole.bcf.csi") == file("sharded.bcf.csi"));
  EXPECT_FALSE(exists("sharded.bcf.shards/1.bcf.csi"));
}

TEST_F(ClusterSbatch, ATaskThatStoppedInTimeIsQueuedAgainByItself) {
  // Shard 1 finishes, 2 stops with finished chunks, 3 before it has any.
  write("bin/stops", R"(#!/bin/sh
case "$*" in
  *merge*) exit ;;
  *--stop-before*) ;;
  *) echo "ended by its limit" ;;
esac
case $SLURM_ARRAY_TASK_ID in
  2) mkdir -p of.vcf.shards/2.vcf.parts; touch of.vcf.shards/2.vcf.parts/run.json; exit 143 ;;
  3) exit 143 ;;
esac
)");
  std::filesystem::permissions(path("bin/stops"), std::filesystem::perms::owner_all);
  write("submit.sh", must({"cluster", "sbatch", "--shards", "3", "--program", path("bin/stops"), "variants",
                           "-m", "m", "in.vcf", "-o", "of.vcf"})
                         .out);
  const auto submit = [&](const std::string& more) {
    std::filesystem::remove(path("asked"));
    return std::system(("cd '" + path("") + "' && PATH='" + path("bin") + "':$PATH ASKED='" + path("asked") +
                        "' " + more + " bash submit.sh > said 2>&1")
                           .c_str());
  };
  EXPECT_EQ(submit("GO_ON=yes"), 0) << file("said");
  EXPECT_TRUE(holds(file("asked"), "scontrol requeue 100_2\n")) << file("asked");
  EXPECT_FALSE(holds(file("asked"), "requeue 100_1")) << file("asked");
  EXPECT_FALSE(holds(file("asked"), "requeue 100_3")) << file("asked");
  EXPECT_TRUE(holds(file("of.vcf.shards/3.log"), "nothing was finished in time"));
  for (const char* log : {"of.vcf.shards/1.log", "of.vcf.shards/3.log"})
    EXPECT_FALSE(holds(file(log), "ended by its limit"));
  // A Slurm that does not say when the job ends is no reason not to compute.
  EXPECT_EQ(submit("GO_ON=yes END=unknown"), 0) << file("said");
  EXPECT_TRUE(holds(file("of.vcf.shards/1.log"), "ended by its limit"));
}

TEST_F(ClusterSbatch, NamesAreNoCommands) {
  // Each is a name that a shell, a comment, a here-document or sbatch could take for something else.
  const std::vector<std::string> names = {"in\ntouch pwned\n#",
                                          "out$(touch pwned)",
                                          "`touch pwned`",
                                          "x\"; touch pwned; \"",
                                          "run $5 out",
                                          "a\nTASK\ntouch pwned",
                                          "it's 50%a",
                                          "\ttab",
                                          "\x1b[31m"};
  write("bin/says", "#!/bin/sh\nfor word; do printf '<%s>\\n' \"$word\"; done >> \"$WORDS\"\n");
  std::filesystem::permissions(path("bin/says"), std::filesystem::perms::owner_all);
  for (const std::string& name : names) {
    const std::string output = name + ".vcf";
    write("submit.sh", must({"cluster", "sbatch", "--shards", "1", "--stop-before", "0", "--program",
                             path("bin/says"), "variants", "-m", name, "in.vcf", "-o", output})
                           .out);
    for (const char* left : {"words", "pwned"}) std::filesystem::remove_all(path(left));
    const std::string run = "cd '" + path("") + "' && PATH='" + path("bin") + "':$PATH ASKED='" +
                            path("asked") + "' WORDS='" + path("words") + "' bash submit.sh > said 2>&1";
    ASSERT_EQ(std::system(run.c_str()), 0) << name << file("said");
    EXPECT_FALSE(exists("pwned")) << name;
    // The verb and the merge were called with the names as they were typed, and the folder is told.
    EXPECT_TRUE(holds(file("words"), "<-m>\n<" + name + ">\n")) << name << file("words");
    EXPECT_TRUE(holds(file("words"), "<merge>\n<" + output + ".shards/1.vcf>\n<-o>\n<" + output + ">"))
        << name << file("words");
    EXPECT_TRUE(holds(file("said"), "logs: " + output + ".shards\n")) << name << file("said");
  }
  EXPECT_TRUE(holds(file("asked"), "50%%a.vcf.shards/%a.log")) << file("asked");
  refused({"cluster", "sbatch", "--shards", "1", "variants", "-m", "m", "in.vcf", "-o", "a\\b.vcf"}, 2,
          "--folder");
}

TEST_F(ClusterSbatch, WhatCannotBeAScriptIsRefused) {
  const auto script = [&](const Words& more) { return Words{"cluster", "sbatch", "--shards", "3"} + more; };
  const Words good = {"variants", "-m", "m", "-f", "g.fa", "in.vcf", "-o", "out.vcf"};
  EXPECT_TRUE(holds(must(script(good)).out,
                    "variants -m m -f g.fa in.vcf --shard \"$SLURM_ARRAY_TASK_ID/3\" --resume auto"));
  EXPECT_EQ(must(script(Words{"--"} + good)).out, must(script(good)).out);
  refused(script({}), 2, "no command");
  refused(script({"variants", "merge", "a"}), 2, "names no output file");
  refused(script({"pretrain", "-o", "run"}), 2, "pretrain takes no --shard");
  refused(script({"variants", "-m", "m", "in.vcf"}), 2, "names no output file");
  refused(script({"variants", "-m", "m", "in.vcf", "-o", "-"}), 2, "names no output file");
  for (const char* own : {"--shard=1/2", "--resume", "--force", "--stop-before=1m"})
    refused(script(good + Words{own}), 2, "in the command");
  refused(script(Words{"--stop-before", "soon"} + good), 2, "no duration");
  refused(script(Words{"--at-once", "soon"} + good), 2, "--at-once: 'soon' is not a number, and not auto");
  refused(script(Words{"--unknown", "2"} + good), 2, "unknown option '--unknown'");
  for (const char* limit : {"2", "1:30", "0:02:00", "0-0:1"})
    refused(script(Words{"--time", limit} + good), 2, "leaves nothing of --time");
  for (const char* limit : {"later", "1:2:3:4", "1-2-3", "-5", "1:-2", "", "1-", "2h"})
    refused(script(Words{std::string("--time=") + limit} + good), 2, "no time limit of sbatch");
  for (const char* limit : {"3", "2:30", "0:03:00", "1-0", "0-0:5", "0-1:0:0", "UNLIMITED"})
    must(script(Words{"--time", limit} + good));
  must(script(Words{"--time", "1", "--stop-before", "0"} + good));
  refused(Words{"cluster", "sbatch"} + good, 2, "--shards");
  refused(script(Words{"--sbatch", "--exclude n7"} + good), 2, "n7 is not an option of sbatch");
  for (const char* own : {"--array=1-9", "-d", "--time=1"})
    refused(script(Words{std::string("--sbatch=") + own} + good), 2, "the script gives this option");
  refused(script(Words{"--before", "module load x\nTASK\ntouch y"} + good), 2, "--before has a line TASK");
  EXPECT_FALSE(holds(must(script(Words{"--stop-before", "0"} + good)).out, "--stop-before"));
}

}  // namespace
}  // namespace bigbird::testing
