// Backward kernels of attention in bf16.
#include "kernels/cuda/attention/backward.cuh"

namespace bigbird::kernels::cuda {

template void launch_attention_backward<bf16, 32>(const AttentionBackwardArguments&, int, Stream);
template void launch_attention_backward<bf16, 64>(const AttentionBackwardArguments&, int, Stream);
template void launch_attention_backward<bf16, 128>(const AttentionBackwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
