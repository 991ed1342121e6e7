// The projections W [M, D] of Performer's features (Choromanski et al. 2020, section 2.4): rows that are
// orthogonal within blocks of D, each as long as a row of D normal numbers is, which leaves the mean of
// products of features what it is and makes their variance smaller. Each draw is a function of (seed, layer,
// number of the draw); a folder keeps the W of its layers.
//
//   gauss     the rows of Q^T of a square matrix Q R of normal numbers, R with a positive diagonal
//   givens    of D ceil(ln D) rotations by an angle of 0 .. pi, each of two different axes
//   hadamard  of H D3 H D2 H D1 / D^(3/2), with signs drawn for each D
//   iid       normal numbers, nothing orthogonal
//
// The published code draws the two axes of a rotation with replacement, and one that is turned against itself
// leaves no orthogonal matrix; they differ here.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"

namespace bigbird {

class ParameterLayout;

// Whether the layers of a model have a W: of AttentionPattern::performer, but for projection none.
bool draws_features(const ModelConfig& config);

// [projected_features(config), head_size] of a layer, draw 0, 1, 2 ...
std::vector<float> drawn_features(const ModelConfig& config, std::int64_t layer, std::uint64_t seed,
                                  std::uint64_t number);

// After `updates` updates of a run: where they are a multiple of `redraw`, draw number updates / redraw of
// every layer into the parameters (layout) on the device. Otherwise nothing.
void redraw_features(kernels::Backend& backend, const ModelConfig& config, const ParameterLayout& layout,
                     float* parameters, std::uint64_t updates, std::uint64_t seed);

}  // namespace bigbird
