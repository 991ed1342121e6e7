// `bigbird info` on every kind of file that a verb writes. All verbs are run, at tiny size, into one folder;
// then every file and folder in it must be in the table of info_kinds.h, and be told as that kind. So a verb
// that writes a new kind of file fails here until somebody says what it is; and so does a new verb that
// nobody runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/describe/describe.h"
#include "lib/io/weights/safetensors.h"
#include "tests/cli/info_kinds.h"
#include "tests/cli/text_fixture.h"
#include "tests/cli/words.h"
#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_question_model.h"

namespace bigbird {
namespace {

using testing::Expectation;
using testing::expectations;
using testing::holds;
using testing::operator+;
using testing::particular;
using testing::run_bigbird;
using testing::RunResult;
using testing::Words;

bool is_verb_without_files(const std::string& verb) {
  // They print what a shell or a pager reads, or what a proof comes to.
  return verb == "completion" || verb == "man" || verb == "theory star-graph" || verb == "theory graphs";
}

class InfoFiles : public testing::TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    verbs_run_ = new std::set<std::string>;
    std::filesystem::create_directory(path("out"));
    make_genome();
    make_models();
    make_promoters();
    make_chromatin();
    make_variants();
    make_text();
  }
  static void TearDownTestSuite() {
    delete verbs_run_;
    verbs_run_ = nullptr;
    TextFixture::TearDownTestSuite();
  }

  static std::string out(const std::string& name) { return path("out/" + name); }
  // A command whose verb has so many words; what it prints goes to a file where one is named.
  static void run(int words_of_verb, const Words& words, const std::string& printed = {}) {
    std::string verb;
    for (int i = 0; i < words_of_verb; ++i) verb += (i == 0 ? "" : " ") + words[static_cast<std::size_t>(i)];
    verbs_run_->insert(verb);
    const RunResult result = run_bigbird(words);
    ASSERT_EQ(result.status, 0) << verb << ": " << result.err;
    if (!printed.empty()) testing::write_text(out(printed), result.out);
  }

  static void make_genome() {
    run(1, {"simulate", "-o", out("sim"), "--bp", "200k", "--chromosome-count", "2", "--seed", "3"});
    run(1, {"chunk", "-f", genome(), "-o", out("docs.bed"), "--passes", "1"});
    run(1, {"chunk", "-f", genome(), "-o", out("docs.txt"), "--passes", "1", "-O", "text"});
    run(1, {"train-bpe", "-f", genome(), "-d", out("docs.bed"), "-o", out("tok"), "--vocab-size", "40",
            "--sample-bp", "20k"});
    run(1, {"tokenize", "-m", out("tok"), "-f", genome(), "-d", out("docs.bed"), "-o", out("shards")});
    run(1, {"tokenize", "-m", out("tok"), "-f", genome(), "-d", out("docs.bed"), "-o", out("many"),
            "--shard-tokens", "45k"});
    write("windows.bed", "chr1\t20000\t20100\nchr1\t20500\t20600\n");
    write("one.bed", "chr1\t20000\t20004\nchr1\t20100\t20104\n");
    run(1, {"tokenize", "-m", out("tok"), "-f", genome(), "-R", path("windows.bed"), "--print", "bed"},
        "tokens.bed");
    write("x.chain", "chain 1000 chr1 100000 + 0 90000 chrA 100000 + 100 90100 1\n90000\n");
    run(1, {"liftover", "--chain", path("x.chain"), path("windows.bed"), "-o", out("lifted.bed"),
            "--unmapped", out("lost.bed")});
    run(1,
        {"copies", "-f", genome(), "--of", "chr2", "-o", out("copies.bed"), "--summary", out("copies.json")});
    run(1, {"devices", "--json"}, "devices.json");
  }

  static void make_models() {
    const Words tiny = {"--layers",     "1",  "--width", "16", "--heads",       "2",       "--length", "64",
                        "--block-size", "16", "--batch", "2",  "--random-mode", "hf-train"};
    run(1, Words{"pretrain",    "--train",      out("shards"), "--valid",
                 out("shards"), "-m",           out("tok"),    "-o",
                 out("run"),    "--steps",      "2",           "--eval-every",
                 "1",           "--save-every", "1",           "--eval-samples",
                 "2",           "--keep-last",  "0",           "--tensorboard",
                 out("events")} +
               tiny);
    run(1, Words{"pretrain", "--train", out("shards"), "--valid", out("shards"), "-m", out("tok"), "-o",
                 out("rates-run"), "--steps", "1", "--eval-every", "1", "--eval-samples", "2", "--lr",
                 "1e-3,1e-4", "--final", "best"} +
               tiny);
    run(1,
        {"evaluate", "-m", out("run/final"), "--data", out("shards"), "--samples", "2", "--losses",
         out("token-losses.tsv")},
        "evaluate.json");
    run(1, {"check", out("run/final"), "--write-digest", "--json"}, "check.json");
    run(1, {"info", out("run/final"), "--json"}, "info.json");
    run(1, {"convert", out("run/final"), out("converted")});
    run(1, {"report", out("run"), "-o", out("report.html"), "--multiqc", out("multiqc")});
    run(1, {"bench", "-m", out("run/final"), "--seconds", "0", "-o", out("bench.tsv")});
    run(1, {"attention", "--length", "24", "--block-size", "2", "--heads", "1", "--random-blocks", "1",
            "--svg", out("plan.svg"), "-o", out("plan.json")});
    run(2, {"theory", "furthest-vector", "--tokens", "8", "--windows", "1", "--svg", out("furthest.svg")});
    run(2, {"theory", "turing", "--svg", out("machine.svg"), "--html", out("machine-report.html")});
    run(1, {"fill-mask", "-m", out("run/final"), "-f", genome(), "-r", "chr1:20001-20060", "-o",
            out("fill.tsv")});
    for (const char* form : {"npy", "h5", "safetensors"})
      run(1, {"embed", "-m", out("run/final"), "-f", genome(), "-R", path("windows.bed"), "-o",
              out(std::string("vectors.") + form), "--force"});
    run(1, {"embed", "-m", out("run/final"), "-f", genome(), "-R", path("windows.bed"), "--shard", "1/2",
            "--chunk-size", "1", "-o", out("vectors.part")});
    const std::vector<std::int64_t> ids = {2, 7, 8, 9, 3};
    write_safetensors(path("ids.safetensors"), {{"input_ids", TensorType::i64, {1, 5}, ids.data()}});
    run(1,
        {"forward", "-m", out("run/final"), "-i", path("ids.safetensors"), "-o", out("forward.safetensors")});
  }

  static void make_promoters() {
    run(2, {"promoter", "build", "--tss", out("sim/promoters.tss.bed"), "-f", genome(), "--left", "60",
            "--right", "40", "-o", out("prom")});
    run(2, {"promoter", "finetune", "--data", out("prom"), "--init", out("run/final"), "-o",
            out("promoter-run"), "--steps", "1", "--batch", "2"});
    const std::string model = out("promoter-run/final");
    run(2, {"promoter", "predict", "-m", model, "--data", out("prom/test.tsv"), "-o", out("promoters.tsv")});
    run(2, {"promoter", "evaluate", "--predictions", out("promoters.tsv"), "-o", out("promoters.json")});
    run(2, {"promoter", "calibrate", "-m", model, "--data", out("prom"), "-o", out("calibration.tsv"),
            "--curve", out("curve.tsv"), "--svg", out("curve.svg")});
    run(1, {"quantize", model, "-o", out("quantized"), "--data", out("prom"), "--max-loss", "1"});
    const Words scan = {"promoter", "scan", "-m", model, "-f", genome(), "-r", "chr1:20001-22000", "-o"};
    run(2, scan + Words{out("scan.bedgraph"), "--calls", out("calls.bed"), "--summary", out("scan.json")});
    run(2, scan + Words{out("scan.bw")});
    run(2, scan + Words{out("scan.part"), "--shard", "1/2", "--chunk-size", "4"});
  }

  static void make_chromatin() {
    run(2, {"chromatin", "build", "--peaks", out("sim/peaks/peaks.tsv"), "-f", genome(), "-o", out("chrom"),
            "--window", "200", "--test", "chr2:1-50000", "--valid", "chr2:50001-100000"});
    run(2, {"chromatin", "finetune", "--data", out("chrom"), "--init", out("run/final"), "-o",
            out("chromatin-run"), "--steps", "1", "--batch", "2"});
    const std::string model = out("chromatin-run/final");
    const Words predict = {"chromatin", "predict", "-m", model, "--data", out("chrom"), "-o"};
    for (const char* form : {"tsv", "npy", "h5"})
      run(2, predict + Words{out(std::string("chromatin.") + form), "-O", form});
    run(2, predict + Words{out("tracks"), "-O", "bedgraph"});
    run(2, predict + Words{out("chromatin.part"), "--shard", "1/2", "--chunk-size", "2"});
    run(2, {"chromatin", "evaluate", "--predictions", out("chromatin.tsv"), "--data", out("chrom"), "-o",
            out("chromatin.json"), "--table", out("by-profile.tsv"), "--svg", out("chromatin.svg")});
    run(2, {"chromatin", "calibrate", "-m", model, "--data", out("chrom"), "-o", out("bins.calibration.tsv"),
            "--table", out("errors.tsv")});
  }

  static void make_variants() {
    const std::string fixture = path("model");
    testing::write_tiny_classifier(fixture);
    std::string vcf =
        "##fileformat=VCFv4.2\n##contig=<ID=chr1>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
    std::string labels = "#chrom\tpos\tref\talt\tlabel\n";
    const std::string fasta = run_bigbird({"tokenize", "-m", out("tok"), "-f", genome(), "-R",
                                           write("stretch.bed", "chr1\t20000\t20008\n"), "--print", "bed"})
                                  .out;
    std::string bases;
    std::istringstream lines(fasta);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      std::string contig, begin, end, piece;
      fields >> contig >> begin >> end >> piece;
      bases += piece;
    }
    ASSERT_EQ(bases.size(), 8u) << fasta;
    for (std::size_t i = 0; i < 4; ++i) {
      const char alt = bases[i] == 'A' ? 'C' : 'A';
      const std::string place = std::to_string(20001 + i);
      vcf += "chr1\t" + place + "\t.\t" + bases[i] + "\t" + alt + "\t.\tPASS\t.\n";
      labels += "chr1\t" + place + "\t" + bases[i] + "\t" + alt + "\t" + std::to_string(i % 2) + "\n";
    }
    write("v.vcf", vcf);
    write("labels.tsv", labels);
    const Words score = {"variants", "-m", fixture, "-f", genome(), path("v.vcf"), "-o"};
    for (const char* form : {"vcf", "vcf.gz", "bcf", "tsv", "npy", "h5"})
      run(1, score + Words{out(std::string("scores.") + form), "--summary-prefix",
                           out(std::string("of-") + form), "--force"});
    for (const char* shard : {"1", "2"})
      run(1, score + Words{out(std::string("shard") + shard + ".vcf"), "--shard", std::string(shard) + "/2",
                           "--chunk-size", "1"});
    run(2, {"variants", "merge", out("shard1.vcf"), out("shard2.vcf"), "-o", out("merged.vcf")});
    run(2, {"variants", "background", "-m", fixture, "-f", genome(), path("v.vcf"), "-o",
            out("background.safetensors")});
    run(2, {"variants", "evaluate", out("scores.tsv"), "--labels", path("labels.tsv"), "-o", out("auroc.tsv"),
            "--summary", out("auroc.json")});
    run(2, {"variants", "evaluate", out("scores.tsv"), "--effects", path("labels.tsv"), "--effects-column",
            "label", "-o", out("spearman.tsv")});
    run(1, {"liftover", "--chain", path("x.chain"), path("v.vcf"), "-o", out("lifted.vcf")});
    const Words ism = {"ism", "-m", fixture, "-f", genome()};
    run(1, ism + Words{"-r", "chr1:20001-20004", "-o", out("ism.tsv"), "--svg", out("ism.svg")});
    run(1, ism + Words{"-r", "chr1:20001-20004", "-o", out("ism.npy")});
    run(1, ism + Words{"-R", path("one.bed"), "-o", out("ism.shard.tsv"), "--shard", "1/2", "--chunk-size",
                       "1"});
    run(1, {"attribute", "-m", fixture, "-f", genome(), "-r", "chr1:20001-20020", "--profiles", "0", "-o",
            out("attribution.bedgraph")});
    run(2, {"cluster", "plan", "-m", fixture, "-f", genome(), path("v.vcf"), "--sample-time", "1s", "--json"},
        "cluster.json");
    run(2,
        {"cluster", "sbatch", "--shards", "2", "variants", "-m", fixture, "-f", genome(), path("v.vcf"), "-o",
         out("all.vcf")},
        "submit.sh");
  }

  static void make_text() {
    std::string text, table = "text,label\n", pairs;
    for (std::uint64_t i = 0; i < 40; ++i)
      text += testing::tiny_text(i) + " " + testing::tiny_text(i + 7) + "\n\n";
    for (std::uint64_t i = 0; i < 6; ++i) {
      table += testing::tiny_text(i) + "," + (i % 2 == 0 ? "yes" : "no") + "\n";
      pairs +=
          nlohmann::json{{"id", i}, {"document", testing::tiny_text(i)}, {"summary", "ab"}}.dump() + "\n";
    }
    write("text.txt", text);
    write("labelled.csv", table);
    write("pairs.jsonl", pairs);
    run(2, {"text", "vocabulary", path("text.txt"), "-o", out("texttok"), "--vocab-size", "135"});
    run(2, {"text", "pretrain-data", path("text.txt"), "-m", out("texttok"), "-o", out("text-shards")});
    run(1, {"pretrain",
            "--train",
            out("text-shards"),
            "-m",
            out("texttok"),
            "-o",
            out("clm-run"),
            "--steps",
            "1",
            "--objective",
            "clm",
            "--attention",
            "full",
            "--layers",
            "1",
            "--width",
            "16",
            "--heads",
            "2",
            "--length",
            "16",
            "--block-size",
            "8",
            "--batch",
            "2"});
    const Words continued = {"text",         "generate", "-m", out("clm-run/final"), "--prompt", "ab",
                             "--max-tokens", "3",        "-o"};
    run(2, continued + Words{out("continued.jsonl")});
    run(2, continued + Words{out("continued.tsv"), "-O", "tsv"});
    run(2, continued + Words{out("continued.txt"), "-O", "lines"});
    testing::TinyTextModel encoder;
    encoder.head = HeadType::masked_lm;
    write_tiny_text_model(path("encoder"), encoder);
    run(2, {"text", "embed", "-m", path("encoder"), path("labelled.csv"), "-o", out("text-vectors.npy")});

    run(3, {"text", "classify", "finetune", "--train", path("labelled.csv"), "--init", path("encoder"), "-o",
            out("classify-run"), "--steps", "1", "--batch", "2"});
    const Words classify = {
        "text", "classify", "predict", "-m", out("classify-run/final"), path("labelled.csv"), "-o"};
    run(3, classify + Words{out("classes.tsv")});
    run(3, classify + Words{out("classes.jsonl"), "-O", "jsonl"});
    for (const char* shard : {"1", "2"})
      run(3, classify + Words{out(std::string("classes.part") + shard + ".tsv"), "--shard",
                              std::string(shard) + "/2", "--chunk-size", "2"});
    run(1, {"merge", out("classes.part1.tsv"), out("classes.part2.tsv"), "-o", out("merged.tsv")});
    run(3, {"text", "classify", "evaluate", "-m", out("classify-run/final"), "--data", path("labelled.csv"),
            "-o", out("classes.json"), "--table", out("by-class.tsv"), "--svg", out("classes.svg")});

    write("words.conll", "a\tB-X\nb\tO\n\nb\tO\n\na\tB-X\n");
    run(3, {"text", "tag", "finetune", "--train", path("words.conll"), "--init", path("encoder"), "-o",
            out("tag-run"), "--steps", "1", "--batch", "2"});
    const Words tag = {"text", "tag", "predict", "-m", out("tag-run/final"), path("words.conll"), "-o"};
    run(3, tag + Words{out("tagged.conll")});
    run(3, tag + Words{out("tagged.jsonl"), "-O", "jsonl"});
    run(3, {"text", "tag", "evaluate", "-m", out("tag-run/final"), "--data", path("words.conll"), "-o",
            out("tagged.json"), "--table", out("by-type.tsv")});

    testing::write_tiny_question_model(path("reader"), HeadType::masked_lm);
    write("questions.json", testing::tiny_questions_json(testing::four_tiny_questions()));
    run(3, {"text", "qa", "finetune", "--format", "squad", "--train", path("questions.json"), "--init",
            path("reader"), "-o", out("qa-run"), "--steps", "1", "--batch", "2", "--length", "64"});
    run(3, {"text", "qa", "predict", "--format", "squad", "-m", out("qa-run/final"), path("questions.json"),
            "-o", out("answers.json"), "--candidates", out("nbest.json"), "--null-odds", out("odds.json"),
            "--version-2"});
    run(3, {"text", "qa", "evaluate", "--format", "squad", "--data", path("questions.json"), "--predictions",
            out("answers.json"), "-o", out("exact.json"), "--html", out("worst.html")});

    std::filesystem::create_directories(path("writer"));
    testing::write_tiny_summary_model(path("writer"));
    run(3, {"text", "summarize", "finetune", "--train", path("pairs.jsonl"), "--init", path("writer"), "-o",
            out("summarize-run"), "--steps", "1", "--batch", "2"});
    const Words summarize = {
        "text",         "summarize", "predict", "-m", out("summarize-run/final"), path("pairs.jsonl"),
        "--max-tokens", "4",         "-o"};
    run(3, summarize + Words{out("summaries.jsonl")});
    run(3, summarize + Words{out("summaries.tsv"), "-O", "tsv"});
    run(3, summarize + Words{out("summaries.txt"), "-O", "lines"});
    run(3, {"text", "summarize", "evaluate", "--data", path("pairs.jsonl"), "--predictions",
            out("summaries.jsonl"), "-o", out("rouge.json"), "--table", out("rouge.tsv")});

    run(3, {"text", "hibert", "pretrain", "--train", path("pairs.jsonl"), "-m", path("writer"), "-o",
            out("hibert-run"), "--steps", "1", "--batch", "2", "--layers", "1", "--width", "16", "--heads",
            "2"});
    run(3, {"text", "hibert", "finetune", "--train", path("pairs.jsonl"), "--valid", path("pairs.jsonl"),
            "--init", out("hibert-run/final"), "-o", out("extract-run"), "--steps", "1", "--batch", "2"});
    const Words extract = {"text", "hibert", "predict", "-m", out("extract-run/final"), path("pairs.jsonl"),
                           "-o"};
    run(3, extract + Words{out("extracts.jsonl")});
    run(3, extract + Words{out("extracts.tsv"), "-O", "tsv"});
    run(3, extract + Words{out("extracts.txt"), "-O", "lines"});
    run(3, {"text", "hibert", "evaluate", "-m", out("extract-run/final"), "--data", path("pairs.jsonl"), "-o",
            out("extracts.rouge.json")});

    std::string rows = "sentence\tlabel\n", test = "index\tsentence\n";
    for (int i = 0; i < 4; ++i) {
      rows += std::string("ab c\t") + std::to_string(i % 2) + "\n";
      test += std::to_string(i) + "\tab\n";
    }
    write("glue/SST-2/train.tsv", rows);
    write("glue/SST-2/dev.tsv", rows);
    write("glue/SST-2/test.tsv", test);
    const Words task = {"--task", "sst2", "--data", path("glue")};
    run(3, Words{"text", "glue", "finetune", "--init", path("encoder"), "-o", out("glue-run"), "--steps", "1",
                 "--batch", "2"} +
               task);
    run(3, Words{"text", "glue", "predict", "-m", out("glue-run/final"), "-o", out("glue")} + task);
    run(3, Words{"text", "glue", "evaluate", "-m", out("glue-run/final")} + task, "glue.json");
  }

  static std::string genome() { return out("sim/genome.fa.gz"); }
  static std::string described(const std::string& file) {
    static const auto backend = kernels::make_cpu_backend();
    return describe(file, {}, *backend);
  }

  static std::set<std::string>* verbs_run_;
};
std::set<std::string>* InfoFiles::verbs_run_ = nullptr;

TEST_F(InfoFiles, SayWhatEachOneIs) {
  std::set<std::string> endings;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path("out"))) {
    const std::string file = entry.path().string();
    const std::string within = "/" + std::filesystem::relative(entry.path(), path("out")).generic_string();
    std::string kind;
    try {
      kind = nlohmann::json::parse(described(file)).at("kind").get<std::string>();
    } catch (const Error& error) {
      ADD_FAILURE() << within << ": " << error.message();
      continue;
    }
    const auto own = std::find_if(particular().begin(), particular().end(),
                                  [&](const auto& row) { return within == "/" + row.first; });
    const auto row = std::find_if(expectations().begin(), expectations().end(),
                                  [&](const Expectation& of) { return within.ends_with(of.ending); });
    if (own == particular().end() && row == expectations().end()) {
      ADD_FAILURE() << within << " is told as '" << kind << "': put it into the table with what it is";
      continue;
    }
    EXPECT_EQ(kind, own != particular().end() ? own->second : row->kind) << within;
    if (own == particular().end()) endings.insert(row->ending);
  }
  for (const Expectation& of : expectations())
    EXPECT_EQ(endings.count(of.ending), 1u) << "nothing ends with " << of.ending;
}

TEST_F(InfoFiles, ComeFromEveryVerbThatWrites) {
  std::istringstream overview(run_bigbird({"--help"}).out);
  for (std::string line; std::getline(overview, line);) {
    if (line.rfind("  ", 0) != 0) continue;
    const std::string verb = line.substr(2, line.find("  ", 2) - 2);
    if (is_verb_without_files(verb) || verb == "chromatin import-deepsea" || verb == "demo")
      continue;  // their own tests ask info
    EXPECT_EQ(verbs_run_->count(verb), 1u) << verb << " is not run here: what does it write?";
  }
}

TEST_F(InfoFiles, SayTheCommandAndHowMuchThereIs) {
  const auto of = [](const std::string& name) { return nlohmann::json::parse(described(out(name))); };
  const auto scores = of("scores.tsv");
  EXPECT_EQ(scores["rows"], 4);
  EXPECT_EQ(scores["a_row_is"], "an allele");
  EXPECT_TRUE(holds(scores["provenance"]["command"], "bigbird variants -m")) << scores;
  EXPECT_EQ(scores["next"], "bigbird variants evaluate");
  for (const char* name : {"scores.vcf", "scores.vcf.gz", "scores.bcf"}) {
    const auto variants = of(name);
    EXPECT_EQ(variants["records"], 4) << name;
    EXPECT_EQ(variants["alleles"], 4) << name;
    EXPECT_TRUE(holds(variants["provenance"]["command"], "bigbird variants -m")) << variants;
    EXPECT_FALSE(variants["score_fields"].empty());
  }
  EXPECT_EQ(of("scores.diff.npy")["shape"], nlohmann::json({4, 3}));
  EXPECT_EQ(of("ism.npy")["shape"], nlohmann::json({3, 4, 4}));
  EXPECT_EQ(of("scores.h5")["datasets"]["diff"], nlohmann::json({4, 3}));
  EXPECT_EQ(of("background.safetensors")["variants"], "4");
  EXPECT_TRUE(holds(of("vectors.npy")["provenance"]["command"], "bigbird embed"));
  EXPECT_TRUE(holds(of("vectors.h5")["provenance"]["command"], "bigbird embed"));
  EXPECT_TRUE(holds(of("report.html")["provenance"]["command"], "bigbird report"));
  EXPECT_EQ(of("run/metrics.tsv")["last_row"]["step"], "2");
  EXPECT_EQ(of("run/checkpoint-2")["training"]["step"], 2);
  const auto events = of("events");
  EXPECT_EQ(events["last_step"], 2);
  EXPECT_TRUE(holds(events["tags"].dump(), "train/loss")) << events;
  const auto shard = of("scan.part");
  EXPECT_EQ(shard["shard"], "1/2");
  EXPECT_EQ(shard["of"], "promoter scan");
  EXPECT_EQ(shard["chunks"], 3);
  EXPECT_EQ(of("answers.json")["questions"], 4);
  EXPECT_EQ(of("classes.jsonl")["records"], 6);
  EXPECT_EQ(of("classes.part1.tsv")["next"], "bigbird merge, with the other shards");
  const auto track = of("scan.bedgraph");
  EXPECT_EQ(track["bases"], 2000);
  EXPECT_EQ(track["intervals"], 20);
  EXPECT_TRUE(holds(of("submit.sh")["runs"], "bigbird variants"));
  EXPECT_EQ(of("run/config.toml")["of"], "bigbird pretrain");
  EXPECT_EQ(of("promoter-run/final")["window"]["task"], "promoter");
}

TEST_F(InfoFiles, OfTwoVerbsAreThoseOfTheLast) {
  write("twice.vcf",
        "##fileformat=VCFv4.2\n##bigbird_version=1.0\n##bigbird_command=bigbird simulate\n##bigbird_seed=3\n"
        "##contig=<ID=c>\n##bigbird_command=bigbird liftover x\n##bigbird_input=chain:y\n"
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\nc\t1\t.\tA\tC\t.\t.\t.\n");
  const auto twice = nlohmann::json::parse(described(path("twice.vcf")));
  EXPECT_EQ(twice["kind"], "lifted variants");
  EXPECT_EQ(twice["provenance"],
            nlohmann::json({{"version", "1.0"},
                            {"command", "bigbird liftover x"},
                            {"inputs", nlohmann::json::array({{{"role", "chain"}, {"path", "y"}}})}}));
}

TEST_F(InfoFiles, AreLinesOrJsonAlike) {
  const std::string lines = must({"info", out("scores.tsv")}).out;
  EXPECT_TRUE(holds(lines, "kind\tvariant scores\n")) << lines;
  EXPECT_TRUE(holds(lines, "\nrows\t4\n")) << lines;
  EXPECT_TRUE(holds(lines, "\nprovenance.version\t")) << lines;
  EXPECT_EQ(nlohmann::json::parse(must({"info", out("scores.tsv"), "--json"}).out),
            nlohmann::json::parse(described(out("scores.tsv"))));
}

TEST_F(InfoFiles, AreShownWithoutControlCharacters) {
  const std::string genome = write("esc\x1b[31m.fa", ">chr\x1b]0;x\x07\nACGT\n");
  const std::string lines = must({"info", genome}).out;
  EXPECT_TRUE(holds(lines, "esc?[31m.fa\n")) << lines;
  EXPECT_TRUE(holds(lines, "lengths.chr?]0;x?\t4\n")) << lines;
  EXPECT_EQ(lines.find_first_of("\x1b\x07"), std::string::npos);
  EXPECT_TRUE(holds(must({"info", genome, "--json"}).out, "\"chr\\u001b]0;x\\u0007\": 4"));
}

TEST_F(InfoFiles, WithoutProvenanceAreKnownAsWell) {
  must({"promoter", "evaluate", "--predictions", out("promoters.tsv"), "-o", path("bare.json"),
        "--no-provenance"});
  const auto bare = nlohmann::json::parse(described(path("bare.json")));
  EXPECT_EQ(bare["kind"], "evaluation of promoters");
  EXPECT_TRUE(bare["provenance"].is_null());
}

TEST_F(InfoFiles, OfNothingAreSaidToBeEmpty) {
  for (const char* name : {"empty.bed", "empty.tsv", "empty.json", "empty.vcf", "empty.npy", "empty.svg"}) {
    const std::string file = write(name, "");
    EXPECT_EQ(nlohmann::json::parse(described(file)).at("kind"), "empty file") << name;
  }
  EXPECT_TRUE(holds(must({"info", path("empty.bed")}).out, "kind\tempty file")) << "and status 0";
}

// One line that names the file and the place, one hint, status 1.
TEST_F(InfoFiles, ThatAreCutOrDamagedNameThePlace) {
  struct Case {
    const char* name;
    std::size_t kept_of_ten;  // tenths of the file
    const char* place;
  };
  for (const Case& each : std::vector<Case>{{"scores.tsv", 9, "scores.tsv:"},
                                            {"scores.tsv", 10, "the last line has no end, byte "},
                                            {"docs.bed", 10, "the last line has no end, byte "},
                                            {"scores.diff.npy", 9, "bytes of values where 4 x 3"},
                                            {"scores.h5", 5, "scores.h5"},
                                            {"scores.vcf.gz", 9, "scores.vcf.gz"},
                                            {"scan.bw", 9, "it has no end after"},
                                            {"scan.part", 9, "is cut short"},
                                            {"background.safetensors", 9, "background.safetensors"},
                                            {"promoters.json", 5, "no JSON after byte"},
                                            {"classes.jsonl", 9, "classes.jsonl:6: no JSON after byte"},
                                            {"plan.svg", 9, "no </svg> at its end"},
                                            {"report.html", 9, "no </html> at its end"},
                                            {"scan.bedgraph", 9, "scan.bedgraph:"},
                                            {"sim/genome.fa.gz", 9, "genome.fa.gz"}}) {
    SCOPED_TRACE(each.name);
    const std::string whole = testing::read_text(out(each.name));
    const std::string cut = write("cut/" + std::filesystem::path(each.name).filename().string(),
                                  whole.substr(0, whole.size() * each.kept_of_ten / 10 - 1));
    const std::string told = out(each.name) + ".provenance.json";
    if (std::filesystem::exists(told))
      write("cut/" + std::filesystem::path(told).filename().string(), testing::read_text(told));
    const RunResult run = run_bigbird({"info", cut});
    EXPECT_EQ(run.status, 1) << run.out;
    EXPECT_EQ(run.out, "");
    EXPECT_TRUE(holds(run.err, "bigbird: error: ")) << run.err;
    EXPECT_TRUE(holds(run.err, each.place)) << run.err;
    EXPECT_TRUE(holds(run.err, "\nhint: ")) << run.err;
  }
  for (const auto& entry : std::filesystem::directory_iterator(out("events"))) {
    std::string events = testing::read_text(entry.path());
    events[events.size() / 2] = static_cast<char>(events[events.size() / 2] ^ 1);
    const RunResult run = run_bigbird({"info", write("cut/" + entry.path().filename().string(), events)});
    EXPECT_EQ(run.status, 1);
    EXPECT_TRUE(holds(run.err, "the record at byte ")) << run.err;
  }
}

}  // namespace
}  // namespace bigbird
