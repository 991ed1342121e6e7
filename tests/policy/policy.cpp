// Line-by-line checks over comment-free code; see policy.h.
#include "tests/policy/policy.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

#include "tests/policy/lines.h"

namespace bigbird::policy {
namespace {

constexpr std::size_t line_limit = 600;
constexpr std::size_t function_limit = 60;  // of apps: what is longer does work that belongs in lib

// The floors of lib, the highest first. A room may include itself and the rooms of every floor below; rooms
// of one floor know nothing of each other.
const std::vector<std::vector<std::string_view>>& floors_of_lib() {
  static const std::vector<std::vector<std::string_view>> floors = {{"report", "describe", "bench"},
                                                                    {"quantization"},
                                                                    {"genomics", "text"},
                                                                    {"calibration"},
                                                                    {"inference", "finetuning"},
                                                                    {"training", "theory"},
                                                                    {"model_folder"},
                                                                    {"model"},
                                                                    {"data", "genomes"},
                                                                    {"tokenization", "parts"},
                                                                    {"io", "metrics"},
                                                                    {"core"}};
  return floors;
}

// What apps may include of lib/training: settings of a run, and the calls that start one.
constexpr std::array<std::string_view, 5> training_for_apps = {
    "lib/training/evaluation_run.h", "lib/training/pretraining.h", "lib/training/rank_team.h",
    "lib/training/rate_sweep.h", "lib/training/run_options.h"};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}
bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// Whether `word` stands in `line` as a whole word; as a call, it must be followed by '('.
bool has_word(std::string_view line, std::string_view word, bool as_call = false) {
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const bool starts = at == 0 || !is_word(line[at - 1]);
    std::size_t end = at + word.size();
    if (!starts || (end < line.size() && is_word(line[end]))) continue;
    if (!as_call) return true;
    while (end < line.size() && line[end] == ' ') ++end;
    const bool member = at > 0 && (line[at - 1] == '.' || line[at - 1] == '>');
    if (end < line.size() && line[end] == '(' && !member) return true;
  }
  return false;
}

// The room of a path: "genomics" of lib/genomics/variants/run.h; empty when the path is not in lib.
std::string_view room_of(std::string_view path) {
  return starts_with(path, "lib/") ? path.substr(4, path.find('/', 4) - 4) : std::string_view();
}

// The floor of a path's room, 0 the highest; -1 when lib has no such room.
int floor_of(std::string_view path) {
  for (std::size_t floor = 0; floor < floors_of_lib().size(); ++floor) {
    for (const std::string_view room : floors_of_lib()[floor]) {
      if (room == room_of(path)) return static_cast<int>(floor);
    }
  }
  return -1;
}

// The folders of rooms that are cut further, each with the folders of the same room that it may include. A
// room without a row here has no folders of its own.
struct SubRoom {
  std::string_view folder;
  std::vector<std::string_view> may_include;
};
const std::vector<SubRoom>& sub_rooms() {
  static const std::vector<SubRoom> rooms = {
      {"lib/genomes/copies", {}},
      {"lib/genomes/liftover", {}},
      {"lib/genomes/simulate", {}},
      {"lib/genomics", {}},
      {"lib/genomics/chromatin", {"lib/genomics"}},
      {"lib/genomics/promoter", {"lib/genomics"}},
      {"lib/genomics/variants", {"lib/genomics"}},
      {"lib/text", {}},
      {"lib/text/classify", {"lib/text"}},
      {"lib/text/tag", {"lib/text"}},
      {"lib/text/qa", {"lib/text"}},
      {"lib/text/qa/hotpotqa", {"lib/text", "lib/text/qa"}},
      {"lib/text/qa/natural_questions", {"lib/text", "lib/text/qa"}},
      {"lib/text/qa/squad", {"lib/text", "lib/text/qa"}},
      {"lib/text/qa/triviaqa", {"lib/text", "lib/text/qa"}},
      {"lib/text/qa/wikihop", {"lib/text", "lib/text/qa"}},
      {"lib/text/generate", {"lib/text", "lib/text/search"}},
      {"lib/text/search", {"lib/text"}},
      {"lib/text/summarize", {"lib/text", "lib/text/search"}},
      {"lib/text/hibert", {"lib/text", "lib/text/search", "lib/text/summarize"}},
      {"lib/model", {}},
      {"lib/model/network", {"lib/model", "lib/model/plans"}},
      {"lib/model/plans", {"lib/model"}},
      {"lib/io/files", {}},
      {"lib/io/genome", {"lib/io/files", "lib/io/tables"}},
      {"lib/io/tables", {"lib/io/files"}},
      {"lib/io/text", {"lib/io/files"}},
      {"lib/io/weights", {"lib/io/files"}},
  };
  return rooms;
}

// Empty when a file of a room may include another of the same room (lib/io/files/x.h and the like), else why
// not.
std::string forbidden_within_room(std::string_view file, std::string_view target) {
  const std::string_view from = file.substr(0, file.rfind('/'));
  const std::string_view to = target.substr(0, target.rfind('/'));
  if (from == to) return "";
  for (const SubRoom& room : sub_rooms()) {
    if (room.folder != from) continue;
    const bool allowed =
        std::find(room.may_include.begin(), room.may_include.end(), to) != room.may_include.end();
    return allowed ? "" : "the arrow between these folders points the other way, or there is none";
  }
  return "this folder is not in the picture of docs/architecture.md";
}

// Empty when apps may include this file of lib, else why not.
std::string forbidden_to_apps(std::string_view target) {
  if (starts_with(target, "lib/model/network/")) return "apps computes nothing: no network is run from there";
  const bool allowed =
      !starts_with(target, "lib/training/") ||
      std::find(training_for_apps.begin(), training_for_apps.end(), target) != training_for_apps.end();
  return allowed ? "" : "apps takes run_options.h of lib/training, and what starts a run";
}

bool is_kernel_interface(std::string_view path) {
  if (starts_with(path, "kernels/ranks/")) return ends_with(path, ".h") && !ends_with(path, "/mpi_table.h");
  return starts_with(path, "kernels/") && path.find('/', 8) == std::string_view::npos &&
         ends_with(path, ".h");
}

// Empty when `file` may include "target" (our own headers), else why not.
std::string forbidden_own_include(std::string_view file, std::string_view target) {
  const bool test = starts_with(file, "tests/");
  if (starts_with(target, "tests/")) return test ? "" : "only tests include tests/";
  if (starts_with(target, "reference/"))
    return test || starts_with(file, "reference/") ? "" : "only tests include reference/";
  if (starts_with(file, "reference/")) return "reference/ includes the standard library and itself only";
  if (test) return "";
  if (starts_with(target, "apps/")) return starts_with(file, "apps/") ? "" : "only apps include apps/";
  if (starts_with(target, "lib/")) {
    if (starts_with(file, "apps/")) return forbidden_to_apps(target);
    if (starts_with(file, "kernels/")) return "kernels/ includes kernels/ only";
    if (floor_of(target) < 0 || floor_of(file) < 0) return "there is no such room in lib/";
    if (room_of(file) == room_of(target)) return forbidden_within_room(file, target);
    return floor_of(file) < floor_of(target)
               ? ""
               : "the arrow between these rooms points the other way, or there is none";
  }
  if (starts_with(target, "kernels/")) {
    // The layer of the kernels stands on the device or on its emulation.
    if (file == "kernels/cuda/device.cuh" && target == "kernels/cuda/emulation/device_emulation.h") return "";
    if (!is_kernel_interface(target)) {
      const std::string_view folder = target.substr(0, target.rfind('/') + 1);
      const bool registry = starts_with(file, "kernels/") && file.find('/', 8) == std::string_view::npos;
      const bool backend =
          starts_with(file, "kernels/cuda/") && starts_with(folder, "kernels/cuda/attention/");
      return starts_with(file, folder) || registry || backend
                 ? ""
                 : "only the interface kernels/*.h and kernels/ranks/*.h may be included from here";
    }
    const bool everywhere = target == "kernels/philox.h" || target == "kernels/parallel.h";
    const bool above = floor_of(file) >= 0 && floor_of(file) <= floor_of("lib/model/");
    const bool user = above || starts_with(file, "apps/") || starts_with(file, "kernels/");
    return everywhere || user ? "" : "the kernel interface is for lib/model and the rooms above it";
  }
  return "write includes of our own headers from the repository's root";
}

struct Confinement {
  std::string_view header;  // prefix of what stands between the brackets
  std::string_view room;    // prefix of the paths that may include it, besides tests/
};
constexpr std::array<Confinement, 14> confinements = {{{"CLI/", "apps/"},
                                                       {"mpi.h", "kernels/ranks/mpi_plugin"},
                                                       {"spdlog/", "apps/"},
                                                       {"htslib/", "lib/io/"},
                                                       {"zlib.h", "lib/io/"},
                                                       {"bigWig", "tests/"},
                                                       {"hdf5", "lib/io/"},
                                                       {"matio", "lib/io/"},
                                                       {"expat", "lib/io/"},
                                                       {"sentencepiece", "lib/tokenization/"},
                                                       {"unicode/", "lib/core/unicode"},
                                                       {"oneapi/", "tests/"},
                                                       {"dnnl", "tests/"},
                                                       {"gtest/", "tests/"}}};

// The files that speak to CUDA itself, and a test's stand-in for one of its libraries; all others do it
// through them.
constexpr std::array<std::string_view, 4> cuda_files = {
    "kernels/cuda/device_nvidia.cuh", "kernels/cuda/runtime.cu", "kernels/cuda/gemm_cublaslt.cpp",
    "tests/cublaslt/fake_cublaslt.cpp"};

bool speaks_cuda(std::string_view file) {
  return std::find(cuda_files.begin(), cuda_files.end(), file) != cuda_files.end() ||
         starts_with(file, "tests/cublaslt/");
}

// Whether the word is CUDA's: cudaMalloc, cublasLtMatmul, atomicAdd, threadIdx, __syncthreads and their kin.
bool is_cuda_name(std::string_view word) {
  for (const std::string_view family : {"cuda", "cublas", "atomic"}) {
    if (starts_with(word, family) && word.size() > family.size() &&
        std::isupper(static_cast<unsigned char>(word[family.size()])) != 0) {
      return true;
    }
  }
  for (const std::string_view name :
       {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "__device__", "__host__", "__global__",
        "__constant__", "__launch_bounds__"}) {
    if (word == name) return true;
  }
  for (const std::string_view prefix : {"__sync", "__shared", "__shfl", "__ballot", "__any", "__all", "__ld",
                                        "__st", "__nv", "__half", "__float2", "__bfloat", "__CUDA"}) {
    if (starts_with(word, prefix)) return true;
  }
  return false;
}

// The first CUDA name in a line of code; empty when there is none.
std::string cuda_name(std::string_view line) {
  for (std::size_t at = 0; at < line.size();) {
    std::size_t end = at;
    while (end < line.size() && is_word(line[end])) ++end;
    if (is_cuda_name(line.substr(at, end - at))) return std::string(line.substr(at, end - at));
    at = end + 1;
  }
  return line.find("<<<") == std::string_view::npos ? "" : "<<<";
}

std::string forbidden_system_include(std::string_view file, std::string_view header) {
  if (starts_with(header, "cuda") || starts_with(header, "cublas")) {
    return speaks_cuda(file)
               ? ""
               : "<" + std::string(header) + "> is for device_nvidia.cuh, runtime.cu and gemm_cublaslt.cpp";
  }
  for (const Confinement& rule : confinements) {
    if (starts_with(header, rule.header) && !starts_with(file, rule.room) && !starts_with(file, "tests/")) {
      return "<" + std::string(header) + "> belongs to " + std::string(rule.room) + " only";
    }
  }
  if (starts_with(header, "nlohmann/") && ends_with(file, ".h"))
    return "nlohmann/json is for .cpp files only";
  if (header == "iostream" && !starts_with(file, "apps/") && !starts_with(file, "tests/"))
    return "only apps print";
  if (starts_with(file, "reference/") && header.find('/') != std::string_view::npos) {
    return "reference/ includes the standard library and itself only";
  }
  return "";
}

// What an #include line names: the opening delimiter and the header; empty for other lines.
std::string included(std::string_view line) {
  std::size_t at = line.find_first_not_of(' ');
  if (at == std::string_view::npos || line[at] != '#') return {};
  at = line.find_first_not_of(' ', at + 1);
  if (at == std::string_view::npos || !starts_with(line.substr(at), "include")) return {};
  at = line.find_first_of("<\"", at);
  if (at == std::string_view::npos) return {};
  const std::size_t end = line.find_first_of(">\"", at + 1);
  return end == std::string_view::npos ? std::string() : std::string(line.substr(at, end - at));
}

// The few files that may use what the rest may not, each for a reason.
struct Exemption {
  std::string_view file;
  std::string_view name;
};
constexpr std::array<Exemption, 13> exemptions = {{
    // Where __device__ gets a name of ours, and which of the two layers is taken.
    {"kernels/philox.h", "__CUDACC__"},
    {"kernels/philox.h", "__host__"},
    {"kernels/cuda/device.cuh", "__CUDACC__"},
    // NumPy's own generator, for plans that equal the published ones.
    {"lib/core/numpy_random.h", "std::mt19937"},
    {"lib/tokenization/sentencepiece_bpe_trainer.cpp", "std::thread"},  // a clock while the library computes
    {"lib/io/files/lease.cpp", "std::thread"},         // says that its process lives, whatever that does
    {"lib/training/update.cpp", "std::async"},         // makes batches while the device computes
    {"lib/inference/device_thread.h", "std::thread"},  // runs models on a device while the caller goes on
    {"lib/io/files/library_child.cpp", "_exit"},       // ends the child that it has made
    {"kernels/ranks/mpi_plugin.cpp", "_exit"},         // ends a rank that MPI_Finalize keeps for ever
    {"lib/training/run_folder.cpp", "--"},             // reads the names that an earlier version stored
    {"lib/parts/sharded_verbs.cpp", "--"},             // commands that a script runs
    {"lib/parts/slurm_script.cpp", "--"},
}};

bool is_exempt(std::string_view file, std::string_view name) {
  return std::any_of(exemptions.begin(), exemptions.end(),
                     [&](const Exemption& one) { return one.file == file && one.name == name; });
}

// "" or the reason why this line of code (no comments, no literals) may not stand in this file.
std::string forbidden_code(std::string_view file, std::string_view line) {
  const bool library =
      starts_with(file, "lib/") || starts_with(file, "kernels/") || starts_with(file, "reference/");
  if (library && !speaks_cuda(file) && included(line).empty()) {
    const std::string name = cuda_name(line);
    if (!name.empty() && !is_exempt(file, name))
      return "CUDA is reached through kernels/cuda/device.cuh and runtime.h: " + name;
  }
  if (library) {
    for (const std::string_view call :
         {"printf", "fprintf", "vprintf", "vfprintf", "puts", "fputs", "putchar", "perror"}) {
      if (has_word(line, call, true)) return "the library never prints: " + std::string(call);
    }
    for (const std::string_view call : {"exit", "_exit", "quick_exit", "abort", "terminate"}) {
      if (has_word(line, call, true) && !is_exempt(file, call))
        return "the library never ends the process: " + std::string(call);
    }
    for (const std::string_view stream : {"std::cout", "std::cerr", "std::clog", "stderr"}) {
      if (has_word(line, stream)) return "the library never prints: " + std::string(stream);
    }
    // lib/io owns "-" as a file name.
    if (has_word(line, "stdout") && !starts_with(file, "lib/io/")) return "the library never prints: stdout";
  }
  if (!starts_with(file, "tests/")) {
    for (const std::string_view generator :
         {"std::mt19937", "std::mt19937_64", "std::random_device", "std::shuffle"}) {
      if (has_word(line, generator) && !is_exempt(file, generator)) {
        return "random numbers come from lib/core/rng.h: " + std::string(generator);
      }
    }
    if (has_word(line, "rand", true)) return "random numbers come from lib/core/rng.h: rand";
    if (line.find("_distribution<") != std::string_view::npos)
      return "distributions of the standard library differ by platform";
    bool threads = line.find("#pragma omp") != std::string_view::npos;
    for (const std::string_view source : {"std::thread", "std::jthread", "std::async"}) {
      threads = threads || (has_word(line, source) && !is_exempt(file, source));
    }
    if (threads && file != "kernels/parallel.h") return "threads come from kernels/parallel.h";
  }
  return "";
}

// Words that admit something unfinished, and tests that cannot fail. Spelt in two parts: this file is judged
// as well.
std::string forbidden_text(std::string_view file, std::string_view line) {
  for (const std::string_view word : {"TO"
                                      "DO",
                                      "FIX"
                                      "ME",
                                      "XX"
                                      "X",
                                      "HA"
                                      "CK"}) {
    if (has_word(line, word)) return "finish it or leave it out: " + std::string(word);
  }
  if (!starts_with(file, "tests/")) return "";
  for (const std::string_view empty : {"EXPECT_TRUE"
                                       "(true)",
                                       "ASSERT_TRUE"
                                       "(true)",
                                       "SUC"
                                       "CEED()",
                                       "DIS"
                                       "ABLED_"}) {
    if (line.find(empty) != std::string_view::npos) return "a test that cannot fail";
  }
  return "";
}

// "" or why a literal of the library may not hold this. `text` is the line without comments, `code` the same
// without literals either.
std::string forbidden_literal(std::string_view file, std::string_view text, std::string_view code) {
  if (!starts_with(file, "lib/") || is_exempt(file, "--")) return "";
  for (std::size_t at = text.find("--"); at != std::string_view::npos; at = text.find("--", at + 1)) {
    const bool option = at + 2 < text.size() && std::islower(static_cast<unsigned char>(text[at + 2])) != 0;
    if (option && code[at] == ' ')
      return "the library knows no command line: name the setting, in backticks (lib/core/settings.h)";
  }
  return "";
}

// The first line (from 0) of a function that ends in line `end`: "}" where its first line begins, with what
// lies between further in. `end` itself where there is none.
std::size_t function_begin(const std::vector<std::string>& code, std::size_t end) {
  const std::size_t indent = code[end].find('}');
  if (indent == std::string::npos || indent > 2 || code[end].size() != indent + 1) return end;
  for (std::size_t at = end; at-- > 0;) {
    const std::size_t first = code[at].find_first_not_of(' ');
    if (first != std::string::npos && first <= indent) return at;
  }
  return end;
}

// The text with comments blanked out, and literals as well where asked; lines and columns stay.
std::string without_comments(const std::string& text, bool without_literals) {
  std::string out = text;
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to && i < out.size(); ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
  };
  std::size_t i = 0;
  while (i < text.size()) {
    std::size_t end = i + 1;
    if (text.compare(i, 2, "//") == 0) {
      end = std::min(text.find('\n', i), text.size());
      blank(i, end);
    } else if (text.compare(i, 2, "/*") == 0) {
      end = text.find("*/", i + 2);
      end = end == std::string::npos ? text.size() : end + 2;
      blank(i, end);
    } else if (text.compare(i, 2, "R\"") == 0 && (i == 0 || !is_word(text[i - 1]))) {
      const std::size_t open = text.find('(', i);
      const std::string closing = ")" + text.substr(i + 2, open - i - 2) + "\"";
      end = text.find(closing, open);
      end = end == std::string::npos ? text.size() : end + closing.size();
      if (without_literals) blank(i, end);
    } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || !is_word(text[i - 1])))) {  // not 10'000
      while (end < text.size() && text[end] != text[i] && text[end] != '\n')
        end += text[end] == '\\' ? 2u : 1u;
      if (without_literals) blank(i + 1, end);
      end = std::min(end + 1, text.size());
    }
    i = end;
  }
  return out;
}

}  // namespace

std::string code_only(const std::string& text) {
  return without_comments(text, true);
}

std::vector<std::string> violations(const std::string& path, const std::string& text) {
  std::vector<std::string> found;
  const auto report = [&](std::size_t line, const std::string& reason) {
    if (!reason.empty()) found.push_back(path + ":" + std::to_string(line) + ": " + reason);
  };
  const std::vector<std::string> lines = lines_of(text);
  const std::vector<std::string> code = lines_of(code_only(text));
  const std::vector<std::string> uncommented = lines_of(without_comments(text, false));
  if (lines.empty() || !starts_with(lines[0], "//"))
    report(1, "a file opens with a comment that says what it is for");
  if (lines.size() > line_limit) report(lines.size(), "over 600 lines: two rooms in one");
  const bool header = ends_with(path, ".h") || ends_with(path, ".cuh");
  if (header && std::find(lines.begin(), lines.end(), "#pragma once") == lines.end()) {
    report(1, "a header needs #pragma once");
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool commented_out = included(code[i]).empty() && code[i].find('#') == std::string::npos;
    const std::string target = commented_out ? std::string() : included(lines[i]);
    if (!target.empty()) {
      const std::string_view name = std::string_view(target).substr(1);
      report(i + 1,
             target[0] == '"' ? forbidden_own_include(path, name) : forbidden_system_include(path, name));
    }
    const std::size_t begin = function_begin(code, i);
    if (starts_with(path, "apps/") && i + 1 - begin > function_limit)
      report(begin + 1, "a function of over 60 lines: apps asks, calls lib and prints");
    report(i + 1, forbidden_code(path, code[i]));
    report(i + 1, forbidden_literal(path, uncommented[i], code[i]));
    report(i + 1, forbidden_text(path, lines[i]));
  }
  return found;
}

std::vector<std::string> source_files(const std::filesystem::path& root) {
  constexpr std::array<std::string_view, 5> extensions = {".h", ".cpp", ".cuh", ".cu", ".inc"};
  std::vector<std::string> files;
  for (const char* room : {"apps", "kernels", "lib", "reference", "tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / room)) {
      const std::string extension = entry.path().extension().string();
      if (entry.is_regular_file() &&
          std::find(extensions.begin(), extensions.end(), extension) != extensions.end()) {
        files.push_back(std::filesystem::relative(entry.path(), root).generic_string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace bigbird::policy
