// `bigbird devices`: what --device can be on this machine, and why there is nothing but the cpu where so.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "kernels/devices.h"
#include "lib/io/files/file.h"

namespace bigbird::apps {
namespace {

using Json = nlohmann::ordered_json;

std::string as_table(const kernels::CudaStatus& cuda, const std::string& cpu, const std::string& cpu_bf16) {
  std::string text;
  if (!cuda.versions.empty()) text += fmt::format("##cuda={}\n", cuda.versions);
  if (!cuda.why.empty())
    text += fmt::format("##{}={}\n", cuda.devices.empty() ? "no_cuda" : "left_out", cuda.why);
  if (!cuda.hint.empty()) text += fmt::format("##hint={}\n", cuda.hint);
  text += fmt::format("##cpu_bf16={}\n", cpu_bf16);
  text += "#device\tname\tcompute_capability\tmultiprocessors\tmemory_bytes\tfree_bytes\n";
  text += fmt::format("cpu\t{}\t.\t.\t.\t.\n", cpu);
  for (const kernels::CudaDevice& device : cuda.devices) {
    text += fmt::format("cuda:{}\t{}\t{}.{}\t{}\t{}\t{}\n", device.index, device.name, device.major,
                        device.minor, device.multiprocessors, device.memory, device.free_memory);
  }
  return text;
}

Json as_json(const kernels::CudaStatus& cuda, const std::string& cpu, const std::string& cpu_bf16) {
  Json devices = Json::array();
  for (const kernels::CudaDevice& device : cuda.devices) {
    devices.push_back({{"device", fmt::format("cuda:{}", device.index)},
                       {"name", device.name},
                       {"compute_capability", fmt::format("{}.{}", device.major, device.minor)},
                       {"multiprocessors", device.multiprocessors},
                       {"memory_bytes", device.memory},
                       {"free_bytes", device.free_memory}});
  }
  const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
  return {{"cpu", cpu},
          {"cpu_bf16", cpu_bf16},
          {"cuda",
           {{"built_in", cuda.built_in},
            {"versions", text(cuda.versions)},
            {"why", text(cuda.why)},
            {"hint", text(cuda.hint)},
            {"devices", devices}}}};
}

}  // namespace

int cmd_devices(int argc, char** argv) {
  Verb verb("devices", "List what can be computed on, or say why there is no CUDA device.",
            {"bigbird devices", "bigbird devices --json"});
  bool json = false;
  verb.app().add_flag("--json", json, "JSON instead of a table");
  verb.add_threads();
  if (!verb.parse(argc, argv)) return 0;

  const kernels::CudaStatus cuda = kernels::cuda_status(kernels::FreeMemory::ask);
  const std::string cpu = kernels::make_cpu_backend()->details();
  // What --precision bf16 would be here: how it multiplies, and why.
  const std::string cpu_bf16 = kernels::make_cpu_backend(kernels::Precision::bf16)->details();
  OutputStream out("-");
  out.write(json ? as_json(cuda, cpu, cpu_bf16).dump(2) + "\n" : as_table(cuda, cpu, cpu_bf16));
  out.close();
  return 0;
}

}  // namespace bigbird::apps
