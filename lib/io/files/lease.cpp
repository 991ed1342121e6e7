// See lease.h. The file: "bigbird lease 1", then lines of a name and a value.
#include "lib/io/files/lease.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/temporary_names.h"

namespace bigbird {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view first_line = "bigbird lease 1\n";
constexpr std::size_t most_lease_bytes = 4096;

struct Holder {
  ProcessIdentity process;
  std::string machine;  // for people
  std::string since;    // for people: UTC
};

std::string machine_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("?");
}

// The text of a lease that is taken now; no two are the same.
std::string lease_text() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    random = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  }
  const ProcessIdentity self = this_process();
  return fmt::format("{}host {}\npid {}\nstart {}\nmachine {}\nsince {:%Y-%m-%dT%H:%M:%SZ}\nrandom {:016x}\n",
                     first_line, self.host, self.pid, self.start, machine_name(),
                     fmt::gmtime(std::time(nullptr)), random);
}

// Nothing of a file that is not there, or not (yet) whole.
std::optional<Holder> parse_lease(std::string_view text) {
  if (!text.starts_with(first_line)) return std::nullopt;
  text.remove_prefix(first_line.size());
  Holder holder;
  bool whole = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const std::string_view name = line.substr(0, space), value = line.substr(space + 1);
    const auto number = [&value](auto& out) {
      std::from_chars(value.data(), value.data() + value.size(), out);
    };
    if (name == "host") holder.process.host = value;
    if (name == "pid") number(holder.process.pid);
    if (name == "start") number(holder.process.start);
    if (name == "machine") holder.machine = text_for_message(std::string(value));
    if (name == "since") holder.since = text_for_message(std::string(value));
    if (name == "random") whole = true;
  }
  return whole && holder.process.pid > 0 ? std::optional(holder) : std::nullopt;
}

std::string in_words(const std::optional<Holder>& holder) {
  if (!holder) return "another process";
  return fmt::format("process {} on {} (since {})", holder->process.pid, holder->machine, holder->since);
}

// What is seen of a lease's file at one moment.
struct Look {
  bool there = false;
  std::string text;
  std::int64_t touched_s = 0;
  std::int64_t touched_ns = 0;

  bool operator==(const Look&) const = default;
};

// Opened anew each time: that is when a network file system asks its server.
Look look_at(const std::string& path) {
  Look look;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) {
    look.there = errno != ENOENT;
    return look;
  }
  look.there = true;
  struct stat status {};
  if (fstat(file, &status) == 0) {
    look.touched_s = status.st_mtim.tv_sec;
    look.touched_ns = status.st_mtim.tv_nsec;
  }
  std::array<char, most_lease_bytes> bytes{};
  const ssize_t size = read(file, bytes.data(), bytes.size());
  if (size > 0) look.text.assign(bytes.data(), static_cast<std::size_t>(size));
  close(file);
  return look;
}

// False when a file is there already.
bool create(const std::string& path, const std::string& text) {
  const auto refuse = [&](int error) {
    // Nobody typed the name of the lease; where the folder lacks, that is what was typed.
    if (const std::string folder = parent_folder(path); error == ENOENT && !folder_exists(folder))
      throw_runtime(folder + ": no such folder to write into", "make it, or choose another place");
    throw_runtime(fmt::format("{}: cannot write: {}", path, system_text(error)),
                  "is the folder there, may it be written to, and is there room?");
  };
  const int file = create_new_file(path);
  if (file < 0) {
    if (errno == EEXIST) return false;
    refuse(errno);
  }
  const ssize_t written = write(file, text.data(), text.size());
  const int error = written == static_cast<ssize_t>(text.size()) ? 0 : written < 0 ? errno : ENOSPC;
  if (close(file) != 0 || error != 0) {
    unlink(path.c_str());
    refuse(error != 0 ? error : EIO);
  }
  return true;
}

// Removes a lease that is over; not one that another has taken since it was looked at.
void remove_lease(const std::string& path, const Look& over) {
  const std::string aside = temporary_name(path, ".tmp.");
  if (std::rename(path.c_str(), aside.c_str()) != 0) return;  // another was faster
  if (look_at(aside).text != over.text && link(aside.c_str(), path.c_str()) != 0) {
    log_warning(path + ": two processes took this at the same moment; the first to look will stop");
  }
  unlink(aside.c_str());
}

}  // namespace

struct Lease::State {
  State(const std::string& where, LeaseBusy busy, const LeaseTimes& how_long)
      : path(where), text(lease_text()), times(how_long) {
    take(busy);
    keeper = std::thread([this] { keep(); });
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ~State() {
    {
      const std::lock_guard lock(mutex);
      ending = true;
    }
    wake.notify_all();
    keeper.join();
    if (look_at(path).text == text) unlink(path.c_str());
  }

  void take(LeaseBusy busy) {
    Look seen;
    Clock::time_point changed = Clock::now();
    bool told = false;
    std::optional<Holder> gone;
    while (!create(path, text)) {
      throw_if_cancelled();
      const Look look = look_at(path);
      if (!look.there) continue;
      if (look != seen) {
        // A lease that is touched while it is watched is a living one.
        const bool lives = seen.there && look.text == seen.text;
        seen = look;
        changed = Clock::now();
        if (lives && busy == LeaseBusy::refuse) refuse(parse_lease(look.text));
      }
      const std::optional<Holder> holder = parse_lease(look.text);
      const bool here = holder && is_on_this_host(holder->process);
      const bool over = here ? !is_running(holder->process) : Clock::now() - changed > times.over_after;
      if (over) {
        log_info(fmt::format("{}: {} is gone, its work is taken over", path, in_words(holder)));
        remove_lease(path, look);
        gone = holder;
        continue;
      }
      if (here && busy == LeaseBusy::refuse) refuse(holder);
      if (!told) log_info(fmt::format("{}: held by {}; waiting for it", path, in_words(holder)));
      told = true;
      std::this_thread::sleep_for(
          std::min<std::chrono::milliseconds>(times.touched_every / 10, std::chrono::seconds(1)));
    }
    // Of a process of another machine nobody else knows that it is gone.
    if (gone) remove_leftovers_of(gone->process, parent_folder(path));
  }

  [[noreturn]] void refuse(const std::optional<Holder>& holder) const {
    throw_runtime(fmt::format("{}: held by {}, which writes the same output", path, in_words(holder)),
                  message("wait for it, or stop it; `resume` auto waits by itself"));
  }

  void keep() {
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, times.touched_every, [this] { return ending; })) {
      const Look look = look_at(path);
      if (!look.there || look.text != text) {
        lost_to = look.there ? in_words(parse_lease(look.text)) : std::string("nobody: the file was removed");
        return;
      }
      utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // now, by the clock of the file system
    }
  }

  void check() {
    const std::lock_guard lock(mutex);
    if (!lost_to) return;
    throw_runtime(fmt::format("{}: taken over by {}", path, *lost_to),
                  "this process did not answer for too long; the other one goes on");
  }

  std::string path;
  std::string text;
  LeaseTimes times;
  std::mutex mutex;
  std::condition_variable wake;
  bool ending = false;
  std::optional<std::string> lost_to;  // in words
  std::thread keeper;
};

Lease::Lease(const std::string& path, LeaseBusy busy, LeaseTimes times)
    : state_(std::make_unique<State>(path, busy, times)) {}
Lease::~Lease() = default;
Lease::Lease(Lease&&) noexcept = default;
Lease& Lease::operator=(Lease&&) noexcept = default;

void Lease::check() const {
  state_->check();
}

}  // namespace bigbird
