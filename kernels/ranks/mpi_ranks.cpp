// Ranks over an MPI's plug-in; see ranks.h.
#include <dlfcn.h>

#include <array>

#include "kernels/ranks/mpi_table.h"
#include "kernels/ranks/ranks.h"

namespace bigbird::kernels {

namespace {

class MpiRanks : public Ranks {
 public:
  explicit MpiRanks(const std::string& plugin) {
    // Never closed: an MPI leaves threads and handlers behind.
    void* const library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const why = dlerror();
      throw RanksError(plugin + ": cannot be opened: " + (why != nullptr ? why : "no reason given"),
                       "install the MPI that it was built for, or run one process without mpirun");
    }
    void* const symbol = dlsym(library, "bigbird_mpi_start");
    if (symbol == nullptr) {
      throw RanksError(plugin + ": no plug-in of bigbird for MPI",
                       "BIGBIRD_MPI_PLUGIN names a libbigbird_open_mpi.so or libbigbird_mpich.so");
    }
    const auto start = reinterpret_cast<BigbirdMpiStart>(symbol);
    Line error{};
    if (start(&table_, error.data(), error.size()) != 0)
      throw RanksError("MPI does not start: " + std::string(error.data()), "one process needs no mpirun");
    if (table_.version != bigbird_mpi_version) {
      table_.finish(3);
      throw RanksError(plugin + ": of another version of bigbird",
                       "take the plug-in that came with this program");
    }
  }
  ~MpiRanks() override { table_.finish(exit_status()); }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return table_.rank; }
  int count() const override { return table_.count; }
  int rank_on_machine() const override { return table_.rank_on_machine; }
  int count_on_machine() const override { return table_.count_on_machine; }
  std::string engine() const override { return table_.library; }
  void broadcast(void* data, std::size_t bytes, int from) override {
    Line error{};
    check(table_.broadcast(data, bytes, from, error.data(), error.size()), error);
  }
  void exchange(const void* to_each, void* from_each, std::size_t bytes) override {
    Line error{};
    check(table_.exchange(to_each, from_each, bytes, error.data(), error.size()), error);
  }
  void all_gather(const void* mine, void* all, std::size_t bytes) override {
    Line error{};
    check(table_.all_gather(mine, all, bytes, error.data(), error.size()), error);
  }
  void end_all(int status) override { table_.end_all(status); }

 private:
  using Line = std::array<char, 512>;
  void check(int status, const Line& error) const {
    if (status != 0)
      throw RanksError(std::string(table_.library) + ": rank " + std::to_string(table_.rank) + ": " +
                       error.data());
  }

  BigbirdMpi table_{};
};

}  // namespace

std::unique_ptr<Ranks> make_mpi_ranks(const std::string& plugin) {
  return std::make_unique<MpiRanks>(plugin);
}

}  // namespace bigbird::kernels
