// Forward kernels of attention for heads of 32 columns.
#include "kernels/cuda/attention_forward.cuh"

namespace bigbird::kernels::cuda {

template void launch_attention_forward<32>(const AttentionForwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
