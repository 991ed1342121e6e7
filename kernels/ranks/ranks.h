// The processes of one run, its ranks: which of them this one is, and how bytes go from one to another.
// Beside backend.h: a backend computes, ranks copy.
//
// Engines (MPI, NCCL) are asked for copies alone. Their own sums depend on the number of ranks, on the
// library and on the length (docs/architecture.md has digests); who wants a sum that does not folds what was
// copied in an order of its own. Every call is collective: all ranks make the same calls, in the same order,
// from one thread. What fails throws RanksError.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bigbird::kernels {

class Backend;

// One line of what is wrong, and one of what to do about it.
class RanksError : public std::runtime_error {
 public:
  explicit RanksError(const std::string& message, std::string hint = {})
      : std::runtime_error(message), hint_(std::move(hint)) {}
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

// Copies between the memories of the ranks' devices, where an engine has them (make_nccl_copies). In order
// with the work of the backend that they were made for.
class DeviceCopies {
 public:
  DeviceCopies() = default;
  virtual ~DeviceCopies() = default;
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;
  virtual std::string engine() const = 0;  // "NCCL 2.28.9"
  // As those of Ranks.
  virtual void exchange(const void* to_each, void* from_each, std::size_t bytes) = 0;
  virtual void all_gather(const void* mine, void* all, std::size_t bytes) = 0;
};

class Ranks {
 public:
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  virtual int rank() const = 0;   // 0 .. count() - 1
  virtual int count() const = 0;  // 1 for a run of one process
  // The place of this rank among those on its machine: which of the machine's devices it takes.
  virtual int rank_on_machine() const = 0;
  virtual int count_on_machine() const = 0;  // ranks on the machine of this one
  // "Open MPI v4.1.4"; empty for one process.
  virtual std::string engine() const = 0;

  // Null: what a device holds goes by way of the program's memory.
  DeviceCopies* device_copies() const { return device_copies_.get(); }
  void use(std::unique_ptr<DeviceCopies> copies) { device_copies_ = std::move(copies); }

  // Those of rank `from` to all. The program's memory, as everywhere here.
  virtual void broadcast(void* data, std::size_t bytes, int from) = 0;
  // Slice r of to_each goes to rank r; slice r of from_each comes from rank r. Both hold count() slices of
  // `bytes` bytes and do not overlap.
  virtual void exchange(const void* to_each, void* from_each, std::size_t bytes) = 0;
  // `all` holds count() slices of `bytes` bytes, in rank order; `mine` may be the own slice of it.
  virtual void all_gather(const void* mine, void* all, std::size_t bytes) = 0;
  // Asks the engine to end all ranks with this status, when this one has failed and the others wait for it.
  // It may end this one too.
  virtual void end_all(int status) = 0;
  // What this process will end with after the object: an MPI that does not end is ended with it.
  void set_exit_status(int status) { exit_status_ = status; }

 protected:
  Ranks() = default;
  int exit_status() const { return exit_status_; }

 private:
  int exit_status_ = 0;
  std::unique_ptr<DeviceCopies> device_copies_;
};

// The numbers of every rank, in rank order. All give as many.
std::vector<double> gather_numbers(Ranks& ranks, std::span<const double> mine);
// The texts of every rank, in rank order. They may differ in length.
std::vector<std::string> gather_texts(Ranks& ranks, const std::string& mine);

// This process alone.
std::unique_ptr<Ranks> make_self_ranks();
// The same, for who needs no object of its own.
Ranks& this_process();
// Those of an MPI, through its plug-in (mpi_table.h): a shared library that is opened here, so that a program
// that nobody starts under MPI needs none. The MPI ends with the object; there is one in a process's life.
std::unique_ptr<Ranks> make_mpi_ranks(const std::string& plugin);

// Ranks without an MPI (folder_ranks.cpp): processes that meet in a folder which all of them see. What is
// sent is a file that appears whole (written beside, then renamed); who waits looks for it. Slow beside an
// MPI, and right wherever a new file is seen soon: a folder in memory on one machine (/dev/shm), Lustre,
// GPFS; NFS shows one after seconds. Enough to start NCCL, which then carries what is large.

// Which process this is of those that were started.
struct ProcessNumber {
  int rank = 0;
  int count = 1;
  // What tells this start from others of the same folder: a job and its step; empty where nobody says.
  std::string start;
};
// Of SLURM_PROCID and SLURM_STEP_NUM_TASKS (srun), else of RANK and WORLD_SIZE. RanksError where neither is
// set, or they contradict themselves.
ProcessNumber read_process_number();
ProcessNumber read_process_number(const std::function<const char*(const char*)>& variable);

// Collective. `folder` is made where it is missing; of a start without a name it must be new. `patience`:
// seconds that a rank waits for another one before it gives up, while nothing comes. RanksError for a folder
// that was used before or cannot be written, for a rank that has ended, and for one that does not come.
std::unique_ptr<Ranks> make_folder_ranks(const std::string& folder, const ProcessNumber& process,
                                         double patience = 600);

// NCCL between the devices of ranks (nccl.cpp): libnccl.so.2, opened at run time, so that the program starts
// where there is none. It is asked for copies alone; the ranks' own engine carries its 128-byte number.

// "NCCL 2.28.9" of the library that is found: BIGBIRD_NCCL where it is set, else libnccl.so.2. RanksError
// where there is none, or of another major version.
std::string nccl_version();

// Collective: all ranks join, each with the device of its backend, which must outlive the copies. They run on
// the backend's stream. RanksError for what NCCL says.
std::unique_ptr<DeviceCopies> make_nccl_copies(Ranks& ranks, const Backend& backend);

// Collective. RanksError, on all ranks alike, where two of them compute on one device
// (Backend::device_identity()); NCCL would refuse, and each would have half of it at best.
void require_own_devices(Ranks& ranks, const Backend& backend);

}  // namespace bigbird::kernels
