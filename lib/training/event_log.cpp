// Event files of TensorBoard; see event_log.h.
#include "lib/training/event_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>

#include "lib/core/error.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0x82f63b78u : 0u);
    table[byte] = value;
  }
  return table;
}();

// Records of TensorFlow keep checksums rotated and moved, so that one of data that holds checksums is
// another.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
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

std::string event(std::uint64_t step, const std::string& what) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return '\x09' + little_endian(now.count()) + '\x10' + varint(step) + what;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = crc >> 8 ^ crc_table[(crc ^ static_cast<unsigned char>(c)) & 255];
  return ~crc;
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
                "free some space, or leave `tensorboard` out");
}

}  // namespace bigbird
