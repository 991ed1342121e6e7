// Backward kernels of attention in floats for heads of 128 columns.
#include "kernels/cuda/attention/backward_launch.cuh"

namespace bigbird::kernels::cuda {

template void launch_attention_backward<float, 128, false>(const AttentionBackwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
