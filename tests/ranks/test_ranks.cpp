// One process as ranks, what is gathered over several, and what launchers say.
#include "kernels/ranks/ranks.h"

#include <gtest/gtest.h>

#include <map>

#include "kernels/ranks/launcher.h"
#include "tests/ranks/ranks_error.h"
#include "tests/ranks/thread_ranks.h"

namespace bigbird::kernels {
namespace {

Launch launch_of(const std::map<std::string, std::string>& environment) {
  return read_launch([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Ranks, OneProcessIsRankZeroOfOneAndCopies) {
  const auto ranks = make_self_ranks();
  EXPECT_EQ(ranks->rank(), 0);
  EXPECT_EQ(ranks->count(), 1);
  int one = 5, other = 0;
  ranks->exchange(&one, &other, sizeof one);
  EXPECT_EQ(other, 5);
  ranks->all_gather(&one, &one, sizeof one);
  EXPECT_EQ(one, 5);
  EXPECT_EQ(gather_texts(*ranks, "a text"), std::vector<std::string>{"a text"});
  EXPECT_EQ(gather_texts(*ranks, ""), std::vector<std::string>{""});
}

TEST(Ranks, NumbersAndTextsComeInRankOrder) {
  testing::run_ranks(4, [](Ranks& own) {
    const double r = own.rank();
    const std::vector<double> mine = {r, -r};
    EXPECT_EQ(gather_numbers(own, mine), (std::vector<double>{0, -0.0, 1, -1, 2, -2, 3, -3}));
    const std::vector<std::string> words = {"zero", "", "two is the longest", "3"};
    EXPECT_EQ(gather_texts(own, words[static_cast<std::size_t>(own.rank())]), words);
  });
}

TEST(Launch, IsReadFromWhatEachLauncherSets) {
  EXPECT_EQ(launch_of({}).family, MpiFamily::none);
  EXPECT_EQ(launch_of({}).count, 1);
  const Launch open = launch_of({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "1"}});
  EXPECT_EQ(open.family, MpiFamily::open_mpi);
  EXPECT_EQ(open.count, 4);
  const Launch hydra = launch_of({{"PMI_SIZE", "8"}, {"PMI_RANK", "0"}});
  EXPECT_EQ(hydra.family, MpiFamily::mpich);
  EXPECT_EQ(hydra.count, 8);
  const Launch pmix = launch_of({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(pmix.family, MpiFamily::open_mpi);
  EXPECT_EQ(pmix.count, 2);
  const Launch bare = launch_of({{"SLURM_STEP_NUM_TASKS", "4"}});
  EXPECT_EQ(bare.family, MpiFamily::none);
  EXPECT_EQ(bare.count, 4);
  EXPECT_EQ(bare.by, "srun");
}

TEST(Launch, ProcessesThatKnowNothingOfEachOtherAreRefused) {
  const std::string bare = testing::ranks_error_of([] {
    open_ranks("auto", launch_of({{"SLURM_STEP_NUM_TASKS", "4"}}));
  });
  EXPECT_NE(bare.find("srun started 4 processes, which know nothing of each other"), std::string::npos)
      << bare;
  EXPECT_NE(bare.find("--mpi=pmix"), std::string::npos) << bare;
  const std::string none = testing::ranks_error_of([] {
    open_ranks("none", launch_of({{"PMI_SIZE", "2"}}));
  });
  EXPECT_NE(none.find("mpirun of MPICH started 2 processes"), std::string::npos) << none;
  EXPECT_EQ(open_ranks("none", {})->count(), 1);
  EXPECT_EQ(open_ranks("auto", {})->count(), 1);
  EXPECT_EQ(open_ranks("auto", launch_of({{"SLURM_STEP_NUM_TASKS", "1"}}))->count(), 1);
}

TEST(Launch, AnEngineOfAnotherSizeIsRefused) {
  const auto alone = make_self_ranks();
  const std::string other = testing::ranks_error_of([&] {
    check_count(*alone, launch_of({{"OMPI_COMM_WORLD_SIZE", "4"}}));
  });
  EXPECT_NE(other.find("mpirun of Open MPI started 4 processes, but this one is rank 0 of 1"),
            std::string::npos)
      << other;
  EXPECT_EQ(testing::ranks_error_of([&] { check_count(*alone, {}); }), "no error");
}

TEST(Launch, APluginThatIsNotThereOrNoneIsNamed) {
  setenv("BIGBIRD_MPI_PLUGIN", "/nowhere/libbigbird_mpich.so", 1);
  const std::string missing = testing::ranks_error_of([] { open_ranks("mpich", {}); });
  setenv("BIGBIRD_MPI_PLUGIN", "/proc/self/exe", 1);
  const std::string none = testing::ranks_error_of([] { open_ranks("open-mpi", {}); });
  unsetenv("BIGBIRD_MPI_PLUGIN");
  EXPECT_NE(missing.find("/nowhere/libbigbird_mpich.so: the plug-in for MPICH is not there"),
            std::string::npos)
      << missing;
  EXPECT_NE(none.find("/proc/self/exe: "), std::string::npos) << none;
  EXPECT_NE(testing::ranks_error_of([] { open_ranks("gloo", {}); }).find("'gloo' is not a choice"),
            std::string::npos);
}

}  // namespace
}  // namespace bigbird::kernels
