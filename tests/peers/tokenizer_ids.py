#!/usr/bin/env python3
"""Token ids from Hugging Face's tokenizers and transformers, for the golden files and for real sequence.

    python tests/peers/tokenizer_ids.py golden [SHARED]      writes tests/golden/tokenizer_*
    python tests/peers/tokenizer_ids.py compare BIGBIRD SHARED
        encodes whole FASTA files with `bigbird tokenize --print bed` and with the tokenizers package, and
        compares every id and every begin

Needs: tokenizers, transformers, sentencepiece. SHARED holds data/tokenizer-gena-lm and the FASTA
files; without it the golden file has no cases for GENA-LM's vocabularies.
"""
import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import AddedToken, Regex

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
GENA = ("t2t_1000h_multi_32k", "BPE_32k")
SPECIALS = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "-"]


def bases(rng, length, letters="ACGT"):
    unit = "".join(rng.choice(letters) for _ in range(7))
    out = ""
    while len(out) < length:
        kind = rng.randrange(6)
        if kind == 0:
            out += rng.choice(letters) * rng.randrange(1, 30)
        elif kind == 1:
            out += unit * rng.randrange(1, 4)
        else:
            out += "".join(rng.choice(letters) for _ in range(rng.randrange(1, 60)))
    return out[:length]


def dna_texts(rng):
    texts = ["", "A", "ACGT", "N", "N" * 9, "N" * 10, "N" * 11, "N" * 2500, "acgtACGT", "ACGTRYSWKMBDHVACGT"]
    texts += ["  ACGT\n", "ACG-TTA--GG", "AC[MASK]GT", "[CLS]ACGT[SEP]", "ACG TTA", "ACGT\u00e9\u00e8GG", "\u2003ACG\u00a0", "-"]
    texts += ["ACGT" + "N" * run + "TTGCA" + "N" * (run + 5) + "GG" for run in (1, 5, 9, 10, 30)]
    texts += [bases(rng, n) for n in (17, 64, 200, 500)]
    texts += [bases(rng, n, "ACGTN") for n in (60, 300)]
    return texts


def cases(tokenizer, texts):
    out = []
    for text in texts:
        found = tokenizer.encode(text, add_special_tokens=False)
        begins = [len(text[: pair[0]].encode()) for pair in found.offsets]
        out.append({"text": text, "ids": found.ids, "begins": begins})
    return out


def small_dna_tokenizer(rng):
    """GENA-LM's pipeline over a vocabulary of 120 pieces."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Strip(), normalizers.Replace(Regex("N{10,}"), "-")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split("-", "isolated")
    trainer = trainers.BpeTrainer(vocab_size=120, special_tokens=SPECIALS, initial_alphabet=list("ACGTNRY"),
                                  show_progress=False)
    tokenizer.train_from_iterator([bases(rng, 900, "ACGT" * 5 + "N") for _ in range(60)], trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return tokenizer


def awkward_tokenizer():
    """What GENA-LM does not use but the reader knows: pieces made by two merges, merges out of order, fused unknown
    characters, tokens that strip blanks, removed splits, a template."""
    vocabulary = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "A", "C", "G", "T", "U", "a", "\u00e9", "AC", "CG", "ACG",
                  "GT", "ACGT", "TT", "TTT", "TTTT", "Aa", "UA"]
    merges = [("AC", "G"), ("A", "CG"), ("C", "G"), ("A", "C"), ("T", "TT"), ("G", "T"), ("TT", "T"), ("T", "T"),
              ("AC", "GT"), ("ACG", "T"), ("TT", "TT"), ("A", "a"), ("U", "A")]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(vocabulary)}, merges, unk_token="[UNK]",
                                     fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace("u", "UU"), normalizers.Replace(Regex("[x-z]{2,3}"), ""), normalizers.Strip(right=False)])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(r"\|+"), "removed"), pre_tokenizers.Split(Regex("[^A-Za-z\u007f]"), "isolated")])
    tokenizer.add_special_tokens([AddedToken("[MASK]", lstrip=True, rstrip=True)])
    tokenizer.add_tokens([AddedToken("TATA", normalized=True), AddedToken("TATAU", normalized=True),
                          AddedToken("<x>", normalized=False)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return tokenizer


def awkward_texts(rng):
    texts = ["AC [MASK] GT", "[MASK][MASK]  A", "TATAUA", "TATAu", "uuA", "xxxxACGyzT", "||AC||GT|", "A\u00e9C\u00e9\u00e9G", "qqAqqq",
             "  ACGT  ", "T" * 9, "A1C22G", "<x>AC<x", "ACGTACGACCGT", "Aa", "xAxxA", "A\u00a0 \u00a0[MASK]"]
    texts += ["".join(rng.choice("ACGTUa|x qTATAu\u00e9") for _ in range(rng.randrange(60))) for _ in range(60)]
    return texts


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field of a protobuf message: an int, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def google_model(path):
    """A SentencePiece model with the layout of Google's gpt2.model (docs/specification.md 2.4): every score 0, no type."""
    normal, unknown, control, user_defined = 1, 2, 3, 4
    pieces = [("<pad>", control), ("</s>", control), ("<s>", user_defined)]
    pieces += [(f"<sep_{i}>", user_defined) for i in range(57)]
    pieces += [(piece, user_defined)
               for piece in ("<empty>", "<a>", "<b>", "<c>", "<ans>", "[CLS]", "[SEP]", "[MASK]")]
    pieces += [(f"<unused_{i}>", user_defined) for i in range(67, 99)]
    pieces.append(("<unk>", unknown))
    words = ("the The cat sat on mat a of and to in is it paper sparse attention graph token tokens sequence long er "
             "ing ed").split()
    blank = "\u2581"
    ordinary = [chr(c) for c in range(33, 127)] + [blank] + [blank + word for word in words] + words
    ordinary += [blank + "s", blank + "t", blank + "c", "<|endoftext|>"]
    pieces += [(piece, normal) for piece in dict.fromkeys(ordinary)]
    score = varint(2 << 3 | 5) + b"\0\0\0\0"
    model = b"".join(field(1, field(1, piece.encode()) + score + field(3, kind)) for piece, kind in pieces)
    model += field(2, field(4, len(pieces)) + field(40, 100) + field(45, b"<unk>"))
    model += field(3, field(1, b"identity") + field(4, 0))
    path.write_bytes(model)


TEXTS = ["The cat sat on the mat.", "The [MASK] sat on the [MASK] .", "[MASK]", "sparse attention of a long  sequence", "",
         "  two blanks", "tokenised graph<s>tokens", "caf\u00e9 \u4f60\u597d", "[CLS] a [SEP] b [PAD]", "x[MASK]y", "the\u00a0[MASK]"]


def golden(shared):
    rng = random.Random(20200728)
    result = {"made_by": "tests/peers/tokenizer_ids.py: tokenizers, transformers; begins are bytes of UTF-8"}
    small = small_dna_tokenizer(rng)
    awkward = awkward_tokenizer()
    texts = dna_texts(rng)
    for name, tokenizer, given in (("small_dna", small, texts), ("awkward", awkward, awkward_texts(rng))):
        result[name] = {"tokenizer": json.loads(tokenizer.to_str()), "cases": cases(tokenizer, given)}
    if shared:
        for name in GENA:
            result[name] = {"cases": cases(gena(shared, name), texts)}
    from transformers import BigBirdTokenizer
    google_model(GOLDEN / "tokenizer_google_layout.model")
    slow = BigBirdTokenizer(str(GOLDEN / "tokenizer_google_layout.model"))
    result["google_layout"] = {"cases": [
        {"text": text, "ids": slow.encode(text, add_special_tokens=False)} for text in TEXTS]}
    lines = ",\n".join(f"{json.dumps(key)}: {dump(value)}" for key, value in result.items())
    (GOLDEN / "tokenizer_ids.json").write_text("{\n" + lines + "\n}\n")


def dump(value):
    if not isinstance(value, dict):
        return json.dumps(value)
    parts = []
    for key, item in value.items():
        if key == "cases":
            parts.append('"cases": [\n' + ",\n".join(json.dumps(case) for case in item) + "\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(item)}")
    return "{" + ",\n".join(parts) + "}"


def gena_bytes(shared, name):
    return gzip.open(pathlib.Path(shared) / "data/tokenizer-gena-lm" / f"{name}.tokenizer.json.gz").read()


def gena(shared, name):
    return Tokenizer.from_str(gena_bytes(shared, name).decode())


def read_fasta(path):
    records = {}
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt") as lines:
        for line in lines:
            if line.startswith(">"):
                name = line[1:].split()[0]
                records[name] = []
            else:
                records[name].append(line.strip())
    return {name: "".join(c if c in "ACGTN" else "N" for c in "".join(parts).upper()) for name, parts in records.items()}


def compare(bigbird, shared):
    window = 20000
    failed = False
    for name in GENA:
        tokenizer = gena(shared, name)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "tokenizer.json").write_bytes(gena_bytes(shared, name))
            for fasta in ("human-grch37/grch37.pieces.fa.gz", "human-chm13-mhc/chm13_mhc.fa.gz",
                          "human-grch38/chr2_1-2333275.fa.gz", "mitochondria/MT_rCRS.fa"):
                path = pathlib.Path(shared) / "data" / fasta
                records = read_fasta(path)
                windows = [(record, begin, min(begin + window, len(sequence)))
                           for record, sequence in records.items() for begin in range(0, len(sequence), window)]
                bed = pathlib.Path(folder) / "windows.bed"
                bed.write_text("".join(f"{r}\t{b}\t{e}\n" for r, b, e in windows))
                command = [bigbird, "tokenize", "-q", "-m", folder, "-f", str(path), "-R", str(bed), "--print"]
                ids = subprocess.run(command + ["ids"], check=True, capture_output=True, text=True).stdout.splitlines()
                begins = {}
                for line in subprocess.run(command + ["bed"], check=True, capture_output=True, text=True).stdout.splitlines():
                    fields = line.split("\t")
                    begins.setdefault((fields[0], int(fields[1]) // window), []).append(int(fields[1]))
                tokens = different = 0
                for (record, begin, end), line in zip(windows, ids, strict=True):
                    found = tokenizer.encode(records[record][begin:end], add_special_tokens=False)
                    same = [int(word) for word in line.split()] == found.ids
                    # Of a run of N that became '-' the peer gives the last letter as its place; ours is the run.
                    starts = [before[1] if piece == "-" else here[0] for piece, here, before
                              in zip(found.tokens, found.offsets, [(0, 0)] + found.offsets)]
                    same &= [begin + start for start in starts] == begins.get((record, begin // window), [])
                    different += not same
                    tokens += len(found.ids)
                failed |= different != 0
                print(f"{name}\t{fasta}\t{len(windows)} windows\t{tokens} tokens\t{different} windows differ")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "golden":
        golden(sys.argv[2] if len(sys.argv) > 2 else None)
    elif len(sys.argv) == 4 and sys.argv[1] == "compare":
        sys.exit(compare(sys.argv[2], sys.argv[3]))
    else:
        sys.exit(__doc__)
