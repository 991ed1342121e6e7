// Part of every program that is built for AddressSanitizer. LLVM's OpenMP keeps a file in shared memory that
// bears the number of its process, and a process that is killed leaves it there. A later process with that
// number reads it: an empty one (killed before it had a size) ends it with SIGBUS. So a process removes what
// bears its number before OpenMP looks: when it starts, and in a child after fork.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

namespace {

void remove_file_of_this_process() {
  char name[64];
  std::snprintf(name, sizeof name, "/__KMP_REGISTERED_LIB_%d_%d", static_cast<int>(getpid()),
                static_cast<int>(getuid()));
  shm_unlink(name);
}

__attribute__((constructor)) void when_the_process_starts() {
  remove_file_of_this_process();
  pthread_atfork(nullptr, nullptr, remove_file_of_this_process);
}

}  // namespace
