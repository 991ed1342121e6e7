// Files that a manifest or a list names: both places, their order, and the paths that are written.
#include "lib/genomics/chromatin/dataset.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

class FindFile : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = std::filesystem::current_path();
    std::filesystem::create_directories(folder_.path() / "data");
    std::filesystem::create_directories(folder_.path() / "work" / "genome");
    std::filesystem::current_path(folder_.path() / "work");
  }
  void TearDown() override { std::filesystem::current_path(before_); }

  void make(const std::string& name) { testing::write_text(folder_.path() / name, "text\n"); }
  std::string data() const { return (folder_.path() / "data").string(); }
  static std::string find(const std::string& path, const std::string& folder) {
    return find_beside(path, folder, "list.tsv:3", "do something");
  }

  testing::TemporaryFolder folder_;
  std::filesystem::path before_;
};

TEST_F(FindFile, TheFolderOfTheListComesBeforeTheWorkingFolder) {
  make("work/genome/a.fa");
  EXPECT_EQ(find("genome/a.fa", data()), "genome/a.fa");
  make("data/a.fa");
  make("work/a.fa");
  EXPECT_EQ(find("a.fa", data()), data() + "/a.fa");
  EXPECT_EQ(find("../work/genome/a.fa", data()), data() + "/../work/genome/a.fa");
  EXPECT_EQ(find(data() + "/a.fa", "elsewhere"), data() + "/a.fa");
  EXPECT_EQ(find("a.fa", "."), "a.fa");
}

TEST_F(FindFile, BothPlacesAreNamedWhereNeitherHoldsTheFile) {
  try {
    find("genome/b.fa", data());
    FAIL() << "found a file that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_EQ(error.message(), "list.tsv:3: the file genome/b.fa that it names is neither " + data() +
                                   "/genome/b.fa nor, from the working folder, genome/b.fa");
    EXPECT_EQ(error.hint(), "do something");
  }
  EXPECT_THROW(find("/nowhere/b.fa", data()), Error);
}

TEST_F(FindFile, WrittenPathsLeadFromTheFolderToTheFile) {
  make("work/genome/a.fa");
  EXPECT_EQ(path_from_folder("genome/a.fa", "../data"), "../work/genome/a.fa");
  EXPECT_EQ(path_from_folder("genome/a.fa", data()), "../work/genome/a.fa");
  EXPECT_EQ(path_from_folder("genome/a.fa", "not/yet"), "../../genome/a.fa");
  EXPECT_EQ(path_from_folder("genome/a.fa", "genome"), "a.fa");
  EXPECT_EQ(path_from_folder("/absolute/a.fa", data()), "/absolute/a.fa");
  // Through links to folders, ".." leads out of the folders themselves; a link to a file keeps its name.
  std::filesystem::create_directories(folder_.path() / "deep" / "er");
  std::filesystem::create_directory_symlink(folder_.path() / "deep" / "er", folder_.path() / "link");
  make("deep/er/b.fa");
  std::filesystem::create_symlink(folder_.path() / "deep" / "er" / "b.fa", folder_.path() / "work" / "c.fa");
  EXPECT_EQ(path_from_folder("c.fa", "../link/set"), "../../../work/c.fa");
  EXPECT_EQ(path_from_folder("../link/b.fa", data()), "../deep/er/b.fa");
}

}  // namespace
}  // namespace bigbird
