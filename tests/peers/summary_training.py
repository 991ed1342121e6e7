"""A fine-tuning update of a BigBird-Pegasus of random weights by transformers and by `bigbird text summarize finetune`:
seconds of an update and the largest resident set, processes of two threads each, in turns. The real vocabulary, source
and target lengths of --length and --target, torch's AdamW.

    python summary_training.py --program build/release/bin/bigbird --vocabulary pegasus.model --data documents.jsonl"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

import torch
import transformers
from transformers import BigBirdPegasusForConditionalGeneration, PegasusTokenizer

from summaries import timed, write_model

SIZES = {
    "small": dict(d_model=256, encoder_layers=4, decoder_layers=4, encoder_attention_heads=4, decoder_attention_heads=4,
                  encoder_ffn_dim=1024, decoder_ffn_dim=1024),
    "base": dict(d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12,
                 decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072),
}


def train(arguments):
    """The peer's side, in a process of its own: prints the seconds of each update but the first."""
    torch.set_num_threads(2)
    tokenizer = PegasusTokenizer.from_pretrained(arguments.train)
    model = BigBirdPegasusForConditionalGeneration.from_pretrained(arguments.train).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    rows = [json.loads(line) for line in arguments.data.read_text().splitlines()]
    seconds = []
    for update in range(arguments.updates):
        picked = [rows[(update * arguments.batch + i) % len(rows)] for i in range(arguments.batch)]
        ids = tokenizer([row["document"] for row in picked], truncation=True, max_length=arguments.length,
                        return_tensors="pt")
        labels = tokenizer([row["summary"] for row in picked], truncation=True, max_length=arguments.target,
                           return_tensors="pt").input_ids
        assert ids.input_ids.shape[1] == arguments.length and labels.shape[1] == arguments.target
        begin = time.time()
        optimizer.zero_grad()
        model(**ids, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seconds.append(time.time() - begin)
    print(f"{sum(seconds[1:]) / len(seconds[1:]):.3f}")


def ours(arguments, work, updates):
    """(seconds, MiB) of a run of so many updates, its start and its end included."""
    run = work / f"run-{updates}"
    seconds, mib, _ = timed([arguments.program, "text", "summarize", "finetune", "--train", work / "data.jsonl", "--init",
                             work / "model", "-o", run, "--length", str(arguments.length), "--target-length",
                             str(arguments.target), "--batch", str(arguments.batch), "--steps", str(updates), "--optimizer",
                             "torch", "--lr", "1e-4", "--clip-norm", "1", "--threads", "2", "--final", "last", "--force",
                             "--newlines-are-blanks"])
    return seconds, mib


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--vocabulary", required=True, type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path, help="JSON Lines with a long field `document`")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--target", type=int, default=128)
    parser.add_argument("--updates", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--train", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        train(arguments)
        return
    transformers.logging.set_verbosity_error()
    words = [word for line in arguments.data.read_text().splitlines() for word in json.loads(line)["document"].split()]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        write_model(work / "model", arguments.vocabulary, SIZES[arguments.size], 3)
        with open(work / "data.jsonl", "w", encoding="utf-8") as rows:
            for i in range(8):
                part = words[i * 3000:(i + 1) * 3000]
                rows.write(json.dumps({"document": " ".join(part), "summary": " ".join(part[:400])}) + "\n")
        peer = [sys.executable, __file__, *(word for name in ("program", "vocabulary", "batch", "length", "target", "updates")
                                            for word in (f"--{name}", str(getattr(arguments, name)))),
                "--data", work / "data.jsonl", "--train", work / "model"]
        for _ in range(arguments.rounds):
            _, mib, out = timed(peer)
            theirs = float(out.splitlines()[-1])
            print(f"transformers: {theirs:.2f} s an update, {mib:.0f} MiB", flush=True)
            short, _ = ours(arguments, work, 1)
            long, our_mib = ours(arguments, work, arguments.updates)
            mine = (long - short) / (arguments.updates - 1)
            print(f"bigbird: {mine:.2f} s an update ({theirs / mine:.2f} times as fast), {our_mib:.0f} MiB "
                  f"({our_mib / mib:.2f} of it)", flush=True)


if __name__ == "__main__":
    main()
