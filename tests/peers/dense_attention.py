"""Block-sparse attention a second time, as a dense softmax over (multiplicity of every key block) x exp(score), on the
random blocks that transformers itself draws. make_golden.py checks it against transformers and then uses it where
transformers cannot run: no random blocks at all."""

import math

import numpy as np
import torch


def drawn_blocks(attention, heads, length, block, random):
    """The random blocks of one BigBirdBlockSparseAttention module for an input of `length` tokens:
    [heads][n - 2][random], from the module's own methods, in the state (train or eval) that it is in."""
    rows = length // block - 2
    if random == 0:
        return np.zeros((heads, rows, 0), dtype=np.int64)
    np.random.seed(attention.seed)
    if length in [1024, 3072, 4096]:
        drawn = [
            attention._bigbird_block_rand_mask(
                attention.max_seqlen, attention.max_seqlen, block, block, random, last_idx=1024
            )[:rows]
            for _ in range(heads)
        ]
    else:
        lengths, counts = attention._get_rand_attn_plan(length, block, random)
        drawn = attention._bigbird_block_rand_mask_with_head(
            from_seq_length=length,
            to_seq_length=length,
            from_block_size=block,
            to_block_size=block,
            num_heads=heads,
            plan_from_length=lengths,
            plan_num_rand_blocks=counts,
        )
    return np.stack(drawn, axis=0).astype(np.int64)


def key_blocks(drawn, blocks):
    """Lists of key blocks, repeats kept: [heads][blocks][...]."""
    everything = list(range(blocks))
    result = []
    for head in drawn:
        rows = [everything]
        for row in range(1, blocks - 1):
            random = [int(x) for x in head[row - 1]]
            if row == 1:
                rows.append([0, 1, 2, blocks - 1] + random)
            elif row == blocks - 2:
                rows.append([0, blocks - 3, blocks - 2, blocks - 1] + random)
            else:
                rows.append([0, row - 1, row, row + 1] + random + [blocks - 1])
        rows.append(everything)
        result.append(rows)
    return result


def dense_block_sparse_attention(
    self,
    query,
    key,
    value,
    band_mask,
    from_mask,
    to_mask,
    from_blocked_mask,
    to_blocked_mask,
    n_heads,
    n_rand_blocks,
    attention_head_size,
    from_block_size,
    to_block_size,
    batch_size,
    from_seq_len,
    to_seq_len,
    **_,
):
    """In place of BigBirdBlockSparseAttention.bigbird_block_sparse_attention; same arguments, same result."""
    blocks = from_seq_len // from_block_size
    drawn = drawn_blocks(self, n_heads, from_seq_len, from_block_size, n_rand_blocks)
    multiplicity = np.zeros((n_heads, blocks, blocks))
    for head, rows in enumerate(key_blocks(drawn, blocks)):
        for row, keys in enumerate(rows):
            np.add.at(multiplicity[head, row], keys, 1)
    weight = torch.from_numpy(multiplicity).to(query.dtype)
    weight = weight.repeat_interleave(from_block_size, 1).repeat_interleave(from_block_size, 2)
    scores = query @ key.transpose(-1, -2) / math.sqrt(attention_head_size) + torch.log(weight)
    scores = scores + (1.0 - to_mask) * -10000.0
    context = torch.softmax(scores, dim=-1) @ value * from_mask
    return context.transpose(1, 2), None
