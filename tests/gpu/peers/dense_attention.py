"""Dense attention through torch's scaled_dot_product_attention: FlashAttention and cuDNN, forward and backward."""
from measure import Measurements, arguments


def main():
    options = arguments(__doc__).parse_args()
    measurements = Measurements(options, "sdpa")
    import torch.nn.functional as functional
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backends = {"sdpa-flash": SDPBackend.FLASH_ATTENTION, "sdpa-cudnn": SDPBackend.CUDNN_ATTENTION}
    if options.device == "cpu":
        backends = {"sdpa-math": SDPBackend.MATH}
    for sequences, tokens in measurements.attention_sizes():
        for engine, backend in backends.items():

            def case():
                with sdpa_kernel(backend):
                    measurements.attention_both_ways(engine, functional.scaled_dot_product_attention, sequences, tokens,
                                                     rounds=max(3, options.rounds // (1 + tokens // 16384)))

            measurements.attempt(f"{engine} {sequences} x {tokens}", case)


main()
