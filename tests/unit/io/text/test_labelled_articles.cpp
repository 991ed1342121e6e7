// Articles in XML with labels in a file of their own: text without tags, columns, labels by id, and what is
// refused.
#include <gtest/gtest.h>

#include <map>

#include "lib/io/text/labelled_texts.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

class LabelledArticles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    testing::write_text(folder_ / name, text);
    return folder_ / name;
  }
  std::string articles(const std::string& inside) const {
    return write("a.xml",
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?><articles>\n" + inside + "</articles>\n");
  }
  LabelledTextOptions labelled(const std::string& inside) const {
    LabelledTextOptions options;
    options.label_files = {write("truth.xml", "<articles>\n" + inside + "</articles>\n")};
    return options;
  }
  // id|text|pair|label of every row.
  static std::vector<std::string> rows(const std::string& path, const LabelledTextOptions& options) {
    std::vector<std::string> shown;
    LabelledTexts texts(path, options);
    for (LabelledText row; texts.next(row);) {
      shown.push_back(row.id + "|" + row.text + "|" + row.pair.value_or("-") + "|" +
                      (row.labels.empty() ? "-" : row.labels.at(0)));
    }
    return shown;
  }
  std::optional<Error> error(const std::string& path, const LabelledTextOptions& options) const {
    return error_of([&] { rows(path, options); });
  }
  LabelledTextOptions unlabelled() const {
    LabelledTextOptions options;
    options.labels = Labels::ignored;
    return options;
  }

  testing::TemporaryFolder folder_;
};

using ShownArticles = std::vector<std::string>;

TEST_F(LabelledArticles, TextIsWithoutTagsAndItsParagraphsAreLines) {
  const std::string path = articles(
      "<article id=\"7\" title=\"A &amp; B\">\n  From <a href=\"x\">here</a>.<p>One &lt;two&gt; &#233;.</p> "
      "<p>Three<br/>four</p><p></p>\n</article>\n<article id=\"8\" title=\"C\"/>\n");
  EXPECT_EQ(rows(path, unlabelled()),
            (ShownArticles{"7|From here.\nOne <two> \xC3\xA9.\nThree\nfour|-|-", "8||-|-"}));
  LabelledTextOptions options = unlabelled();
  options.text_column = "title,text";
  EXPECT_EQ(rows(path, options).at(1), "8|C |-|-");
  options.text_column = "text";
  options.pair_column = "title";
  EXPECT_EQ(rows(path, options).at(1), "8||C|-");
}

TEST_F(LabelledArticles, LabelsAreFoundByIdWhateverTheirOrder) {
  const std::string path = articles("<article id=\"1\">a</article><article id=\"2\">b</article>\n");
  LabelledTextOptions options = labelled(
      "<article id=\"2\" hyperpartisan=\"false\" bias=\"left\"/><article id=\"3\" hyperpartisan=\"true\" "
      "bias=\"right\"/>\n<article id=\"1\" hyperpartisan=\"true\" bias=\"least\"/>\n");
  EXPECT_EQ(rows(path, options), (ShownArticles{"1|a|-|true", "2|b|-|false"}));
  LabelledTexts texts(path, options);
  EXPECT_EQ(texts.columns(), "text: text; label: hyperpartisan; id: id");
  LabelledText row;
  texts.next(row);
  texts.next(row);
  EXPECT_EQ(row.place, path + ":2");
  options.label_column = "bias";
  EXPECT_EQ(rows(path, options), (ShownArticles{"1|a|-|least", "2|b|-|left"}));
}

// The labels of a training and of a test set, for both at once.
TEST_F(LabelledArticles, LabelsMayLieInSeveralFiles) {
  const std::string path = articles("<article id=\"1\">a</article><article id=\"2\">b</article>\n");
  LabelledTextOptions options = labelled("<article id=\"2\" hyperpartisan=\"false\"/>\n");
  options.label_files.push_back(
      write("more.xml", "<articles><article id=\"1\" hyperpartisan=\"true\"/></articles>"));
  EXPECT_EQ(rows(path, options), (ShownArticles{"1|a|-|true", "2|b|-|false"}));
  options.label_files.push_back(
      write("again.xml", "<articles><article id=\"1\" hyperpartisan=\"true\"/></articles>"));
  expect_bad_input(error(path, options), "again.xml:1: ", "'1' has a label already");
}

TEST_F(LabelledArticles, WhatHasNoLabelIsNamed) {
  const std::string path = articles("<article id=\"1\">a</article>\n<article id=\"2\">b</article>\n");
  const LabelledTextOptions options =
      labelled("<article id=\"1\" hyperpartisan=\"true\"/><article id=\"3\" hyperpartisan=\"false\"/>\n");
  expect_bad_input(error(path, options), "a.xml:3: article '2' has no label in ", "truth.xml");
  LabelledTextOptions optional = options;
  optional.labels = Labels::optional;
  EXPECT_EQ(rows(path, optional), (ShownArticles{"1|a|-|true", "2|b|-|-"}));
  expect_bad_input(error(path, {}), "a.xml: ", "without their labels");
  LabelledTextOptions other = options;
  other.label_column = "bias";
  expect_bad_input(error(path, other), "truth.xml:2: ", "no 'bias'");
  expect_bad_input(error(path, labelled("<article id=\"1\" hyperpartisan=\" \"/>")),
                   "truth.xml:2: ", "the label is empty");
  other = unlabelled();
  other.text_column = "titel";
  expect_bad_input(error(path, other), "a.xml:2: ", "no 'titel'");
}

TEST_F(LabelledArticles, WhatIsNoArticleIsNamedWithItsPlace) {
  const LabelledTextOptions options = unlabelled();
  expect_bad_input(error(articles("<article id=\"1\">a</b></article>\n"), options),
                   "a.xml:2:20: ", "mismatched tag");
  expect_bad_input(error(articles("<article>a</article>\n"), options), "a.xml:2: ", "without an id");
  expect_bad_input(error(articles("<article id=\"1\">a</article>\n<article id=\"1\">b</article>\n"), options),
                   "a.xml:3: ", "'1' is the one of");
  expect_bad_input(error(articles("<story/>\n"), options), "a.xml:2:", "<story> is where an <article>");
  expect_bad_input(error(articles("<article id=\"1\">a &nbsp;</article>\n"), options),
                   "a.xml:2:", "undefined entity");
  expect_bad_input(error(write("b.xml", "<html><body/></html>"), options), "b.xml:1: ", "begins with <html>");
  expect_bad_input(error(write("b.xml", "<articles><article id=\"1\">a"), options), "b.xml:", "no element");
  expect_bad_input(error(write("b.xml", ""), options), "b.xml:1:1: ", "no element found");
  expect_bad_input(error(write("b.xml", "<articles><article id=\"1\">\xE9</article></articles>"), options),
                   "b.xml:1: ", "not UTF-8");
}

// Ten entities of ten entities each, nine times over, are a gigabyte.
TEST_F(LabelledArticles, EntitiesOfTheFilesOwnAreNotTaken) {
  const std::string path = write("bomb.xml",
                                 "<?xml version=\"1.0\"?>\n<!DOCTYPE articles [<!ENTITY a \"aaaaaaaaaa\">]>\n"
                                 "<articles><article id=\"1\">&a;</article></articles>\n");
  expect_bad_input(error(path, unlabelled()), "bomb.xml:2:", "document type");
}

TEST_F(LabelledArticles, InvalidBytesAreReplacedAndCounted) {
  LabelledTextOptions options = labelled("<article id=\"1\" hyperpartisan=\"\xFFtrue\"/>");
  options.replace_invalid = true;
  const std::string path = articles("<article id=\"1\">a\xE9z</article>");
  EXPECT_EQ(rows(path, options), (ShownArticles{"1|a\xEF\xBF\xBDz|-|\xEF\xBF\xBDtrue"}));
  LabelledTexts texts(path, options);
  LabelledText row;
  while (texts.next(row)) {
  }
  EXPECT_EQ(texts.replaced(), 2u);
}

TEST_F(LabelledArticles, FilesOfLabelsAreForArticlesOnly) {
  LabelledTextOptions options = labelled("<article id=\"1\" hyperpartisan=\"true\"/>");
  const auto table = error(write("x.csv", "text,label\na,1\n"), options);
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->kind(), ErrorKind::usage) << table->message();
}

// Longer than what expat is given at once, and than a window of the reader.
TEST_F(LabelledArticles, AnArticleOfOneLongLineIsWhole) {
  const std::string text(std::size_t{3} << 20, 'x');
  const auto read = rows(articles("<article id=\"1\">" + text + "</article>"), unlabelled());
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].size(), text.size() + 6);
}

TEST_F(LabelledArticles, TheRealArticlesHaveTheirLabels) {
  BIGBIRD_REQUIRE_SHARED();
  const std::string folder = (*testing::shared_dir() / "data/text/hyperpartisan").string();
  LabelledTextOptions options;
  options.label_files = {folder + "/ground-truth-byarticle.xml.gz"};
  LabelledTexts texts(folder + "/articles-byarticle.xml.gz", options);
  std::map<std::string, int> labels;
  for (LabelledText row; texts.next(row);) {
    ++labels[row.labels.at(0)];
    EXPECT_EQ(row.text.find("<p>"), std::string::npos) << row.id;
    EXPECT_FALSE(is_blank(row.text)) << row.id;
  }
  EXPECT_EQ(texts.rows(), 500u);
  EXPECT_EQ(labels.size(), 2u);
}

}  // namespace
}  // namespace bigbird
