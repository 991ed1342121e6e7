#!/usr/bin/env python3
"""Vocabularies by Hugging Face's BpeTrainer and SentencePiece's trainer, beside `bigbird train-bpe`'s.

  bpe_trainer.py --bigbird BIN SENTENCES.txt [--vocab-size 2000] [--max-piece-length 64]
                                     trains all of them on one file (a sentence a line) and compares the pieces
  bpe_trainer.py --golden            the merges that tests/unit/tokenization/test_bpe_trainer.cpp lists

With `--trainer exact` the pieces and their order are Hugging Face's. Its max_token_length is the first length
that is too long, so it gets one more than --max-piece-length.
"""
import argparse
import json
import os
import subprocess
import tempfile

SPECIAL_AND_LETTERS = 10
GOLDEN = ["AAAAAAACGTTTTTCACACACACAGATTACAGATTACA", "GGGGCCCCGGGGTATATATATAAAAAAAAACGNNNNNNNNCGT", "CACACAGGGTTTTTACGACGACGNNNNAACCGGTT"]


def hugging_face(sentences, pieces, longest):
    """The merges, (left, right), in the order in which the trainer makes them."""
    from tokenizers import Tokenizer, models, trainers

    letters = len(set("".join(sentences)))
    tokenizer = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=pieces + letters, min_frequency=2, max_token_length=longest + 1, show_progress=False
    )
    tokenizer.train_from_iterator(sentences, trainer)
    return [tuple(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]


def sentencepiece_pieces(path, pieces, longest, letters):
    import sentencepiece

    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "m")
        sentencepiece.SentencePieceTrainer.train(
            input=path, model_prefix=prefix, model_type="bpe", vocab_size=pieces + letters + 3,
            character_coverage=1.0, max_sentencepiece_length=longest, add_dummy_prefix=False,
            normalization_rule_name="identity", split_by_whitespace=False, split_by_unicode_script=False,
            split_by_number=False, hard_vocab_limit=False, max_sentence_length=100000, minloglevel=2)
        model = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
        texts = [model.id_to_piece(i) for i in range(3, model.get_piece_size())]
    return [text for text in texts if len(text) > 1]


def bigbird_pieces(program, path, pieces, longest, trainer):
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "tokenizer")
        subprocess.run([program, "train-bpe", "--lines", path, "-o", output, "--vocab-size",
                        str(pieces + SPECIAL_AND_LETTERS), "--max-piece-length", str(longest), "--trainer",
                        trainer, "--sample-bp", "4G", "--quiet"], check=True)
        with open(os.path.join(output, "spiece.vocab"), encoding="utf-8") as lines:
            return [line.split("\t")[0] for line in lines][SPECIAL_AND_LETTERS:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", nargs="?")
    parser.add_argument("--bigbird", default="bigbird")
    parser.add_argument("--vocab-size", type=int, default=2000)
    parser.add_argument("--max-piece-length", type=int, default=64)
    parser.add_argument("--golden", action="store_true")
    options = parser.parse_args()
    if options.golden:
        for sentence in GOLDEN:
            print(sentence)
        print(", ".join('"%s %s"' % merge for merge in hugging_face(GOLDEN, 40, 8)))
        return 0
    with open(options.sentences, encoding="utf-8") as lines:
        sentences = [line.strip() for line in lines if line.strip()]
    pieces = options.vocab_size - SPECIAL_AND_LETTERS
    longest = options.max_piece_length
    vocabularies = {
        "hugging face": ["".join(merge) for merge in hugging_face(sentences, pieces, longest)],
        "sentencepiece": sentencepiece_pieces(options.sentences, pieces, longest,
                                              len(set("".join(sentences)))),
    }
    for trainer in ("exact", "apart"):
        vocabularies[trainer] = bigbird_pieces(options.bigbird, options.sentences, pieces, longest, trainer)
    theirs = vocabularies["hugging face"]
    for name, own in vocabularies.items():
        same = next((i for i, pair in enumerate(zip(own, theirs)) if pair[0] != pair[1]),
                    min(len(own), len(theirs)))
        print(f"{name}: {len(own)} pieces, {len(set(own) & set(theirs))} shared with Hugging Face's trainer, "
              f"the first {same} in the same order")
    return 0 if vocabularies["exact"] == theirs else 1


if __name__ == "__main__":
    raise SystemExit(main())
