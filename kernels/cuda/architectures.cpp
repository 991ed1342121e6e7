// See architectures.h.
#include "kernels/cuda/architectures.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace bigbird::kernels::cuda {

namespace {

struct Capability {
  int major = 0;
  int minor = 0;
  bool alone = false;
};

Capability capability(const std::string& architecture) {
  const int number = std::stoi(architecture);
  return {number / 10, number % 10, architecture.back() == 'a'};
}

std::string listed_capabilities(const std::vector<std::string>& architectures) {
  std::string text;
  for (std::size_t i = 0; i < architectures.size(); ++i) {
    if (i > 0) text += i + 1 == architectures.size() ? " and " : ", ";
    text += capability_text(architectures[i]);
  }
  return text;
}

}  // namespace

bool operator==(const Architectures& one, const Architectures& other) {
  return one.machine_code == other.machine_code && one.ptx == other.ptx;
}

Architectures parse_architectures(const std::string& cmake_list) {
  Architectures built;
  for (std::size_t begin = 0; begin < cmake_list.size();) {
    const std::size_t end = std::min(cmake_list.find(';', begin), cmake_list.size());
    const std::string word = cmake_list.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    const std::size_t dash = std::min(word.find('-'), word.size());
    const std::string architecture = word.substr(0, dash), kind = word.substr(dash);
    if (architecture.empty() || std::isdigit(static_cast<unsigned char>(architecture[0])) == 0) return {};
    if (kind != "-virtual") built.machine_code.push_back(architecture);
    if (kind != "-real") built.ptx.push_back(architecture);
  }
  return built;
}

std::string capability_text(const std::string& architecture) {
  const Capability of = capability(architecture);
  return std::to_string(of.major) + "." + std::to_string(of.minor) + (of.alone ? "a" : "");
}

std::string architectures_text(const Architectures& built) {
  if (built.machine_code.empty() && built.ptx.empty()) return "machine code for devices that are not known";
  std::string text;
  if (!built.machine_code.empty()) text = "machine code for " + listed_capabilities(built.machine_code);
  if (!built.ptx.empty()) text += (text.empty() ? "" : ", ") + ("PTX for " + listed_capabilities(built.ptx));
  return text;
}

bool can_run(const Architectures& built, int major, int minor) {
  if (built.machine_code.empty() && built.ptx.empty()) return true;  // tried, and told by the first launch
  const auto runs_code = [&](const std::string& architecture) {
    const Capability of = capability(architecture);
    return of.major == major && (of.alone ? of.minor == minor : of.minor <= minor);
  };
  const auto runs_ptx = [&](const std::string& architecture) {
    const Capability of = capability(architecture);
    if (of.alone) return of.major == major && of.minor == minor;
    return of.major < major || (of.major == major && of.minor <= minor);
  };
  return std::any_of(built.machine_code.begin(), built.machine_code.end(), runs_code) ||
         std::any_of(built.ptx.begin(), built.ptx.end(), runs_ptx);
}

bool has_warpgroup_code(const Architectures& built) {
  return std::any_of(built.machine_code.begin(), built.machine_code.end(),
                     [](const std::string& word) { return word == "90" || word == "90a"; });
}

bool was_run(int major, int minor) {
  return major == 9 && minor == 0;  // an H200: docs/gpu.md
}

std::string no_code_for(int index, const std::string& name, int major, int minor) {
  return "cuda:" + std::to_string(index) + " (" + name + ") has compute capability " + std::to_string(major) +
         "." + std::to_string(minor) + ", for which this bigbird has no kernels: it holds " +
         architectures_text(built_architectures());
}

}  // namespace bigbird::kernels::cuda
