"""Writes tests/golden/zero_shot.json: what a masked language model says of changes of sequence, by the definitions of
lib/genomics/language_scorer.h in plain loops over transformers' BigBirdForMaskedLM (full attention, float64, weights by
formula_weights.py), for three vocabularies of DNA, which are encoded by a plain loop over merges too; and over its
EsmForMaskedLM with the 6-mers of Nucleotide Transformer, whose sequences end without a separator.

    python make_zero_shot.py            # compares; exit status 1 when anything differs by more than 1e-9
    python make_zero_shot.py --write    # puts what was computed into the file
"""

import argparse
import itertools
import json
import math
import pathlib
import random
import sys

import numpy
import torch
from transformers import BigBirdConfig, BigBirdForMaskedLM, EsmConfig, EsmForMaskedLM

import formula_weights
import make_esm

FILE = pathlib.Path(__file__).resolve().parent.parent / "golden" / "zero_shot.json"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CLS, SEP, MASK = 2, 3, 4
PAIRS = [a + b for a in "ACGT" for b in "ACGT"]
# Longer pieces are merged of two that stand before them.
VOCABULARIES = {
    "letters": [],
    "pairs": PAIRS,
    "pieces": ["AA", "TT", "CA", "TG", "AC", "GT", "CC", "GG", "AAAA", "TTTT", "TGCA", "ACGT", "CAC", "TGT", "AAAAAAAA",
               "CAAA", "GGCC"],
}
CONFIG = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
          "max_position_embeddings": 256, "block_size": 16, "num_random_blocks": 1, "type_vocab_size": 2,
          "attention_type": "original_full", "hidden_act": "gelu_new", "layer_norm_eps": 1e-12, "use_bias": True,
          "rescale_embeddings": False, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3,
          "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


SIX_MERS = ["<unk>", "<pad>", "<mask>", "<cls>"] + ["".join(kmer) for kmer in itertools.product("ATCG", repeat=6)] + list("ATCGN")
ESM_CONFIG = {"vocab_size": len(SIX_MERS), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
              "max_position_embeddings": 66, "pad_token_id": 1, "mask_token_id": 2, "position_embedding_type": "rotary",
              "token_dropout": True, "emb_layer_norm_before": False, "layer_norm_eps": 1e-12, "tie_word_embeddings": False,
              "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def encode(pieces, text):
    """Ids and first bases: the pair whose piece stands first in the vocabulary is merged first, the leftmost of equals."""
    rank = {piece: number for number, piece in enumerate(pieces)}
    parts = list(text)
    while True:
        found = [(rank[a + b], i) for i, (a, b) in enumerate(zip(parts, parts[1:])) if a + b in rank]
        if not found:
            break
        i = min(found)[1]
        parts[i:i + 2] = [parts[i] + parts[i + 1]]
    begins = [0]
    for part in parts:
        begins.append(begins[-1] + len(part))
    return [rank[part] for part in parts], begins


def reverse_complement(text):
    return text[::-1].translate(str.maketrans("ACGT", "TGCA"))


def changes(draw):
    """Twenty of each vocabulary: SNVs, several bases, insertions, deletions, both ends, repeats, beside N."""
    made = []
    for number in range(20):
        length = 40 + 7 * (number % 4)
        bases = [draw.choice("ACGT") for _ in range(length)]
        if number % 5 == 4:
            bases[8:20] = "A" * 12
        begin = [draw.randrange(5, length - 8), 0, length - 1][0 if number < 16 else number % 3]
        removed, added = [(1, 1), (1, 1), (3, 3), (0, 4), (5, 0), (2, 5)][number % 6]
        if begin == length - 1:
            removed, added = 1, 1
        if number == 7:
            bases[begin + 3:begin + 6] = "NNN"
        old = "".join(bases[begin:begin + removed])
        new = old
        while new == old or (added and removed and (new[0] == old[0] or new[-1] == old[-1])):
            new = "".join(draw.choice("ACGT") for _ in range(added))
        made.append({"reference": "".join(bases), "begin": begin, "removed": removed, "added": new})
    return made


def encode_six(text):
    """The same of 6-mers: the longest piece that fits, and on behind it."""
    ids, begins = [], [0]
    while begins[-1] < len(text):
        size = 6 if text[begins[-1]:begins[-1] + 6] in SIX_MERS else 1
        ids.append(SIX_MERS.index(text[begins[-1]:begins[-1] + size]))
        begins.append(begins[-1] + size)
    return ids, begins


def with_formula_weights(model, name_of):
    model = model.double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(formula_weights.values(name_of(name), tuple(parameter.shape))))
    return model


class Scorer:
    begin, end, mask = [CLS], [SEP], MASK

    def __init__(self, pieces):
        self.pieces = SPECIAL + list("ACGTN") + pieces
        model = BigBirdForMaskedLM(BigBirdConfig(**CONFIG, vocab_size=len(self.pieces)))
        self.model = with_formula_weights(model, lambda name: name)
        self.counts = numpy.ones(len(self.pieces))

    def ids(self, text):
        ids, begins = encode(self.pieces, text)
        return ids, begins

    def call(self, ids, masked):
        with_ends = self.begin + [self.mask if i in masked else token for i, token in enumerate(ids)] + self.end
        with torch.no_grad():
            out = self.model(torch.tensor([with_ends]), output_hidden_states=True)
        tokens = slice(1, 1 + len(ids))
        return torch.log_softmax(out.logits[0], -1).numpy()[tokens], out.hidden_states[-1][0].numpy()[tokens]

    def count(self, text):
        for strand in (text, reverse_complement(text)):
            for token in self.ids(strand)[0]:
                self.counts[token] += 1

    def strand(self, reference, begin, removed, added):
        alternative = reference[:begin] + added + reference[begin + removed:]
        sides = [self.ids(reference), self.ids(alternative)]
        r, a = sides[0][0], sides[1][0]
        prefix = 0
        while prefix < min(len(r), len(a)) and r[prefix] == a[prefix]:
            prefix += 1
        suffix = 0
        while prefix + suffix < min(len(r), len(a)) and r[-1 - suffix] == a[-1 - suffix]:
            suffix += 1
        made = {"left-to-right": 0.0, "joint": 0.0, "none": 0.0, "control": 0.0, "tokens": [len(r), len(a)],
                "different": [len(r) - prefix - suffix, len(a) - prefix - suffix]}
        hidden = []
        for sign, (ids, _) in zip((-1, 1), sides):
            places = list(range(prefix, len(ids) - suffix))
            for i in places:
                made["left-to-right"] += sign * self.call(ids, [j for j in places if j >= i])[0][i][ids[i]]
                made["joint"] += sign * self.call(ids, places)[0][i][ids[i]]
                made["none"] += sign * self.call(ids, [])[0][i][ids[i]]
                made["control"] += sign * math.log(self.counts[ids[i]] / self.counts.sum())
            hidden.append(self.call(ids, [])[1])

        def over(side, base):
            begins = sides[side][1]
            return hidden[side][max(i for i, first in enumerate(begins[:-1]) if first <= base)]

        squares = 0.0
        for base in range(len(reference)):
            if begin <= base < begin + removed:
                continue
            there = base if base < begin else base + len(added) - removed
            squares += ((over(1, there) - over(0, base)) ** 2).sum()
        made["l2"] = math.sqrt(squares)
        x, y = over(0, min(begin, len(reference) - 1)), over(1, min(begin, len(alternative) - 1))
        made["cos"] = 1 - float(x @ y / numpy.sqrt((x @ x) * (y @ y)))
        return made

    def both(self, change):
        reference, begin, removed, added = (change[key] for key in ("reference", "begin", "removed", "added"))
        return [self.strand(reference, begin, removed, added),
                self.strand(reverse_complement(reference), len(reference) - begin - removed, removed,
                            reverse_complement(added))]


class SixMerScorer(Scorer):
    begin, end, mask = [3], [], 2

    def __init__(self):  # not the other's, which makes its model
        self.model = with_formula_weights(EsmForMaskedLM(EsmConfig(**ESM_CONFIG)), make_esm.layout_name)
        self.counts = numpy.ones(len(SIX_MERS))

    def ids(self, text):
        return encode_six(text)


def make():
    draw = random.Random(46)
    file = {"config": CONFIG, "esm_config": ESM_CONFIG, "vocabularies": []}
    for name, pieces in [*VOCABULARIES.items(), ("six_mers", None)]:
        scorer = SixMerScorer() if pieces is None else Scorer(pieces)
        counted = ["".join(draw.choice("ACGT") for _ in range(200)), "ACGTN" * 20]
        for text in counted:
            scorer.count(text)
        rows = changes(draw)
        for row in rows:
            row["strands"] = scorer.both(row)
        file["vocabularies"].append({"name": name, "pieces": pieces, "counted": counted, "changes": rows})
    return file


def furthest(a, b):
    if isinstance(a, dict):
        return max((furthest(a[key], b[key]) for key in a), default=0.0)
    if isinstance(a, list):
        return max((furthest(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
    return 0.0 if a == b else abs(a - b) if isinstance(a, float) else math.inf


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    made = json.loads(json.dumps(make()), parse_float=lambda text: float(f"{float(text):.12g}"))
    if options.write:
        FILE.write_text(json.dumps(made, indent=None, separators=(",", ":")) + "\n")
        return 0
    far = furthest(made, json.loads(FILE.read_text()))
    print(f"differs by at most {far:.3g}")
    return 0 if far < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
