// The readers over real data sets: counts and first rows as Python's csv, json and str.split give them.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/text/documents.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/labelled_texts.h"
#include "lib/io/text/text_lines.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

std::string real_text(const std::string& name) {
  return (*testing::shared_dir() / "data" / "text" / name).string();
}

struct RealRows {
  std::map<std::string, int> classes;
  std::uint64_t rows = 0;
  std::uint64_t code_points = 0;  // of texts and pairs
  std::string columns;
};

RealRows read_real_rows(const std::string& name, const LabelledTextOptions& options = {}) {
  RealRows result;
  LabelledTexts texts(real_text(name), options);
  for (LabelledText row; texts.next(row);) {
    for (const std::string& label : row.labels) ++result.classes[label];
    result.code_points += count_code_points(row.text) + (row.pair ? count_code_points(*row.pair) : 0);
  }
  result.rows = texts.rows();
  result.columns = texts.columns();
  return result;
}

LabelledTextOptions news_columns() {
  LabelledTextOptions options;
  options.label_column = "1";
  options.text_column = "2,3";
  return options;
}

LabelledTextOptions glue_columns(const std::string& label, const std::string& text, const std::string& pair) {
  LabelledTextOptions options;
  options.label_column = label;
  options.text_column = text;
  options.pair_column = pair;
  options.quoting = Quoting::none;
  return options;
}

struct RealDocuments {
  std::uint64_t documents = 0;
  std::uint64_t lines = 0;
  std::uint64_t code_points = 0;
  std::string first;
};

RealDocuments read_real_documents(const std::string& name, const TextDocumentOptions& options = {}) {
  RealDocuments result;
  TextDocuments documents({real_text(name)}, options);
  for (TextDocument document; documents.next(document);) {
    if (result.first.empty()) result.first = document.name;
    ++result.documents;
    result.lines += document.lines.size();
    for (const std::string& line : document.lines) result.code_points += count_code_points(line);
  }
  return result;
}

std::uint64_t count_real_records(const std::string& name, bool list) {
  JsonRecordsOptions options;
  options.list_keys = {"data", "Data"};
  JsonRecords records(real_text(name), options);
  EXPECT_EQ(records.is_list(), list) << name;
  std::uint64_t count = 0;
  for (JsonRecord record; records.next(record); ++count) EXPECT_TRUE(nlohmann::json::accept(record.json));
  return count;
}

TEST(RealTexts, NewsWithoutAHeader) {
  BIGBIRD_REQUIRE_SHARED();
  const RealRows news = read_real_rows("ag_news/test.csv.gz", news_columns());
  EXPECT_EQ(news.rows, 5000u);
  EXPECT_EQ(news.classes, (std::map<std::string, int>{{"1", 1286}, {"2", 1270}, {"3", 1204}, {"4", 1240}}));
  EXPECT_EQ(news.code_points, 1183653u);
  EXPECT_EQ(news.columns, "text: 2, 3; label: 1; id: number of the row");
}

TEST(RealTexts, ReviewsAndMessagesInJsonLines) {
  BIGBIRD_REQUIRE_SHARED();
  const RealRows reviews = read_real_rows("imdb/train.jsonl.gz");
  EXPECT_EQ(reviews.classes, (std::map<std::string, int>{{"neg", 800}, {"pos", 800}}));
  EXPECT_EQ(reviews.code_points, 2055825u);
  EXPECT_EQ(reviews.columns, "text: text; label: label; id: id");
  const RealRows messages = read_real_rows("newsgroups/mini_newsgroups.jsonl.gz");
  EXPECT_EQ(messages.rows, 1400u);
  EXPECT_EQ(messages.classes.size(), 20u);
  EXPECT_EQ(messages.code_points, 3317411u);
  const RealRows long_reviews = read_real_rows("movie_reviews/reviews.jsonl.gz");
  EXPECT_EQ(long_reviews.rows, 700u);
  EXPECT_EQ(long_reviews.code_points, 2630571u);
}

TEST(RealTexts, GlueTables) {
  BIGBIRD_REQUIRE_SHARED();
  struct Table {
    const char* name;
    LabelledTextOptions options;
    std::uint64_t rows;
    std::size_t classes;
    std::uint64_t code_points;
  };
  const std::vector<Table> tables = {
      {"glue/CoLA/train.tsv", glue_columns("2", "4", ""), 8551, 2, 348020},
      {"glue/SST-2/train.tsv", glue_columns("", "", ""), 6000, 2, 606529},
      {"glue/MRPC/train.tsv", glue_columns("Quality", "#1 String", "#2 String"), 3500, 2, 810169},
      {"glue/QNLI/train.tsv", glue_columns("", "question", "sentence"), 3500, 2, 810472},
      {"glue/RTE/train.tsv", glue_columns("", "", ""), 1000, 2, 321947},
      {"glue/QQP/dev.tsv", glue_columns("is_duplicate", "question1", "question2"), 2000, 1, 212247},
      {"glue/STS-B/dev.tsv", glue_columns("10", "8", "9"), 1500, 136, 175511},
  };
  for (const Table& table : tables) {
    SCOPED_TRACE(table.name);
    const RealRows read = read_real_rows(table.name, table.options);
    EXPECT_EQ(read.rows, table.rows);
    EXPECT_EQ(read.classes.size(), table.classes);
    EXPECT_EQ(read.code_points, table.code_points);
  }
}

TEST(RealTexts, SentencesWithQuotesAreNoCsv) {
  BIGBIRD_REQUIRE_SHARED();
  // Texts of MRPC begin with a " that does not end: read with quotes the file must not pass.
  LabelledTextOptions options = glue_columns("Quality", "#1 String", "#2 String");
  options.quoting = Quoting::doubled;
  EXPECT_THROW(read_real_rows("glue/MRPC/train.tsv", options), Error);
}

TEST(RealTexts, WikitextHasItsArticles) {
  BIGBIRD_REQUIRE_SHARED();
  const RealDocuments articles = read_real_documents("lm/wikitext-2.valid.txt.gz");
  EXPECT_EQ(articles.documents, 60u);
  EXPECT_EQ(articles.lines, 2461u);
  EXPECT_EQ(articles.code_points, 1115133u);
  EXPECT_EQ(articles.first, "Homarus gammarus");
}

TEST(RealTexts, SpeechesInJsonLines) {
  BIGBIRD_REQUIRE_SHARED();
  const RealDocuments speeches = read_real_documents("lm/inaugural.jsonl.gz");
  EXPECT_EQ(speeches.documents, 48u);
  EXPECT_EQ(speeches.lines, 1338u);
  EXPECT_EQ(speeches.code_points, 663794u);
  EXPECT_EQ(speeches.first, "inaugural/1789-Washington.txt");
  const RealDocuments addresses = read_real_documents("lm/state_union.jsonl.gz");
  EXPECT_EQ(addresses.lines, 5513u);
  EXPECT_EQ(addresses.code_points, 1700585u);
}

TEST(RealTexts, NovelsAsAFolderAndAsParagraphs) {
  BIGBIRD_REQUIRE_SHARED();
  const RealDocuments novels = read_real_documents("lm/gutenberg");
  EXPECT_EQ(novels.documents, 6u);
  EXPECT_EQ(novels.first, "11-0.txt.gz");
  EXPECT_EQ(novels.lines, 19221u + 16262u + 12652u + 11033u + 6737u + 2791u);
  const RealDocuments paragraphs = read_real_documents("lm/gutenberg/2701-0.txt.gz");
  EXPECT_EQ(paragraphs.documents, 2866u);
  EXPECT_EQ(paragraphs.lines, 19221u);
  EXPECT_EQ(paragraphs.code_points, 1215910u);
}

TEST(RealTexts, QuestionSetsRecordByRecord) {
  BIGBIRD_REQUIRE_SHARED();
  EXPECT_EQ(count_real_records("squad/dev-v1.1.json", true), 12u);
  EXPECT_EQ(count_real_records("squad/dev-v2.0.json", true), 12u);
  EXPECT_EQ(count_real_records("squad/train-v2.0.json", true), 8u);
  EXPECT_EQ(count_real_records("squad/dev-v1.1-rest.json.gz", true), 28u);
  EXPECT_EQ(count_real_records("squad/new_wiki_v1.0.json.gz", true), 36u);
  EXPECT_EQ(count_real_records("hotpotqa/hotpot_dev_distractor_v1.json.gz", true), 80u);
  EXPECT_EQ(count_real_records("hotpotqa/hotpot_dev_fullwiki_v1.json.gz", true), 29u);
  EXPECT_EQ(count_real_records("triviaqa/qa/wikipedia-train.json", true), 2u);
  EXPECT_EQ(count_real_records("wikihop/dev.json", true), 1u);
  EXPECT_EQ(count_real_records("natural_questions/NQ-open.dev.jsonl.gz", false), 2500u);
  EXPECT_EQ(count_real_records("natural_questions/simplified.jsonl", false), 1u);
}

}  // namespace
}  // namespace bigbird
