// A TSV that grows by a row a step; see metrics_log.h.
#include "lib/training/metrics_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

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

std::string header_of(const std::vector<std::string>& columns) {
  return fmt::format("#{}\n", fmt::join(columns, "\t"));
}

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = line.find('\t', begin);
    fields.emplace_back(line.substr(begin, end == std::string_view::npos ? end : end - begin));
  }
  return fields;
}

// The columns of such a file; none without a header.
std::vector<std::string> columns_of(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    if (line.starts_with("#") && !line.starts_with("##")) return split(line.substr(1));
    begin = end + 1;
  }
  return {};
}

// `text` with more columns at the end of every row.
std::string widened(std::string_view text, const std::vector<std::string>& columns, std::size_t more) {
  std::string wide;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("#")) {
      wide += line.starts_with("##") ? std::string(line) + "\n" : header_of(columns);
      continue;
    }
    wide += line;
    for (std::size_t i = 0; i < more; ++i) wide += "\tNA";
    wide += '\n';
  }
  return wide;
}

}  // namespace

MetricsLog::MetricsLog(std::string path, const std::vector<std::string>& columns,
                       const std::vector<std::string>& comments, std::uint64_t last_step)
    : path_(std::move(path)) {
  std::string text = file_exists(path_) ? kept_rows(read_file(path_), last_step) : std::string();
  std::vector<std::string> of_file = columns_of(text);
  if (of_file.empty()) {
    of_file = columns;
    for (const std::string& comment : comments) text += "##" + comment + '\n';
    text += header_of(columns);
  }
  const std::size_t before = of_file.size();
  for (const std::string& column : columns) {
    if (std::find(of_file.begin(), of_file.end(), column) == of_file.end()) of_file.push_back(column);
  }
  if (of_file.size() > before) text = widened(text, of_file, of_file.size() - before);
  for (std::size_t i = 1; i < of_file.size(); ++i) {
    const auto found = std::find(columns.begin() + 1, columns.end(), of_file[i]);
    order_.emplace_back();
    if (found != columns.end()) order_.back() = static_cast<std::size_t>(found - columns.begin()) - 1;
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
  for (const std::optional<std::size_t>& at : order_) line += '\t' + (at ? fields.at(*at) : "NA");
  line += '\n';
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) {
    const std::string reason = written < 0 ? std::strerror(errno) : "written in part";
    throw_runtime(fmt::format("{}: {}", path_, reason), message("free some space and go on with `resume`"));
  }
}

}  // namespace bigbird
