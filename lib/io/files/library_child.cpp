// Fork, requests and answers over a pair of sockets; see library_child.h.
#include "lib/io/files/library_child.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "lib/core/error.h"

namespace bigbird {
namespace {

// Of a request and of an answer: what follows.
struct ChildMessage {
  std::uint64_t size = 0;
  std::uint32_t seconds = 0;  // of CPU that the request may take; 0: any
  std::uint32_t error = 0;    // 0: the answer; else 1 + ErrorKind, and the text is "MESSAGE\nHINT"
};

bool send_all(int socket, const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = send(socket, next, size, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool receive_all(int socket, void* data, std::size_t size) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t count = recv(socket, next, size, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

// SIGXCPU ends the child once it has used so many more seconds.
void limit_cpu(unsigned seconds) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  rlimit limit{};
  getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = limit.rlim_max;
  if (seconds != 0) {
    const auto spent = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, spent + seconds + 1);
  }
  setrlimit(RLIMIT_CPU, &limit);
}

[[noreturn]] void serve_until_closed(int socket, const LibraryChild::Serve& serve) {
  // Whoever stops the program stops the parent, which ends this process.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU}) std::signal(number, SIG_DFL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (;;) {
    ChildMessage message;
    if (!receive_all(socket, &message, sizeof message)) _exit(0);
    std::string request(message.size, '\0');
    if (!receive_all(socket, request.data(), request.size())) _exit(0);
    limit_cpu(message.seconds);
    std::string answer;
    message.error = 0;
    try {
      answer = serve(request);
    } catch (const Error& error) {
      message.error = 1 + static_cast<std::uint32_t>(error.kind());
      answer = error.message() + "\n" + error.hint();
    } catch (const std::bad_alloc&) {
      message.error = 1 + static_cast<std::uint32_t>(ErrorKind::environment);
      answer = "out of memory\n";
    } catch (const std::exception& error) {
      message.error = 1 + static_cast<std::uint32_t>(ErrorKind::runtime);
      answer = std::string(error.what()) + "\n";
    }
    message.size = answer.size();
    if (!send_all(socket, &message, sizeof message) || !send_all(socket, answer.data(), answer.size()))
      _exit(0);
  }
}

}  // namespace

LibraryChild::LibraryChild(std::string path, std::string library, const Serve& serve)
    : path_(std::move(path)), library_(std::move(library)) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw_runtime(fmt::format("{}: no socket to read it through: {}", path_, system_text(errno)),
                  "let the process have more files: ulimit -n");
  }
  child_ = fork();
  if (child_ == 0) {
    close(ends[0]);
    serve_until_closed(ends[1], serve);
  }
  const int error = errno;
  close(ends[1]);
  socket_ = ends[0];
  if (child_ < 0) {
    close(socket_);
    throw_runtime(fmt::format("{}: no process to read it in: {}", path_, system_text(error)),
                  "let the user have more processes: ulimit -u");
  }
}

LibraryChild::~LibraryChild() {
  close(socket_);
  if (child_ < 0) return;
  kill(child_, SIGKILL);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void LibraryChild::throw_ended() {
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  const std::string how = !WIFSIGNALED(status)          ? fmt::format("with status {}", WEXITSTATUS(status))
                          : WTERMSIG(status) == SIGXCPU ? "after too long a time"
                                                        : fmt::format("with signal {} ({})", WTERMSIG(status),
                                                                      strsignal(WTERMSIG(status)));
  throw_bad_input(
      fmt::format("{}: the {} library ended over it {}: the file is damaged", path_, library_, how),
      "copy or make the file again");
}

void LibraryChild::take(void* to, std::size_t size) {
  if (child_ < 0 || !receive_all(socket_, to, size)) throw_ended();
}

std::uint64_t LibraryChild::ask(std::string_view request, unsigned seconds) {
  ChildMessage message{request.size(), seconds, 0};
  if (child_ < 0) throw_bad_input(path_ + ": is damaged", "copy or make the file again");
  if (!send_all(socket_, &message, sizeof message) || !send_all(socket_, request.data(), request.size())) {
    throw_ended();
  }
  take(&message, sizeof message);
  if (message.error == 0) return message.size;
  std::string text(message.size, '\0');
  take(text.data(), text.size());
  const std::size_t end = text.rfind('\n');
  throw Error(static_cast<ErrorKind>(message.error - 1), text.substr(0, end), text.substr(end + 1));
}

void LibraryChild::receive(void* to, std::size_t size) {
  take(to, size);
}

std::string LibraryChild::answer(std::string_view request, unsigned seconds) {
  std::string text(ask(request, seconds), '\0');
  take(text.data(), text.size());
  return text;
}

}  // namespace bigbird
