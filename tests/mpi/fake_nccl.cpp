// A stand-in for libnccl.so.2: the ten functions that bigbird asks for, between the emulated devices of
// processes on one machine, whose memory is the program's. What is sent goes through a shared memory that is
// named after the unique number. FAKE_NCCL_VERSION: the version that it gives (22809).
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace {

constexpr std::size_t most_ranks = 8;
constexpr std::size_t chunk = 64 * 1024;

struct Shared {
  std::atomic<unsigned> arrived;
  std::atomic<unsigned> turn;
  char slots[most_ranks][most_ranks][chunk];  // from, to
};

struct Communicator {
  Shared* shared = nullptr;
  std::string name;
  std::size_t rank = 0;
  std::size_t count = 0;
};

struct Transfer {
  Communicator* communicator;
  const char* sent;
  char* received;
  std::size_t bytes;
  std::size_t peer;
};
std::vector<Transfer> group;

void meet(const Communicator& of) {
  Shared& shared = *of.shared;
  const unsigned turn = shared.turn.load();
  if (shared.arrived.fetch_add(1) + 1 == of.count) {
    shared.arrived.store(0);
    shared.turn.fetch_add(1);
    return;
  }
  while (shared.turn.load() == turn) sched_yield();
}

constexpr int success = 0, system_error = 2, invalid_argument = 4;

}  // namespace

extern "C" {

struct UniqueId {
  char bytes[128];
};

int ncclGetVersion(int* version) {
  const char* const told = std::getenv("FAKE_NCCL_VERSION");
  *version = told != nullptr ? std::atoi(told) : 22809;
  return success;
}

const char* ncclGetErrorString(int status) {
  return status == system_error ? "unhandled system error" : "invalid argument";
}

int ncclGetUniqueId(UniqueId* id) {
  std::memset(id->bytes, 0, sizeof id->bytes);
  std::snprintf(id->bytes, sizeof id->bytes, "/bigbird-fake-nccl-%d", static_cast<int>(getpid()));
  return success;
}

int ncclCommInitRank(void** out, int count, UniqueId id, int rank) {
  if (count > static_cast<int>(most_ranks)) return invalid_argument;
  const int file = shm_open(id.bytes, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return system_error;
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return system_error;
  auto* const made = new Communicator;
  made->shared = static_cast<Shared*>(memory);  // zeros at first
  made->name = id.bytes;
  made->rank = static_cast<std::size_t>(rank);
  made->count = static_cast<std::size_t>(count);
  meet(*made);
  shm_unlink(id.bytes);  // gone with the processes
  *out = made;
  return success;
}

int ncclCommAbort(void* communicator) {
  auto* const made = static_cast<Communicator*>(communicator);
  munmap(made->shared, sizeof(Shared));
  delete made;
  return success;
}

int ncclGroupStart() {
  group.clear();
  return success;
}

int ncclSend(const void* data, std::size_t bytes, int, int peer, void* communicator, void*) {
  group.push_back({static_cast<Communicator*>(communicator), static_cast<const char*>(data), nullptr, bytes,
                   static_cast<std::size_t>(peer)});
  return success;
}

int ncclRecv(void* data, std::size_t bytes, int, int peer, void* communicator, void*) {
  group.push_back({static_cast<Communicator*>(communicator), nullptr, static_cast<char*>(data), bytes,
                   static_cast<std::size_t>(peer)});
  return success;
}

// All transfers are of one size, as those of an exchange are.
int ncclGroupEnd() {
  if (group.empty()) return success;
  const Communicator& own = *group.front().communicator;
  for (std::size_t at = 0; at < group.front().bytes; at += chunk) {
    const std::size_t size = std::min(chunk, group.front().bytes - at);
    for (const Transfer& transfer : group) {
      if (transfer.sent != nullptr)
        std::memcpy(own.shared->slots[own.rank][transfer.peer], transfer.sent + at, size);
    }
    meet(own);
    for (const Transfer& transfer : group) {
      if (transfer.received != nullptr)
        std::memcpy(transfer.received + at, own.shared->slots[transfer.peer][own.rank], size);
    }
    meet(own);
  }
  group.clear();
  return success;
}

int ncclAllGather(const void* mine, void* all, std::size_t bytes, int type, void* communicator,
                  void* stream) {
  const auto& own = *static_cast<Communicator*>(communicator);
  ncclGroupStart();
  for (std::size_t peer = 0; peer < own.count; ++peer) {
    ncclSend(mine, bytes, type, static_cast<int>(peer), communicator, stream);
    ncclRecv(static_cast<char*>(all) + peer * bytes, bytes, type, static_cast<int>(peer), communicator,
             stream);
  }
  return ncclGroupEnd();
}

}  // extern "C"
