// Backward kernels of attention in bf16.
#include "kernels/cuda/attention/backward_launch.cuh"

namespace bigbird::kernels::cuda {

template void launch_attention_backward<bf16, 32, false>(const AttentionBackwardArguments&, int, Stream);
template void launch_attention_backward<bf16, 64, false>(const AttentionBackwardArguments&, int, Stream);
template void launch_attention_backward<bf16, 128, false>(const AttentionBackwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
