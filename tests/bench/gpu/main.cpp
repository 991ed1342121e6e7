// Speed and memory of bigbird on a GPU, at the sizes of BigBird-base; results as JSON for
// tests/gpu/verify.sh, which sets them beside other programs' of the same run. Timed by the host's clock
// between two moments when the device is idle, over milliseconds of recorded work; medians of many rounds.
//
//   bench_gpu [--device cuda[:N]|cpu] [--precision bf16|tf32|fp32] [--parts memory,attention,...]
//             [--rounds N] [--tiny] [--json FILE] [--products TABLE]
//
// TABLE: of `bigbird devices --tune`, for the products; without it cuBLASLt chooses.
// Exit codes: 0; 1 when a part failed (the others ran); 2 usage; 77 when there is no such device.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <string>

#include "lib/core/error.h"
#include "tests/bench/gpu/bench.h"

namespace {

using bigbird::bench::Options;
using bigbird::bench::Report;

struct Part {
  const char* name;
  void (*run)(const Options&, Report&);
};
constexpr Part parts[] = {
    {"memory", bigbird::bench::bench_memory},     {"attention", bigbird::bench::bench_attention},
    {"products", bigbird::bench::bench_products}, {"rows", bigbird::bench::bench_rows},
    {"step", bigbird::bench::bench_step},         {"step_profile", bigbird::bench::bench_step_profile},
    {"windows", bigbird::bench::bench_windows},   {"latency", bigbird::bench::bench_latency},
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--tiny") {
      options.tiny = true;
      options.rounds = 2;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    if (name == "--device") {
      options.device = value;
    } else if (name == "--json") {
      options.json = value;
    } else if (name == "--products") {
      options.products = value;
    } else if (name == "--rounds") {
      options.rounds = std::max(1, std::atoi(value.c_str()));
    } else if (name == "--precision" && (value == "bf16" || value == "tf32" || value == "fp32")) {
      options.precision = value == "bf16"   ? bigbird::kernels::Precision::bf16
                          : value == "tf32" ? bigbird::kernels::Precision::tf32
                                            : bigbird::kernels::Precision::fp32;
    } else if (name == "--parts") {
      options.parts.clear();
      std::stringstream list(value);
      for (std::string part; std::getline(list, part, ',');) options.parts.push_back(part);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(
        stderr,
        "usage: bench_gpu [--device cuda[:N]|cpu] [--precision bf16|tf32|fp32] [--parts A,B] [--rounds N] "
        "[--tiny] [--json FILE] [--products TABLE]\n");
    return 2;
  }
  try {
    std::string description;
    {
      Report none(Options{}, "");
      description = bigbird::bench::Bench(options, none).backend().description();
    }
    Report report(options, description);
    std::printf("%s\n", description.c_str());
    int failed = 0;
    for (const std::string& wanted : options.parts) {
      const Part* found = nullptr;
      for (const Part& part : parts)
        if (wanted == part.name) found = &part;
      if (found == nullptr) {
        std::fprintf(stderr, "bench_gpu: no part '%s'\n", wanted.c_str());
        return 2;
      }
      try {
        found->run(options, report);
      } catch (const std::exception& error) {
        report.skip(wanted, error.what());
        failed = 1;
      }
    }
    return failed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "SKIPPED: %s\n", error.what());
    return 77;
  }
}
