// The plug-in for the MPI whose mpicxx compiles this file; see mpi_table.h. Nothing else of bigbird is in it.
#include <mpi.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/ranks/mpi_table.h"

namespace {

char library[MPI_MAX_LIBRARY_VERSION_STRING];

int check(int status, const char* what, char* error, size_t error_size) {
  if (status == MPI_SUCCESS) return 0;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  std::snprintf(error, error_size, "%s: %s", what, text);
  for (char* c = error; *c != '\0'; ++c) {
    if (*c == '\n') *c = ' ';
  }
  return 1;
}

// Counts of MPI are ints: bytes go by 4096, by 64, or one by one where they are no multiple.
class Units {
 public:
  explicit Units(size_t bytes) {
    const size_t size = bytes % 4096 == 0 ? 4096 : bytes % 64 == 0 ? 64 : 1;
    fits_ = bytes / size <= 0x7fffffff;
    count_ = fits_ ? static_cast<int>(bytes / size) : 0;
    MPI_Type_contiguous(static_cast<int>(size), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  ~Units() { MPI_Type_free(&type_); }
  Units(const Units&) = delete;
  Units& operator=(const Units&) = delete;
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }
  int refuse(char* error, size_t error_size) const {
    if (fits_) return 0;
    std::snprintf(error, error_size, "more bytes at once than MPI counts");
    return 1;
  }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  int count_ = 0;
  bool fits_ = true;
};

int broadcast(void* data, size_t bytes, int from, char* error, size_t error_size) {
  const Units units(bytes);
  if (units.refuse(error, error_size) != 0) return 1;
  return check(MPI_Bcast(data, units.count(), units.type(), from, MPI_COMM_WORLD), "broadcast", error,
               error_size);
}

int exchange(const void* to_each, void* from_each, size_t bytes, char* error, size_t error_size) {
  const Units units(bytes);
  if (units.refuse(error, error_size) != 0) return 1;
  return check(MPI_Alltoall(to_each, units.count(), units.type(), from_each, units.count(), units.type(),
                            MPI_COMM_WORLD),
               "exchange", error, error_size);
}

int all_gather(const void* mine, void* all, size_t bytes, char* error, size_t error_size) {
  const Units units(bytes);
  if (units.refuse(error, error_size) != 0) return 1;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool in_place =
      static_cast<const char*>(mine) == static_cast<char*>(all) + static_cast<size_t>(rank) * bytes;
  return check(MPI_Allgather(in_place ? MPI_IN_PLACE : mine, units.count(), units.type(), all, units.count(),
                             units.type(), MPI_COMM_WORLD),
               "gather", error, error_size);
}

// Waits, two seconds at most, until the launcher has taken what this process said: MPICH's kills its
// processes at an abort, and drops what their pipes still hold, which is the line that says why.
void let_the_launcher_read(int descriptor) {
  struct stat what {};
  if (fstat(descriptor, &what) != 0 || !S_ISFIFO(what.st_mode)) return;
  for (int tries = 0; tries < 2000; ++tries) {
    int unread = 0;
    if (ioctl(descriptor, FIONREAD, &unread) != 0 || unread == 0) return;
    usleep(1000);
  }
}

void end_all(int status) {
  std::fflush(nullptr);
  let_the_launcher_read(STDOUT_FILENO);
  let_the_launcher_read(STDERR_FILENO);
  MPI_Abort(MPI_COMM_WORLD, status);
}

#ifdef MPICH_VERSION

// MPICH before 4.2 over UCX can wait for ever in MPI_Finalize (pmodels/mpich#6596): it closes its
// connections, then waits in PMI's barrier and answers nobody; of two ranks that close at one time, one may
// still wait for an answer of the other. Debian 12's 4.0.2 does so in one of some thousand runs of two ranks,
// and a job that has written everything would stand until its time limit.
constexpr unsigned finalize_seconds = 30;
int status_at_end = 0;
bool under_hydra = false;
volatile sig_atomic_t aborting = 0;

extern "C" void end_without_finalize(int) {
  // hydra kills the other processes of one that ends without MPI_Finalize, and gives 9; of an abort it gives
  // the status. srun kills at an abort, and takes an end with status 0 for what it is.
  if (under_hydra && aborting == 0) {
    aborting = 1;
    alarm(5);  // comes back here, where the abort waits too
    MPI_Abort(MPI_COMM_WORLD, status_at_end);
  }
  _exit(status_at_end);
}

void bound_finalize(int status) {
  // Until here a rank may have to wait for the slowest as long as that works.
  MPI_Barrier(MPI_COMM_WORLD);
  std::fflush(nullptr);
  status_at_end = status;
  under_hydra = std::getenv("HYDI_CONTROL_FD") != nullptr;
  struct sigaction action {};
  action.sa_handler = end_without_finalize;
  action.sa_flags = SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGALRM, &action, nullptr);
  alarm(finalize_seconds);
}

void finish(int status) {
  bound_finalize(status);
  MPI_Finalize();
  alarm(0);
}

#else

void finish(int) {
  MPI_Finalize();
}

#endif

}  // namespace

extern "C" __attribute__((visibility("default"))) int bigbird_mpi_start(BigbirdMpi* table, char* error,
                                                                        size_t error_size) {
  int provided = 0;
  if (check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "start", error, error_size) !=
      0)
    return 1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int length = 0;
  MPI_Get_library_version(library, &length);
  // "Open MPI v4.1.4, package: ..." and "MPICH Version:<tab>4.0.2<newline>...": the name and the number.
  library[std::strcspn(library, ",\n")] = '\0';
  for (char* c = library; *c != '\0'; ++c) {
    if (*c == '\t') *c = ' ';
  }
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  table->version = bigbird_mpi_version;
  table->library = library;
  MPI_Comm_rank(MPI_COMM_WORLD, &table->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &table->count);
  MPI_Comm_rank(machine, &table->rank_on_machine);
  MPI_Comm_size(machine, &table->count_on_machine);
  MPI_Comm_free(&machine);
  table->broadcast = broadcast;
  table->exchange = exchange;
  table->all_gather = all_gather;
  table->end_all = end_all;
  table->finish = finish;
  return 0;
}
