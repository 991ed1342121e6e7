// Forward kernels of attention with pair rules and relative terms.
#include "kernels/cuda/attention/forward.cuh"

namespace bigbird::kernels::cuda {

template void launch_attention_forward<32, true>(const AttentionForwardArguments&, int, Stream);
template void launch_attention_forward<64, true>(const AttentionForwardArguments&, int, Stream);
template void launch_attention_forward<128, true>(const AttentionForwardArguments&, int, Stream);

}  // namespace bigbird::kernels::cuda
