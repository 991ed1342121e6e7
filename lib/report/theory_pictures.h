// What the programs of lib/theory show, as pictures and a page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/theory/furthest_vector.h"
#include "lib/theory/turing_decoder.h"

namespace bigbird {

// Of one window the fraction of tokens that are right, over the layers as a fraction of those needed.
struct WindowLayers {
  std::int64_t window = 1;
  SparseLayers layers;
};
// A complete SVG document.
std::string furthest_vector_svg(std::int64_t tokens, const std::vector<WindowLayers>& windows);

// The decoder's nodes, a row for each machine time, with compute nodes on the diagonal: the nodes of a column
// read the same compute node, which is the first one of it. Filled nodes take what it says, and curves lead
// to who wrote the next symbol. Of long runs the first times. A complete SVG document.
inline constexpr std::int64_t most_drawn_times = 24;
std::string turing_svg(const std::string& title, const DecoderRun& run);

// The run step by step, with that picture: a self-contained page, which ends with the lines of provenance.
std::string turing_page(const TuringMachine& machine, const std::string& word, const MachineRun& plain,
                        const DecoderRun& run, const std::vector<std::string>& provenance);

}  // namespace bigbird
