// Standard descriptors that are closed (daemons, `<&- >&- 2>&-`): what is meant for stdout or stderr must not
// end up in a file that got such a descriptor's number.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/text_fixture.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

class ClosedDescriptors : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    write_tiny_text_model(path("model"));
    std::string rows = "id,text\n";
    for (int i = 0; i < 12; ++i)
      rows += "t" + std::to_string(i) + ",a" + std::string(1, "bcde"[i % 4]) + "\n";
    write("in.csv", rows);
  }
  // "$bigbird" is the program; in the folder of the test.
  static int shell(const std::string& script) {
    return run_program({"sh", "-c", "cd '" + path("") + "' && bigbird='" + bigbird_binary() + "'\n" + script})
        .status;
  }
};

TEST_F(ClosedDescriptors, NothingButTheOutputIsWrittenIntoIt) {
  const std::string predict = "$bigbird text classify predict --no-provenance -m model in.csv -o ";
  ASSERT_EQ(shell(predict + "expected.tsv"), 0);
  const std::string expected = read_text(path("expected.tsv"));
  for (const char* closed : {"<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"}) {
    EXPECT_EQ(shell(predict + "out.tsv " + closed), 0) << closed;
    EXPECT_EQ(read_text(path("out.tsv")), expected) << closed;
    std::filesystem::remove(path("out.tsv"));
  }
}

TEST_F(ClosedDescriptors, TheyStillFailAsClosedOnesDo) {
  EXPECT_EQ(shell("$bigbird devices >&- 2>said"), 1);
  EXPECT_TRUE(holds(read_text(path("said")), "standard output: cannot write"));
  EXPECT_EQ(shell("$bigbird text classify predict -m model - <&- 2>said"), 1);
}

}  // namespace
}  // namespace bigbird::testing
