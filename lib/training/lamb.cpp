// See lamb.h.
#include "lib/training/lamb.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bigbird {
namespace {

// Every tensor, cut where the slice of a rank may begin: body(tensor, offset, count).
template <typename Body>
void each_piece(const std::vector<LambTensor>& tensors, std::int64_t count, const Body& body) {
  const std::int64_t part = kernels::part_size(count);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::int64_t end = tensors[t].offset + tensors[t].count;
    for (std::int64_t at = tensors[t].offset; at < end;) {
      const std::int64_t next = std::min(end, (at / part + 1) * part);
      body(t, at, next - at);
      at = next;
    }
  }
}

}  // namespace

LambUpdate::LambUpdate(kernels::Backend& backend, kernels::SliceSums& slices, std::vector<LambTensor> tensors,
                       std::int64_t count)
    : backend_(backend), slices_(slices), tensors_(std::move(tensors)) {
  const kernels::IndexRange& own = slices_.own();
  each_piece(tensors_, count, [&](std::size_t tensor, std::int64_t offset, std::int64_t number) {
    if (offset >= own.first && offset < own.end()) {
      if (own_.empty()) first_own_ = tensor_of_.size();
      own_.push_back({offset - own.first, number, tensors_[tensor].decay});
    }
    tensor_of_.push_back(tensor);
  });
}

std::size_t LambUpdate::scratch_bytes(const kernels::Backend& backend, const std::vector<LambTensor>& tensors,
                                      std::int64_t count) {
  std::vector<kernels::LambPiece> all;
  each_piece(tensors, count, [&](std::size_t tensor, std::int64_t offset, std::int64_t number) {
    all.push_back({offset, number, tensors[tensor].decay});
  });
  return backend.lamb_scratch_bytes(all);
}

void LambUpdate::run(const kernels::LambArrays& arrays, double learning_rate, const kernels::LambStep& step) {
  std::vector<kernels::LambSquares> squares(own_.size());
  backend_.lamb_moments(arrays, own_, step, squares.data());
  // Pieces of other ranks are zeros, so that the sum over ranks is what the one rank has.
  const std::size_t pieces = tensor_of_.size();
  std::vector<double> mine(2 * pieces);
  for (std::size_t i = 0; i < squares.size(); ++i) {
    mine[2 * (first_own_ + i)] = squares[i].parameter;
    mine[2 * (first_own_ + i) + 1] = squares[i].update;
  }
  const std::vector<double> all = kernels::gather_numbers(slices_.ranks(), mine);
  std::vector<kernels::LambSquares> of(tensors_.size());
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    kernels::LambSquares sum;
    for (std::size_t at = 2 * piece; at < all.size(); at += 2 * pieces) {
      sum.parameter += all[at];
      sum.update += all[at + 1];
    }
    of[tensor_of_[piece]].parameter += sum.parameter;
    of[tensor_of_[piece]].update += sum.update;
  }
  std::vector<float> rates;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const LambTensor& tensor = tensors_[tensor_of_[first_own_ + i]];
    const kernels::LambSquares& sum = of[tensor_of_[first_own_ + i]];
    const bool adapts = tensor.decay && sum.parameter > 0.0 && sum.update > 0.0;
    const double ratio = adapts ? std::sqrt(sum.parameter) / std::sqrt(sum.update) : 1.0;
    rates.push_back(static_cast<float>(learning_rate * tensor.rate * ratio));
  }
  backend_.lamb_move(arrays, own_, step, rates.data());
}

}  // namespace bigbird
