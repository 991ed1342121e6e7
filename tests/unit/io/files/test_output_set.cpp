// Outputs that appear together: none before, all after, and as it was where one cannot be placed.
#include "lib/io/files/output_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

// The error that must come.
Error error_of_outputs(const std::function<void()>& action) {
  const std::optional<Error> error = testing::error_of(action);
  if (error) return *error;
  ADD_FAILURE() << "no error";
  return {ErrorKind::runtime, "none"};
}

class OutputSetTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  void finish(const std::string& name, const std::string& text) const {
    OutputStream out(path(name));
    out.write(text);
    out.close();
  }
  std::vector<std::string> names() const { return names_in(folder_.path().string()); }

  TemporaryFolder folder_;
};

TEST_F(OutputSetTest, AreThereTogether) {
  write_text(path("a"), "old");
  OutputSet outputs({{"--a", path("a")}, {"--b", path("b")}, {"--none", ""}, {"--out", "-"}});
  outputs.add({"--c", path("c.gz")});
  finish("a", "new a");
  finish("b", "new b");
  finish("c.gz", "new c");
  write_text_atomic(path("other"), "no member");
  EXPECT_EQ(read_text(path("a")), "old");
  EXPECT_EQ(read_text(path("other")), "no member") << "what is not named is placed at once";
  EXPECT_FALSE(std::filesystem::exists(path("b")));
  EXPECT_EQ(read_text(outputs.written_path(path("a"))), "new a");
  EXPECT_EQ(read_text(outputs.written_path(path("b"))), "new b");
  EXPECT_EQ(outputs.written_path(path("other")), path("other"));
  outputs.commit();
  EXPECT_EQ(read_text(path("a")), "new a");
  EXPECT_EQ(read_text(path("b")), "new b");
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "b", "c.gz", "other"}));
  EXPECT_EQ(outputs.written_path(path("a")), path("a"));
}

TEST_F(OutputSetTest, WithoutCommitNothingIsLeft) {
  write_text(path("a"), "old");
  {
    OutputSet outputs({{"", path("a")}, {"", path("b")}, {"", path("pages/c")}});
    outputs.make_folder(path("pages"));
    for (const char* name : {"a", "b", "pages/c"}) finish(name, "new");
  }
  EXPECT_EQ(read_text(path("a")), "old");
  EXPECT_EQ(names(), (std::vector<std::string>{"a"}));
}

// The last one cannot have its name, after those before it had theirs.
TEST_F(OutputSetTest, WhereOneCannotBePlacedAllIsAsItWas) {
  write_text(path("a"), "old");
  {
    OutputSet outputs({{"", path("a")}, {"", path("b")}, {"", path("c")}});
    for (const char* name : {"a", "b", "c"}) finish(name, "new");
    std::filesystem::create_directories(path("c/inside"));
    EXPECT_NE(error_of_outputs([&] { outputs.commit(); }).message().find(path("c")), std::string::npos);
  }
  EXPECT_EQ(read_text(path("a")), "old");
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "c"}));
}

TEST_F(OutputSetTest, AnInnerSetHandsOnWhatTheOuterOneNames) {
  OutputSet outer({{"", path("a")}});
  {
    OutputSet inner({{"", path("a")}, {"", path("b")}});
    finish("a", "of both");
    finish("b", "of the inner one");
    inner.commit();
  }
  EXPECT_EQ(names().size(), 2U);
  EXPECT_FALSE(std::filesystem::exists(path("a")));
  EXPECT_EQ(read_text(path("b")), "of the inner one");
  outer.commit();
  EXPECT_EQ(read_text(path("a")), "of both");
}

TEST_F(OutputSetTest, OneFileForTwoOutputsIsRefused) {
  write_text(path("target"), "");
  ASSERT_EQ(symlink(path("target").c_str(), path("link").c_str()), 0);
  const std::string roundabout = path("x/../target");
  for (const std::string& other : {path("target"), path("link"), roundabout}) {
    const Error error = error_of_outputs([&] {
      require_different({{"--json", path("target")}, {"--svg", other}});
    });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.message().find("--json and --svg name the same file"), std::string::npos)
        << error.message();
    EXPECT_FALSE(error.hint().empty());
  }
  EXPECT_NE(error_of_outputs([] {
              require_different({{"--json", "-"}, {"--svg", "-"}});
            })
                .message()
                .find("stdout"),
            std::string::npos);
  require_different({{"--json", "/dev/null"}, {"--svg", "/dev/null"}});
  // And where nobody looked before.
  const OutputSet outputs({{"", path("a")}});
  finish("a", "first");
  EXPECT_EQ(error_of_outputs([&] { finish("a", "second"); }).kind(), ErrorKind::usage);
}

TEST_F(OutputSetTest, FilesOfAFolderThatIsWrittenWholeAreItsOwn) {
  OutputSet outputs({{"", path("run/a")}, {"", path("b")}});
  AtomicFolder run(path("run"));
  write_text_atomic(run.file("a"), "in the folder");
  run.commit();
  EXPECT_EQ(read_text(path("run/a")), "in the folder");
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

// 2,000 lines of each file in turn, from whole files and through BGZF, with no descriptor held between.
TEST_F(OutputSetTest, ReadersThatRestHoldNoDescriptor) {
  constexpr int lines = 60'000;
  for (const std::string name : {"a.tsv", "b.tsv.gz"}) {
    OutputStream out(path(name));
    for (int i = 0; i < lines; ++i) out.write(name + "\t" + std::to_string(i) + "\n");
    out.close();
  }
  const auto before = open_descriptors();
  LineReader plain(path("a.tsv"), LineReader::Descriptor::rest);
  LineReader packed(path("b.tsv.gz"), LineReader::Descriptor::rest);
  EXPECT_EQ(open_descriptors(), before);
  std::string_view line;
  for (int i = 0; i < lines; ++i) {
    ASSERT_TRUE(plain.next(line));
    ASSERT_EQ(line, "a.tsv\t" + std::to_string(i));
    ASSERT_TRUE(packed.next(line));
    ASSERT_EQ(line, "b.tsv.gz\t" + std::to_string(i));
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_FALSE(plain.next(line) || packed.next(line));
}

}  // namespace
}  // namespace bigbird
