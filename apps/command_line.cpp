// Parsing, configuration, console and closing line shared by the verbs; see command_line.h.
#include "apps/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <utility>

#include "apps/config_file.h"
#include "apps/console.h"
#include "apps/help.h"
#include "apps/job_limits.h"
#include "apps/option_names.h"
#include "apps/product_tables.h"
#include "apps/suggest.h"
#include "kernels/devices.h"
#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/core/process_cost.h"
#include "lib/core/shell_words.h"
#include "lib/model/folder/config_json.h"

namespace bigbird::apps {
namespace {

constexpr int most_threads = 1024;

std::string& last_closing_line() {
  static std::string line;
  return line;
}

// The command line without the options that say where the output goes or how it is made, not what is in it:
// the same work leaves the same bytes whatever the file's name and the number of threads. `with_value`:
// options of the verb that are left out too, with their values.
std::string content_words(const std::vector<std::string>& words, std::vector<std::string> with_value) {
  for (const char* option : {"-o", "--output", "-@", "--threads", "--log", "--ranks", "--between-devices",
                             "--batch-tokens", "--shard", "--report"}) {
    with_value.emplace_back(option);
  }
  const std::vector<std::string> flags = {"-q",          "--quiet", "-v",      "--verbose",
                                          "--log-ranks", "--force", "--resume"};
  const auto is_one_of = [](const std::vector<std::string>& among, const std::string& word) {
    return std::find(among.begin(), among.end(), word) != among.end();
  };
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool joined = word.rfind("--", 0) == 0 ? is_one_of(with_value, word.substr(0, word.find('=')))
                                                 : is_one_of(with_value, word.substr(0, 2));
    if (is_one_of(with_value, word)) {
      ++i;
    } else if (!joined && !is_one_of(flags, word.substr(0, word.find('=')))) {
      text += " " + shell_word(word);
    }
  }
  return text;
}

// The words behind the name of the verb; "--resume", "auto" as "--resume=auto" where that is one of `pairs`.
std::vector<std::string> joined_words(int argc, char** argv,
                                      const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<std::string> words;
  bool options_end = false;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    options_end = options_end || word == "--";
    const auto pair =
        std::find_if(pairs.begin(), pairs.end(), [&](const auto& one) { return one.first == word; });
    if (!options_end && pair != pairs.end() && i + 1 < argc && pair->second == argv[i + 1]) {
      word += "=" + pair->second;
      ++i;
    }
    words.push_back(std::move(word));
  }
  return words;
}

// BIGBIRD_FASTA_REF for --fasta-ref.
std::string environment_variable(const std::string& long_name) {
  std::string name = "BIGBIRD_";
  for (const char c : long_name)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// "1.23 CPU ms": three digits, whatever the size.
std::string cpu_time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} CPU s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3g} CPU ms", 1e3 * seconds)
                         : fmt::format("{:.3g} CPU us", 1e6 * seconds);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// The first word that looks like an option and is none, or empty.
std::string unknown_option(const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word[0] == '-') return word.substr(0, word.find('='));
  }
  return {};
}

bool is_number_of_type(const std::string& word, const std::string& type) {
  const char* const end = word.data() + word.size();
  double real = 0;
  std::int64_t whole = 0;
  std::uint64_t positive = 0;
  const std::from_chars_result read = type == "FLOAT"  ? std::from_chars(word.data(), end, real)
                                      : type == "UINT" ? std::from_chars(word.data(), end, positive)
                                                       : std::from_chars(word.data(), end, whole);
  return read.ec == std::errc() && read.ptr == end;
}

// "Could not convert: --lr = 1e-3,abc" as "--lr 1e-3,abc: 'abc' is no number".
[[noreturn]] void throw_conversion_error(const CLI::App& app, const std::string& name,
                                         const CLI::ParseError& error, const std::string& see) {
  const std::string what = first_line(error.what());
  const std::size_t colon = what.find(": "), equal = what.find(" = ");
  const bool known = colon != std::string::npos && equal != std::string::npos && colon < equal;
  const std::string named = known ? what.substr(colon + 2, equal - colon - 2) : std::string();
  const CLI::Option* const option = known ? app.get_option_no_throw(named) : nullptr;
  if (option == nullptr) throw_usage(name + ": " + what, see);
  std::string type = option->get_type_name();
  type = type.substr(0, type.find_first_of(":{ "));
  if (type != "FLOAT" && type != "UINT") type = "INT";
  std::string bad = what.substr(equal + 3);
  for (const std::string& word : CLI::detail::split(bad, ',')) {
    if (is_number_of_type(word, type)) continue;
    bad = word;
    break;
  }
  throw_usage(fmt::format("{}: {} {}: '{}' is no {}", name, named, what.substr(equal + 3), bad,
                          type == "FLOAT"  ? "number"
                          : type == "UINT" ? "whole number from 0"
                                           : "whole number"),
              see);
}

// CLI11 checks required options before leftovers; a mistyped option would be reported as another one missing.
[[noreturn]] void throw_usage_error(const CLI::App& app, const std::string& name,
                                    const CLI::ParseError& error) {
  const std::string see = "`bigbird " + name + " --help` lists the options";
  const std::string option = unknown_option(app);
  if (!option.empty()) {
    const std::string near = nearest(option, option_words(app));
    throw_usage(name + ": unknown option '" + option + "'",
                near.empty() ? see : "did you mean " + near + "? " + see);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !app.remaining().empty()) {
    throw_usage(name + ": '" + app.remaining().front() + "' was not expected here", see);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    throw_conversion_error(app, name, error, see);
  throw_usage(name + ": " + first_line(error.what()), see);
}

std::string config_file(const CLI::App& app) {
  const std::vector<std::string>& given = app.get_config_ptr()->results();
  return given.empty() ? "--config" : given.front();
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

[[noreturn]] void throw_config_error(const CLI::App& app, const std::string& name,
                                     const CLI::ConfigError& error) {
  const std::string see =
      "keys are long option names without the dashes; `bigbird " + name + " --help` lists them";
  const std::string prefix = "INI was not able to parse ";  // CLI11's words for a key that no option has
  const std::string text = first_line(error.what());
  if (text.rfind(prefix, 0) != 0) throw_bad_input(config_file(app) + ": " + text, see);
  const std::string key = text.substr(prefix.size());
  const std::string near = nearest("--" + key, option_words(app));
  throw_bad_input(config_file(app) + ": there is no option '" + key + "'",
                  near.rfind("--", 0) == 0 ? "did you mean " + near.substr(2) + "? " + see : see);
}

}  // namespace

Verb::Verb(std::string name, const std::string& sentence, const std::vector<std::string>& examples)
    : app_(sentence, "bigbird " + name),
      name_(std::move(name)),
      examples_(examples),
      refused_(std::make_shared<kernels::RefusedProducts>()) {
  app_.option_defaults()->always_capture_default();
  app_.set_help_flag("-h,--help", "Print this help")->group("General");
  app_.add_flag("-q,--quiet", quiet_, "Warnings and errors only on stderr")->group("General");
  app_.add_flag("-v,--verbose", verbose_, "More messages on stderr")->group("General");
  app_.add_option("--log", log_file_, "Append the messages to this file, with times")
      ->group("General")
      ->type_name("FILE");
  app_.config_formatter(std::make_shared<ConfigFile>(app_));
  app_.set_config("--config", "", "Read options from this TOML file")->group("General")->type_name("FILE");
  app_.allow_config_extras(CLI::config_extras_mode::error);
  app_.add_flag("--no-provenance", no_provenance_, "Leave version, command and seed out of the output")
      ->group("General");
}

Verb::~Verb() {
  if (!parsed_) return;
  stop_console();
  if (quiet_ || !closing_ || std::uncaught_exceptions() > 0) return;
  const ProcessCost cost = process_cost();
  const double wall = cost.wall_seconds;
  const double peak = static_cast<double>(cost.peak_memory) / (1024.0 * 1024.0);
  std::string line = fmt::format("[{}] bigbird {}: {:.2f} s wall, {:.2f} s CPU, {:.0f} MB peak memory", name_,
                                 BIGBIRD_VERSION, wall, cost.cpu_seconds, peak);
  if (!unit_.empty() && wall > 0) line += ", " + amount_text(amount_ / wall, unit_) + "/s";
  if (made_ > 0) line += ", " + cpu_time_text(cost.cpu_seconds / made_) + "/" + one_;
  if (refused_->shapes > 0)
    line += fmt::format(", cuBLASLt refused {} products of {} shapes", refused_->calls, refused_->shapes);
  last_closing_line() = line;
}

void Verb::add_threads() {
  has_threads_ = true;
  app_.add_option("-@,--threads", threads_, "Threads; 0 takes every core; in a Slurm job SLURM_CPUS_PER_TASK")
      ->check(CLI::Range(0, most_threads))
      ->group("General");
}

void Verb::add_seed(std::uint64_t value) {
  seed_ = value;
  app_.add_option("--seed", seed_, "Seed of every random choice")->group("General");
}

void Verb::add_device() {
  has_device_ = true;
  app_.add_option(
          "--device", device_,
          "Where to compute: cpu, cuda or cuda:N; auto is the first CUDA device, or the cpu without one")
      ->group("General");
}

void Verb::add_precision() {
  precision_ = "auto";
  app_.add_option("--precision", precision_,
                  "Matrix products: fp32, tf32 (CUDA), or bf16 with sums in fp32 (faster where the processor "
                  "multiplies bf16, about three digits). auto is bf16 on CUDA, fp32 on the cpu")
      ->check(CLI::IsMember({"auto", "fp32", "tf32", "bf16"}))
      ->group("General");
}

void Verb::add_random_mode() {
  random_mode_.add(app_, "Random blocks, instead of the model's own", "Attention");
}

void Verb::add_nondeterministic() {
  app_.add_flag("--nondeterministic", nondeterministic_,
                "On CUDA, add up attention's gradients in any order: faster, and two runs differ in rounding")
      ->group("General");
}

void Verb::become_rank(int rank, int rank_on_machine, bool speaks) {
  rank_on_machine_ = rank_on_machine;
  if (rank == 0) return;
  closing_ = false;
  stop_console();
  if (!speaks) return;
  const std::string number = std::to_string(rank);
  start_console({name_ + " rank " + number, log_file_.empty() ? "" : log_file_ + ".rank-" + number, quiet_,
                 verbose_ > 0});
}

std::unique_ptr<kernels::Backend> Verb::make_backend() const {
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
    throw_usage(fmt::format("{}: --precision tf32 computes on CUDA devices only", name_),
                why.empty() ? "take --precision fp32, or --device cuda" : "take --precision fp32; " + why);
  }
  auto backend = kernels::make_cpu_backend(precision);
  log_info(fmt::format("computing in {} on {}{}", name_of(precision), backend->description(),
                       why.empty() ? "" : " (" + why + ")"));
  return backend;
}

void Verb::add_stop_before(const std::string& group) {
  app_.add_option(
          "--stop-before", stop_before_,
          "Stop so long before the end of the Slurm job (2m, 90s), as SIGTERM does: what is finished is "
          "kept, the status is 143")
      ->type_name("TIME")
      ->group(group);
  leave_out_of_provenance("--stop-before");
}

void Verb::add_force() {
  app_.add_flag("--force", force_, "Overwrite an output that exists")->group("General");
}

bool Verb::parse(int argc, char** argv) {
  std::vector<std::string> words = joined_words(argc, argv, flag_words_);
  command_ = "bigbird " + name_ + content_words(words, no_content_);
  set_running_verb(name_, option_words(app_));
  for (CLI::Option* option : app_.get_options()) {
    const bool configurable = option != app_.get_help_ptr() && option != app_.get_config_ptr();
    if (configurable && !option->get_lnames().empty())
      option->envname(environment_variable(option->get_lnames()[0]));
  }
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app_.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    std::cout << verb_help(app_, name_, examples_);
    return false;
  } catch (const CLI::FileError&) {
    throw_bad_input(config_file(app_) + ": the configuration cannot be read",
                    "--config takes an existing TOML file of `option = value` lines");
  } catch (const CLI::ConfigError& error) {
    throw_config_error(app_, name_, error);
  } catch (const CLI::ParseError& error) {
    throw_usage_error(app_, name_, error);
  }
  provenance_ = !no_provenance_;
  const std::optional<SlurmGrant> grant = slurm_grant();
  if (has_threads_ && grant && grant->threads && app_.get_option("--threads")->count() == 0) {
    threads_ = std::min(*grant->threads, most_threads);
  }
  if (has_threads_) kernels::set_thread_count(threads_);
  if (has_device_) check_device(name_, device_);
  AttentionChoice& chosen = chosen_attention();
  chosen = {};
  random_mode_.apply(chosen.random_mode, chosen.plan);
  start_console({name_, log_file_, quiet_, verbose_ > 0});
  if (has_threads_ && grant) log_info(grant_text(*grant));
  if (!stop_before_.empty()) stop_before_end(stop_before_);
  parsed_ = true;
  return true;
}

void Verb::set_in_command(const std::string& option, const std::string& value) {
  const std::string word = " " + option;
  for (const char* const between : {" ", "="}) {
    const std::size_t at = command_.find(word + between);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + word.size() + 1;
    command_.replace(begin, std::min(command_.find(' ', begin), command_.size()) - begin, value);
    return;
  }
  command_ += word + " " + value;
}

std::string Verb::resolved_toml() const {
  std::string text = "# Options as resolved; run again with: bigbird " + name_ + " --config THIS_FILE\n";
  for (const CLI::Option* option : app_.get_options()) {
    const bool configurable = option != app_.get_help_ptr() && option != app_.get_config_ptr();
    if (!configurable || option->get_lnames().empty()) continue;
    const std::string& key = option->get_lnames()[0];
    const bool is_flag = option->get_expected_min() == 0;
    if (option->count() == 0 && not_in_toml_.count(key) > 0) continue;
    if (const auto found = resolved_.find(key); found != resolved_.end()) {
      text += key + " = " + toml_value(found->second) + "\n";
      continue;
    }
    if (option->count() == 0) {
      const std::string& value = option->get_default_str();
      if (is_flag) {
        // Of a flag that can be given either way, nothing is a third choice.
        if (option->get_fnames().empty()) text += key + " = false\n";
      } else if (!value.empty() && value.front() != '[') {
        text += key + " = " + toml_value(value) + "\n";
      }
      continue;
    }
    text += key + " = " + toml_values(option->reduced_results()) + "\n";
  }
  return text;
}

void Verb::set_throughput(double amount, const std::string& unit) {
  amount_ = amount;
  unit_ = unit;
}

void Verb::set_cost_of(double made, const std::string& one) {
  made_ = made;
  one_ = one;
}

std::string closing_line() {
  return last_closing_line();
}

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

}  // namespace bigbird::apps
