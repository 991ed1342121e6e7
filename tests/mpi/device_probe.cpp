// A program for tests/mpi/devices.sh: a tiny pretraining on the emulated CUDA device of each rank.
//   device_probe RUN WAY PARTS FOLDER [RANKS]
// trains in FOLDER/RUN, PARTS micro-batches of an update over all ranks; WAY: nccl, host or auto; RANKS as of
// --ranks. Rank 0 prints the digests of what came out.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_options.h"
#include "kernels/ranks/launcher.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/sha256.h"
#include "lib/training/pretraining.h"
#include "tests/support/tiny_training_data.h"

namespace {

using namespace bigbird;

PretrainOptions tiny(const std::string& folder, const std::string& run, std::uint64_t parts) {
  PretrainOptions options;
  options.train = folder + "/train";
  options.valid = folder + "/train";
  options.tokenizer = folder + "/tokenizer";
  options.run = folder + "/" + run;
  options.config.hidden_size = 64;  // heads of 32
  options.config.num_hidden_layers = 1;
  options.config.num_attention_heads = 2;
  options.config.intermediate_size = 64;
  options.config.block_size = 16;
  options.config.max_position_embeddings = 64;
  options.length = 48;
  options.batch = 8;
  options.accumulate = parts;
  options.steps = 2;
  options.warmup = 0;
  options.eval_every = 2;
  options.eval_samples = 3;
  return options;
}

void train(RankTeam& team, const std::vector<std::string>& words) {
  const std::string& folder = words.at(3);
  if (team.ranks().rank() == 0) {
    bigbird::testing::write_tiny_tokenizer(folder + "/tokenizer");
    bigbird::testing::write_tiny_shards(folder + "/train", folder + "/tokenizer");
  }
  team.agree({});
  const auto backend = kernels::cuda::make_cuda_backend({.precision = kernels::Precision::bf16});
  connect_devices(team, *backend, parse_between_devices(words.at(1)));
  PretrainOptions options = tiny(folder, words.at(0), std::stoull(words.at(2)));
  options.team = &team;
  pretrain(options, *backend);
  if (team.ranks().rank() == 0) {
    std::printf("%s %s\n", digest_of_file(options.run + "/final/model.safetensors").sha256.c_str(),
                digest_of_file(options.run + "/checkpoint-2/optimizer.safetensors").sha256.c_str());
  }
  team.finish();
}

int run(const std::vector<std::string>& words) {
  const std::string choice = words.size() > 4 ? words[4] : "auto";
  RankTeam team(kernels::open_ranks(choice, kernels::read_launch()));
  const bool first = team.ranks().rank() == 0;
  set_log_sink([first](LogLevel, const std::string& text) {
    if (first) std::fprintf(stderr, "%s\n", text.c_str());
  });
  try {
    train(team, words);
    return 0;
  } catch (const ErrorOfAllRanks& error) {
    if (first) std::fprintf(stderr, "error: %s\nhint: %s\n", error.message().c_str(), error.hint().c_str());
  } catch (const Error& error) {
    try {
      team.fail(error);
    } catch (const ErrorOfAllRanks& all) {
      if (first) std::fprintf(stderr, "error: %s\nhint: %s\n", all.message().c_str(), all.hint().c_str());
    }
  }
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
