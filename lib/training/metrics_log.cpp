// A TSV that grows by a row a step; see metrics_log.h.
#include "lib/training/metrics_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "lib/core/error.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

// Header and comments, and the rows up to last_step, of an existing file.
std::string kept_rows(const std::string& text, std::uint64_t last_step) {
  std::string kept;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end + 1 - begin);
    begin = end + 1;
    std::uint64_t step = 0;
    const bool numbered = std::from_chars(line.data(), line.data() + line.size(), step).ec == std::errc();
    if (line[0] == '#' || (numbered && step <= last_step)) kept += line;
  }
  return kept;
}

}  // namespace

MetricsLog::MetricsLog(std::string path, const std::vector<std::string>& columns,
                       const std::vector<std::string>& comments, std::uint64_t last_step)
    : path_(std::move(path)) {
  std::string text = file_exists(path_) ? kept_rows(read_file(path_), last_step) : std::string();
  if (text.empty()) {
    for (const std::string& comment : comments) text += "##" + comment + "\n";
    text += '#';
    for (std::size_t i = 0; i < columns.size(); ++i) text += (i == 0 ? "" : "\t") + columns[i];
    text += '\n';
  }
  write_text_atomic(path_, text);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0)
    throw_runtime(fmt::format("{}: {}", path_, std::strerror(errno)), "check the folder's permissions");
}

MetricsLog::~MetricsLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void MetricsLog::row(std::uint64_t step, const std::vector<std::string>& fields) {
  std::string line = std::to_string(step);
  for (const std::string& field : fields) line += '\t' + field;
  line += '\n';
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) {
    const std::string reason = written < 0 ? std::strerror(errno) : "written in part";
    throw_runtime(fmt::format("{}: {}", path_, reason), "free some space and go on with `resume`");
  }
}

}  // namespace bigbird
