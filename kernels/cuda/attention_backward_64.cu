// Backward kernels of attention for heads of 64 columns.
#include "kernels/cuda/attention_backward.cuh"

namespace bigbird::kernels::cuda {

template void launch_attention_backward<64>(const AttentionBackwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
