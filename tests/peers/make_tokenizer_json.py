#!/usr/bin/env python3
"""Small tokenizers with the steps of tokenizer.json that text tokenizers use, and what the tokenizers package makes of odd lines: ids and
offsets. Writes tests/golden/tokenizer_json_text.json.

    python tests/peers/make_tokenizer_json.py

Needs: tokenizers 0.22, sentencepiece (for a table of characters, made of five rules).
"""
import json
import pathlib
import tempfile

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "tokenizer_json_text.json"
SPECIALS = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["\u2581", "\u2581the", "\u2581cat", "\u2581sa", "t", "a", "c", "h", "e", "s", "\u2581a", "at", "th", "he", "\u2581t", "\u2581s", "ca", "sa",
         "\u00e9", "\u00fc", "i", "\u0307", "fi", "f", "x", "xx", "\u2581\u2581", "1", "2", "<0x41>"]
LINES = ["", " ", "the cat sat", " the  cat\n", "the cat sat \t\u00a0", "\n the\ncat", "caf\u00e9 cafe\u0301 the", "THE Cat\u0130", "\ufb01t \u00bd x\u00b2",
         "\u4f60\u597d the\u4e16", "\u2581the\u2581\u2581cat", "the\u2581cat", "xxxxx xx", "a\u0301\u0301 e\u0301e", "the\u3000cat", "\U0001f469\u200d\U0001f4bb the", "<n>the<n> cat",
         "a<ent> the <ent>cat", "the<0x41>A", "\ufeffthe", "   ", "tttttthehehe catcatcat", "\u0130\u0130", "the\u00adcat \u212b", "\r\nthe\r\n cat"]


def character_map():
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    with tempfile.TemporaryDirectory() as work:
        rules, text = pathlib.Path(work) / "rules.tsv", pathlib.Path(work) / "text.txt"
        rules.write_text("41\t61\nFB01\t66 69\n65 301\tE9\n3000\t20\nA\t20\nAD\t\nBD\t31 78 32\n")
        text.write_text("the cat sat\n" * 50)
        sentencepiece.SentencePieceTrainer.Train(input=str(text), model_prefix=str(pathlib.Path(work) / "m"), vocab_size=12, hard_vocab_limit=False,
                                                 normalization_rule_tsv=str(rules), minloglevel=2)
        model = sentencepiece_model_pb2.ModelProto()
        model.ParseFromString((pathlib.Path(work) / "m.model").read_bytes())
        return model.normalizer_spec.precompiled_charsmap


def unigram(normalizer, pre_tokenizer, byte_fallback=False):
    pieces = [(piece, 0.0) for piece in SPECIALS]
    pieces += [(piece, -1.0 - 0.25 * index if len(piece) > 1 else -9.5 - 0.125 * index) for index, piece in enumerate(WORDS)]
    if byte_fallback:
        pieces = [entry for entry in pieces if entry[0] != "<0x41>"] + [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
    return finished(Tokenizer(models.Unigram(pieces, unk_id=1, byte_fallback=byte_fallback)), normalizer, pre_tokenizer)


def bpe(normalizer, pre_tokenizer, byte_fallback=False, fuse_unk=True):
    pieces = SPECIALS + [piece for piece in WORDS if piece != "<0x41>"] + [f"<0x{byte:02X}>" for byte in range(256) if byte_fallback]
    ids = {piece: index for index, piece in enumerate(pieces)}
    merges = [(piece[:cut], piece[cut:]) for piece in WORDS if piece in ids for cut in range(1, len(piece)) if piece[:cut] in ids and piece[cut:] in ids]
    model = models.BPE(ids, merges, unk_token="<unk>", fuse_unk=fuse_unk, byte_fallback=byte_fallback)
    return finished(Tokenizer(model), normalizer, pre_tokenizer)


def finished(tokenizer, normalizer, pre_tokenizer):
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.add_special_tokens([AddedToken(piece, normalized=False, lstrip=piece == "[MASK]") for piece in SPECIALS])
    tokenizer.add_tokens([AddedToken("<n>", normalized=False), AddedToken("<ent>", normalized=True, lstrip=True, rstrip=True)])
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                             special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def main():
    sequence, metaspace = normalizers.Sequence, pre_tokenizers.Metaspace
    strip = [normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "\u2581")]
    words = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace()])
    table = normalizers.Precompiled(character_map())
    cases = {
        "bigbird": unigram(sequence(strip), metaspace()),
        "version-5": unigram(sequence([normalizers.Strip(left=False, right=False), strip[1]]), metaspace()),
        "pegasus": unigram(sequence([table, *strip]), words),
        "first": unigram(sequence([table]), metaspace(prepend_scheme="first")),
        "first-words": unigram(None, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace(prepend_scheme="first")])),
        "never": unigram(normalizers.Lowercase(), metaspace(prepend_scheme="never", split=False)),
        "bytes": unigram(sequence([normalizers.NFKC(), normalizers.Lowercase()]), metaspace(), byte_fallback=True),
        "nfd": unigram(sequence([normalizers.NFD(), normalizers.Replace("\n", " ")]), metaspace()),
        "nfc": unigram(sequence([normalizers.NFC(), normalizers.Replace(Regex("[\\n\u3000-\u3002]"), " ")]), metaspace()),
        "nfkd": unigram(sequence([normalizers.NFKD(), normalizers.Replace(Regex(r"\s+"), " ")]), metaspace()),
        "bpe": bpe(sequence(strip), metaspace()),
        "bpe-apart": bpe(sequence([normalizers.Strip()]), metaspace(), fuse_unk=False),
        "bpe-bytes": bpe(sequence([normalizers.Replace(Regex(" {2,}"), " "), normalizers.Replace(Regex(r"\A "), ""),
                                   normalizers.Replace(Regex(r" \z"), ""), normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]), None,
                         byte_fallback=True),
    }
    written = {}
    for name, tokenizer in cases.items():
        lines = []
        for line in LINES:
            found = tokenizer.encode(line, add_special_tokens=False)
            lines.append({"text": line, "ids": found.ids, "offsets": [list(pair) for pair in found.offsets]})
        written[name] = {"file": json.loads(tokenizer.to_str()), "lines": lines}
    text = json.dumps(written, ensure_ascii=True, separators=(",", ":"))
    GOLDEN.write_text(text.replace('{"text":', '\n{"text":').replace('},"', '},\n"') + "\n")
    print(f"{GOLDEN}: {GOLDEN.stat().st_size} bytes")


if __name__ == "__main__":
    main()
