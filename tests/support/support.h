// What every test may need: a temporary folder, the project's own folder, ../shared when present, and running
// the binary.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bigbird::testing {

// A fresh folder, removed with everything in it at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// The repository's root (where tests/golden lies).
std::filesystem::path source_dir();
// The folder with real data beside the project (../shared, or $BIGBIRD_SHARED), when it is there.
std::optional<std::filesystem::path> shared_dir();

std::string read_text(const std::filesystem::path& file);
void write_text(const std::filesystem::path& file, const std::string& text);

struct RunResult {
  int status = 0;  // exit status, or 128 + signal
  std::string out;
  std::string err;
};
// Runs the bigbird binary with these arguments (no shell). `input` goes to its stdin.
RunResult run_bigbird(const std::vector<std::string>& arguments, const std::string& input = {});
// Runs any program found on PATH the same way.
RunResult run_program(const std::vector<std::string>& command, const std::string& input = {});
std::string bigbird_binary();

}  // namespace bigbird::testing

// Skips with a line that cannot be missed when the real data is absent.
#define BIGBIRD_REQUIRE_SHARED()                                                                \
  if (!bigbird::testing::shared_dir()) {                                                        \
    GTEST_SKIP() << "SKIPPED: ../shared is absent; this test needs its data or golden vectors"; \
  }
