// Backward kernels of attention in floats for heads of 64 columns.
#include "kernels/cuda/attention/backward_launch.cuh"

namespace bigbird::kernels::cuda {

template void launch_attention_backward<float, 64, false>(const AttentionBackwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
