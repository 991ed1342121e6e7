// The site of the documentation (mkdocs.yml, pipelines/site.sh) holds every page, its pictures are small and
// shown, and the page of yeast and its script have the same commands.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/policy/lines.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

constexpr std::size_t most_picture_bytes = 60'000;

// The pages that the navigation of a mkdocs.yml names, in its order.
std::vector<std::string> pages_of_navigation(const std::string& config) {
  std::vector<std::string> pages;
  bool in_navigation = false;
  for (const std::string& line : policy::lines_of(config)) {
    if (!line.empty() && line[0] != ' ') in_navigation = line == "nav:";
    const std::size_t at = line.rfind(": ");
    if (in_navigation && at != std::string::npos)
      pages.push_back(line.substr(at + 2, line.find(" #", at) - at - 2));
  }
  return pages;
}

// What is wrong between a navigation and the pages that there are.
std::vector<std::string> navigation_violations(const std::string& config,
                                               const std::vector<std::string>& pages) {
  std::map<std::string, int> named;
  for (const std::string& page : pages_of_navigation(config)) ++named[page];
  std::vector<std::string> violations;
  for (const std::string& page : pages) {
    if (named[page] != 1) violations.push_back(page + " stands " + std::to_string(named[page]) + " times");
    named.erase(page);
  }
  for (const auto& [page, count] : named) violations.push_back(page + " is no page");
  return violations;
}

TEST(Site, EveryPageStandsOnceInTheNavigation) {
  std::vector<std::string> pages = {"CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_dir() / "docs")) {
    const std::string name = entry.path().filename().string();
    // pipelines/site.sh puts the home page at the top, in place of README.md.
    if (entry.path().extension() == ".md") pages.push_back(name == "home.md" ? "index.md" : "docs/" + name);
  }
  std::sort(pages.begin(), pages.end());
  const std::string config = testing::read_text(testing::source_dir() / "mkdocs.yml");
  EXPECT_EQ(policy::joined(navigation_violations(config, pages)), "");
}

TEST(Site, ANavigationThatIsWrongIsFound) {
  const std::string config = "theme: x\nnav:\n  - Start:\n      - One: a.md\n      - Two: b.md\nplugins: y\n";
  EXPECT_EQ(pages_of_navigation(config), (std::vector<std::string>{"a.md", "b.md"}));
  EXPECT_EQ(navigation_violations(config, {"a.md", "b.md"}).size(), 0u);
  EXPECT_EQ(navigation_violations(config, {"a.md"}).size(), 1u);
  EXPECT_EQ(navigation_violations(config, {"a.md", "b.md", "c.md"}).size(), 1u);
  EXPECT_EQ(navigation_violations(config + "nav:\n  - Again: a.md\n", {"a.md", "b.md"}).size(), 1u);
}

TEST(Site, PicturesAreSmallAndShown) {
  std::string pages;
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_dir() / "docs")) {
    if (entry.path().extension() == ".md") pages += testing::read_text(entry.path());
  }
  std::size_t pictures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_dir() / "docs/pictures")) {
    if (entry.path().extension() != ".svg") continue;
    ++pictures;
    EXPECT_LT(entry.file_size(), most_picture_bytes) << entry.path();
    const std::string name = entry.path().filename().string();
    EXPECT_NE(pages.find("](pictures/" + name + ")"), std::string::npos) << "no page shows " << name;
  }
  EXPECT_GT(pictures, 0u);
}

// A program in place of bigbird, which writes down what it is asked and makes what -o names.
constexpr const char* recorder = R"(#!/bin/sh
line=
out=
for word; do
  case $word in -q | --resume) continue ;; esac
  [ "$previous" != -o ] || out=$word
  previous=$word
  line="$line $word"
done
echo "$line" | sed "s# $DATA/# data/#g" >>"$LOG"
[ -z "$out" ] || { mkdir -p "$out/final" && : >"$out.json"; }
echo '{}'
)";

std::vector<std::string> sorted_lines(const std::filesystem::path& file) {
  std::vector<std::string> lines = policy::lines_of(testing::read_text(file));
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Runs a script in a folder, with the recorder on PATH; what was asked of it, sorted.
std::vector<std::string> asked_by(const std::filesystem::path& folder, const std::string& script) {
  testing::write_text(folder / "script.sh",
                      "set -eu\ncd " + folder.string() + "\nexport LOG=" + (folder / "log").string() +
                          " BIN=" + (folder / "bin").string() + " DATA=" + (folder / "data").string() +
                          " PATH=\"" + (folder / "bin").string() + ":$PATH\"\n" + script);
  const testing::RunResult done = testing::run_program({"bash", (folder / "script.sh").string()});
  EXPECT_EQ(done.status, 0) << done.err;
  return sorted_lines(folder / "log");
}

TEST(Site, TheYeastPageHasTheCommandsOfItsScript) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "bin");
  testing::write_text(folder / "bin/bigbird", recorder);
  std::filesystem::permissions(folder / "bin/bigbird", std::filesystem::perms::owner_all);
  const std::string data =
      "mkdir -p data\nfor file in S288C_R64-1-1.fa.gz tss_EPDnew_002.bed.gz variants_BYxRM.vcf.gz; do : >data/$file; done\n"
      "printf 'chrI\\t500\\t501\\tAbf1\\n' | gzip >data/peaks_rossi2021_chexmix.bed.gz\n";
  const std::string page = testing::read_text(testing::source_dir() / "docs/yeast.md");
  std::string typed;
  // What is typed stands in plain fences of the page, what is printed in ```text.
  bool inside = false;
  bool printed = false;
  for (const std::string& line : policy::lines_of(page)) {
    if (line.rfind("```", 0) == 0) {
      printed = !inside && line != "```";
      inside = !inside;
    } else if (inside && !printed && line.find("yeast_data.sh") == std::string::npos) {
      typed += line + "\n";
    }
  }
  const std::vector<std::string> of_page = asked_by(folder.path(), data + typed);
  std::filesystem::remove(folder / "log");
  std::filesystem::remove_all(folder / "peaks.bed");
  const std::vector<std::string> of_script =
      asked_by(folder.path(), "OUT=out SEEDS=1 JOBS=1 PARTS='data models variants' bash " +
                                  (testing::source_dir() / "pipelines/yeast.sh").string() + " data\n");
  EXPECT_GT(of_page.size(), 20u);
  EXPECT_EQ(policy::joined(of_page), policy::joined(of_script));
}

}  // namespace
}  // namespace bigbird
