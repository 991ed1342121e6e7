// Appendix B of the paper: a decoder with sparse attention computes what a Turing machine does. Machine time
// j is the block of the decoder's steps i = j(j+1)/2 + k, k = 1 .. j+1; the last of them is its compute node.
// Each node reads two nodes, so it takes two inner products:
//
//   k = 1            node 1, and the one before it
//   k > 1            the compute node of time k-1, and itself
//   compute node     itself, and the one before it
//
// In this way a block compares all earlier times two by two, and finds who visited the head's next cell last.
// The paper prints (i, i) for the second edge of compute nodes too: with it the tape is lost. Scores are
// fractions of whole numbers, compared exactly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/theory/turing_machine.h"

namespace bigbird {

enum class DecoderEdges { amended, printed };

struct DecoderNode {
  std::int64_t number = 0;             // i, from 1
  std::int64_t time = 0;               // j, from 0
  std::int64_t place = 0;              // k, from 1
  std::int64_t first = 0, second = 0;  // the nodes that it reads
  bool took_second = false;            // which of them hardmax took
  std::int64_t record = 0;             // the time that what it took tells of
  bool computes() const { return place == time + 1; }
};

// What compute node j writes of its time: (v, 1/(j+1), c/(j+1), 1/(j+1)^2, j), as whole numbers.
struct TimeRecord {
  char written = blank_symbol;
  std::int64_t cell = 0;
  std::int64_t time = 0;
};

constexpr std::int64_t from_word = -1, from_nowhere = -2;  // a letter, and a cell that nobody has visited

struct DecoderRun {
  std::vector<Configuration> configurations;  // of times 0, 1 ..
  std::vector<TimeRecord> records;            // of the same times
  // Where the symbol after each of them comes from: the time of the record, or one of the two below.
  std::vector<std::int64_t> sources;
  std::vector<DecoderNode> nodes;
  std::int64_t products = 0;  // inner products of attention over the decoder's own nodes
};

// So many machine times, the first included. Ends early where the machine has no transition.
DecoderRun decode_machine(const TuringMachine& machine, const std::string& word, std::int64_t times,
                          DecoderEdges edges = DecoderEdges::amended);

// The decoder's tape before each step: the word, and what its records say was written.
std::vector<Tape> decoder_tapes(const DecoderRun& run, const std::string& word);

// The first time at which configuration or tape are not those of the plain run; -1: none.
std::int64_t first_difference(const MachineRun& plain, const DecoderRun& run, const std::string& word);

}  // namespace bigbird
