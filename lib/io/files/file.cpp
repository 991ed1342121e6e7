// Paths, whole files, atomic files and folders, memory maps; see file.h. Streams are in stream.cpp.
#include "lib/io/files/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/process_memory.h"
#include "lib/core/settings.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/temporary_names.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;

const char* reading_hint(int error) {
  if (error == ENOENT) return "check the path";
  if (error == EMFILE || error == ENFILE) return "too many files are open: raise the limit (ulimit -n)";
  return "check that it is a file that you may read";
}

void sync_path(const std::string& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) throw_cannot_write(path, errno);
  const int failed = fsync(descriptor);
  const int error = errno;
  close(descriptor);
  // Some file systems refuse to sync a folder; the rename is then as durable as they make it.
  if (failed != 0 && error != EINVAL && error != ENOTSUP) throw_cannot_write(path, error);
}

// The first temporary name that make(name) takes; make sets errno, and EEXIST means that another one is
// tried.
template <typename Make>
std::string new_at_free_name(const std::string& target, const char* kind, const Make& make) {
  constexpr int most_attempts = 10;
  for (int attempt = 1;; ++attempt) {
    std::string name = temporary_name(target, kind);
    if (make(name) || errno != EEXIST || attempt == most_attempts) return name;
  }
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

void throw_cannot_read(const std::string& path, int error) {
  std::string text = fmt::format("{}: cannot read: {}", path, system_text(error));
  if (error == ENOMEM) throw_environment(std::move(text), memory_hint());
  throw_bad_input(std::move(text), reading_hint(error));
}

void throw_cannot_write(const std::string& path, int error) {
  throw_runtime(fmt::format("{}: cannot write: {}", path, system_text(error)),
                error == ENOSPC || error == EDQUOT
                    ? "free some space or choose another output place; nothing was left half-written"
                    : "check that the folder exists and that you may write in it");
}

void sync_folder(const std::string& path) {
  // One that may be written and not read (mode 0733) cannot be opened, and so not be synced.
  if (access(path.c_str(), R_OK) != 0 && errno == EACCES) return;
  sync_path(path, O_RDONLY | O_DIRECTORY);
}

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

bool file_is_regular(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

void require_readable(const std::string& path) {
  if (path.empty() || path == "-" || path.find("://") != std::string::npos) return;
  if (access(path.c_str(), R_OK) != 0) throw_cannot_read(path, errno);
}

bool folder_exists(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool folder_is_empty(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return !fs::exists(path, ignored);
  return fs::is_empty(path, ignored);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void make_folders(const std::string& path) {
  std::error_code error;
  fs::create_directories(without_trailing_slashes(path), error);
  if (error) throw_cannot_write(path, error.value());
  if (!folder_exists(path)) throw_cannot_write(path, ENOTDIR);
}

void remove_folder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw_runtime(fmt::format("{}: cannot remove: {}", path, error.message()));
}

void discard_folder(const std::string& path) {
  remove_leftovers(path);
  if (!folder_exists(path)) return;
  const std::string aside = temporary_name(path, ".tmp-");
  remove_folder(std::rename(path.c_str(), aside.c_str()) == 0 ? aside : path);
}

std::string parent_folder(const std::string& path) {
  const std::string parent = fs::path(without_trailing_slashes(path)).parent_path().string();
  return parent.empty() ? "." : parent;
}

bool has_suffix(const std::string& path, std::string_view suffix) {
  return std::string_view(path).ends_with(suffix);
}

void read_pieces(const std::string& path, const std::function<void(std::string_view piece)>& take) {
  constexpr std::size_t piece_bytes = 1 << 18;
  const bool from_stdin = path == "-";
  // Not a copy of the standard input's: a stop is seen there (on_signal in apps/bigbird.cpp).
  const int descriptor = from_stdin ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw_cannot_read(path, errno);
  const std::shared_ptr<void> closed(nullptr, [=](void*) {
    if (!from_stdin) close(descriptor);
  });
  std::string piece(piece_bytes, '\0');
  for (;;) {
    const ssize_t count = ::read(descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_cannot_read(path, errno);
    if (count == 0) break;
    take({piece.data(), static_cast<std::size_t>(count)});
  }
  if (from_stdin) throw_if_cancelled();
}

std::string read_file(const std::string& path) {
  std::string content;
  struct stat status {};
  if (path != "-" && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
    content.reserve(static_cast<std::size_t>(status.st_size));
  read_pieces(path, [&](std::string_view piece) { content += piece; });
  return content;
}

void write_text_atomic(const std::string& path, std::string_view text, Synced synced) {
  AtomicFile file(path, synced);
  file.write(text.data(), text.size());
  file.commit();
}

AtomicFile::AtomicFile(const std::string& path, Synced synced) : path_(path), target_(path), synced_(synced) {
  if (path == "-") {
    path_ = "standard output";
    descriptor_ = dup(STDOUT_FILENO);
    if (descriptor_ < 0) throw_cannot_write(path_, errno);
    return;
  }
  std::error_code ignored;
  if (fs::is_symlink(path, ignored)) {
    const fs::path followed = fs::weakly_canonical(path, ignored);
    if (!ignored) target_ = followed.string();
  }
  if (fs::is_directory(target_, ignored)) throw_cannot_write(path, EISDIR);
  const bool direct = fs::exists(target_, ignored) && !fs::is_regular_file(target_, ignored);
  if (direct) {
    descriptor_ = open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  } else {
    remove_leftovers(target_);
    temporary_ = new_at_free_name(target_, ".tmp.", [&](const std::string& name) {
      descriptor_ = create_new_file(name);
      return descriptor_ >= 0;
    });
  }
  if (descriptor_ < 0) throw_cannot_write(path, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  std::size_t left = size;
  while (left > 0) {
    const ssize_t count = ::write(descriptor_, next, left);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_cannot_write(path_, errno);
    next += count;
    left -= static_cast<std::size_t>(count);
  }
  size_ += size;
}

void AtomicFile::commit() {
  const bool direct = temporary_.empty();
  // A device or a pipe cannot be synced, and need not be.
  const bool synced = !direct && synced_ == Synced::yes;
  if (synced && fsync(descriptor_) != 0) throw_cannot_write(path_, errno);
  const int descriptor = std::exchange(descriptor_, -1);
  int error = close(descriptor) != 0 ? errno : 0;
  if (error == 0 && !direct && OutputSet::take(path_, temporary_, target_)) return;
  if (error == 0 && !direct && std::rename(temporary_.c_str(), target_.c_str()) != 0) error = errno;
  if (error != 0) {
    if (!direct) unlink(temporary_.c_str());
    throw_cannot_write(path_, error);
  }
  if (synced) sync_folder(parent_folder(target_));
}

namespace {

// Nobody means these when they ask that an output be replaced.
void require_replaceable(const std::string& folder) {
  std::error_code unknown;
  const fs::path path = fs::weakly_canonical(folder, unknown), here = fs::current_path(unknown);
  const char* home = std::getenv("HOME");
  const bool holds_us = std::mismatch(path.begin(), path.end(), here.begin(), here.end()).first == path.end();
  const bool is_home = home != nullptr && *home != '\0' && path == fs::weakly_canonical(home, unknown);
  if (!holds_us && !is_home) return;
  throw_usage(fmt::format("{}: is {}, and is not replaced as a whole", folder,
                          is_home ? "the home folder" : "the folder that the program runs in, or holds it"),
              "give the name of a folder in it");
}

}  // namespace

AtomicFolder::AtomicFolder(const std::string& path, bool replace)
    : target_(without_trailing_slashes(path)), replace_(replace) {
  if (target_ == "-") throw_usage("-: a folder cannot go to stdout", "give the name of a folder");
  if (file_exists(target_)) throw_cannot_write(target_, EEXIST);
  if (!folder_is_empty(target_)) {
    if (!replace_) {
      throw_bad_input(fmt::format("{}: the folder exists and is not empty", target_),
                      message("`force` replaces all that it holds; or choose another folder"));
    }
    require_replaceable(target_);
  }
  make_folders(parent_folder(target_));
  remove_leftovers(target_);
  bool made = false;
  temporary_ = new_at_free_name(target_, ".tmp-", [&](const std::string& name) {
    made = mkdir(name.c_str(), 0777) == 0;
    return made;
  });
  if (!made) throw_cannot_write(target_, errno);
}

AtomicFolder::~AtomicFolder() {
  if (committed_) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void AtomicFolder::commit() {
  for (const auto& entry : fs::recursive_directory_iterator(temporary_)) {
    if (entry.is_directory()) {
      sync_folder(entry.path().string());
    } else if (entry.is_regular_file()) {
      sync_path(entry.path().string(), O_RDONLY);
    }
  }
  sync_folder(temporary_);
  if (replace_ && folder_exists(target_)) {
    // Exchanged in one step: at every moment the name holds a whole folder, the old one or the new one.
    if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
      const std::string aside = temporary_name(target_, ".old-");
      if (std::rename(target_.c_str(), aside.c_str()) != 0) throw_cannot_write(target_, errno);
      if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
        const int error = errno;
        if (std::rename(aside.c_str(), target_.c_str()) != 0) throw_cannot_write(aside, errno);
        throw_cannot_write(target_, error);
      }
      temporary_ = aside;
    }
    committed_ = true;
    sync_folder(parent_folder(target_));
    remove_folder(temporary_);
    return;
  }
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) throw_cannot_write(target_, errno);
  committed_ = true;
  sync_folder(parent_folder(target_));
}

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw_cannot_read(path, errno);
  struct stat status {};
  const bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular) {
    close(descriptor);
    throw_bad_input(fmt::format("{}: not a regular file", path),
                    "give the path of a file on disk, not a pipe or a folder");
  }
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ > 0) {
    void* mapped = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    const int error = errno;
    close(descriptor);
    if (mapped == MAP_FAILED) throw_cannot_read(path, error);
    data_ = static_cast<const std::byte*>(mapped);
  } else {
    close(descriptor);
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)) {}

void MappedFile::release(std::size_t begin, std::size_t end) const {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t first = begin / page * page;
  // Only advice: where it is not taken, the bytes stay.
  if (first < end) madvise(const_cast<std::byte*>(data_) + first, end - first, MADV_DONTNEED);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

bool is_stream_only(const std::string& path) {
  struct stat status {};
  if (path == "-" || stat(path.c_str(), &status) != 0) return false;
  return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISCHR(status.st_mode);
}

void refuse_stream(const std::string& path, const std::string& why) {
  if (!is_stream_only(path)) return;
  throw_bad_input(fmt::format("{}: can be read only once, and {}", path, why),
                  "write it to a file first, and give its name");
}

RandomFile::RandomFile(const std::string& path) : path_(path) {
  // A pipe that nobody writes to must not hold the program: O_NONBLOCK says nothing of regular files.
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
    const int error = errno;
    if (descriptor_ >= 0) close(descriptor_);
    throw_cannot_read(path, error);
  }
  if (!S_ISREG(status.st_mode)) {
    close(descriptor_);
    throw_bad_input(fmt::format("{}: not a regular file", path),
                    "give the path of a file on disk, not a pipe or a folder");
  }
  size_ = status.st_size;
}

RandomFile::~RandomFile() {
  close(descriptor_);
}

std::size_t RandomFile::read(std::int64_t offset, void* buffer, std::size_t size) const {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = pread(descriptor_, static_cast<char*>(buffer) + done, size - done,
                                offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw_bad_input(fmt::format("{}: cannot read: {}", path_, system_text(errno)),
                      "check the disk that holds it");
    }
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace bigbird
