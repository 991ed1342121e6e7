#!/usr/bin/env python3
"""A WordPiece vocabulary of a few pieces and what BertTokenizerFast makes of odd lines under several settings: ids and offsets, and whether
BertTokenizer in Python gives other ids. Writes tests/golden/wordpiece.json.

    python tests/peers/make_wordpiece.py
    python tests/peers/make_wordpiece.py --sweep OUT

The second writes OUT/all/{vocab.txt,tokenizer_config.json,cases.jsonl} for BIGBIRD_PEER_TOKENS of
tests/unit/tokenization/test_text_tokenization_peers.cpp: every code point of Unicode between two letters.

Needs: transformers 4.57.1, tokenizers 0.22.
"""
import argparse
import json
import pathlib
import tempfile

from transformers import BertTokenizer, BertTokenizerFast

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "wordpiece.json"
SPECIALS = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = ["the", "cat", "sat", "un", "##want", "##ed", "##ed", "a", "b", "A", "The", "##b", "##a", "caf\u00e9", "cafe", "##s", "e", "##e", "\u4f60", "\u597d",
          "##\u597d", ",", ".", "!", "'", "-", "_", "$", "[", "]", "MASK", "mask", "ss", "\u00df", "i", "i\u0307", "\u03c3", "\u03c2", "##\u03c3", "##\u03c2",
          "\u3042", "##\u3099", "\u30ab", "\u30ac", "\u1112", "##\u1161", "##\u11ab", "\ud55c", "fi", "\ufb01", "x", "##x", "\U0001f600", "\u061f", "1", "##2"]
LINES = ["", " ", "the cat sat.", "  The  CAT\tsat\n", "unwanted, unwantedx", "caf\u00e9 cafe\u0301 CAF\u00c9s", "\u4f60\u597d\u4f60the\u597d", "a\u597db", "[MASK] the[MASK]cat",
         "the\u00a0cat\u3000sat\u2009a", "a\x00b a\ufffdb a\x07b", "a\u200bb a\u00adb \ufeffa", "a\x0bb a\x0cb a\x85b a\u2028b", "\u0130i I\u0307", "\u03a3\u03c3 b\u03a3 \u03a3.", "\u00df \u1e9e",
         "\u30ac \u30ab\u3099 \u3042\u3099", "\ud55c \u1112\u1161\u11ab", "\ufb01 fi", "it's the-cat_a $1", "!!!the...", "x" * 100, "x" * 101, "the " + "x" * 300 + " cat",
         "\U0001f600\U0001f600", "\u061f\u0640a", "a\u0301\u0327\u0301b", "\u0301a", "\ue000a", "12 1 2", "A.B,a", "a\u0670b a\u20ddb", "\u3400\U00020000\uf900", "\r\nthe\r\ncat\r",
         "a\U000e0001b", "a\u2060b", "\u00bfthe\u00bb \u2018cat\u2019", "a\u166db", "a\u17b4b a\u1734b", "\uff41 \uff0c", "[PAD] [unused0] [UNK]", "un##want", "\u0345a \u01c5"]
CASES = {
    "uncased": {},
    "cased": {"do_lower_case": False},
    "cased-without-accents": {"do_lower_case": False, "strip_accents": True},
    "uncased-with-accents": {"strip_accents": False},
    "ideographs-in-words": {"tokenize_chinese_chars": False},
}


def write_folder(folder, settings):
    (folder / "vocab.txt").write_text("\n".join(SPECIALS + PIECES) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **settings}) + "\n")


def encoded(fast, line):
    # Names of special pieces are text here: they are looked for by another call of bigbird.
    found = fast.backend_tokenizer.encode(line, add_special_tokens=False)
    return {"text": line, "ids": found.ids, "offsets": [list(pair) for pair in found.offsets]}


def sweep(folder):
    folder.mkdir(parents=True, exist_ok=True)
    write_folder(folder, {})
    fast = BertTokenizerFast.from_pretrained(folder)
    points = [c for c in range(0x110000) if not 0xd800 <= c < 0xe000]
    with open(folder / "cases.jsonl", "w", encoding="utf-8") as out:
        for first in range(0, len(points), 64):
            line = " ".join(f"a{chr(c)}b" for c in points[first:first + 64])
            found = fast.backend_tokenizer.encode(line, add_special_tokens=False)
            begin, end = zip(*found.offsets)
            out.write(json.dumps({"text": line, "ids": found.ids, "begin": begin, "end": end}) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sweep", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.sweep:
        return sweep(arguments.sweep / "all")
    written = {"vocabulary": SPECIALS + PIECES, "cases": {}}
    for name, settings in CASES.items():
        with tempfile.TemporaryDirectory() as work:
            folder = pathlib.Path(work)
            write_folder(folder, settings)
            fast, slow = BertTokenizerFast.from_pretrained(folder), BertTokenizer.from_pretrained(folder)
            lines = [encoded(fast, line) for line in LINES]
            for line in lines:
                python = slow.convert_tokens_to_ids(slow.tokenize(line["text"]))
                if python != line["ids"]:
                    line["python"] = python
            written["cases"][name] = {"settings": settings, "file": json.loads(fast.backend_tokenizer.to_str()), "lines": lines}
    text = json.dumps(written, ensure_ascii=True, separators=(",", ":"))
    GOLDEN.write_text(text.replace('{"text":', '\n{"text":').replace('},"', '},\n"') + "\n")
    print(f"{GOLDEN}: {GOLDEN.stat().st_size} bytes")
    for name, case in written["cases"].items():
        print(name, [line["text"] for line in case["lines"] if "python" in line])


if __name__ == "__main__":
    main()
