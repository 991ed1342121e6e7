#!/usr/bin/env python3
"""The script that a user would write to score variants with transformers; scoring.py runs it. Also makes its model.

    python peer.py score --model MODEL --fasta GENOME.fa.gz (--vcf IN.vcf | --bed BINS.bed) --precision bf16 -o OUT.tsv --cost OUT.json

Windows of REF and ALT on both strands (each strand tokenized), sorted by length, padded to the longest of their batch; the
probability of every profile, on each strand diff and logFC as docs/variants.md has them, then means over the strands."""

import argparse
import gzip
import json
import pathlib
import time

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def make(options):
    import torch
    import transformers

    torch.manual_seed(1)
    options.model.mkdir(parents=True)
    (options.model / "spiece.model").write_bytes((options.tokenizer / "spiece.model").read_bytes())
    pieces = transformers.BigBirdTokenizer(str(options.model / "spiece.model")).sp_model
    # Weights five times as wide as usual, that random weights let a variant change something.
    config = transformers.BigBirdConfig(
        vocab_size=pieces.get_piece_size(), num_hidden_layers=options.layers, hidden_size=options.width, num_attention_heads=options.heads,
        intermediate_size=4 * options.width, max_position_embeddings=4096, block_size=64, num_random_blocks=3, attention_type="block_sparse",
        num_labels=options.profiles, problem_type="multi_label_classification", initializer_range=0.1, pad_token_id=0, bos_token_id=2,
        eos_token_id=3, sep_token_id=3, bigbird={"random_mode": "hf-eval"})
    transformers.BigBirdForSequenceClassification(config).save_pretrained(options.model)
    (options.model / "window.json").write_text(json.dumps(
        {"task": "chromatin", "length": options.window, "target_offset": options.before, "target_length": options.bin}))
    (options.model / "profiles.tsv").write_text(
        "index\tname\tgroup\n" + "".join(f"{i}\tprofile{i}\t.\n" for i in range(options.profiles)))


def read_contig(path, wanted):
    lines, inside = [], False
    with gzip.open(path, "rt") as text:
        for line in text:
            if line.startswith(">"):
                inside = line[1:].split()[0].removeprefix("chr") == wanted.removeprefix("chr")
            elif inside:
                lines.append(line.strip())
    return "".join(lines).upper()


def variant_windows(path, genome, window):
    """(name, REF window, ALT window): the variant's first changed base in the middle of the bin, ALT's flank to its length."""
    offset = window["target_offset"] + (window["target_length"] - 1) // 2
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        chrom, pos, name, ref, alt = line.split("\t")[:5]
        begin = int(pos) - 1
        while ref and alt and ref[-1] == alt[-1]:
            ref, alt = ref[:-1], alt[:-1]
        while ref and alt and ref[0] == alt[0]:
            ref, alt, begin = ref[1:], alt[1:], begin + 1
        start = begin - offset
        before, behind = genome[start:begin], genome[begin + len(ref):start + 2 * window["length"]]
        yield f"{chrom}:{pos}", (before + ref + behind)[:window["length"]], (before + alt + behind)[:window["length"]]


def bin_windows(path, genome, window):
    for line in path.read_text().splitlines():
        chrom, begin, end = line.split("\t")[:3]
        start = int(begin) - window["target_offset"]
        yield f"{chrom}:{begin}-{end}", genome[start:start + window["length"]]


def score(options):
    begin = time.process_time()
    import torch
    import transformers

    torch.set_num_threads(options.threads)
    transformers.logging.set_verbosity_error()
    dtype = torch.bfloat16 if options.precision == "bf16" else torch.float32
    model = transformers.BigBirdForSequenceClassification.from_pretrained(options.model, dtype=dtype).eval()
    tokenizer = transformers.BigBirdTokenizer.from_pretrained(options.model, pad_token="[PAD]", unk_token="[UNK]")
    window = json.loads((options.model / "window.json").read_text())
    source = options.vcf or options.bed
    genome = read_contig(options.fasta, next(line for line in source.read_text().splitlines() if not line.startswith("#")).split("\t")[0])
    loaded = time.process_time()

    names, texts = [], []
    for name, *windows in (variant_windows if options.vcf else bin_windows)(source, genome, window):
        names.append(name)
        for bases in windows:
            texts += [bases, bases.translate(COMPLEMENT)[::-1]]
    ids = [tokenizer.build_inputs_with_special_tokens(tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text))) for text in texts]
    tokenized = time.process_time()

    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    logits = torch.empty(len(ids), model.config.num_labels, dtype=torch.float64)
    with torch.no_grad():
        for first in range(0, len(order), options.batch):
            batch = order[first:first + options.batch]
            padded = tokenizer.pad({"input_ids": [ids[i] for i in batch]}, return_tensors="pt")
            logits[batch] = model(**padded).logits.double()
    probability = torch.sigmoid(logits)
    modelled = time.process_time()

    with open(options.output, "w") as out:
        if options.vcf:
            reference, alternative = probability.view(len(names), 2, 2, -1).unbind(1)  # [variants, strands, profiles]
            odds = lambda p: torch.log2(p / (1 - p + 1e-12))  # noqa: E731
            columns = [reference, alternative, alternative - reference, odds(alternative) - odds(reference)]
            rows = torch.stack([column.mean(1) for column in columns], -1)  # [variants, profiles, columns]
            out.write("variant\t" + "\t".join(f"p{k}_{what}" for k in range(rows.shape[1]) for what in ("ref", "alt", "diff", "lfc")))
        else:
            rows = probability.view(len(names), 2, -1).mean(1)
            out.write("bin\t" + "\t".join(f"profile{k}" for k in range(rows.shape[1])))
        out.write("\n")
        for name, row in zip(names, rows):
            out.write(name + "\t" + "\t".join(f"{value:.6g}" for value in row.flatten().tolist()) + "\n")
    options.cost.write_text(json.dumps({
        "loading_cpu_seconds": loaded, "imports_and_model": loaded - begin, "tokenizing": tokenized - loaded,
        "model": modelled - tokenized, "writing": time.process_time() - modelled, "tokens": sum(len(one) for one in ids) / len(ids)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    maker = verbs.add_parser("make", help="a model folder with random weights")
    for name in ("layers", "width", "heads", "window", "before", "bin", "profiles"):
        maker.add_argument(f"--{name}", type=int, required=True)
    maker.add_argument("--tokenizer", type=pathlib.Path, required=True)
    maker.set_defaults(run=make)
    scorer = verbs.add_parser("score", help="variants or bins")
    scorer.add_argument("--fasta", type=pathlib.Path, required=True)
    source = scorer.add_mutually_exclusive_group(required=True)
    source.add_argument("--vcf", type=pathlib.Path)
    source.add_argument("--bed", type=pathlib.Path)
    scorer.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    scorer.add_argument("--threads", type=int, default=2)
    scorer.add_argument("--batch", type=int, default=8)
    scorer.add_argument("-o", "--output", type=pathlib.Path, required=True)
    scorer.add_argument("--cost", type=pathlib.Path, required=True)
    scorer.set_defaults(run=score)
    for one in (maker, scorer):
        one.add_argument("--model", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
