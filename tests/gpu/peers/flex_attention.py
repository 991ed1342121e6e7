"""FlexAttention over the same block mask, forward and backward. A mask cannot say that a block is listed twice, so
repeats are dropped: it has at most as much to do as bigbird."""
import json
import random

from measure import BLOCK, HEADS, Measurements, arguments


def block_lists(path, blocks, heads):
    """[head][row] -> key blocks, from the file of `bigbird attention --output`; without one, drawn by the same rule (the
    first and last block, a window of three, and three of the first blocks, where the published plans draw them)."""
    if path:
        with open(path, encoding="utf-8") as file:
            rows = [head["rows"] for head in json.load(file)["heads"]]
        if len(rows) != heads or len(rows[0]) != blocks:
            raise ValueError(f"{path} holds {len(rows)} heads of {len(rows[0])} blocks, not {heads} of {blocks}")
        return [[sorted(set(row)) for row in head] for head in rows]
    draw = random.Random(1)
    everything, last = list(range(blocks)), blocks - 1
    lists = []
    for _ in range(heads):
        head = [everything]
        for row in range(1, last):
            near = {0, last, row - 1, row, row + 1}
            candidates = [block for block in range(1, min(16 if blocks == 64 else 11, last)) if block not in near]
            head.append(sorted(near | set(draw.sample(candidates, min(3, len(candidates))))))
        lists.append(head + [everything])
    return lists


def main():
    parser = arguments(__doc__)
    parser.add_argument("--plan", action="append", default=[], metavar="TOKENS=FILE",
                        help="block lists as `bigbird attention --output` writes them; once for each length")
    parser.add_argument("--tune", action="store_true", help="at 4096 tokens also with the tiles that its tuner finds")
    options = parser.parse_args()
    plans = dict(plan.split("=", 1) for plan in options.plan)
    measurements = Measurements(options, "flex")
    torch = measurements.torch
    from torch.nn.attention.flex_attention import BlockMask, flex_attention

    # The compiler's own choice of tiles may not divide blocks of 64, so the plain form names them; the tuned form lets it
    # try its list, which takes a minute for each direction.
    tiles = {name: BLOCK for name in ("BLOCK_M", "BLOCK_N", "BLOCK_M1", "BLOCK_N1", "BLOCK_M2", "BLOCK_N2")}
    forms = {"flex": ({"dynamic": False}, {**tiles, "ROWS_GUARANTEED_SAFE": True}),
             "flex-tuned": ({"dynamic": False, "mode": "max-autotune-no-cudagraphs"}, {"ROWS_GUARANTEED_SAFE": True})}
    sizes = [("flex", size) for size in measurements.attention_sizes()]
    if options.tune:
        sizes.append(("flex-tuned", measurements.attention_sizes()[0]))
    for engine, (sequences, tokens) in sizes:

        def case():
            blocks, heads = tokens // BLOCK, 2 if options.tiny else HEADS
            lists = block_lists(plans.get(str(tokens)), blocks, heads)
            counts = torch.tensor([[len(row) for row in head] for head in lists], dtype=torch.int32)
            indices = torch.zeros(heads, blocks, blocks, dtype=torch.int32)
            for h, head in enumerate(lists):
                for i, row in enumerate(head):
                    indices[h, i, :len(row)] = torch.tensor(row, dtype=torch.int32)
            # Every listed block is taken whole: no partial blocks.
            mask = BlockMask.from_kv_blocks(torch.zeros_like(counts)[None], torch.zeros_like(indices)[None], counts[None],
                                            indices[None], BLOCK_SIZE=BLOCK, seq_lengths=(tokens, tokens)).to(options.device)
            compile_options, kernel_options = forms[engine]
            dense = dense_mask(torch, lists)
            torch.testing.assert_close(mask.to_dense()[0].cpu().bool(), dense)
            if options.device == "cpu":  # uncompiled it does not read the lists: this tries the program, nothing more
                attention = lambda q, k, v: flex_attention(q, k, v, block_mask=mask)  # noqa: E731
            else:
                compiled = torch.compile(flex_attention, **compile_options)
                attention = lambda q, k, v: compiled(q, k, v, block_mask=mask, kernel_options=kernel_options)  # noqa: E731
                if tokens == measurements.attention_sizes()[0][1]:
                    check(torch, attention, dense, *[x[:1] for x in measurements.attention_inputs(1, tokens, 1)[0][:3]])
            measurements.attention_both_ways(engine, attention, sequences, tokens)

        measurements.attempt(f"{engine} {sequences} x {tokens}", case)
        torch._dynamo.reset()


def dense_mask(torch, lists):
    """[head, row, key block]: whether it is listed."""
    dense = torch.zeros(len(lists), len(lists[0]), len(lists[0]), dtype=torch.bool)
    for h, head in enumerate(lists):
        for i, row in enumerate(head):
            dense[h, i, row] = True
    return dense


def check(torch, attention, dense, q, k, v):
    """The compiled kernel computes what the mask says."""
    allowed = dense.to(q.device).repeat_interleave(BLOCK, 1).repeat_interleave(BLOCK, 2)[None]
    with torch.no_grad():
        expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        torch.testing.assert_close(attention(q, k, v), expected, atol=2e-2, rtol=2e-2)


main()
