// Ranks that meet in a folder; see ranks.h.
#include "kernels/ranks/ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

namespace bigbird::kernels {

namespace {

namespace fs = std::filesystem;

constexpr const char* new_folder = "give every start a new folder, --ranks folder:DIR";

int number_of(const std::function<const char*(const char*)>& variable, const char* name) {
  const char* const text = variable(name);
  if (text == nullptr) return -1;
  int value = -1;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  return error == std::errc() && *end == '\0' ? value : -1;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// The name of the machine, and of the container on it: where a process number means the same process.
std::string place_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::error_code error;
  return std::string(name.data()) + " " + fs::read_symlink("/proc/self/ns/pid", error).string();
}

class FolderRanks : public Ranks {
 public:
  FolderRanks(const std::string& folder, const ProcessNumber& process, double patience)
      : folder_(process.start.empty() ? folder : folder + "/" + process.start),
        rank_(process.rank),
        count_(process.count),
        patience_(patience) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) throw RanksError(folder_ + ": cannot be made: " + error.message(), new_folder);
    if (fs::exists(file("here", rank_), error) || fs::exists(file("ended", rank_), error))
      throw RanksError(folder_ + ": was used before", new_folder);
    write(file("here", rank_), "", 0);
    const std::string place = place_name();
    const std::vector<std::string> places = gather_texts(*this, place);
    const std::vector<std::string> numbers = gather_texts(*this, std::to_string(getpid()));
    neighbours_.resize(static_cast<std::size_t>(count_));
    for (std::size_t r = 0; r < places.size(); ++r) {
      if (places[r] != place) continue;
      neighbours_[r] = static_cast<pid_t>(std::strtol(numbers[r].c_str(), nullptr, 10));
      if (static_cast<int>(r) < rank_) ++rank_on_machine_;
      ++count_on_machine_;
    }
  }
  ~FolderRanks() override {
    // The last file of a rank may still be read: who leaves last clears up.
    try {
      write(file("ended", rank_), "0", 1);
    } catch (const RanksError&) {
    }
    std::error_code error;
    for (int r = 0; r < count_; ++r) {
      if (!fs::exists(file("ended", r), error)) return;
    }
    fs::remove_all(folder_, error);
  }
  FolderRanks(const FolderRanks&) = delete;
  FolderRanks& operator=(const FolderRanks&) = delete;

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  int rank_on_machine() const override { return rank_on_machine_; }
  int count_on_machine() const override { return count_on_machine_; }
  std::string engine() const override { return "folder " + folder_; }

  void broadcast(void* data, std::size_t bytes, int from) override {
    publish(data, rank_ == from ? bytes : 0);
    for (int r = 0; r < count_; ++r) {
      if (r != from || r == rank_) wait_for(r, nullptr, 0, 0);
      if (r == from && r != rank_) wait_for(r, data, 0, bytes);
    }
    finish();
  }
  void exchange(const void* to_each, void* from_each, std::size_t bytes) override {
    publish(to_each, bytes * static_cast<std::size_t>(count_));
    for (int r = 0; r < count_; ++r) {
      wait_for(r, static_cast<char*>(from_each) + static_cast<std::size_t>(r) * bytes,
               static_cast<std::size_t>(rank_) * bytes, bytes);
    }
    finish();
  }
  void all_gather(const void* mine, void* all, std::size_t bytes) override {
    publish(mine, bytes);
    for (int r = 0; r < count_; ++r) {
      void* const place = static_cast<char*>(all) + static_cast<std::size_t>(r) * bytes;
      if (r != rank_) wait_for(r, place, 0, bytes);
      if (r == rank_ && bytes > 0) std::memmove(place, mine, bytes);
    }
    finish();
  }
  void end_all(int status) override {
    write(file("ended", rank_), "1", 1);
    std::_Exit(status);
  }

 private:
  std::string file(const std::string& what, int rank) const {
    return folder_ + "/" + what + "-" + std::to_string(rank);
  }

  void write(const std::string& path, const void* data, std::size_t bytes) const {
    const std::string beside = path + ".new";
    {
      const Descriptor out(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
      const auto* from = static_cast<const char*>(data);
      while (out.number() >= 0 && bytes > 0) {
        const ssize_t written = ::write(out.number(), from, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break;
        from += written;
        bytes -= static_cast<std::size_t>(written);
      }
      if (out.number() < 0 || bytes > 0)
        throw RanksError(beside + ": cannot be written: " + std::strerror(errno),
                         "is the disk of the folder full?");
    }
    if (std::rename(beside.c_str(), path.c_str()) != 0)
      throw RanksError(path + ": cannot be written: " + std::strerror(errno), new_folder);
  }

  void publish(const void* data, std::size_t bytes) {
    write(file(std::to_string(meeting_), rank_), data, bytes);
  }
  // All have come to this meeting, so nobody reads what was said at the one before.
  void finish() {
    std::error_code error;
    if (meeting_ > 0) fs::remove(file(std::to_string(meeting_ - 1), rank_), error);
    ++meeting_;
  }

  // What `rank` said at this meeting: `bytes` from `offset` on.
  void wait_for(int rank, void* data, std::size_t offset, std::size_t bytes) const {
    const std::string path = file(std::to_string(meeting_), rank);
    const auto begin = std::chrono::steady_clock::now();
    for (std::chrono::microseconds pause(50);;
         pause = std::min(pause * 2, std::chrono::microseconds(20000))) {
      const Descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (in.number() >= 0) {
        read(in, path, data, offset, bytes);
        return;
      }
      std::error_code error;
      // Looked for once more: it may have come between the two.
      if ((fs::exists(file("ended", rank), error) || is_gone(rank)) && !fs::exists(path, error)) {
        throw RanksError("rank " + std::to_string(rank) + " has ended",
                         "its messages, or the launcher's, have the reason");
      }
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
      if (waited.count() > patience_) {
        throw RanksError("rank " + std::to_string(rank) + " has not come for " +
                             std::to_string(static_cast<int>(waited.count())) + " s (" + path + ")",
                         "were all ranks started, and do all of them see the folder?");
      }
      std::this_thread::sleep_for(pause);
    }
  }
  // Of a process of this machine: of others their launcher must know.
  bool is_gone(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return at < neighbours_.size() && neighbours_[at] > 0 && ::kill(neighbours_[at], 0) != 0 &&
           errno == ESRCH;
  }
  static void read(const Descriptor& in, const std::string& path, void* data, std::size_t offset,
                   std::size_t bytes) {
    auto* to = static_cast<char*>(data);
    while (bytes > 0) {
      const ssize_t got = ::pread(in.number(), to, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw RanksError(path + ": is shorter than what was sent", new_folder);
      to += got;
      offset += static_cast<std::size_t>(got);
      bytes -= static_cast<std::size_t>(got);
    }
  }

  std::string folder_;
  int rank_;
  int count_;
  double patience_;
  int rank_on_machine_ = 0;
  int count_on_machine_ = 0;
  std::uint64_t meeting_ = 0;
  std::vector<pid_t> neighbours_;  // by rank, of those on this machine
};

}  // namespace

ProcessNumber read_process_number() {
  return read_process_number([](const char* name) -> const char* { return std::getenv(name); });
}

ProcessNumber read_process_number(const std::function<const char*(const char*)>& variable) {
  ProcessNumber process;
  const char *rank = "SLURM_PROCID", *count = "SLURM_STEP_NUM_TASKS";
  if (variable(rank) == nullptr || variable(count) == nullptr) {
    rank = "RANK";
    count = "WORLD_SIZE";
  }
  process.rank = number_of(variable, rank);
  process.count = number_of(variable, count);
  if (process.rank < 0 || process.rank >= process.count) {
    throw RanksError(std::string("ranks by a folder: ") + rank + " and " + count +
                         " do not name the number of this process",
                     "start them by srun, or set RANK=0, 1, ... and WORLD_SIZE in the environment of each");
  }
  if (const char* const job = variable("SLURM_JOB_ID"); job != nullptr && *rank == 'S') {
    const char* const step = variable("SLURM_STEP_ID");
    const char* const again = variable("SLURM_RESTART_COUNT");
    process.start = std::string("job-") + job + "." + (step != nullptr ? step : "0") + "." +
                    (again != nullptr ? again : "0");
  }
  return process;
}

std::unique_ptr<Ranks> make_folder_ranks(const std::string& folder, const ProcessNumber& process,
                                         double patience) {
  return std::make_unique<FolderRanks>(folder, process, patience);
}

}  // namespace bigbird::kernels
