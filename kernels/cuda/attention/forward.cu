// Forward kernels of attention.
#include "kernels/cuda/attention/forward.cuh"

namespace bigbird::kernels::cuda {

template void launch_attention_forward<32, false>(const AttentionForwardArguments&, int, Stream);
template void launch_attention_forward<64, false>(const AttentionForwardArguments&, int, Stream);
template void launch_attention_forward<128, false>(const AttentionForwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
