#!/usr/bin/env python3
"""Ids and offsets of text from Hugging Face's tokenizers, 10,000 lines, for a comparison with lib/tokenization.

    python tests/peers/text_tokenization.py OUT SPIECE_MODEL [--squad FILE.json ...] [--manual FOLDER] [--lines 10000]
                                            [--vocabulary FOLDER ...] [--training-text FILE]
    BIGBIRD_PEER_TOKENS=OUT build/release/tests/test_tokenization --gtest_filter='TextTokenizationPeers.*'

Writes OUT/NAME/cases.jsonl ({"text", "ids", "begin", "end"}, offsets in code points) beside the tokenizer of each view:
    bigbird        BigBirdTokenizerFast on SPIECE_MODEL (the published spiece.model), which AutoTokenizer loads for the class BigBirdTokenizer
    gpt2           byte-level BPE in vocab.json and merges.txt, GPT-2's vocabulary taken from SPIECE_MODEL, its special
                   pieces RoBERTa's
    roberta        a byte-level BPE of 20,000 pieces trained here on FILE's lines (else on the lines compared), as
                   RoBERTa's tokenizer.json
    roberta-space  the same with add_prefix_space
    roberta-plain  the same with trim_offsets off
    vocabulary     with --vocabulary: BigBirdTokenizer on the folder that `bigbird text vocabulary` wrote; vocabulary-2 on
                   a second one

Lines: contexts of a SQuAD file, lines of manual pages in any language (*.gz of roff below FOLDER), and made ones: mixed
scripts, runs of blanks, tabs and other control characters, emoji, combining marks, U+2581 itself, contractions. No line
holds the name of a special piece: those are text for bigbird and ids for transformers.

Needs: transformers 4.57.1, tokenizers, sentencepiece, protobuf.
"""
import argparse
import gzip
import json
import pathlib
import random
import re
import shutil
import warnings

warnings.filterwarnings("ignore")

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
NAME = re.compile(r"<[a-z_:]+[0-9]*>|\[(CLS|SEP|MASK|PAD|UNK)\]|</s>|<\|endoftext\|>")
RANGES = [(0x41, 0x5A), (0x61, 0x7A), (0x30, 0x39), (0xA1, 0x17F), (0x370, 0x3FF), (0x400, 0x4FF), (0x5D0, 0x5EA), (0x620, 0x64A),
          (0x660, 0x669), (0x905, 0x939), (0x966, 0x96F), (0xE01, 0xE2E), (0x10A0, 0x10C5), (0x1100, 0x115F), (0x1E00, 0x1EFF),
          (0x2010, 0x205F), (0x2070, 0x209C), (0x20A0, 0x20B9), (0x2100, 0x218B), (0x2190, 0x21FF), (0x2460, 0x249B),
          (0x2500, 0x25FF), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0xE000, 0xE00F),
          (0xFB00, 0xFB06), (0xFF01, 0xFF5E), (0x1D400, 0x1D433), (0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0x20000, 0x20010)]
SPACES = ["\t", "\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\xa0", "\u1680", "\u2000", "\u2003", "\u2009",
          "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\n\n", "  ", "   ", " \t ", " \n", "\n ", "        "]
ODD = ["\x00", "\x01", "\x07", "\x08", "\x1b", "\x7f", "\x80", "\x9f", "\xad", "\u034f", "\u0301", "\u0308\u0301", "\u0483", "\u05b0", "\u064b",
       "\u093f", "\u0e31", "\u180e", "\u200b", "\u200d", "\u200e", "\u2060", "\u20dd", "\u2581", "\u2581\u2581", "\ufe0f", "\ufeff", "\ufffd",
       "\U0001f469\u200d\U0001f4bb", "\U0001f1e9\U0001f1ea", "\U000e0041", "\U0010fffd", "\u0130", "\u01c5", "\u212b", "\u00bd", "\u2167", "\u0f33"]
WORDS = ("the The of and token's we'll I'm they've you're don't she'd 'Tis 'S 'LL rock'n'roll long-term state-of-the-art e.g. U.S.A. 3.14 "
         "1,000,000 2020-07-28 $5.00 50% http://example.org/a?b=c&d=e user@example.org C++ x86_64 <- -> == != {} [] () \"quoted\" ... -- _ __init__ "
         "caf\u00e9 na\u00efve cafe\u0301 \u00fcber Stra\u00dfe \u0444\u0430\u0439\u043b \u4f60\u597d \u4e16\u754c \u3053\u3093 "
         "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd \u0928\u092e\u0938\u094d\u0924\u0947 \ud55c\uad6d\uc5b4 \u201cquotes\u201d "
         "\u2018single\u2019 en\u2013dash em\u2014dash ellipsis\u2026 internationalization pneumonoultramicroscopic aaaaaaaaaaaaaaaa 0000000000").split()


def made_line(rng):
    kind = rng.randrange(8)
    parts = []
    for _ in range(rng.randrange(1, 25)):
        choice = rng.random()
        if choice < 0.5:
            parts.append(rng.choice(WORDS))
        elif choice < 0.6 or kind == 1:
            low, high = rng.choice(RANGES)
            parts.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randrange(1, 9))))
        elif choice < 0.75 or kind == 2:
            parts.append(rng.choice(SPACES) * rng.choice((1, 1, 1, 2, 3)))
        elif choice < 0.85 or kind == 3:
            parts.append(rng.choice(ODD))
        else:
            parts.append("".join(chr(rng.randrange(33, 127)) for _ in range(rng.randrange(1, 12))))
    joint = "" if kind in (4, 5) else " "
    line = joint.join(parts)
    if kind == 6:
        line = rng.choice(SPACES) + line
    if kind == 7:
        line += rng.choice(SPACES)
    return line


def squad_contexts(paths):
    articles = [article for path in paths for article in json.loads(pathlib.Path(path).read_text())["data"]]
    for article in articles:
        for paragraph in article["paragraphs"]:
            yield paragraph["context"]
            for question in paragraph["qas"][:1]:
                yield question["question"]


def manual_lines(folder, wanted, rng):
    lines = []
    pages = sorted(pathlib.Path(folder).rglob("*.gz"))
    rng.shuffle(pages)
    for page in pages:
        with gzip.open(page, "rt", errors="ignore") as text:
            found = [re.sub(r"\\f.|\\", "", line.rstrip("\n")) for line in text if not line.startswith((".", "'"))]
        rng.shuffle(found)
        lines += [line for line in found if len(line) > 30][:40]
        if len(lines) >= wanted:
            break
    return lines[:wanted]


def all_lines(options):
    rng = random.Random(20200728)
    lines = ["", " ", "  ", "\n", "\t", "a", " a", "a ", "\u00e9", "\U0001f600", "\u2581", " \u2581 ", "\ufeffa", "don't", "a\n\n\nb", "'", " '"]
    if options.squad:
        contexts = list(squad_contexts(options.squad))
        rng.shuffle(contexts)
        lines += contexts[: options.lines * 3 // 10]
    if options.manual:
        lines += manual_lines(options.manual, options.lines * 3 // 10, rng)
    lines = [line for line in lines if not NAME.search(line)]
    counts = len(lines)
    while len(lines) < options.lines:
        line = made_line(rng)
        if not NAME.search(line):
            lines.append(line)
    print(f"{len(lines)} lines, {counts} of them real text")
    return lines


def write(folder, cases):
    with open(folder / "cases.jsonl", "w") as out:
        for text, ids, offsets in cases:
            out.write(json.dumps({"text": text, "ids": ids, "begin": [b for b, _ in offsets], "end": [e for _, e in offsets]}) + "\n")


def code_points(text, offsets):
    """Byte offsets as code points; a byte within a character is that character."""
    number = []
    for index, character in enumerate(text):
        number += [index] * len(character.encode())
    number.append(len(text))
    return [(number[begin], number[end]) for begin, end in offsets]


def slow_cases(folder, lines):
    from transformers import BigBirdTokenizer
    tokenizer = BigBirdTokenizer.from_pretrained(str(folder))
    different = 0
    for text in lines:
        ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True).input_ids
        try:
            pieces = tokenizer.sp_model.encode(text, return_type="proto").pieces
        except TypeError:
            pieces = tokenizer.sp_model.encode(text, out_type="immutable_proto").pieces
        different += ids != [piece.id for piece in pieces]
        yield text, ids, code_points(text, [(piece.begin, piece.end) for piece in pieces])
    print(f"{folder.name}: the library's ids differ from BigBirdTokenizer's in {different} lines")


def fast_cases(tokenizer, lines):
    for text in lines:
        found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        yield text, found.input_ids, found.offset_mapping


def write_config(folder, name, **more):
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, **more}, indent=2) + "\n")


def byte_characters():
    """GPT-2's table: the character that stands for each byte."""
    plain = [*range(33, 127), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(256 + len(table) - len(plain))
    return table


def gpt2_from_spiece(path, folder):
    """vocab.json: pieces 101 and on without their stand-in for the blank sign. merges.txt: GPT-2's merges stand in the order
    of their results, and the parts of a result are those that it falls into under the merges before it."""
    from sentencepiece import sentencepiece_model_pb2
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(pathlib.Path(path).read_bytes())
    blank = byte_characters()[32]
    pieces = [piece.piece.replace("\u2581", blank) for piece in model.pieces[101:]]
    ranks = {}
    merges = []
    for piece in pieces[256:-1]:
        word = list(piece)
        while len(word) > 2:
            pairs = [(ranks.get((a, b), 1 << 30), i) for i, (a, b) in enumerate(zip(word, word[1:]))]
            rank, at = min(pairs)
            if rank == 1 << 30:
                raise SystemExit(f"no merges lead to {piece!r}")
            word[at: at + 2] = ["".join(word[at: at + 2])]
        ranks[tuple(word)] = len(merges)
        merges.append(word)
    vocabulary = {piece: index for index, piece in enumerate(SPECIALS[:4] + pieces + SPECIALS[4:])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(" ".join(pair) + "\n" for pair in merges))
    print(f"gpt2: {len(vocabulary)} pieces, {len(merges)} merges")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("spiece_model")
    parser.add_argument("--squad", nargs="+", default=[])
    parser.add_argument("--manual")
    parser.add_argument("--lines", type=int, default=10000)
    parser.add_argument("--vocabulary", type=pathlib.Path, nargs="+", default=[])
    parser.add_argument("--training-text", type=pathlib.Path)
    options = parser.parse_args()

    from tokenizers import ByteLevelBPETokenizer
    from transformers import BigBirdTokenizerFast, RobertaTokenizerFast
    lines = all_lines(options)

    def folder_of(name):
        folder = options.out / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    fast = folder_of("bigbird")
    shutil.copy(options.spiece_model, fast / "spiece.model")
    write_config(fast, "BigBirdTokenizer")
    write(fast, fast_cases(BigBirdTokenizerFast(str(fast / "spiece.model")), lines))
    gpt2 = folder_of("gpt2")
    gpt2_from_spiece(options.spiece_model, gpt2)
    write(gpt2, fast_cases(RobertaTokenizerFast(str(gpt2 / "vocab.json"), str(gpt2 / "merges.txt")), lines))

    trained = ByteLevelBPETokenizer()
    training = options.training_text.read_text().splitlines() if options.training_text else lines
    trained.train_from_iterator(training, vocab_size=20000, min_frequency=2, special_tokens=SPECIALS, show_progress=False)
    source = folder_of("roberta")
    trained.save_model(str(source))
    for name, settings in (("roberta", {}), ("roberta-space", {"add_prefix_space": True}), ("roberta-plain", {"trim_offsets": False})):
        folder = folder_of(name)
        tokenizer = RobertaTokenizerFast(str(source / "vocab.json"), str(source / "merges.txt"), **settings)
        tokenizer.save_pretrained(folder)
        for file in ("vocab.json", "merges.txt"):
            if name != "roberta":
                (folder / file).unlink(missing_ok=True)
        write(folder, fast_cases(tokenizer, lines))
    for number, trained_folder in enumerate(options.vocabulary, 1):
        folder = folder_of("vocabulary" if number == 1 else f"vocabulary-{number}")
        for file in ("spiece.model", "tokenizer_config.json"):
            shutil.copy(trained_folder / file, folder / file)
        write(folder, slow_cases(folder, lines))


if __name__ == "__main__":
    main()
