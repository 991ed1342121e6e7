// The options that verbs share; see verb_options.h.
#include "apps/verb_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "apps/job_limits.h"
#include "apps/product_tables.h"
#include "kernels/devices.h"
#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {
namespace {

constexpr int most_threads = 1024;

// "nevr", not "-5", "2k", "nan" or a path: what stands where a number or a word is asked for.
bool is_word(const std::string& text) {
  if (text.empty() || text == "nan" || text == "inf") return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char letter) { return std::isalpha(letter) != 0; });
}

// N of "cuda:N"; 0 for "cuda" and "auto".
int cuda_index(const std::string& device) {
  int index = 0;
  if (const std::size_t colon = device.find(':'); colon != std::string::npos)
    std::from_chars(device.data() + colon + 1, device.data() + device.size(), index);
  return index;
}

void check_device(const std::string& verb, const std::string& device) {
  if (device == "auto" || device == "cpu" || device == "cuda") return;
  const std::string prefix = "cuda:";
  int index = 0;
  const char* end = device.data() + device.size();
  if (device.rfind(prefix, 0) == 0) {
    const auto parsed = std::from_chars(device.data() + prefix.size(), end, index);
    if (parsed.ec == std::errc() && parsed.ptr == end && index >= 0) return;
  }
  throw_usage(verb + ": --device " + device + " is not a device",
              "use auto, cpu, cuda or cuda:N; `bigbird devices` lists what there is");
}

// The device that was asked for, or with auto the first that can be had; null and why.
std::unique_ptr<kernels::Backend> first_cuda_backend(const std::string& device, kernels::CudaOptions options,
                                                     int rank_on_machine, std::string& why,
                                                     std::string& hint) {
  const bool has_number = device != "auto" && device != "cuda";
  if (has_number || (device == "cuda" && rank_on_machine == 0))
    return kernels::make_cuda_backend(options, why, hint);
  const kernels::CudaStatus status = kernels::cuda_status();
  why = status.why;
  hint = status.hint;
  // Ranks of a machine take its devices in turn; where each was given its own, each sees that one alone.
  if (rank_on_machine > 0 && !status.devices.empty()) {
    options.index = status.devices[static_cast<std::size_t>(rank_on_machine) % status.devices.size()].index;
    return kernels::make_cuda_backend(options, why, hint);
  }
  if (device == "cuda") return kernels::make_cuda_backend(options, why, hint);
  for (const kernels::CudaDevice& found : status.devices) {
    options.index = found.index;
    if (auto backend = kernels::make_cuda_backend(options, why, hint)) return backend;
  }
  return nullptr;
}

}  // namespace

CLI::Validator count_suffix() {
  const auto expand = [](std::string& text) -> std::string {
    const std::string problem =
        "'" + text + "' is not a count: digits, and K, M or G (thousands, millions, billions)";
    if (text.empty()) return problem;
    double scale = 1;
    std::size_t digits = text.size() - 1;
    switch (std::toupper(static_cast<unsigned char>(text.back()))) {
      case 'K':
        scale = 1e3;
        break;
      case 'M':
        scale = 1e6;
        break;
      case 'G':
        scale = 1e9;
        break;
      default:
        digits = text.size();
    }
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
    if (digits == 0 || error != std::errc() || end != text.data() + digits) return problem;
    if (scale == 1) return {};
    const double count = std::round(number * scale);
    if (std::abs(count - number * scale) > 1e-6 * scale || std::abs(count) > 9e15) return problem;
    text = fmt::format("{:.0f}", count);
    return {};
  };
  return CLI::Validator(expand, "", "count");
}

CLI::Option* VerbOptions::with_words(CLI::Option* option,
                                     const std::vector<std::pair<std::string, std::string>>& words,
                                     const std::optional<CLI::Validator>& check) {
  const bool number_expected = option->get_type_name() != "TIME";  // parse_duration says what one is
  const auto expand = [words, check, number_expected](std::string& text) {
    std::vector<std::string_view> known;
    for (const auto& [word, number] : words) {
      if (text == word) {
        text = number;
        return std::string();
      }
      if (is_word(word)) known.push_back(word);
    }
    if (number_expected && is_word(text))
      return fmt::format("'{}' is not a number, and not {}", text, fmt::join(known, " or "));
    return check ? (*check)(text) : std::string();
  };
  option->transform(CLI::Validator(expand, "", "word"));
  for (const auto& [word, number] : words)
    if (option->get_default_str() == number) {
      option->default_str(word);
      break;
    }
  return option;
}

void RandomModeOptions::add(VerbOptions& verb, const std::string& help) {
  verb.add_option("--random-mode {google,hf-train,hf-eval,none,file}", mode_, help);
  verb.add_option("--plan JSON", plan_,
                  "Attention plan for random mode file, as bigbird attention -o writes it");
}

void RandomModeOptions::apply(ModelConfig& config) const {
  if (!mode_.empty()) config.random_mode = parse_random_mode(mode_);
  if (config.random_mode != RandomMode::file) config.plan = nullptr;
  if (plan_.empty()) return;
  if (!mode_.empty() && config.random_mode != RandomMode::file) {
    throw_usage(fmt::format("--plan {} with --random-mode {}", plan_, mode_),
                "a plan is what random mode file computes: leave one of the two out");
  }
  config.random_mode = RandomMode::file;
  config.plan = std::make_shared<const PlanTable>(PlanTable::read(plan_));
}

void RandomModeOptions::apply(std::optional<RandomMode>& mode, std::shared_ptr<const PlanTable>& plan) const {
  if (!given()) return;
  ModelConfig typed;
  apply(typed);
  mode = typed.random_mode;
  plan = typed.plan;
}

VerbOptions::VerbOptions(std::string verb, const std::string& sentence)
    : verb_(std::move(verb)),
      app_(sentence, "bigbird " + verb_),
      refused_(std::make_shared<kernels::RefusedProducts>()) {}

void VerbOptions::add_threads() {
  has_threads_ = true;
  with_word(
      add_option(
          "-@,--threads", threads_,
          "Threads (default: OMP_NUM_THREADS, what Slurm, PBS, Grid Engine or LSF granted, or every core)",
          CLI::Range(0, most_threads)),
      "auto", "0")
      ->group("General");
}

void VerbOptions::add_seed(std::uint64_t value) {
  add_option("--seed", seed_.emplace(value), "Seed of every random choice")->group("General");
}

void VerbOptions::add_device() {
  has_device_ = true;
  add_option("--device {auto,cpu,cuda,cuda:N}", device_,
             "Device to compute on (default: the first CUDA device, or the cpu without one)")
      ->group("General");
}

void VerbOptions::add_precision() {
  precision_ = "auto";
  add_option("--precision", precision_,
             "Matrix products: fp32, tf32 (CUDA), or bf16 with sums in fp32, about three digits, faster "
             "where the processor multiplies bf16 (default: bf16 on CUDA, fp32 on the cpu)",
             CLI::IsMember({"auto", "fp32", "tf32", "bf16"}))
      ->group("General");
}

void VerbOptions::add_random_mode() {
  const OptionGroup group(*this, "Attention");
  random_mode_.add(*this, "Random blocks of attention (default: the model's own)");
}

void VerbOptions::add_attention() {
  const OptionGroup group(*this, "Attention");
  attention_.add(*this, "the model's own");
}

void VerbOptions::add_nondeterministic() {
  add_flag("--nondeterministic", nondeterministic_,
           "Add up attention's gradients in any order on CUDA: two runs differ in rounding, and the one H200 "
           "that was measured was slower so")
      ->group("General");
}

std::unique_ptr<kernels::Backend> VerbOptions::make_backend(const std::vector<std::string>& models) const {
  require_model_folders(models);
  std::string why, hint;
  if (device_ != "cpu") {
    const kernels::CudaOptions options{
        .index = cuda_index(device_),
        .precision = find_value(kernels::precision_names, precision_).value_or(kernels::Precision::bf16),
        .deterministic = !nondeterministic_,
        .remark = [](const std::string& line) { log_warning(line); },
        .refused = refused_,
        .product_table = read_product_table};
    if (auto backend = first_cuda_backend(device_, options, rank_on_machine_, why, hint)) {
      log_info("computing on " + backend->description());
      return backend;
    }
    if (device_ != "auto") throw_environment("--device " + device_ + ": " + why, hint);
  }
  const kernels::Precision precision =
      find_value(kernels::precision_names, precision_).value_or(kernels::Precision::fp32);
  if (precision == kernels::Precision::tf32) {
    throw_usage(fmt::format("{}: --precision tf32 computes on CUDA devices only", verb_),
                why.empty() ? "take --precision fp32, or --device cuda" : "take --precision fp32; " + why);
  }
  auto backend = kernels::make_cpu_backend(precision);
  log_info(fmt::format("computing in {} on {}{}", name_of(precision), backend->description(),
                       why.empty() ? "" : " (" + why + ")"));
  return backend;
}

void VerbOptions::add_stop_before() {
  add_option("--stop-before TIME", stop_before_,
             "Time before the end of the Slurm job (2m, 90s) at which to stop, as SIGTERM does: what is "
             "finished is kept, the status is 143");
}

void VerbOptions::add_force(const std::string& help) {
  add_flag("--force", force_, help)->group("General");
}

CLI::Option* VerbOptions::add_exclude(std::vector<std::string>& paths, const std::string& what) {
  return add_option("--exclude BED", paths,
                    "Regions to leave out, such as near-copies: " + what + "; may be repeated")
      ->allow_extra_args(false);
}

void VerbOptions::apply_options() {
  if (has_threads_ && threads_ == 0) {
    granted_ = granted_threads();
    if (granted_) threads_ = std::min(granted_->threads, most_threads);
  }
  if (has_threads_) kernels::set_thread_count(threads_);
  if (has_device_) check_device(verb_, device_);
  AttentionChoice& chosen = chosen_attention();
  chosen = {};
  random_mode_.apply(chosen.random_mode, chosen.plan);
  const AttentionChoice typed = attention_.choice();
  chosen.attention = typed.attention;
  chosen.options = typed.options;
  ModelConfig config;
  if (attention_.named()) apply_attention(typed, config);  // what is wrong is said before a folder is read
}

void VerbOptions::apply_job_limits() const {
  const std::optional<SlurmGrant> grant = slurm_grant();
  if (has_threads_ && grant) log_info(grant_text(*grant));
  if (granted_ && !grant) log_info(fmt::format("{} threads, by {}", threads_, granted_->variable));
  if (!stop_before_.empty()) stop_before_end(stop_before_);
}

}  // namespace bigbird::apps
