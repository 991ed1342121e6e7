"""Random blocks of transformers' own BigBirdBlockSparseAttention, taken out of a running forward call, for many lengths,
block sizes, numbers of random blocks, heads, layers and position tables, in train mode (hf-train) and eval mode (hf-eval).

    python compare_plans.py --write             writes tests/golden/huggingface_plans.tsv: a hash of the blocks as drawn
    python compare_plans.py --bigbird PROGRAM   compares whole key lists with `bigbird attention -o` (sorted: a softmax
                                                does not see the order; repeats are kept)"""

import argparse
import json
import pathlib
import struct
import subprocess

import torch
from transformers import BigBirdConfig
from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention, BigBirdModel

import dense_attention

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "huggingface_plans.tsv"
COLUMNS = ("mode", "tokens", "block_size", "random_blocks", "heads", "layer", "max_positions")


class Captured(Exception):
    pass


def capture(*arguments):
    raise Captured(arguments[2][0].numpy())


def drawn_by_peer(mode, tokens, block, random, heads, layer, positions):
    config = BigBirdConfig(hidden_size=heads, num_attention_heads=heads, block_size=block, num_random_blocks=random,
                           max_position_embeddings=positions)
    module = BigBirdBlockSparseAttention(config, seed=layer).train(mode == "hf-train")
    masks = BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(1, tokens), block)
    module._create_rand_mask_from_inputs = capture
    blocked, band, to_rows, to_columns = masks
    try:
        module(torch.zeros(1, tokens, heads), band, to_rows, to_columns, blocked, blocked)
    except Captured as found:
        return found.args[0]
    raise RuntimeError("transformers drew no random blocks")


def cases():
    for mode in ("hf-train", "hf-eval"):
        for random in (1, 2, 3, 4, 5):
            for blocks in (2 * random + 6, 2 * random + 7, 40, 100):
                yield mode, blocks * 16, 16, random, 4, random % 3, 4096
        for tokens in (1024, 2048, 3072, 4096):
            for layer in (0, 5, 11):
                yield mode, tokens, 64, 3, 12, layer, 4096
            yield mode, tokens, 64, 3, 16, 23, 4096
            yield mode, tokens, 32, 2, 1, 1, 4096
            yield mode, tokens, 16, 3, 4, 2, 4096
        yield mode, 4096, 128, 3, 4, 0, 4096
        yield mode, 1024, 64, 3, 12, 3, 1024
        yield mode, 1024, 64, 3, 12, 3, 2048
        yield mode, 4096, 64, 3, 12, 3, 8192
        yield mode, 8192, 64, 3, 12, 3, 8192
        yield mode, 960, 64, 3, 12, 7, 4096
        yield mode, 768, 64, 3, 2, 0, 4096


def fnv1a(drawn):
    """Over the numbers [heads][rows][random_blocks] as little-endian int32."""
    value = 0xCBF29CE484222325
    for byte in struct.pack(f"<{drawn.size}i", *drawn.reshape(-1)):
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return f"{value:016x}"


def write():
    lines = ["#" + "\t".join(COLUMNS) + "\tfnv1a"]
    for case in cases():
        lines.append("\t".join(map(str, case)) + "\t" + fnv1a(drawn_by_peer(*case)))
    OUTPUT.write_text("\n".join(lines) + "\n")
    print(f"{len(lines) - 1} plans written")


def compare(program):
    different = 0
    for case in cases():
        mode, tokens, block, random, heads, layer, positions = case
        command = [program, "attention", "--length", tokens, "--block-size", block, "--random-blocks", random, "--heads",
                   heads, "--layer", layer, "--max-positions", positions, "--random-mode", mode, "--quiet", "-o", "-"]
        out = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
        ours = [head["rows"] for head in json.loads(out)["heads"]]
        peers = dense_attention.key_blocks(drawn_by_peer(*case), tokens // block)
        if [[sorted(row) for row in head] for head in ours] != [[sorted(row) for row in head] for head in peers]:
            different += 1
            print("different:", dict(zip(COLUMNS, case)))
    print(f"{sum(1 for _ in cases())} plans, {different} different")
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--bigbird", help="the program")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.write:
        write()
    if arguments.bigbird and compare(arguments.bigbird):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
