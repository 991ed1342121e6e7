// NCCL between the devices of ranks: libnccl.so.2, opened at run time, so that the program starts where there
// is none. It is asked for copies alone (ranks.h); the ranks' own engine carries its 128-byte number.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.h"
#include "kernels/ranks/ranks.h"

namespace bigbird::kernels {

// "NCCL 2.28.9" of the library that is found: BIGBIRD_NCCL where it is set, else libnccl.so.2. RanksError
// where there is none, or of another major version.
std::string nccl_version();

// Collective: all ranks join, each with the device of its backend, which must outlive the copies. They run on
// the backend's stream. RanksError for what NCCL says.
std::unique_ptr<DeviceCopies> make_nccl_copies(Ranks& ranks, const Backend& backend);

// Collective. RanksError, on all ranks alike, where two of them compute on one device
// (Backend::device_identity()); NCCL would refuse, and each would have half of it at best.
void require_own_devices(Ranks& ranks, const Backend& backend);

}  // namespace bigbird::kernels
