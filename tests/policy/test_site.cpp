// The site of the documentation (mkdocs.yml, pipelines/site.sh) holds every page, its pictures are small and
// shown, and the tutorial's page and script have the same commands.
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
    if (in_navigation && at != std::string::npos) pages.push_back(line.substr(at + 2));
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

// Lines between one that ends in `begin` and one that is `end`, of every such stretch, without comments.
std::vector<std::string> lines_between(const std::string& text, const std::string& begin,
                                       const std::string& end) {
  std::vector<std::string> lines;
  bool inside = false;
  for (const std::string& line : policy::lines_of(text)) {
    const bool begins =
        line.size() >= begin.size() && line.compare(line.size() - begin.size(), begin.size(), begin) == 0;
    if (inside && line == end) {
      inside = false;
    } else if (!inside && begins) {
      inside = true;
    } else if (inside && !line.empty() && line[0] != '#') {
      lines.push_back(line);
    }
  }
  return lines;
}

TEST(Site, EveryPageStandsOnceInTheNavigation) {
  std::vector<std::string> pages = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"};
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_dir() / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back("docs/" + entry.path().filename().string());
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

TEST(Site, TheTutorialsScriptRunsThePagesCommands) {
  const std::string page = testing::read_text(testing::source_dir() / "docs/tutorial.md");
  const std::string script = testing::read_text(testing::source_dir() / "pipelines/tutorial.sh");
  // What is typed stands in plain fences of the page, what is printed in ```text.
  std::string plain;
  bool printed = false;
  for (const std::string& line : policy::lines_of(page)) {
    const bool fence = line.rfind("```", 0) == 0;
    if (fence && line != "```") printed = true;
    if (!printed) plain += line + "\n";
    if (fence && line == "```") printed = false;
  }
  const std::vector<std::string> typed = lines_between(plain, "```", "```");
  EXPECT_GT(typed.size(), 20u);
  EXPECT_EQ(policy::joined(typed), policy::joined(lines_between(script, "<<'STEPS'", "STEPS")));
  EXPECT_EQ(lines_between("a\n```\nb\n# c\n```\nd\n```\ne\n```\n", "```", "```"),
            (std::vector<std::string>{"b", "e"}));
}

}  // namespace
}  // namespace bigbird
