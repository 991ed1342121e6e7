// Backward kernels of attention in bf16 with pair rules and relative terms.
#include "kernels/cuda/attention/backward_launch.cuh"

namespace bigbird::kernels::cuda {

template void launch_attention_backward<bf16, 32, true>(const AttentionBackwardArguments&, int, Stream);
template void launch_attention_backward<bf16, 64, true>(const AttentionBackwardArguments&, int, Stream);
template void launch_attention_backward<bf16, 128, true>(const AttentionBackwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
