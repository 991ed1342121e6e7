// Files of answers, byte for byte as Python's json.dumps(indent=4) has them.
#include "lib/text/qa/answer_files.h"

#include <gtest/gtest.h>

#include "lib/io/files/file.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

std::string written(ChunkForm form, const std::vector<AnswerEntry>& entries) {
  std::string text;
  AnswerFile file(form, [&](std::string_view part) { text += part; });
  for (const AnswerEntry& entry : entries) file.add(entry);
  file.finish();
  return text;
}

TEST(AnswerFiles, PredictionsAreAnObjectInTheOrderOfTheInput) {
  EXPECT_EQ(written(ChunkForm::json_object, {text_entry("z", "Rome"), text_entry("a", "")}),
            "{\n    \"z\": \"Rome\",\n    \"a\": \"\"\n}\n");
}

TEST(AnswerFiles, NothingIsAnEmptyFileOfTheForm) {
  EXPECT_EQ(written(ChunkForm::json_object, {}), "{}\n");
  EXPECT_EQ(written(ChunkForm::json_predictions, {}), "{\"predictions\": []}\n");
  EXPECT_EQ(written(ChunkForm::json_answers_and_facts, {}), "{\n    \"answer\": {},\n    \"sp\": {}\n}\n");
}

TEST(AnswerFiles, TextsAreAsciiWithEscapesOfPython) {
  EXPECT_EQ(written(ChunkForm::json_object, {text_entry("\u00e9\"", "a\\\n\t\x01\x7F \u20ac \U0001F600/")}),
            "{\n    \"\\u00e9\\\"\": \"a\\\\\\n\\t\\u0001\\u007f \\u20ac \\ud83d\\ude00/\"\n}\n");
}

TEST(AnswerFiles, LinesOfAValueAreIndentedAsDeepAsItsKey) {
  EXPECT_EQ(keyed_entry("a", "[\n    1\n]"), "    \"a\": [\n        1\n    ]");
  EXPECT_EQ(keyed_entry("a", "{\n}", 2), "        \"a\": {\n        }");
}

TEST(AnswerFiles, SectionsBehindTheFirstComeInTheEnd) {
  EXPECT_EQ(written(ChunkForm::json_answers_and_facts, {{"        \"one\": 1", "        \"one\": []"},
                                                        {"        \"two\": 2", "        \"two\": [3]"}}),
            "{\n    \"answer\": {\n        \"one\": 1,\n        \"two\": 2\n    },\n"
            "    \"sp\": {\n        \"one\": [],\n        \"two\": [3]\n    }\n}\n");
}

TEST(AnswerFiles, ListsHaveALineForEach) {
  EXPECT_EQ(written(ChunkForm::json_predictions, {{"{\"a\":1}"}, {"{\"a\":2}"}}),
            "{\"predictions\": [\n{\"a\":1},\n{\"a\":2}\n]}\n");
}

TEST(AnswerFiles, GoThroughAnOutputStream) {
  testing::TemporaryFolder folder;
  OutputStream stream((folder / "predictions.json").string());
  AnswerFile file(ChunkForm::json_object, [&](std::string_view part) { stream.write(part); });
  file.add(text_entry("a", "Rome"));
  EXPECT_FALSE(std::filesystem::exists(folder / "predictions.json"));
  file.finish();
  stream.close();
  EXPECT_EQ(testing::read_text(folder / "predictions.json"), "{\n    \"a\": \"Rome\"\n}\n");
}

}  // namespace
}  // namespace bigbird
