// pipelines/attention_study.sh: that it has every attention of the program, what it measures of data with
// copies, and that it refuses models that are not equal.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lib/core/rng.h"
#include "lib/io/tables/tsv.h"
#include "lib/model/attention_systems.h"
#include "tests/support/sanitizer.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;
using testing::read_text;
using testing::run_program;
using testing::RunResult;
using Words = std::vector<std::string>;

std::string script() {
  return (testing::source_dir() / "pipelines/attention_study.sh").string();
}

TEST(AttentionStudy, HasEverySystemOfTheProgramAndEveryLeftToRightForm) {
  const RunResult run = run_program({"bash", script(), "--rows"});
  ASSERT_EQ(run.status, 0) << run.err;
  std::set<std::string> both, left;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string row, option, name;
    words >> row >> option >> name;
    EXPECT_EQ(option, "--attention") << line;
    (row.starts_with("left-") ? left : both).insert(name);
  }
  for (const AttentionSystem& system : attention_systems()) {
    EXPECT_TRUE(both.contains(system.name) || left.contains(system.name)) << system.name;
    EXPECT_TRUE(!system.causal || left.contains(system.name)) << system.name << " left to right";
  }
}

void write_program(const fs::path& file, const std::string& text) {
  testing::write_text(file, text);
  fs::permissions(file, fs::perms::owner_all);
}

// A genome as the study reads it, of some samples.
void write_data(const fs::path& folder) {
  const auto record = [](const std::string& name, std::size_t bases, std::uint64_t seed) {
    CounterRng rng(seed, Purpose::test, 0);
    std::string text = ">" + name + "\n";
    for (std::size_t i = 0; i < bases; ++i) {
      text += "ACGT"[rng.below(4)];
      if (i % 60 == 59) text += '\n';
    }
    return text + "\n";
  };
  for (const char* sub : {"human-grch37", "human-chm13-mhc"}) fs::create_directories(folder / sub);
  testing::write_text(folder / "pieces.fa",
                      record("chr1:1-1000000", 9000, 1) + record("chr20:1000001-2000000", 5000, 2));
  testing::write_text(folder / "mhc.fa", record("CHM13_MHC", 5000, 3));
  const auto gzip = [&](const char* from, const char* to) {
    const RunResult run = run_program(
        {"sh", "-c", "gzip -c \"$0\" > \"$1\"", (folder / from).string(), (folder / to).string()});
    ASSERT_EQ(run.status, 0) << run.err;
  };
  gzip("pieces.fa", "human-grch37/grch37.pieces.fa.gz");
  gzip("mhc.fa", "human-chm13-mhc/chm13_mhc.fa.gz");
}

RunResult study(const fs::path& folder, const std::string& bin, const std::string& rows,
                const std::string& parts = "train summary", const std::string& seeds = "1") {
  return run_program({"env", "BIN=" + bin, "OUT=" + (folder / "out").string(), "ROWS=" + rows, "TRIAL=1",
                      "TOKENS=4096", "SEEDS=" + seeds, "PARTS=" + parts, "JOBS=1", "DRAWS=20", "bash",
                      script(), (folder / "data").string()});
}

TEST(AttentionStudy, MeasuresCopiesAndResumesAndRefusesUnequalModels) {
  if (testing::under_sanitizer) GTEST_SKIP() << "updates of 4,096 tokens; test_pretrain trains under it";
  const testing::TemporaryFolder folder;
  write_data(folder / "data");
  const std::string bin = fs::path(testing::bigbird_binary()).parent_path().string();
  const RunResult run = study(folder.path(), bin, "left-sparse-strided left-full");
  ASSERT_EQ(run.status, 0) << run.err;
  // Bases are those of the 2,046 without the 64 of a copy and the 64 that were copied.
  TsvReader samples((folder / "out/results/left-full-1.tsv").string());
  std::vector<std::string_view> fields;
  std::size_t count = 0;
  for (; samples.next(fields); ++count) {
    EXPECT_EQ(fields[samples.column("bases")], "1918");
    EXPECT_EQ(fields[samples.column("copy_bases")], "64");
  }
  EXPECT_EQ(count, 2u);  // 5,000 held-out bases
  // The copy is where the table has it.
  std::istringstream text(read_text(folder / "out/held-out.txt"));
  std::string document;
  for (std::string line; std::getline(text, line) && !line.empty();) document += line;
  ASSERT_EQ(document.size(), 2046u);
  TsvReader places((folder / "out/held-out.places.tsv").string());
  ASSERT_TRUE(places.next(fields));
  const auto at = static_cast<std::size_t>(parse_integer(fields[1], "", ""));
  const auto distance = static_cast<std::size_t>(parse_integer(fields[2], "", ""));
  EXPECT_EQ(document.substr(at, 64), document.substr(at - distance, 64));

  const std::string table = read_text(folder / "out/results/table.tsv");
  EXPECT_NE(table.find("\nleft-sparse-strided\tclm\t1\t"), std::string::npos) << table;
  EXPECT_NE(read_text(folder / "out/results/study.svg").find("left-sparse-strided</text>"),
            std::string::npos);

  // Nothing is computed again: no program that could.
  fs::create_directory(folder / "fake");
  write_program(folder / "fake/bigbird", "#!/bin/sh\n[ \"$1\" = attention ] && exec '" +
                                             testing::bigbird_binary() + "' \"$@\"\nexit 1\n");
  const RunResult again = study(folder.path(), (folder / "fake").string(), "left-sparse-strided left-full");
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(read_text(folder / "out/results/table.tsv"), table);

  // A model that is narrower than the others.
  write_program(folder / "fake/bigbird",
                "#!/bin/bash\nexec '" + testing::bigbird_binary() + "' \"${@/#512/400}\"\n");
  fs::remove(folder / "out/trial/left-sparse-strided.tsv");
  fs::remove_all(folder / "out/results");
  const RunResult refused = study(folder.path(), (folder / "fake").string(), "left-sparse-strided left-full");
  EXPECT_EQ(refused.status, 3) << refused.err;
  EXPECT_NE(refused.err.find("not equal: left-sparse-strided (parameters)"), std::string::npos)
      << refused.err;
  EXPECT_FALSE(fs::exists(folder / "out/results/left-full-1.tsv"));
}

// Of made-up losses: 2 bits of a base, a model that has 2.5, and copies of 1 bit or of 2.
TEST(AttentionStudy, PairsModelsAndSaysWhereTheControlIsSilent) {
  const testing::TemporaryFolder folder;
  write_data(folder / "data");
  const fs::path results = folder / "out/results";
  fs::create_directories(results);
  testing::write_text(results / "facts.tsv", "left-full\tclm\t9\t1056.0\t2048\t7\n");
  const auto write = [&](const std::string& row, double bits, double of_copy) {
    const double nat = std::log(2.0);
    for (const char* seed : {"1", "2"}) {
      const std::string name = row + "-" + seed;
      testing::write_text(results / (name + ".run.tsv"),
                          "model\tseed\tupdates\ttokens\tcpu_seconds\tpeak_mib\tevaluation_cpu_seconds\tmean_"
                          "span\n" +
                              row + "\t" + seed + "\t1\t4096\t2\t100\t1\t-\n");
      std::string table = "sample\tnats\tbases\tdistance\tcopy_nats\tcopy_bases\n";
      for (int sample = 0; sample < 4; ++sample)
        table += fmt::format("{}\t{:.6f}\t{}\t{}\t{:.6f}\t64\n", sample, 100 * (sample + 1) * bits * nat,
                             100 * (sample + 1), sample < 2 ? 256 : 1536, 64 * of_copy * nat);
      testing::write_text(results / (name + ".tsv"), table);
    }
  };
  const std::string bin = fs::path(testing::bigbird_binary()).parent_path().string();
  for (const double of_copy : {1.0, 2.0}) {
    write("left-full", 2, of_copy);
    write("left-band", 2.5, 2.5);
    const RunResult run = study(folder.path(), bin, "left-full left-band", "summary", "1 2 3");
    ASSERT_EQ(run.status, 0) << run.err;
    TsvReader table((results / "table.tsv").string());
    std::vector<std::string_view> fields;
    const auto cell = [&](const char* name) { return std::string(fields[table.column(name)]); };
    ASSERT_TRUE(table.next(fields));
    EXPECT_EQ(cell("bits"), "2.0000");
    EXPECT_EQ(cell("seeds"), "2");
    EXPECT_EQ(cell("tokens_a_cpu_second"), "2048");
    EXPECT_EQ(cell("copy_less_rest"), of_copy < 2 ? "-1.0000" : "0.0000");
    EXPECT_EQ(cell("copy_1536"), of_copy < 2 ? "1.0000" : "2.0000");
    ASSERT_TRUE(table.next(fields));
    for (const char* name : {"less_full", "low_samples", "high_samples", "low_both", "high_both"})
      EXPECT_EQ(cell(name), "0.5000") << name;
    EXPECT_EQ(run.out.find("The control is silent: `left-full`") != std::string::npos, of_copy == 2.0)
        << run.out;
  }
}

}  // namespace
}  // namespace bigbird
