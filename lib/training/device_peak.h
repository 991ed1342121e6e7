// What devices could do at most, by their data sheets: what the speed of a run is held against.
#pragma once

#include <optional>
#include <string>

#include "kernels/backend.h"

namespace bigbird {

// Operations a second (a multiplication and an addition are two) of dense products in this precision, by the
// name of a device as its backend has it ("cuda:0 NVIDIA H200"). Nothing for a device that the table does not
// know, a slice of one (MIG), and fp32, whose products on a GPU are of two kinds.
std::optional<double> peak_operations(const std::string& device, kernels::Precision precision);

}  // namespace bigbird
