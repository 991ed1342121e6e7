// NCCL between devices; see ranks.h. The types are those of nccl.h 2.x, which need not be installed to build.
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <map>

#include "kernels/backend.h"
#include "kernels/ranks/ranks.h"

namespace bigbird::kernels {

namespace {

constexpr int nccl_success = 0;
constexpr int nccl_bytes = 0;  // ncclInt8
constexpr int wanted_major = 2;

using Communicator = void*;  // ncclComm_t
struct UniqueId {            // ncclUniqueId
  std::array<char, 128> bytes{};
};

struct Nccl {
  int (*get_version)(int*) = nullptr;
  const char* (*get_error_string)(int) = nullptr;
  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*comm_init_rank)(Communicator*, int, UniqueId, int) = nullptr;
  int (*comm_abort)(Communicator) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, Communicator, void*) = nullptr;
  int (*send)(const void*, std::size_t, int, int, Communicator, void*) = nullptr;
  int (*receive)(void*, std::size_t, int, int, Communicator, void*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  std::string version;
};

template <typename Function>
void find(void* library, const std::string& path, const char* name, Function& function) {
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr) throw RanksError(path + ": has no " + name, "NCCL 2.7 or newer is needed");
  function = reinterpret_cast<Function>(symbol);
}

// 2.9 and later: 22809 for 2.28.9; before: 2708 for 2.7.8.
std::array<int, 3> parts_of(int version) {
  if (version < 10000) return {version / 1000, version / 100 % 10, version % 100};
  return {version / 10000, version / 100 % 100, version % 100};
}

Nccl open_nccl() {
  const char* const named = std::getenv("BIGBIRD_NCCL");
  const std::string path = named != nullptr && *named != '\0' ? named : "libnccl.so.2";
  const std::string without = "install NCCL 2 (libnccl2), name its library by BIGBIRD_NCCL";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: it has threads
  if (library == nullptr) {
    const char* const why = dlerror();
    throw RanksError("NCCL cannot be opened: " + std::string(why != nullptr ? why : path), without);
  }
  Nccl nccl;
  find(library, path, "ncclGetVersion", nccl.get_version);
  int number = 0;
  if (nccl.get_version(&number) != nccl_success)
    throw RanksError(path + ": does not give its version", without);
  const auto [major, minor, patch] = parts_of(number);
  nccl.version = "NCCL " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  if (major != wanted_major)
    throw RanksError(path + ": is " + nccl.version + ", and major version 2 is known here", without);
  find(library, path, "ncclGetErrorString", nccl.get_error_string);
  find(library, path, "ncclGetUniqueId", nccl.get_unique_id);
  find(library, path, "ncclCommInitRank", nccl.comm_init_rank);
  find(library, path, "ncclCommAbort", nccl.comm_abort);
  find(library, path, "ncclAllGather", nccl.all_gather);
  find(library, path, "ncclSend", nccl.send);
  find(library, path, "ncclRecv", nccl.receive);
  find(library, path, "ncclGroupStart", nccl.group_start);
  find(library, path, "ncclGroupEnd", nccl.group_end);
  return nccl;
}

const Nccl& nccl() {
  static const Nccl opened = open_nccl();
  return opened;
}

void check(int status, const Ranks& ranks, const char* what) {
  if (status == nccl_success) return;
  throw RanksError(nccl().version + ": rank " + std::to_string(ranks.rank()) + ": " + what + ": " +
                       nccl().get_error_string(status),
                   "NCCL_DEBUG=INFO in the environment prints more");
}

class NcclCopies : public DeviceCopies {
 public:
  NcclCopies(Ranks& ranks, const Backend& backend) : ranks_(ranks), stream_(backend.stream()) {
    UniqueId id;
    if (ranks.rank() == 0) check(nccl().get_unique_id(&id), ranks, "unique number");
    ranks.broadcast(id.bytes.data(), id.bytes.size(), 0);
    check(nccl().comm_init_rank(&communicator_, ranks.count(), id, ranks.rank()), ranks, "start");
  }
  // Not ncclCommDestroy(): that waits for ranks that may be gone.
  ~NcclCopies() override {
    if (communicator_ != nullptr) nccl().comm_abort(communicator_);
  }
  NcclCopies(const NcclCopies&) = delete;
  NcclCopies& operator=(const NcclCopies&) = delete;

  std::string engine() const override { return nccl().version; }
  void exchange(const void* to_each, void* from_each, std::size_t bytes) override {
    const auto* const sent = static_cast<const char*>(to_each);
    auto* const received = static_cast<char*>(from_each);
    check(nccl().group_start(), ranks_, "exchange");
    for (int r = 0; r < ranks_.count(); ++r) {
      const std::size_t at = static_cast<std::size_t>(r) * bytes;
      check(nccl().send(sent + at, bytes, nccl_bytes, r, communicator_, stream_), ranks_, "send");
      check(nccl().receive(received + at, bytes, nccl_bytes, r, communicator_, stream_), ranks_, "receive");
    }
    check(nccl().group_end(), ranks_, "exchange");
  }
  void all_gather(const void* mine, void* all, std::size_t bytes) override {
    check(nccl().all_gather(mine, all, bytes, nccl_bytes, communicator_, stream_), ranks_, "gather");
  }

 private:
  Ranks& ranks_;
  void* stream_;
  Communicator communicator_ = nullptr;
};

}  // namespace

std::string nccl_version() {
  return nccl().version;
}

std::unique_ptr<DeviceCopies> make_nccl_copies(Ranks& ranks, const Backend& backend) {
  return std::make_unique<NcclCopies>(ranks, backend);
}

void require_own_devices(Ranks& ranks, const Backend& backend) {
  std::map<std::string, std::size_t> first_rank;
  const std::vector<std::string> devices = gather_texts(ranks, backend.device_identity());
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    if (devices[rank].empty()) continue;
    const auto [found, is_new] = first_rank.emplace(devices[rank], rank);
    if (is_new) continue;
    throw RanksError(
        "ranks " + std::to_string(found->second) + " and " + std::to_string(rank) +
            " compute on one device, " + devices[rank],
        "start as many ranks on a machine as it has devices, with --device cuda for each to take "
        "its own");
  }
}

}  // namespace bigbird::kernels
