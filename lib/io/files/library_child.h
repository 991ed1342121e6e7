// Private to lib/io: a library of others at work in a process of its own. What it does to memory over a
// damaged file ends that process, and is an Error of one line here.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace bigbird {

// A child process that answers requests, one after the other, until this object is destroyed. It is forked
// from this process and runs no other program: what is in memory is there too. One thread at a time.
class LibraryChild {
 public:
  // Given the bytes of a request, returns those of the answer. Runs in the child; an Error that it throws is
  // thrown by ask().
  using Serve = std::function<std::string(std::string_view request)>;

  // `path` and `library` ("HDF5") are for messages. Error{runtime} where no process can be made.
  LibraryChild(std::string path, std::string library, const Serve& serve);
  ~LibraryChild();
  LibraryChild(const LibraryChild&) = delete;
  LibraryChild& operator=(const LibraryChild&) = delete;

  // Returns the size of the answer, which receive() then takes, in pieces of any size, to its last byte.
  // Error{bad_input}: the child has ended over the file, or used more than `seconds` of CPU (0: as many as it
  // takes); it gives no more answers.
  std::uint64_t ask(std::string_view request, unsigned seconds = 0);
  void receive(void* to, std::size_t size);
  // The same as one string.
  std::string answer(std::string_view request, unsigned seconds = 0);

 private:
  [[noreturn]] void throw_ended();
  void take(void* to, std::size_t size);

  std::string path_;
  std::string library_;
  pid_t child_ = -1;
  int socket_ = -1;
};

}  // namespace bigbird
