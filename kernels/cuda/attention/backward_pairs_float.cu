// Backward kernels of attention in floats with pair rules and relative terms.
#include "kernels/cuda/attention/backward_launch.cuh"

namespace bigbird::kernels::cuda {

template void launch_attention_backward<float, 32, true>(const AttentionBackwardArguments&, int, Stream);
template void launch_attention_backward<float, 64, true>(const AttentionBackwardArguments&, int, Stream);
template void launch_attention_backward<float, 128, true>(const AttentionBackwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
