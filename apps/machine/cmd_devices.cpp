// `bigbird devices`: what --device can be on this machine, and why there is nothing but the cpu where so.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/product_tables.h"
#include "kernels/devices.h"
#include "kernels/errors.h"
#include "lib/bench/machine_products.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/core/ordered_map.h"
#include "lib/core/progress.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

// What the processor computes, and what --precision bf16 would be on it: how it multiplies and why, and how
// fast a layer of BigBird-base's feed-forward part is.
struct Cpu {
  std::string fp32, bf16, shape;
  double fp32_rate = 0, bf16_rate = 0;  // GFLOP/s
  double gain() const { return bf16_rate / fp32_rate; }
};

Cpu look_at_cpu() {
  const LinearProduct::Shape shape{1024, 3072, 768};
  const auto exact = kernels::make_cpu_backend(),
             rounded = kernels::make_cpu_backend(kernels::Precision::bf16);
  return {exact->details(), rounded->details(), shape.text(), best_rate(*exact, shape) * 1e-9,
          best_rate(*rounded, shape) * 1e-9};
}

// What is to know besides the list, a line each.
std::vector<std::string> facts_of(const kernels::CudaStatus& cuda, const Cpu& cpu) {
  std::vector<std::string> facts;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.push_back(fmt::format("{}: {}", name, value));
  };
  add("CUDA", cuda.versions);
  add(cuda.devices.empty() ? "no CUDA" : "left out", cuda.why);
  add("hint", cuda.hint);
  add("CUDA kernels", cuda.architectures);
  for (const kernels::CudaDevice& device : cuda.devices) {
    if (device.was_run) continue;
    facts.push_back(
        fmt::format("cuda:{}: never run on this kind of card (compute capability {}.{}): the kernels were "
                    "compiled for it and tested on an emulated device only",
                    device.index, device.major, device.minor));
  }
  add("bf16 on the processor", cpu.bf16);
  add("products on the processor",
      fmt::format("{}, {:.0f} GFLOP/s in fp32, {:.0f} in bf16, {:.1f} times as fast", cpu.shape,
                  cpu.fp32_rate, cpu.bf16_rate, cpu.gain()));
  return facts;
}

std::string as_table(const kernels::CudaStatus& cuda, const Cpu& cpu) {
  std::string text = "device\tname\tcompute_capability\tmultiprocessors\tmemory_bytes\tfree_bytes\n";
  text += fmt::format("cpu\t{}\tNA\tNA\tNA\tNA\n", cpu.fp32);
  for (const kernels::CudaDevice& device : cuda.devices) {
    text += fmt::format("cuda:{}\t{}\t{}.{}\t{}\t{}\t{}\n", device.index, device.name, device.major,
                        device.minor, device.multiprocessors, device.memory, device.free_memory);
  }
  return text;
}

// Of the products of BigBird-base: how many cuBLASLt was asked for, and which it has no algorithm for.
Json products_of(const kernels::CudaDevice& device) {
  Json products;
  for (const auto& [precision, name] : kernels::precision_names) {
    try {
      std::size_t asked = 0;
      Json refused = Json::array();
      for (const kernels::ProductOffer& offer : kernels::base_model_products(device.index, precision)) {
        ++asked;
        const std::string text = fmt::format("{}: {} x {} x {}", offer.what, offer.m, offer.n, offer.k);
        if (!offer.offered) refused.push_back(text);
      }
      products[name] = {{"asked", asked}, {"refused", refused}};
    } catch (const kernels::DeviceError& error) {
      products[name] = {{"why", error.what()}};
    }
  }
  return products;
}

Json as_json(const kernels::CudaStatus& cuda, const Cpu& cpu) {
  Json devices = Json::array();
  for (const kernels::CudaDevice& device : cuda.devices) {
    devices.push_back({{"device", fmt::format("cuda:{}", device.index)},
                       {"name", device.name},
                       {"compute_capability", fmt::format("{}.{}", device.major, device.minor)},
                       {"multiprocessors", device.multiprocessors},
                       {"memory_bytes", device.memory},
                       {"free_bytes", device.free_memory},
                       {"was_run", device.was_run},
                       {"products_of_base_model", products_of(device)}});
  }
  const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
  return {{"cpu", cpu.fp32},
          {"cpu_bf16", cpu.bf16},
          {"cpu_products",
           {{"shape", cpu.shape},
            {"fp32_gflops", cpu.fp32_rate},
            {"bf16_gflops", cpu.bf16_rate},
            {"bf16_gain", cpu.gain()}}},
          {"cuda",
           {{"built_in", cuda.built_in},
            {"kernels", text(cuda.architectures)},
            {"versions", text(cuda.versions)},
            {"why", text(cuda.why)},
            {"hint", text(cuda.hint)},
            {"devices", devices}}}};
}

// What --tune measures: the model's products, for micro-batches of so many tokens.
struct TuneRequest {
  int index = 0;
  std::string precision = "bf16";
  std::string model;  // empty: BigBird-base
  std::vector<std::int64_t> tokens{4096, 8192, 16384, 32768};
};

// Masked tokens come in multiples of 64 (the model pads them), 15 % of the tokens and a little around it.
std::vector<kernels::ProductSizes> sizes_of(const TuneRequest& request) {
  kernels::ProductSizes model;
  if (!request.model.empty()) {
    const ModelConfig config = ModelFolder(request.model).config();
    model.width = config.hidden_size;
    model.intermediate = config.intermediate_size;
    model.vocabulary = config.vocab_size;
  }
  std::vector<kernels::ProductSizes> sizes;
  for (const std::int64_t tokens : request.tokens) {
    const std::int64_t masked = (15 * tokens + 6399) / 6400 * 64;
    for (const std::int64_t predictions : {masked, masked - 64, masked + 64}) {
      if (predictions <= 0) continue;
      model.tokens = tokens;
      model.predictions = std::min(predictions, tokens);
      model.sequences = std::max<std::int64_t>(tokens / 4096, 1);
      sizes.push_back(model);
    }
  }
  return sizes;
}

// N of "cuda:N"; 0 for "cuda" and "auto".
int cuda_index(const std::string& device) {
  int index = 0;
  if (device == "cuda" || device == "auto") return index;
  const char* const end = device.data() + device.size();
  if (device.starts_with("cuda:")) {
    const auto parsed = std::from_chars(device.data() + 5, end, index);
    if (parsed.ec == std::errc() && parsed.ptr == end && index >= 0) return index;
  }
  throw_usage("devices: --device " + device + " is not a CUDA device",
              "use auto, cuda or cuda:N; `bigbird devices` lists what there is");
}

void tune(const TuneRequest& request) {
  const kernels::Precision precision =
      find_value(kernels::precision_names, request.precision).value_or(kernels::Precision::bf16);
  std::optional<Progress> progress;
  kernels::ProductTable table;
  try {
    table = kernels::tune_products(request.index, precision, sizes_of(request),
                                   [&](const std::string& what, std::size_t done, std::size_t all) {
                                     throw_if_cancelled();
                                     if (!progress) progress.emplace("devices", all, "products");
                                     if (done > 0) progress->advance(1, what);
                                   });
  } catch (const kernels::DeviceError& error) {
    throw_environment(fmt::format("--tune: {}", error.what()), "`bigbird devices` lists what there is");
  } catch (const kernels::OutOfMemory& error) {
    throw_environment(fmt::format("--tune: cuda:{} is full: {}", request.index, error.what()),
                      "take fewer --tokens");
  }
  progress.reset();
  write_output("-", table.text());
  double before = 0, after = 0;
  for (const auto& [key, choice] : table.choices) {
    before += choice.first_microseconds;
    after += choice.microseconds;
  }
  log_info(fmt::format("{} products: {:.0f} us, as cuBLASLt chooses {:.0f} us; written to {}",
                       table.choices.size(), after, before, write_product_table(table)));
}

}  // namespace

int cmd_devices(int argc, char** argv) {
  Verb verb("devices", "List the devices to compute on, or the reason why there is no CUDA device.",
            {"bigbird devices", "bigbird devices --json", "bigbird devices --tune"});
  bool json = false, tunes = false;
  TuneRequest request;
  std::string device = "auto";
  verb.add_flag("--json", json, "Print JSON instead of a table");
  CLI::Option* const tuning = verb.add_flag(
      "--tune", tunes,
      "Measure the products of a training step on a CUDA device: which of cuBLASLt's algorithms are fastest, and "
      "whether GELU and bias gradients are faster as part of a product or after it. The result is kept in the "
      "cache folder for every later run on that device");
  // It does not need --tune: BIGBIRD_DEVICE may be set for other verbs.
  verb.add_option("--device {auto,cuda,cuda:N}", device,
                  "Device that --tune measures (default: the first CUDA device)");
  verb.add_option("-m,--model FOLDER", request.model,
                  "Model folder whose sizes --tune takes (default: the sizes of BigBird-base)")
      ->needs(tuning);
  verb.add_option("--tokens", request.tokens, "Tokens of a micro-batch for --tune, separated by commas",
                  CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
      ->delimiter(',')
      ->needs(tuning);
  verb.add_option("--precision", request.precision,
                  "Matrix products that --tune measures: fp32, tf32 or bf16",
                  CLI::IsMember({"fp32", "tf32", "bf16"}))
      ->needs(tuning);
  verb.add_threads();
  if (!verb.parse(argc, argv)) return 0;
  if (tunes) {
    request.index = cuda_index(device);
    tune(request);
    return 0;
  }

  const kernels::CudaStatus cuda = kernels::cuda_status(kernels::FreeMemory::ask);
  const Cpu cpu = look_at_cpu();
  if (!json) {
    for (const std::string& fact : facts_of(cuda, cpu)) log_info(fact);
  }
  write_output("-", json ? json_text(as_json(cuda, cpu), 2) + "\n" : as_table(cuda, cpu));
  return 0;
}

}  // namespace bigbird::apps
