// Times BPE training and encoding: bench_bpe [FASTA] [--bases N] [--vocab-size V] [--trainer NAME].
// Without a FASTA: a random sequence with repeats. Where the FASTA is shorter than asked, its reverse
// complement follows. Sentences are 500 to 1000 bp. Memory is the process's peak up to the end of training.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/io/genome/fasta.h"
#include "lib/tokenization/bpe_trainer.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"

namespace {

using namespace bigbird;

// Wall clock beside the CPU time of all threads, which holds on a machine that does other work as well.
struct Timer {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double cpu_start = cpu_now();

  static double cpu_now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  }
  double wall() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  double cpu() const { return cpu_now() - cpu_start; }
};

std::string random_sequence(std::size_t bases) {
  CounterRng rng(1, Purpose::test, 0);
  std::string sequence;
  while (sequence.size() < bases) {
    if (sequence.size() > 100000 && rng.below(3) == 0) {
      sequence += sequence.substr(static_cast<std::size_t>(rng.below(50000)), 300);
    } else {
      for (int i = 0; i < 600; ++i) sequence += "AACGTTGTCA"[rng.below(10)];
    }
  }
  return sequence;
}

std::string read_sequence(const std::string& path) {
  Fasta fasta(path);
  std::string sequence;
  for (std::size_t i = 0; i < fasta.contigs().size(); ++i)
    sequence += fasta.fetch(i, 0, fasta.contigs()[i].length);
  return sequence;
}

std::vector<std::string> cut(const std::string& sequence, std::size_t bases) {
  CounterRng rng(1, Purpose::test, 1);
  std::vector<std::string> sentences;
  for (std::size_t at = 0; at < std::min(bases, sequence.size());) {
    sentences.push_back(sequence.substr(at, static_cast<std::size_t>(rng.between(500, 1000))));
    at += sentences.back().size();
  }
  return sentences;
}

int run(int argc, char** argv) {
  std::string path;
  std::string trainer_name = "exact";
  std::size_t bases = 20'000'000;
  std::uint32_t vocab_size = 32000;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "0";
    if (word == "--bases") {
      bases = std::stoul(value), ++i;
    } else if (word == "--vocab-size") {
      vocab_size = static_cast<std::uint32_t>(std::stoul(value)), ++i;
    } else if (word == "--trainer") {
      trainer_name = value, ++i;
    } else {
      path = word;
    }
  }
  std::string sequence = path.empty() ? random_sequence(bases) : read_sequence(path);
  if (sequence.size() < bases) sequence += reverse_complement(sequence);
  const std::vector<std::string> sentences = cut(sequence, bases);
  sequence = {};
  BpeSample sample;
  for (const std::string& sentence : sentences) sample.add(sentence);
  const auto trainer = make_bpe_trainer(trainer_name);

  const Timer training;
  const std::vector<std::string> learnt = trainer->train(sample, {vocab_size - 10, 64});
  const double wall = training.wall();
  const double cpu = training.cpu();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double megabytes = static_cast<double>(sample.base_count()) / 1e6;
  std::printf("train  %s: %.1f Mb, %zu pieces: %.2f s wall, %.2f s CPU, peak memory of the process %.0f MB\n",
              trainer->name().c_str(), megabytes, learnt.size() + 10, wall, cpu,
              static_cast<double>(usage.ru_maxrss) / 1024);

  const std::string bytes = serialize_sentencepiece_model(make_dna_model(learnt, 64));
  const SentencePieceModel model = parse_sentencepiece_model(bytes, "model");
  const Timer loading;
  const auto tokenizer = make_dna_tokenizer(model, {}, bytes);
  std::printf("load   %.3f s CPU\n", loading.cpu());
  const auto measure = [&](const Tokenizer& encoder, int threads, const char* name) {
    kernels::set_thread_count(threads);
    const std::size_t tasks = (sentences.size() + 255) / 256;
    std::vector<std::size_t> tokens(tasks);
    const Timer encoding;
    kernels::parallel_for(tasks, [&](std::size_t task) {
      std::vector<std::uint32_t> ids;
      for (std::size_t s = task * 256; s < std::min(sentences.size(), task * 256 + 256); ++s) {
        encoder.encode(sentences[s], ids);
      }
      tokens[task] = ids.size();
    });
    std::size_t total = 0;
    for (const std::size_t count : tokens) total += count;
    const double encoded_wall = encoding.wall();
    const double encoded_cpu = encoding.cpu();
    std::printf(
        "encode %s, %d thread(s): %.2f s wall, %.1f MB/s of wall, %.1f MB/s of CPU, %.3f bases per token\n",
        name, threads, encoded_wall, megabytes / encoded_wall, megabytes / encoded_cpu,
        megabytes * 1e6 / static_cast<double>(total));
  };
  measure(*tokenizer, 1, "own");
  measure(*tokenizer, 2, "own");
  measure(*make_sentencepiece_tokenizer(model, {}, bytes, "model"), 1, "SentencePiece");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\nhint: %s\n", error.message().c_str(), error.hint().c_str());
    return 1;
  }
}
