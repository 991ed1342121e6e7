// See metrics_log.h.
#include "lib/training/metrics_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "lib/core/error.h"
#include "lib/io/files/crc32c.h"
#include "lib/io/files/file.h"
#include "lib/io/files/proto_fields.h"

namespace bigbird {
namespace {

// The comments, the line of names and the rows up to last_step of an existing file.
std::string kept_rows(const std::string& text, std::uint64_t last_step) {
  std::string kept;
  bool named = false;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end + 1 - begin);
    begin = end + 1;
    std::uint64_t step = 0;
    const bool numbered = std::from_chars(line.data(), line.data() + line.size(), step).ec == std::errc();
    const bool is_name = !named && !line.starts_with("##");
    if (is_name || line.starts_with("##") || (numbered && step <= last_step)) kept += line;
    named = named || is_name;
  }
  return kept;
}

std::string header_of(const std::vector<std::string>& columns) {
  return fmt::format("{}\n", fmt::join(columns, "\t"));
}

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = line.find('\t', begin);
    fields.emplace_back(line.substr(begin, end == std::string_view::npos ? end : end - begin));
  }
  return fields;
}

// The columns of such a file, whose names stand after a '#' where an earlier version wrote it; none without a
// line of names.
std::vector<std::string> columns_of(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    if (!line.starts_with("##")) return split(line.substr(line.starts_with("#") ? 1 : 0));
    begin = end + 1;
  }
  return {};
}

// `text` with more columns at the end of every row.
std::string widened(std::string_view text, const std::vector<std::string>& columns, std::size_t more) {
  std::string wide;
  bool named = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!named) {
      named = !line.starts_with("##");
      wide += named ? header_of(columns) : std::string(line) + "\n";
      continue;
    }
    wide += line;
    for (std::size_t i = 0; i < more; ++i) wide += "\tNA";
    wide += '\n';
  }
  return wide;
}

std::uint32_t masked_crc(std::string_view bytes) {
  return masked_crc32c(crc32c(bytes));
}

template <typename T>
std::string little_endian(T value) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  return bytes + static_cast<char>(value);
}

// Fields of protocol buffers: their number and wire type, then the value.
std::string with_length(char key, const std::string& value) {
  return key + varint(value.size()) + value;
}

// An Event of TensorBoard: step (2) and summary (5), whose values (1) have a tag (1). False for none.
bool take_event(std::string_view event, EventSummary& summary, std::set<std::string>& tags) {
  std::uint64_t step = 0;
  bool has_values = false;
  for (ProtoField field; !event.empty();) {
    if (!next_field(event, field)) return false;
    if (field.number == 2) step = field.value;
    if (field.number != 5) continue;
    std::string_view values = field.bytes;
    for (ProtoField value; !values.empty();) {
      if (!next_field(values, value)) return false;
      std::string_view entries = value.bytes;
      for (ProtoField entry; value.number == 1 && !entries.empty();) {
        if (!next_field(entries, entry)) return false;
        if (entry.number == 1) tags.emplace(entry.bytes);
        has_values = true;
      }
    }
  }
  if (!has_values) return true;
  summary.events += 1;
  summary.last_step = step;
  return true;
}

std::string event(std::uint64_t step, const std::string& what) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return '\x09' + little_endian(now.count()) + '\x10' + varint(step) + what;
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

EventSummary read_event_file(const std::string& path) {
  const std::string bytes = read_file(path);
  EventSummary summary;
  std::set<std::string> tags;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto refuse = [&](const char* what) {
      throw_bad_input(
          fmt::format("{}: the record at byte {} {}", path, at, what),
          "a run that still writes it, or was killed, leaves such an end; what comes before it is whole");
    };
    constexpr std::size_t frame = 8 + 4 + 4;
    std::uint64_t length = 0;
    std::uint32_t stored = 0;
    if (bytes.size() - at < frame) refuse("is cut short");
    std::memcpy(&length, bytes.data() + at, sizeof length);
    std::memcpy(&stored, bytes.data() + at + 8, sizeof stored);
    if (masked_crc(std::string_view(bytes).substr(at, 8)) != stored) refuse("has a wrong checksum");
    if (length > bytes.size() - at - frame) refuse("is cut short");
    const std::string_view record = std::string_view(bytes).substr(at + 12, static_cast<std::size_t>(length));
    std::memcpy(&stored, bytes.data() + at + 12 + length, sizeof stored);
    if (masked_crc(record) != stored) refuse("has a wrong checksum");
    if (!take_event(record, summary, tags)) refuse("is not an event");
    at += frame + static_cast<std::size_t>(length);
  }
  summary.tags.assign(tags.begin(), tags.end());
  return summary;
}

EventLog::EventLog(const std::string& folder, std::uint64_t last_step) {
  make_folders(folder);
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  // TensorBoard reads the files of a folder in the order of their names.
  path_ = fmt::format("{}/events.out.tfevents.{:017.6f}.{}.bigbird", folder, now.count(), ::getpid());
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw_runtime(path_ + ": cannot be written: " + system_text(errno));
  write(event(0, with_length('\x1a', "brain.Event:2")));
  // A session that starts takes back what was said of its steps before.
  if (last_step > 0) write(event(last_step + 1, with_length('\x3a', std::string("\x08\x01"))));
}

EventLog::~EventLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void EventLog::row(const std::string& group, std::uint64_t step, const std::vector<std::string>& columns,
                   const std::vector<std::string>& fields) {
  std::string summary;
  for (std::size_t i = 0; i < fields.size() && i < columns.size(); ++i) {
    const std::string& field = fields[i];
    float value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size()) continue;
    summary +=
        with_length('\x0a', with_length('\x0a', group + "/" + columns[i]) + '\x15' + little_endian(value));
  }
  write(event(step, with_length('\x2a', summary)));
}

// A record in one write, so that who looks on sees whole ones.
void EventLog::write(const std::string& event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  const std::string record =
      length + little_endian(masked_crc(length)) + event + little_endian(masked_crc(event));
  const ssize_t written = ::write(descriptor_, record.data(), record.size());
  if (written == static_cast<ssize_t>(record.size())) return;
  throw_runtime(path_ + ": cannot be written: " + (written < 0 ? system_text(errno) : "the disk is full"),
                message("free some space, or leave `tensorboard` out"));
}

}  // namespace bigbird
