// What is read of a Slurm job's environment.
#include "lib/core/environment.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace bigbird {
namespace {

std::optional<SlurmGrant> grant_of(const std::map<std::string, std::string>& variables) {
  return slurm_grant([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Slurm, NothingIsGrantedOutsideOfAJob) {
  EXPECT_FALSE(grant_of({}));
  EXPECT_FALSE(grant_of({{"SLURM_CPUS_PER_TASK", "4"}, {"SLURM_MEM_PER_NODE", "100"}}));
  EXPECT_FALSE(grant_of({{"SLURM_JOB_ID", ""}}));
}

TEST(Slurm, AJobSaysWhatItHas) {
  const auto bare = grant_of({{"SLURM_JOB_ID", "12"}});
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->job, "12");
  EXPECT_FALSE(bare->threads || bare->memory || bare->end);

  const auto task = grant_of({{"SLURM_JOB_ID", "15"},
                              {"SLURM_ARRAY_JOB_ID", "12"},
                              {"SLURM_ARRAY_TASK_ID", "3"},
                              {"SLURM_CPUS_PER_TASK", "4"},
                              {"SLURM_MEM_PER_NODE", "2000"},
                              {"SLURM_JOB_END_TIME", "1763900000"}});
  ASSERT_TRUE(task);
  EXPECT_EQ(task->job, "12_3");
  EXPECT_EQ(task->threads, 4);
  EXPECT_EQ(task->memory, std::size_t{2000} << 20);
  EXPECT_EQ(task->end, 1763900000);
}

TEST(Slurm, MemoryOfACpuCountsForAllOnTheNode) {
  EXPECT_EQ(
      grant_of({{"SLURM_JOB_ID", "1"}, {"SLURM_MEM_PER_CPU", "100"}, {"SLURM_CPUS_ON_NODE", "8"}})->memory,
      std::size_t{800} << 20);
  EXPECT_EQ(
      grant_of({{"SLURM_JOB_ID", "1"}, {"SLURM_MEM_PER_CPU", "100"}, {"SLURM_CPUS_PER_TASK", "3"}})->memory,
      std::size_t{300} << 20);
  EXPECT_EQ(grant_of({{"SLURM_JOB_ID", "1"}, {"SLURM_MEM_PER_CPU", "100"}})->memory, std::size_t{100} << 20);
}

TEST(Slurm, WhatIsNoNumberIsLeftOut) {
  for (const char* text : {"", "x", "4x", "-4", "0", "99999999999999999999"}) {
    const auto grant = grant_of({{"SLURM_JOB_ID", "1"},
                                 {"SLURM_CPUS_PER_TASK", text},
                                 {"SLURM_MEM_PER_NODE", text},
                                 {"SLURM_JOB_END_TIME", text}});
    ASSERT_TRUE(grant);
    EXPECT_FALSE(grant->threads || grant->memory || grant->end) << text;
  }
  EXPECT_FALSE(grant_of({{"SLURM_JOB_ID", "1"}, {"SLURM_MEM_PER_NODE", "9223372036854775807"}})->memory);
  EXPECT_FALSE(
      grant_of(
          {{"SLURM_JOB_ID", "1"}, {"SLURM_MEM_PER_CPU", "9223372036854775807"}, {"SLURM_CPUS_ON_NODE", "2"}})
          ->memory);
}

std::string threads_of(const std::map<std::string, std::string>& variables) {
  const auto granted = granted_threads([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  return granted ? granted->variable + "=" + std::to_string(granted->threads) : "";
}

TEST(GrantedThreads, TheFirstThatSaysANumber) {
  EXPECT_EQ(threads_of({}), "");
  EXPECT_EQ(threads_of({{"OMP_NUM_THREADS", "4,2"}, {"SLURM_JOB_ID", "1"}, {"SLURM_CPUS_PER_TASK", "8"}}),
            "OMP_NUM_THREADS=4");
  EXPECT_EQ(threads_of({{"SLURM_JOB_ID", "1"}, {"SLURM_CPUS_PER_TASK", "8"}}), "SLURM_CPUS_PER_TASK=8");
  EXPECT_EQ(threads_of({{"SLURM_CPUS_PER_TASK", "8"}}), "");
  EXPECT_EQ(threads_of({{"PBS_JOBID", "1"}, {"NCPUS", "6"}}), "NCPUS=6");
  EXPECT_EQ(threads_of({{"PBS_JOBID", "1"}, {"NCPUS", "6"}, {"PBS_NUM_PPN", "5"}}), "PBS_NUM_PPN=5");
  EXPECT_EQ(threads_of({{"JOB_ID", "1"}, {"NSLOTS", "3"}}), "NSLOTS=3");
  EXPECT_EQ(threads_of({{"LSB_JOBID", "1"}, {"LSB_DJOB_NUMPROC", "2"}}), "LSB_DJOB_NUMPROC=2");
  for (const char* text : {"", "0", "-1", "x", "99999999999"})
    EXPECT_EQ(threads_of({{"OMP_NUM_THREADS", text}}), "");
}

}  // namespace
}  // namespace bigbird
