// The rules of the house over the whole tree, and each rule over a small bad file, so that the checker is
// known to bite.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/policy/lines.h"
#include "tests/policy/policy.h"
#include "tests/support/support.h"

namespace bigbird::policy {
namespace {

// A header that breaks nothing but what `line` breaks.
std::vector<std::string> judge(const std::string& path, const std::string& line) {
  return violations(path, "// What this is for.\n#pragma once\n" + line + "\n");
}

void expect_bad(const std::string& path, const std::string& line) {
  const std::vector<std::string> found = judge(path, line);
  ASSERT_EQ(found.size(), 1u) << path << " with: " << line << "\n" << joined(found);
  EXPECT_EQ(found[0].rfind(path + ":3: ", 0), 0u) << found[0];
}

void expect_good(const std::string& path, const std::string& line) {
  EXPECT_EQ(joined(judge(path, line)), "") << path << " with: " << line;
}

TEST(Policy, TheTreeKeepsEveryRule) {
  const std::vector<std::string> files = source_files(testing::source_dir());
  ASSERT_GT(files.size(), 20u);
  std::vector<std::string> all;
  for (const std::string& file : files) {
    for (const std::string& violation : violations(file, testing::read_text(testing::source_dir() / file))) {
      all.push_back(violation);
    }
  }
  EXPECT_EQ(joined(all), "");
}

TEST(Policy, ArrowsBetweenRoomsPointOneWay) {
  expect_bad("lib/io/files/x.cpp", "#include \"lib/io/genome/fasta.h\"");
  expect_bad("lib/model/network/x.cpp", "#include \"lib/model_folder/checkpoint.h\"");
  expect_bad("lib/inference/x.cpp", "#include \"lib/genomics/variants/run.h\"");
  expect_bad("lib/genomics/variants/x.cpp", "#include \"lib/genomics/chromatin/peaks.h\"");
  expect_good("lib/io/genome/x.cpp", "#include \"lib/io/files/file.h\"");
  expect_bad("lib/io/x.h", "#include \"lib/data/documents.h\"");
  expect_bad("lib/core/x.cpp", "#include \"lib/io/files/file.h\"");
  expect_bad("lib/training/x.cpp", "#include \"lib/inference/sequence_runner.h\"");
  expect_bad("lib/report/x.cpp", "#include \"apps/command_line.h\"");
  expect_bad("lib/text/x.cpp", "#include \"lib/genomics/ism.h\"");
  expect_bad("lib/describe/x.cpp", "#include \"lib/report/report.h\"");
  expect_bad("lib/metrics/x.cpp", "#include \"lib/io/files/file.h\"");
  expect_bad("lib/parts/x.cpp", "#include \"lib/inference/sequence_scorer.h\"");
  expect_bad("lib/attic/x.cpp", "#include \"lib/core/error.h\"");
  expect_good("lib/text/x.cpp", "#include \"lib/metrics/rouge.h\"");
  expect_bad("lib/io/x.cpp", "#include \"lib/attic/old.h\"");
  expect_good("lib/genomics/x.cpp", "#include \"lib/training/trainer.h\"");
  expect_good("lib/data/x.cpp", "#include \"lib/data/documents.h\"");
  expect_good("apps/x.cpp", "#include \"lib/report/card.h\"");
  expect_bad("lib/inference/x.cpp", "#include \"lib/quantization/layers.h\"");
  expect_good("lib/quantization/x.cpp", "#include \"lib/genomics/chromatin/dataset.h\"");
}

TEST(Policy, AppsComputesNothing) {
  expect_bad("apps/x.cpp", "#include \"lib/model/network/model.h\"");
  expect_bad("apps/x.cpp", "#include \"lib/training/trainer.h\"");
  expect_good("apps/x.cpp", "#include \"lib/training/run_options.h\"");
}

TEST(Policy, FunctionsOfAppsAreShort) {
  const auto file = [](std::size_t lines) {
    std::string text = "// What for.\nint f(int a,\n      int b) {\n";
    for (std::size_t i = 3; i < lines; ++i) text += "  g();\n";
    return text + "}\n";
  };
  EXPECT_EQ(joined(violations("apps/x.cpp", file(60))), "");
  EXPECT_EQ(violations("apps/x.cpp", file(61)).size(), 1u);
  EXPECT_EQ(joined(violations("lib/core/x.cpp", file(61))), "");
}

TEST(Policy, KernelsStandAlone) {
  expect_bad("kernels/cpu/x.cpp", "#include \"lib/core/error.h\"");
  expect_bad("kernels/cpu/x.cpp", "#include \"kernels/cuda/x.h\"");
  expect_bad("lib/model/x.cpp", "#include \"kernels/cpu/gemm.h\"");
  expect_bad("lib/io/x.cpp", "#include \"kernels/backend.h\"");
  expect_bad("lib/data/x.cpp", "#include \"kernels/backend.h\"");
  expect_good("lib/model/x.cpp", "#include \"kernels/backend.h\"");
  expect_good("lib/genomics/x.h", "#include \"kernels/backend.h\"");
  expect_good("lib/core/x.cpp", "#include \"kernels/philox.h\"");
  expect_good("lib/data/x.cpp", "#include \"kernels/parallel.h\"");
  expect_good("kernels/cpu/x.cpp", "#include \"kernels/cpu/gemm.h\"");
  expect_good("kernels/registry.cpp", "#include \"kernels/cpu/backend.h\"");
  expect_good("lib/training/x.cpp", "#include \"kernels/ranks/ranks.h\"");
  expect_bad("lib/data/x.cpp", "#include \"kernels/ranks/ranks.h\"");
  expect_bad("lib/training/x.cpp", "#include \"kernels/ranks/mpi_table.h\"");
  expect_bad("kernels/ranks/mpi_ranks.cpp", "#include <mpi.h>");
  expect_good("kernels/ranks/mpi_plugin.cpp", "#include <mpi.h>");
}

TEST(Policy, CudaIsSpokenInThreeFiles) {
  expect_bad("kernels/cuda/rows.cu", "#include <cuda_runtime.h>");
  expect_bad("kernels/cuda/rows.cuh", "#include <cuda_bf16.h>");
  expect_bad("lib/model/x.cpp", "#include <cublasLt.h>");
  expect_bad("tests/cuda/x.cpp", "#include <cuda_runtime.h>");
  expect_good("kernels/cuda/runtime.cu", "#include <cuda_runtime.h>");
  expect_good("kernels/cuda/gemm_cublaslt.cpp", "#include <cublasLt.h>");
  expect_good("tests/cublaslt/x.cpp", "#include <cublasLt.h>");
  for (const char* code : {"const int i = threadIdx.x;", "__syncthreads();", "__shared__ float tile[32];",
                           "atomicAdd(sum, x);", "run<<<1, 32>>>();", "v = __shfl_xor_sync(~0u, v, 1);",
                           "#if defined(__CUDA_ARCH__)", "cudaMalloc(&p, 1);", "__device__ int f();"}) {
    expect_bad("kernels/cuda/rows.cu", code);
    expect_good("kernels/cuda/device_nvidia.cuh", code);
  }
  expect_good("kernels/cuda/rows.cu", "thread.atomic_add(sum, x);  // atomicAdd on the device");
  expect_good("kernels/cuda/rows.cu", "namespace bigbird::kernels::cuda {");
  expect_good("lib/model/x.cpp", "std::atomic<int> cuda = 0;");
  expect_good("kernels/cuda/device.cuh", "#include \"kernels/cuda/emulation/device_emulation.h\"");
  expect_bad("kernels/cuda/rows.cu", "#include \"kernels/cuda/emulation/device_emulation.h\"");
  expect_good("kernels/cuda/rows.cu", "#include \"kernels/cuda/device.cuh\"");
  EXPECT_EQ(violations("kernels/cuda/x.cuh", "// What for.\nint f();\n").size(), 1u);
}

TEST(Policy, ReferenceIsForTestsAndKnowsOnlyItself) {
  expect_bad("lib/model/x.cpp", "#include \"reference/encoder.h\"");
  expect_bad("apps/x.cpp", "#include \"reference/encoder.h\"");
  expect_bad("reference/x.cpp", "#include \"lib/core/rng.h\"");
  expect_bad("reference/x.cpp", "#include \"kernels/philox.h\"");
  expect_bad("reference/x.cpp", "#include <fmt/format.h>");
  expect_good("tests/gradients/x.cpp", "#include \"reference/encoder.h\"");
  expect_good("reference/x.cpp", "#include \"reference/tensor.h\"");
}

TEST(Policy, IncludesAreWrittenFromTheRoot) {
  expect_bad("lib/io/x.cpp", "#include \"file.h\"");
}

TEST(Policy, ThirdPartyLibrariesStayInTheirRooms) {
  expect_bad("lib/core/x.cpp", "#include <CLI/CLI.hpp>");
  expect_bad("lib/core/x.cpp", "#include <spdlog/spdlog.h>");
  expect_bad("lib/data/x.cpp", "#include <htslib/faidx.h>");
  expect_bad("apps/x.cpp", "#include <zlib.h>");
  expect_bad("lib/data/x.cpp", "#include <sentencepiece_processor.h>");
  expect_bad("lib/model/x.cpp", "#include <oneapi/dnnl/dnnl.hpp>");
  expect_bad("lib/io/x.h", "#include <nlohmann/json.hpp>");
  expect_bad("lib/io/x.cpp", "#include <gtest/gtest.h>");
  expect_good("lib/io/x.cpp", "#include <nlohmann/json.hpp>");
  expect_good("lib/io/x.cpp", "#include <htslib/faidx.h>");
  expect_good("lib/core/x.cpp", "#include <fmt/format.h>");
}

TEST(Policy, TheLibraryNeitherPrintsNorEndsTheProcess) {
  expect_bad("lib/core/x.cpp", "#include <iostream>");
  expect_bad("lib/core/x.cpp", "std::cerr << 1;");
  expect_bad("kernels/cpu/x.cpp", "std::printf(\"%d\", 1);");
  expect_bad("lib/data/x.cpp", "fprintf (out, \"x\");");
  expect_bad("lib/data/x.cpp", "std::fputs(text, file);");
  expect_bad("reference/x.cpp", "if (bad) std::exit(1);");
  expect_bad("lib/data/x.cpp", "abort();");
  expect_good("lib/data/x.cpp", "std::snprintf(buffer, 8, \"x\");");
  expect_good("lib/data/x.cpp", "const bool stop = guard.exit();");
  expect_good("lib/data/x.cpp", "// Unlike std::cerr, abort() and printf(), this throws.");
  expect_good("lib/data/x.cpp", "throw_runtime(\"printf( and exit( are only words here\");");
  expect_good("apps/x.cpp", "std::cerr << 1;");
}

TEST(Policy, TheLibraryKnowsNoCommandLine) {
  expect_bad("lib/data/x.cpp", "throw_usage(\"--lr 2: must lie between 0 and 1\");");
  expect_bad("lib/data/x.cpp", "const char* hint = \"run it with \" + name + \" --force\";");
  expect_bad("lib/data/x.cpp", "const char* text = R\"(see bigbird --help)\";");
  expect_good("lib/data/x.cpp", "throw_usage(\"`learning_rate` 2: must lie between 0 and 1\");");
  expect_good("lib/data/x.cpp", "if (--left == 0) f(\"a -- b\", \"|---|\");  // unlike --help");
  expect_good("lib/data/x.cpp", "f(\"a\", --left, \"b\");");
  expect_good("apps/x.cpp", "throw_usage(\"--lr 2: must lie between 0 and 1\");");
  expect_good("lib/training/run_folder.cpp", "if (name == \"--lr\") return \"learning_rate\";");
}

TEST(Policy, RandomNumbersAndThreadsHaveOneSource) {
  expect_bad("lib/data/x.cpp", "std::mt19937 generator(1);");
  expect_bad("apps/x.cpp", "const int r = rand();");
  expect_bad("lib/data/x.cpp", "std::uniform_int_distribution<int> pick(0, 1);");
  expect_bad("lib/data/x.cpp", "std::thread worker(run);");
  expect_bad("kernels/cpu/x.cpp", "#pragma omp parallel for");
  expect_good("kernels/parallel.h", "std::thread worker(run);");
  expect_good("tests/unit/core/x.cpp", "std::thread worker(run);");
}

TEST(Policy, NothingUnfinishedStaysBehind) {
  expect_bad("lib/data/x.cpp", std::string("// TO") + "DO: later");
  expect_bad("tests/unit/core/x.cpp", std::string("EXPECT_TRUE") + "(true);");
  expect_good("lib/data/x.cpp", "// Mastodon is one word.");
}

TEST(Policy, FilesOpenWithACommentStayShortAndGuardTheirHeaders) {
  EXPECT_EQ(violations("lib/core/x.cpp", "#include <string>\n").size(), 1u);
  EXPECT_EQ(violations("lib/core/x.cpp", "").size(), 1u);
  EXPECT_EQ(violations("lib/core/x.h", "// What for.\nint f();\n").size(), 1u);
  std::string longest = "// What for.\n";
  for (int i = 1; i < 600; ++i) longest += "\n";
  EXPECT_EQ(joined(violations("lib/core/x.cpp", longest)), "");
  EXPECT_EQ(violations("lib/core/x.cpp", longest + "\n").size(), 1u);
}

TEST(Policy, CommentsAndLiteralsAreNotCode) {
  EXPECT_EQ(code_only("a /* b\nc */ d // e\nf"), "a     \n     d     \nf");
  EXPECT_EQ(code_only("f(\"a\\\"b\", 'c', 1'000);"), "f(\"    \", ' ', 1'000);");
  EXPECT_EQ(code_only("x = R\"(a\"b)\"; y"), "x =         ; y");
}

// The types that a file defines at the level of a namespace that others can reach, each with its namespace.
std::vector<std::string> reachable_types(const std::string& text) {
  static const std::regex opens("^namespace ([\\w:]+) \\{"),
      type("^(?:struct|class|enum class) (\\w+)(?: final)?(?: :[^:;{][^;{]*)? \\{");
  std::vector<std::string> types;
  std::string space;
  bool own = false;
  for (const std::string& line : lines_of(text)) {
    std::smatch found;
    if (line == "namespace {") own = true;
    if (line.rfind("}  // namespace", 0) == 0) own = false;
    if (std::regex_search(line, found, opens)) space = found[1];
    if (!own && std::regex_search(line, found, type)) types.push_back(space + "::" + found[1].str());
  }
  return types;
}

// Two types of one name are undefined behaviour that no compiler or linker reports: one's destructor may run
// for the other.
TEST(Policy, NoTwoTypesHaveOneName) {
  const std::string file =
      "namespace a {\nclass X : public Y {\n};\nclass X::Z {\n};\nnamespace {\nstruct Own {\n};\n}  // namespace\n"
      "enum class E { one };\nstruct F;\n}  // namespace a\n";
  EXPECT_EQ(reachable_types(file), (std::vector<std::string>{"a::X", "a::E"}));
  std::map<std::string, std::string> known;
  for (const std::string& path : source_files(testing::source_dir())) {
    const bool program = path.rfind("lib/", 0) == 0 || path.rfind("apps/", 0) == 0;
    const bool kernel = path.rfind("kernels/", 0) == 0 && path.rfind("kernels/cpu/levels/", 0) != 0;
    if (!program && !kernel) continue;
    for (const std::string& type : reachable_types(testing::read_text(testing::source_dir() / path))) {
      const auto [at, is_new] = known.emplace(type, path);
      EXPECT_TRUE(is_new) << type << " of " << path << " and of " << at->second;
    }
  }
  EXPECT_GT(known.size(), 500u);
}

}  // namespace
}  // namespace bigbird::policy
