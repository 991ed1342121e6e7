// The figure of benchmarks/speed.md (docs/performance.md shows it too) and its table are what
// tests/peers/speed/growth.awk makes of the numbers in docs/pictures/growth.tsv, and the exponents in them
// are the numbers'.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/policy/lines.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

const std::filesystem::path& measured() {
  static const std::filesystem::path path = testing::source_dir() / "docs/pictures/growth.tsv";
  return path;
}

// What the script makes of a table: the figure, or with `form` table its numbers as Markdown.
std::string drawn(const std::filesystem::path& table, const std::string& form) {
  const std::filesystem::path script = testing::source_dir() / "tests/peers/speed/growth.awk";
  return testing::output_of({"awk", "-v", "form=" + form, "-f", script.string(), table.string()});
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Numbers that follow a law: a pass takes tokens^time seconds, and tokens^memory bytes beyond one block's.
class Law {
 public:
  Law() {
    text_ =
        "# trial: made up\n# one block: 64\nprogram\tattention\tpass\ttokens\tranks\tthreads\trounds\tseconds\t"
        "lowest\thighest\tpeak_gb\tnote\n";
  }
  void add(const std::string& series, int tokens, double seconds, double gigabytes) {
    text_ += series + "\t" + std::to_string(tokens) + "\t1\t2\t3\t" + std::to_string(seconds) + "\t-\t-\t" +
             std::to_string(gigabytes) + "\t-\n";
  }
  void line(const std::string& row) { text_ += row + "\n"; }
  std::string drawn_as(const std::string& form) const {
    const testing::TemporaryFolder folder;
    std::ofstream(folder.path() / "table.tsv") << text_;
    return drawn(folder.path() / "table.tsv", form);
  }

 private:
  std::string text_;
};

TEST(Growth, FigureAndTableAreThoseOfTheNumbers) {
  BIGBIRD_REQUIRE_PROGRAM("awk");
  const std::string page = testing::read_text(testing::source_dir() / "benchmarks/speed.md");
  EXPECT_EQ(drawn(measured(), "figure"),
            testing::read_text(testing::source_dir() / "docs/pictures/growth.svg"));
  EXPECT_TRUE(holds(page, drawn(measured(), "table")));
}

TEST(Growth, ExponentsAreThoseOfThePointsBeyondOneBlock) {
  BIGBIRD_REQUIRE_PROGRAM("awk");
  Law law;
  law.add("bigbird\tsparse\tforward", 64, 5, 0.7);
  law.add("bigbird\tfull\tstep", 64, 5, 0.4);
  for (int tokens = 512; tokens <= 32768; tokens *= 2) {
    const double size = tokens / 512.0;
    // The lower points lie off the laws: they are drawn, not fitted.
    const double off = tokens < 4096 ? 30 : 0;
    law.add("bigbird\tsparse\tforward", tokens, size + off, 0.7 + 0.001 * std::pow(size, 1.5));
    if (tokens <= 16384) law.add("bigbird\tfull\tstep", tokens, size * size, 0.4 + 0.001 * size * size);
  }
  law.line("bigbird\tfull\tstep\t32768\t1\t2\t-\t-\t-\t-\t-\tleft out: would need 70 GB, limit 14 GB");
  const std::string table = law.drawn_as("table");
  EXPECT_TRUE(holds(table, "| Forward pass | BigBird attention | bigbird | 31 s, 0.001 GB |")) << table;
  EXPECT_TRUE(holds(table, " 64 s, 0.51 GB | **1.00** | 1.50 |\n")) << table;
  EXPECT_TRUE(holds(table, " - | **2.00** | 2.00 |\n")) << table;
  EXPECT_TRUE(holds(table, "A trial, not the measurement: made up")) << table;
  const std::string reason =
      "Left out: bigbird, full attention, step, 32,768: would need 70 GB, limit 14 GB.";
  EXPECT_TRUE(holds(table, reason)) << table;
  const std::string figure = law.drawn_as("figure");
  for (const std::string part : {">1.00<", ">1.50<", ">2.00<", reason.c_str(), "(trial: made up)"}) {
    EXPECT_TRUE(holds(figure, part)) << part;
  }
}

TEST(Growth, RanksAndThreadsAreSeparateLines) {
  BIGBIRD_REQUIRE_PROGRAM("awk");
  Law law;
  law.line("bigbird\tsparse\tupdate\t1024\t1\t1\t5\t8\t8\t8\t0.40\t-");
  law.line("bigbird\tsparse\tupdate\t1024\t2\t1\t5\t4\t4\t4\t0.42\tpeak of the first rank");
  law.line("bigbird\tsparse\tupdate\t1024\t1\t2\t5\t5\t5\t5\t0.40\t-");
  const std::string table = law.drawn_as("table");
  EXPECT_TRUE(holds(table, "| 2 x 1 | 4.00 | 2.00 | 0.42 GB |")) << table;
  EXPECT_TRUE(holds(table, "| 1 x 2 | 5.00 | 1.60 | 0.40 GB |")) << table;
  const std::string figure = law.drawn_as("figure");
  EXPECT_TRUE(holds(figure, ">-1.00<")) << figure;
  EXPECT_TRUE(holds(figure, ">-0.68<")) << figure;
}

}  // namespace
}  // namespace bigbird
