// `bigbird demo`: its outputs are those of the commands that it prints, it finds the models that ship, and
// those are whole.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/variants_fixture.h"
#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird::testing {
namespace {

// Lines of a table without its provenance.
std::string rows_of(const std::filesystem::path& file) {
  std::istringstream in(read_text(file));
  std::string rows;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("##")) rows += line + "\n";
  }
  return rows;
}

// The models of a program, while a test runs.
class Models {
 public:
  explicit Models(const std::filesystem::path& folder) { setenv("BIGBIRD_MODELS", folder.c_str(), 1); }
  ~Models() { unsetenv("BIGBIRD_MODELS"); }
  Models(const Models&) = delete;
  Models& operator=(const Models&) = delete;
};

TEST(Demo, ItsOutputsAreThoseOfTheCommandsThatItPrints) {
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  const auto must = [](const std::vector<std::string>& words) {
    const RunResult run = run_bigbird(words);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  };
  must({"simulate", "-o", path("genome"), "--bp", "200K", "--chromosome-count", "2", "-q"});
  const std::filesystem::path model = folder / "models/yeast-r64";
  std::filesystem::create_directories(model / "demo");
  write_tiny_classifier(model / "tracks");
  write_tiny_classifier(model / "promoters");
  for (const std::string suffix : {"", ".fai", ".gzi"}) {
    if (std::filesystem::exists(path("genome/genome.fa.gz") + suffix))
      std::filesystem::copy_file(path("genome/genome.fa.gz") + suffix,
                                 model / ("demo/genome.fa.gz" + suffix));
  }
  std::filesystem::copy_file(path("genome/variants.vcf.gz"), model / "demo/strain.vcf.gz");
  const std::string genome = (model / "demo/genome.fa.gz").string();
  const std::string strain = (model / "demo/strain.vcf.gz").string();
  must({"variants", "background", "-m", (model / "tracks").string(), "-f", genome, strain, "--max-records",
        "50", "-o", (model / "background.safetensors").string()});

  const Models models(folder / "models");
  const RunResult demo = must({"demo", "--species", "yeast-r64", "-o", path("demo")});
  const std::filesystem::path canonical = std::filesystem::canonical(model);
  // The two commands, as they stand there, in a folder of their own.
  std::string commands = "set -eu\nbigbird() { '" + bigbird_binary() + "' \"$@\"; }\nmkdir " + path("typed") +
                         "\ncd " + path("typed") + "\ncp " + path("demo/genome.fa.gz") + "* " +
                         path("demo/strain.vcf.gz") + "* .\n";
  std::istringstream lines(demo.out);
  bool typed = false;
  int found = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("$ bigbird ")) {
      ++found;
      typed = true;
      line.erase(0, 2);
    }
    if (typed) commands += line + "\n";
    typed = typed && line.ends_with("\\");
  }
  EXPECT_EQ(found, 3) << demo.out;
  write_text(folder / "typed.sh", commands);
  const RunResult again = run_program({"bash", path("typed.sh")});
  EXPECT_EQ(again.status, 0) << again.err;
  for (const char* table : {"scored.tsv", "effects.tsv"}) {
    EXPECT_EQ(rows_of(folder / "demo" / table), rows_of(folder / "typed" / table)) << table;
    EXPECT_GT(rows_of(folder / "demo" / table).size(), 100u) << table;
  }
  EXPECT_EQ(read_text(folder / "demo/effects.svg"), read_text(folder / "typed/effects.svg"));
  // The pages differ in the commands that they tell of.
  const std::string page = read_text(folder / "demo/report.html");
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("<h1>variants of strain.vcf.gz: "), std::string::npos);
  EXPECT_NE(read_text(folder / "typed/report.html").find(page.substr(page.find("<svg"), 2000)),
            std::string::npos);

  // The first that it shows has the smallest E-value, and of those the largest effect.
  double smallest = 2.0;
  double largest = -1.0;
  std::string first;
  for (const auto& row : read_table(read_text(folder / "demo/scored.tsv"))) {
    if (row.at("e") == "NA") continue;
    const double e = std::stod(row.at("e"));
    const double effect = std::abs(std::stod(row.at("diff")) * std::stod(row.at("lfc")));
    if (e < smallest || (e == smallest && effect > largest)) {
      smallest = e;
      largest = effect;
      first = row.at("pos") + "  " + row.at("ref");
    }
  }
  const std::size_t table = demo.out.find("chrom ");
  ASSERT_NE(table, std::string::npos) << demo.out;
  const std::size_t row = demo.out.find('\n', table) + 1;
  EXPECT_NE(demo.out.substr(row, demo.out.find('\n', row) - row).find(" " + first + " "), std::string::npos)
      << first << " is not first in\n"
      << demo.out;
  EXPECT_NE(demo.out.find("bigbird promoter scan -m " + (canonical / "promoters").string()),
            std::string::npos)
      << demo.out;
  for (const auto& [at, kind] : {std::pair<std::string, std::string>{path("demo"), "demonstration"},
                                 {path("demo/scored.tsv"), "variant scores"},
                                 {model.string(), "models"}}) {
    const std::string described = must({"info", at, "-q"}).out;
    EXPECT_NE(described.find("kind\t" + kind + "\n"), std::string::npos) << described;
  }
  const RunResult there = run_bigbird({"demo", "--species", "yeast-r64", "-o", path("demo")});
  EXPECT_NE(there.status, 0);
  EXPECT_NE(there.err.find("exists"), std::string::npos) << there.err;
  must({"demo", "--species", "yeast-r64", "-o", path("demo"), "--force", "-q"});
}

TEST(Demo, AProgramWithoutItsModelsSaysWhereItLooked) {
  const TemporaryFolder folder;
  const Models models(folder.path());
  const RunResult run = run_bigbird({"demo", "-o", (folder / "demo").string()});
  EXPECT_EQ(run.status, 3);
  EXPECT_NE(run.err.find("the model human was not found"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find(folder.path().string()), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("hint: "), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "demo"));
}

TEST(ShippedModel, IsWholeAndSmall) {
  const struct {
    const char* name;
    std::uintmax_t most_bytes;
    std::vector<const char*> parts;
    const char* scored;
  } models[] = {{"human", 4'100'000, {"tracks", "tata-promoters"}, "238 of 238"},
                {"yeast-r64", 8'000'000, {"encoder", "tracks", "promoters"}, "372 of 372"}};
  std::uintmax_t all_bytes = 0;
  for (const auto& each : models) {
    const std::filesystem::path model = source_dir() / "models" / each.name;
    std::uintmax_t bytes = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(model)) {
      if (file.is_regular_file()) bytes += file.file_size();
    }
    EXPECT_LE(bytes, each.most_bytes) << each.name;
    all_bytes += bytes;
    for (const char* part : each.parts) {
      const RunResult run = run_bigbird({"check", std::string(each.name) + "/" + part});
      EXPECT_EQ(run.status, 0) << run.out << run.err;
    }
    const TemporaryFolder folder;
    const RunResult demo = run_bigbird({"demo", "--species", each.name, "-o", (folder / "demo").string()});
    EXPECT_EQ(demo.status, 0) << demo.err;
    EXPECT_NE(demo.out.find(each.scored), std::string::npos) << demo.out;
  }
  EXPECT_LE(all_bytes, 12'000'000U);
}

}  // namespace
}  // namespace bigbird::testing
