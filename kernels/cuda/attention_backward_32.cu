// Backward kernels of attention for heads of 32 columns.
#include "kernels/cuda/attention_backward.cuh"

namespace bigbird::kernels::cuda {

template void launch_attention_backward<32>(const AttentionBackwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
