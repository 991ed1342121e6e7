// GLUE's files as downloaded: headers, columns, labels by name, rows that are skipped, and what is refused.
#include "lib/text/classify/glue_files.h"

#include <gtest/gtest.h>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

struct PublishedForm {
  const char* task;
  const char* header;  // of files with labels; of CoLA none
  const char* row;
  const char* label;  // as it is read
  const char* first;
  const char* second;
  const char* test_header;
  const char* test_row;
};

// The header lines of GLUE's download, with rows of our own.
const std::vector<PublishedForm>& published_forms() {
  static const std::vector<PublishedForm> forms = {
      {"cola", "", "gj04\t0\t*\tThe \"cat sat.", "unacceptable", "The \"cat sat.", nullptr, "index\tsentence",
       "0\tA test."},
      {"sst2", "sentence\tlabel", "a fine film \t1", "positive", "a fine film ", nullptr, "index\tsentence",
       "0\tA test."},
      {"mrpc", "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "0\t11\t12\tOne.\tTwo.", "not_equivalent",
       "One.", "Two.", "index\t#1 ID\t#2 ID\t#1 String\t#2 String", "0\t11\t12\tA\tB"},
      {"stsb", "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
       "0\tg\tf\ty\t1\tn\tn\tOne.\tTwo.\t4.250", "4.250", "One.", "Two.",
       "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2",
       "0\tg\tf\ty\t1\tn\tn\tA\tB"},
      {"qqp", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "7\t1\t2\tOne?\tTwo?\t1", "duplicate",
       "One?", "Two?", "id\tquestion1\tquestion2", "0\tA\tB"},
      {"mnli",
       "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
       "sentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label",
       "0\t1\t1n\tg\t(\t(\t(\t(\tOne.\tTwo.\tneutral\tcontradiction", "contradiction", "One.", "Two.",
       "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
       "sentence2_parse\tsentence1\tsentence2",
       "0\t1\t1n\tg\t(\t(\t(\t(\tA\tB"},
      {"qnli", "index\tquestion\tsentence\tlabel", "0\tOne?\tTwo.\tnot_entailment", "not_entailment", "One?",
       "Two.", "index\tquestion\tsentence", "0\tA\tB"},
      {"rte", "index\tsentence1\tsentence2\tlabel", "0\tOne.\tTwo.\tentailment", "entailment", "One.", "Two.",
       "index\tsentence1\tsentence2", "0\tA\tB"},
      {"wnli", "index\tsentence1\tsentence2\tlabel", "0\tOne.\tTwo.\t1", "entailment", "One.", "Two.",
       "index\tsentence1\tsentence2", "0\tA\tB"}};
  return forms;
}

class GlueFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "own.tsv") {
    testing::write_text(folder_ / name, text);
    return (folder_ / name).string();
  }
  // All rows; tally_ is that of the file.
  std::vector<LabelledText> read(const std::string& text, const std::string& task,
                                 GlueRows rows = GlueRows::labelled, bool replace_invalid = false) {
    GlueFile file(write(text), find_glue_task(task), rows, replace_invalid);
    std::vector<LabelledText> all;
    for (LabelledText row; file.next(row);) all.push_back(row);
    tally_ = file.tally();
    return all;
  }
  void refused(const std::string& text, const std::string& task, const std::string& place,
               const std::string& what, GlueRows rows = GlueRows::labelled) {
    testing::expect_bad_input(testing::error_of([&] { read(text, task, rows); }), place, what);
  }
  testing::TemporaryFolder folder_;
  GlueTally tally_;
};

TEST_F(GlueFiles, EveryTaskIsReadInItsPublishedForm) {
  ASSERT_EQ(published_forms().size() + 1, glue_tasks().size()) << "AX alone has no labelled files";
  for (const PublishedForm& form : published_forms()) {
    for (const char* mark : {"", "\xEF\xBB\xBF"}) {
      const std::string header = *form.header == '\0' ? "" : std::string(form.header) + "\n";
      const auto rows = read(mark + header + form.row + "\n" + form.row + "\n", form.task);
      ASSERT_EQ(rows.size(), 2u) << form.task;
      EXPECT_EQ(rows[1].labels, std::vector<std::string>{form.label}) << form.task;
      EXPECT_EQ(rows[1].text, form.first);
      EXPECT_EQ(rows[1].pair,
                form.second == nullptr ? std::nullopt : std::optional<std::string>(form.second));
      EXPECT_EQ(rows[1].id, "1");
      EXPECT_EQ(rows[1].place, (folder_ / "own.tsv").string() + (header.empty() ? ":2" : ":3"));
    }
    const auto test =
        read(std::string(form.test_header) + "\n" + form.test_row + "\n", form.task, GlueRows::test);
    ASSERT_EQ(test.size(), 1u);
    EXPECT_EQ(test[0].id, "0");
    EXPECT_EQ(test[0].text, form.second == nullptr ? "A test." : "A");
    EXPECT_EQ(test[0].pair.has_value(), form.second != nullptr);
    EXPECT_TRUE(test[0].labels.empty());
  }
}

// Told by the content: copies without the header lose no row, CoLA with one gains none.
TEST_F(GlueFiles, FilesWithoutTheHeaderOrWithOneMoreAreReadToo) {
  for (const PublishedForm& form : published_forms()) {
    EXPECT_EQ(read(std::string(form.row) + "\n" + form.row + "\n", form.task).size(), 2u) << form.task;
    EXPECT_EQ(read(std::string(form.test_row) + "\n", form.task, GlueRows::test).size(), 1u) << form.task;
  }
  EXPECT_EQ(read("source\tlabel\tjudgement\tsentence\nx\t1\t\tA b.\n", "cola").size(), 1u);
}

TEST_F(GlueFiles, MnliHasTwoFormsAndRowsWithoutALabel) {
  const std::string start = "\t1\t1n\tg\t(\t(\t(\t(\tOne.\tTwo.";
  const std::string dev_header = std::string("index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\t") +
                                 "sentence2_binary_parse\tsentence1_parse\tsentence2_parse\tsentence1\t"
                                 "sentence2\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label\n";
  const std::string text = dev_header + "0" + start + "\tneutral\tneutral\tneutral\tneutral\tneutral\t-\n" +
                           "1" + start + "\tneutral\t\t\t\t\tentailment\n";
  auto rows = read(text, "mnli");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].id, "1");  // numbers count the row without a label
  EXPECT_EQ(rows[0].labels, std::vector<std::string>{"entailment"});
  EXPECT_EQ(tally_.unlabelled, 1u);
  EXPECT_EQ(tally_.rows, 1u);
  rows = read(text, "mnli", GlueRows::all);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].id, "0");
  EXPECT_EQ(tally_.unlabelled, 0u);
  refused("0\tOne.\tTwo.\t-\n", "rte", "own.tsv:1", "neither the header");
}

TEST_F(GlueFiles, QqpDropsRowsWithOtherFieldsAndNumbersTheRest) {
  const std::string header = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n";
  const auto rows =
      read(header + "7\t1\t2\tOne?\tTwo?\t1\nbroken\trow\n8\t1\t2\t3\t4\t0\t1\n9\t1\t2\tA?\tB?\t0\n", "qqp");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].id, "1");
  EXPECT_EQ(rows[1].place, (folder_ / "own.tsv").string() + ":5");
  EXPECT_EQ(tally_.dropped, 2u);
  refused("id\tquestion1\tquestion2\n0\tA\n", "qqp", "own.tsv:2", "2 fields, and QQP's rows have 3",
          GlueRows::test);
}

TEST_F(GlueFiles, HeadersAndFieldsOfAnotherFormAreRefused) {
  refused("text\tlabel\na\t1\n", "sst2", "own.tsv:1", "neither the header of SST-2's labelled files");
  refused("a\tb\tc\n", "sst2", "own.tsv:1", "3 fields, and SST-2's labelled files have 2");
  refused("sentence\tlabel\na\t1\nb\t0\textra\n", "sst2", "own.tsv:3", "3 fields, and SST-2's rows have 2");
  refused("entailment\tOne.\tTwo.\n", "mnli", "own.tsv:1",
          "3 fields, and MNLI's labelled files have 12 or 16");
  refused("index\tsentence\n0\ta\n", "sst2", "own.tsv:1", "SST-2's test file, which has no labels");
  refused("sentence\tlabel\na\t1\n", "sst2", "own.tsv:1", "not of its test file", GlueRows::test);
  refused("", "sst2", "own.tsv", "empty");
}

TEST_F(GlueFiles, LabelsThatTheTaskDoesNotHaveAreRefused) {
  refused("sentence\tlabel\na\t1\nb\t2\n", "sst2", "own.tsv:3", "label '2' is none of SST-2's");
  refused("sentence\tlabel\na\t1\nb\t\n", "sst2", "own.tsv:3", "label ''");
  refused("index\tsentence1\tsentence2\tlabel\n0\ta\tb\tneutral\n", "rte", "own.tsv:2", "label 'neutral'");
  const std::string start = "0\tg\tf\ty\t1\tn\tn\tOne.\tTwo.\t";
  for (const char* score : {"5.001", "-0.1", "high", "nan"})
    refused(start + "5.000\n" + start + score + "\n", "stsb", "own.tsv:2", "not a number from 0 to 5");
  EXPECT_EQ(read(start + "5.000\n" + start + "0\n", "stsb").size(), 2u);
}

TEST_F(GlueFiles, IndicesOfTestFilesAreWholeNumbersAndDiffer) {
  refused("index\tsentence\n0\ta\nx\tb\n", "cola", "own.tsv:3", "index 'x' is not a whole number",
          GlueRows::test);
  refused("index\tsentence\n0\ta\n0\tb\n", "cola", "own.tsv:3", "index 0 is", GlueRows::test);
  EXPECT_EQ(read("index\tsentence\n5\ta\n3\tb\n", "cola", GlueRows::test)[1].id, "3");
}

TEST_F(GlueFiles, BytesThatAreNotUtf8AreRefusedOrReplaced) {
  refused("sentence\tlabel\na\xFF\t1\n", "sst2", "own.tsv:2", "not UTF-8");
  EXPECT_EQ(read("sentence\tlabel\na\xFF\t1\n", "sst2", GlueRows::labelled, true)[0].text, "a\xEF\xBF\xBD");
  EXPECT_EQ(read("sentence\tlabel\r\na\t1\r\n", "sst2")[0].labels, std::vector<std::string>{"positive"});
}

TEST(GlueTasks, SettingsAreThoseOfTheTable) {
  EXPECT_EQ(find_glue_task("qqp").batch, 32u);
  EXPECT_DOUBLE_EQ(find_glue_task("qqp").warmup_share, 0.25);
  EXPECT_DOUBLE_EQ(find_glue_task("stsb").learning_rate, 2e-5);
  EXPECT_DOUBLE_EQ(find_glue_task("mnli").learning_rate, 1e-5);
  EXPECT_EQ(find_glue_task("rte").batch, 16u);
  const auto error = testing::error_of([] { find_glue_task("squad"); });
  testing::expect_message(error, "squad", "no such task");
  EXPECT_EQ(error->kind(), ErrorKind::usage);
  EXPECT_NE(error->hint().find("cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli, ax"), std::string::npos);
}

// HF's data sets: 0, 1 and, of MNLI, 2.
TEST(GlueTasks, ClassesAreKnownByNameAndByWord) {
  const GlueTask& mnli = find_glue_task("mnli");
  EXPECT_EQ(mnli.class_names(), (std::vector<std::string>{"entailment", "neutral", "contradiction"}));
  EXPECT_EQ(mnli.class_number("CONTRADICTION"), 2u);
  EXPECT_FALSE(mnli.class_number("0").has_value());
  EXPECT_EQ(find_glue_task("wnli").class_number("entailment"), 1u);
  EXPECT_EQ(find_glue_task("qnli").class_number("entailment"), 0u);
  EXPECT_EQ(find_glue_task("cola").class_number("1"), 1u);
  EXPECT_FALSE(find_glue_task("cola").class_number("LABEL_1").has_value());
}

TEST_F(GlueFiles, TheFilesOfASplitAreFoundInTheFolderOrBelowIt) {
  const std::string root = folder_.path().string();
  const auto found = [&](const char* task, GlueSplit split) {
    std::vector<std::pair<std::string, std::string>> files;
    for (const GlueSplitFile& file : glue_split_files(find_glue_task(task), root, split))
      files.emplace_back(file.path.substr(root.size() + 1), file.submission);
    return files;
  };
  using Files = std::vector<std::pair<std::string, std::string>>;
  testing::expect_bad_input(testing::error_of([&] { found("sst2", GlueSplit::dev); }), root, "no dev.tsv");
  std::filesystem::create_directories(folder_ / "SST-2");
  write("", "SST-2/dev.tsv");
  EXPECT_EQ(found("sst2", GlueSplit::dev), (Files{{"SST-2/dev.tsv", "SST-2.tsv"}}));
  write("", "dev.tsv");
  EXPECT_EQ(found("sst2", GlueSplit::dev), (Files{{"dev.tsv", "SST-2.tsv"}}));
  write("", "test_mismatched.tsv");
  EXPECT_EQ(found("mnli", GlueSplit::test), (Files{{"test_mismatched.tsv", "MNLI-mm.tsv"}}));
  write("", "test_matched.tsv");
  EXPECT_EQ(found("mnli", GlueSplit::test),
            (Files{{"test_matched.tsv", "MNLI-m.tsv"}, {"test_mismatched.tsv", "MNLI-mm.tsv"}}));
  write("", "train.tsv");
  EXPECT_EQ(found("mnli", GlueSplit::train), (Files{{"train.tsv", "MNLI.tsv"}}));
}

// The diagnostic set: a test file alone, with MNLI's classes.
TEST_F(GlueFiles, AxIsATestFileUnderEachOfItsNames) {
  const GlueTask& ax = find_glue_task("ax");
  EXPECT_EQ(ax.class_names(), find_glue_task("mnli").class_names());
  const std::string root = folder_.path().string();
  const auto found = [&] { return glue_split_files(ax, root, GlueSplit::test); };
  testing::expect_bad_input(testing::error_of(found), root, "no diagnostic.tsv");
  std::filesystem::create_directories(folder_ / "diagnostic");
  for (const char* name : {"diagnostic/diagnostic.tsv", "AX.tsv"}) {
    write("index\tsentence1\tsentence2\n0\tA\tB\n", name);
    ASSERT_EQ(found().size(), 1u);
    EXPECT_EQ(found()[0].path, root + "/" + name);
    EXPECT_EQ(found()[0].submission, "AX.tsv");
  }
  EXPECT_EQ(read("index\tsentence1\tsentence2\n0\tA\tB\n", "ax", GlueRows::test)[0].pair, "B");
  for (const auto& error : {testing::error_of([&] { read("0\tA\tB\tneutral\n", "ax"); }),
                            testing::error_of([&] { glue_split_files(ax, root, GlueSplit::dev); })}) {
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->kind(), ErrorKind::usage);
    EXPECT_NE(error->message().find("has no labels"), std::string::npos) << error->message();
  }
}

// Rows and labels of the copies beside the project, counted with awk.
TEST(GlueRealFiles, AreReadWhole) {
  BIGBIRD_REQUIRE_SHARED();
  const std::filesystem::path root = *testing::shared_dir() / "data/text/glue";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "SKIPPED: ../shared has no GLUE files";
  const std::vector<std::pair<const char*, std::uint64_t>> counts = {
      {"cola", 527}, {"sst2", 872},  {"mrpc", 576}, {"stsb", 1500},
      {"qqp", 2000}, {"qnli", 1000}, {"rte", 139},  {"wnli", 70}};
  for (const auto& [name, rows] : counts) {
    const GlueTask& task = find_glue_task(name);
    GlueFile file(glue_split_files(task, root.string(), GlueSplit::dev).front().path, task,
                  GlueRows::labelled);
    LabelledText row;
    while (file.next(row)) EXPECT_FALSE(row.text.empty()) << row.place;
    EXPECT_EQ(file.tally().rows, rows) << name;
    EXPECT_EQ(file.tally().dropped, 0u);
  }
}

}  // namespace
}  // namespace bigbird
