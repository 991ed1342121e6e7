// A program for tests/mpi/run.sh: ranks as a launcher started them, without a model.
//   probe digest SLOTS COUNT BUCKET   the digest of a sum of SLOTS slots of COUNT floats, from rank 0
//   probe texts                       what every rank said, from rank 0
//   probe die RANK                    RANK kills itself while the others wait for it
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/ranks/launcher.h"
#include "kernels/ranks/ranks.h"
#include "kernels/ranks/slice_sums.h"

namespace {

using namespace bigbird::kernels;

// The numbers of a slot depend on it alone.
float number_of(std::uint64_t slot, std::uint64_t i) {
  std::uint64_t x = (slot << 40) + i + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return (static_cast<float>(x >> 40) / 16777216.0f - 0.5f) * static_cast<float>(1 + i % 7);
}

void digest(Ranks& ranks, Index slots, Index count, Index bucket) {
  const auto backend = make_cpu_backend();
  const IndexRange mine = slots_of_rank(ranks, slots);
  SlotSums own(*backend, count, mine.count);
  std::vector<float> data(static_cast<std::size_t>(count));
  for (Index slot = mine.first; slot < mine.end(); ++slot) {
    for (Index i = 0; i < count; ++i)
      data[static_cast<std::size_t>(i)] =
          number_of(static_cast<std::uint64_t>(slot), static_cast<std::uint64_t>(i));
    own.add(data.data());
  }
  SliceSums sums(ranks, *backend, count, bucket);
  sums.reduce_scatter(data.data());
  sums.all_gather(data.data());
  std::uint64_t hash = 14695981039346656037u;
  for (const float value : data) {
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 1099511628211u;
  }
  for (const std::string& other : gather_texts(ranks, std::to_string(hash))) {
    if (other != std::to_string(hash)) std::printf("ranks differ\n");
  }
  if (ranks.rank() == 0) std::printf("%016llx\n", static_cast<unsigned long long>(hash));
}

int run(const std::vector<std::string>& words) {
  const auto ranks = open_ranks("auto", read_launch());
  const auto number = [&](std::size_t at) { return std::strtoll(words.at(at).c_str(), nullptr, 10); };
  if (words.at(0) == "digest") {
    digest(*ranks, number(1), number(2), number(3));
  } else if (words.at(0) == "texts") {
    std::string whole;
    const std::string mine =
        "rank " + std::to_string(ranks->rank()) + " of " + std::to_string(ranks->count());
    for (const std::string& text : gather_texts(*ranks, mine)) whole += text + "\n";
    std::uint64_t word = ranks->rank() == 1 ? 42u : 0u;
    if (ranks->count() > 1) ranks->broadcast(&word, sizeof word, 1);
    if (ranks->rank() == 0)
      std::printf("%sbroadcast %llu\n", whole.c_str(), static_cast<unsigned long long>(word));
  } else if (words.at(0) == "die") {
    if (ranks->rank() == number(1)) {
      std::raise(SIGKILL);
    }
    gather_texts(*ranks, "alive");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const RanksError& error) {
    std::fprintf(stderr, "error: %s\nhint: %s\n", error.what(), error.hint().c_str());
    return 3;
  }
}
