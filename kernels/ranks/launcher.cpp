// What launchers say; see launcher.h.
#include "kernels/ranks/launcher.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "kernels/ranks/ranks.h"

namespace bigbird::kernels {

namespace {

constexpr const char* alone_hint = "start one process: without mpirun, with srun -n 1";

// 0 where it is no number.
int number_of(const char* text) {
  int value = 0;
  if (text == nullptr) return 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  return error == std::errc() && *end == '\0' ? value : 0;
}

const char* file_name(MpiFamily family) {
  return family == MpiFamily::open_mpi ? "libbigbird_open_mpi.so" : "libbigbird_mpich.so";
}

const char* name_of(MpiFamily family) {
  return family == MpiFamily::open_mpi ? "Open MPI" : "MPICH";
}

std::unique_ptr<Ranks> open_mpi_ranks(MpiFamily family) {
  const std::string path = plugin_path(family);
  if (std::error_code error; !std::filesystem::exists(path, error)) {
    const std::string compiler = family == MpiFamily::open_mpi ? "mpicxx.openmpi" : "mpicxx.mpich";
    throw RanksError(path + ": the plug-in for " + name_of(family) + " is not there",
                     "build bigbird where " + compiler + " is, or name it by BIGBIRD_MPI_PLUGIN");
  }
  return make_mpi_ranks(path);
}

}  // namespace

Launch read_launch() {
  return read_launch([](const char* name) -> const char* { return std::getenv(name); });
}

Launch read_launch(const std::function<const char*(const char*)>& variable) {
  const int step = number_of(variable("SLURM_STEP_NUM_TASKS"));
  if (const char* size = variable("OMPI_COMM_WORLD_SIZE"))
    return {MpiFamily::open_mpi, number_of(size), "mpirun of Open MPI"};
  if (variable("PMIX_RANK") != nullptr)
    return {MpiFamily::open_mpi, step, step > 0 ? "srun" : "a launcher by PMIx"};
  if (const char* size = variable("PMI_SIZE"))
    return {MpiFamily::mpich, number_of(size), step > 0 ? "srun" : "mpirun of MPICH"};
  if (step > 0) return {MpiFamily::none, step, "srun"};
  return {};
}

std::string plugin_path(MpiFamily family) {
  if (const char* path = std::getenv("BIGBIRD_MPI_PLUGIN"); path != nullptr && *path != '\0') return path;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path().parent_path() / "lib/bigbird" / file_name(family)).string();
}

void check_count(const Ranks& ranks, const Launch& launch) {
  if (launch.count == 0 || ranks.count() == launch.count) return;
  throw RanksError(
      launch.by + " started " + std::to_string(launch.count) + " processes, but this one is rank " +
          std::to_string(ranks.rank()) + " of " + std::to_string(ranks.count()) + " (" +
          (ranks.engine().empty() ? "no MPI" : ranks.engine()) + ")",
      "the launcher and the MPI do not belong together: use the mpirun of that MPI, or srun --mpi=pmix "
      "(Open MPI), --mpi=pmi2 (MPICH)");
}

std::unique_ptr<Ranks> open_ranks(const std::string& choice, const Launch& launch) {
  constexpr std::string_view by_folder = "folder:";
  if (choice.rfind(by_folder, 0) == 0) {
    const std::string folder = choice.substr(by_folder.size());
    if (folder.empty()) throw RanksError("--ranks folder: names no folder", "--ranks folder:/dev/shm/run-1");
    return make_folder_ranks(folder, read_process_number());
  }
  if (choice == "none" || (choice == "auto" && launch.family == MpiFamily::none)) {
    if (launch.count > 1) {
      const std::string why = choice == "none" ? "" : ", which know nothing of each other";
      throw RanksError(launch.by + " started " + std::to_string(launch.count) + " processes" + why +
                           ": each would make the same run",
                       choice == "none" ? alone_hint : "srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)");
    }
    return make_self_ranks();
  }
  MpiFamily family = launch.family;
  if (choice == "open-mpi") family = MpiFamily::open_mpi;
  if (choice == "mpich") family = MpiFamily::mpich;
  if (family == MpiFamily::none)
    throw RanksError("'" + choice + "' is not a choice of ranks",
                     "auto, none, open-mpi, mpich or folder:DIR");
  std::unique_ptr<Ranks> ranks = open_mpi_ranks(family);
  check_count(*ranks, launch);
  return ranks;
}

}  // namespace bigbird::kernels
