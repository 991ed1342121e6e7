"""What a card may do beside an H200, by its data sheet: for the bounds of read_results.py, which were set for an H200.

A training step and a batch of windows are taken apart as an H200 has them (docs/gpu.md, benchmarks/gpu.md): products
scale with the dense bf16 rate, attention with what mma.sync reaches, what moves bytes with the memory's rate, and the
rest (launches, waits) stays. By count: of these cards the H200 alone was measured."""
import re
from collections import namedtuple

# TFLOP/s of bf16 without sparsity, of mma.sync, and GB/s of memory: NVIDIA's data sheets, by the first pattern that is in
# the name which nvidia-smi gives. mma.sync has two thirds of a Hopper's rate, which wgmma has whole; on a B200 it was not
# measured and counts as an H200's.
Card = namedtuple("Card", "name pattern bf16 mma memory")
cards = (
    Card("H200", r"H200$", 989.4, 660, 4800),
    Card("H100 SXM", r"H100 80GB HBM3$", 989.4, 660, 3350),
    Card("H100 PCIe", r"H100 PCIe$", 756.5, 504, 2000),
    Card("A100 SXM, 80 GB", r"A100-SXM4-80GB$", 312, 312, 2039),
    Card("A100 PCIe, 80 GB", r"A100 80GB PCIe$", 312, 312, 1935),
    Card("A100, 40 GB", r"A100-(SXM4|PCIE)-40GB$", 312, 312, 1555),
    Card("L40S", r"L40S$", 362, 362, 864),
    Card("B200", r"B200$", 2250, 660, 8000),
    Card("RTX 5090", r"RTX 5090$", 209.5, 209.5, 1792),
)
h200 = cards[0]

# Milliseconds of an H200: products, attention, bytes, rest. A step of 8 x 4,096 tokens; 128 windows of 960 tokens.
Parts = namedtuple("Parts", "products attention bytes rest")
step = Parts(27.7, 13.3, 7.6, 2.9)
windows = Parts(33.4, 10.8, 4.7, 1.7)


def find(device):
    """The card of "NVIDIA H200, 580.65, ..." (of the first, where there are several); None for others, slices of cards too."""
    name = device.split("\n")[0].split(",")[0].strip()
    return next((card for card in cards if re.search(r"\b" + card.pattern, name)), None)


def time_over_h200(parts, card):
    """How many times as long as on an H200."""
    time = (parts.products * h200.bf16 / card.bf16 + parts.attention * h200.mma / card.mma + parts.bytes * h200.memory / card.memory
            + parts.rest)
    return time / sum(parts)
