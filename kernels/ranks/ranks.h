// The processes of one run, its ranks: which of them this one is, and how bytes go from one to another.
// Beside backend.h: a backend computes, ranks copy.
//
// Engines (MPI, NCCL) are asked for copies alone. Their own sums depend on the number of ranks, on the
// library and on the length (docs/architecture.md has digests); who wants a sum that does not folds what was
// copied in an order of its own. Every call is collective: all ranks make the same calls, in the same order,
// from one thread. What fails throws RanksError.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bigbird::kernels {

// One line of what is wrong, and one of what to do about it.
class RanksError : public std::runtime_error {
 public:
  explicit RanksError(const std::string& message, std::string hint = {})
      : std::runtime_error(message), hint_(std::move(hint)) {}
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

// Copies between the memories of the ranks' devices, where an engine has them (nccl.h). In order with the
// work of the backend that they were made for.
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

 protected:
  Ranks() = default;

 private:
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

}  // namespace bigbird::kernels
