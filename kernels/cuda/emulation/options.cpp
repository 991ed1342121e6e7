// Options of the emulated device as text, for programs that are started with them.
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>

#include "kernels/cuda/emulation/bank_log.h"
#include "kernels/cuda/emulation/emulation.h"

namespace bigbird::kernels::cuda::emulation {
namespace {

Options options_of_environment() {
  Options from;
  if (const char* seed = std::getenv("BIGBIRD_EMULATION_SEED")) from.seed = std::strtoull(seed, nullptr, 10);
  const auto is_on = [](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && std::string_view(value) == "1";
  };
  from.lazy_streams = is_on("BIGBIRD_EMULATION_LAZY");
  from.truncated_sums = is_on("BIGBIRD_EMULATION_TRUNCATE");
  from.banks = bank_log_of_environment();
  if (const char* text = std::getenv("BIGBIRD_EMULATION")) set_options(from, text);
  return from;
}

}  // namespace

Options& options() {
  static Options current = options_of_environment();
  return current;
}

void set_options(Options& options, const std::string& text) {
  const std::map<std::string, std::function<void(const std::string&)>> setters{
      {"memory", [&](const std::string& value) { options.memory = std::stoull(value); }},
      {"fake_clock", [&](const std::string& value) { options.fake_clock = value == "1"; }},
      {"epilogue_microseconds",
       [&](const std::string& value) { options.epilogue_microseconds = std::stod(value); }},
      {"launch_microseconds",
       [&](const std::string& value) { options.launch_microseconds = std::stod(value); }},
      {"graph_bytes", [&](const std::string& value) { options.graph_bytes = std::stoull(value); }},
      {"graph_allowance", [&](const std::string& value) { options.graph_allowance = std::stoull(value); }},
      {"refuse_graphs", [&](const std::string& value) { options.refuse_graphs = value == "1"; }},
      {"refused_depth", [&](const std::string& value) { options.refused_depth = std::stoll(value); }},
      {"multiprocessors", [&](const std::string& value) { options.multiprocessors = std::stoi(value); }},
      {"compute_capability",
       [&](const std::string& value) { options.compute_capability = std::stoi(value); }},
      {"architectures", [&](const std::string& value) { options.architectures = value; }}};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const auto setter = setters.find(word.substr(0, equals));
    if (equals == std::string::npos || setter == setters.end())
      throw std::invalid_argument("the emulated device has no option " + word);
    setter->second(word.substr(equals + 1));
  }
}

}  // namespace bigbird::kernels::cuda::emulation
