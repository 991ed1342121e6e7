// docs/outputs.md: its blocks run on outputs as verbs write them, each where its program is there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/variants_fixture.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

struct Block {
  std::string language, text;
};

std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> blocks;
  for (std::size_t at = page.find("\n```"); at != std::string::npos; at = page.find("\n```", at)) {
    const std::size_t line = page.find('\n', at + 1), end = page.find("\n```", line);
    blocks.push_back({page.substr(at + 4, line - at - 4), page.substr(line + 1, end - line)});
    at = end + 4;
  }
  return blocks;
}

bool runs(const std::vector<std::string>& command) {
  return run_program(command).status == 0;
}

// Whether the programs and packages are there that a block names.
bool can_run(const Block& block) {
  for (const char* package : {"pandas", "polars", "pyranges", "numpy"}) {
    if (block.language == "python" && block.text.find(package) != std::string::npos &&
        !runs({"python3", "-c", std::string("import ") + package}))
      return false;
  }
  for (const char* program : {"bedtools", "bcftools"}) {
    if (block.language == "sh" && block.text.find(program) != std::string::npos &&
        !runs({"sh", "-c", std::string("command -v ") + program}))
      return false;
  }
  return block.language != "r" || runs({"sh", "-c", "command -v Rscript"});
}

class OutputsPage : public VariantsFixture {};

TEST_F(OutputsPage, EveryBlockThatCanRunRuns) {
  must(command({path("in.vcf"), "-o", path("scored.tsv")}));
  must(command({path("in.vcf"), "-o", path("scored.vcf.gz")}));
  write_text(path("calls.bed"), "chr1\t10\t20\tcall1\t500\t+\nchr1\t15\t30\tcall2\t600\t-\n");
  write_text(path("windows.fa"), ">a\nACGTACGTACGT\n>b\nTTTTACGTACGT\n");
  must({"embed", "-m", path("model"), path("windows.fa"), "-o", path("vectors.npy")});
  const std::string page = read_text(source_dir() / "docs/outputs.md");
  std::vector<std::string> ran, left;
  for (const Block& block : blocks_of(page)) {
    const std::string what = block.language + ": " + block.text.substr(0, block.text.find('\n'));
    if (!can_run(block)) {
      left.push_back(what);
      continue;
    }
    const char* program = block.language == "python" ? "python3" : block.language == "r" ? "Rscript" : "sh";
    const char* option = block.language == "r" ? "-e" : "-c";
    write_text(path("block"), block.text);
    const RunResult done = run_program(
        {"sh", "-c", fmt::format("cd '{}' && exec {} {} \"$(cat block)\"", path(""), program, option)});
    EXPECT_EQ(done.status, 0) << what << "\n" << done.out << done.err;
    EXPECT_FALSE(done.out.empty()) << what;
    ran.push_back(what);
  }
  EXPECT_GE(ran.size(), 2u) << "awk and cat are everywhere";
  for (const std::string& what : left) fmt::print(stderr, "[   LEFT   ] not there: {}\n", what);
}

}  // namespace
}  // namespace bigbird::testing
