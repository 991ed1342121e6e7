"""Summaries of documents by transformers' generate() and by `bigbird text summarize predict`, from one folder of random
weights over the real vocabulary of Pegasus: the texts must be equal, document by document, for several settings of the
search. With --time a larger model is timed in turns.

    python summaries.py --program build/release/bin/bigbird --vocabulary pegasus.model --data documents.jsonl"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import safetensors.torch
import torch
import transformers
from transformers import BigBirdPegasusConfig, BigBirdPegasusForConditionalGeneration, PegasusTokenizer

SETTINGS = [
    dict(num_beams=1),
    dict(num_beams=5, length_penalty=0.8),
    dict(num_beams=3, length_penalty=2.0, early_stopping=True),
    dict(num_beams=4, no_repeat_ngram_size=3, min_length=8),
    dict(num_beams=2, early_stopping="never", repetition_penalty=1.3),
]


def options_of(setting):
    """The same as options of the verb, over the folder's defaults, which are generate()'s."""
    names = {"num_beams": "--beams", "length_penalty": "--length-penalty", "no_repeat_ngram_size": "--no-repeat-ngram",
             "repetition_penalty": "--repetition-penalty"}
    words = []
    for field, value in setting.items():
        if field == "early_stopping":
            words += ["--early-stopping", {True: "yes", False: "no"}.get(value, value)]
        elif field == "min_length":
            words += ["--min-tokens", str(value - 1)]
        else:
            words += [names[field], str(value)]
    return words


def write_model(folder, vocabulary, size, seed):
    torch.manual_seed(seed)
    config = BigBirdPegasusConfig(**size, max_length=33, num_beams=1)
    config.max_length = None
    model = BigBirdPegasusForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2:
                parameter.normal_(0, 0.2 if size["d_model"] < 256 else 0.03)
        # An end that is likely enough to come.
        model.final_logits_bias[0, 1] = 1.0
    model.generation_config.max_length = 33
    model.save_pretrained(folder)
    shutil.copy(vocabulary, folder / "spiece.model")
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PegasusTokenizer", "offset": 0, "pad_token": "<pad>", "eos_token": "</s>",
        "unk_token": "<unk>", "mask_token": "[MASK]"}))
    own = json.loads((folder / "config.json").read_text())
    own["bigbird"] = {"random_mode": "hf-eval"}
    (folder / "config.json").write_text(json.dumps(own))
    tokenizer = PegasusTokenizer(str(folder / "spiece.model"), offset=0, mask_token="[MASK]", mask_token_sent=None,
                                 additional_special_tokens=[])
    return model, tokenizer


def theirs(model, tokenizer, documents, length, setting):
    texts = []
    for document in documents:
        ids = tokenizer(document, truncation=True, max_length=length, return_tensors="pt").input_ids
        out = model.generate(ids, **setting)[0].tolist()[1:]
        out = out[: out.index(1)] if 1 in out else out
        # The tokens alone: the library joins pieces as SentencePiece does.
        texts.append([token for token in out])
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--vocabulary", required=True, type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path, help="JSON Lines with a field `document`")
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--time", action="store_true", help="the large size, source 3,072: logits, and 64 new tokens with 5 beams timed")
    parser.add_argument("--rounds", type=int, default=1, help="of --time")
    parser.add_argument("--generate", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--logits", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.generate:
        generate(arguments)
        return
    transformers.logging.set_verbosity_error()
    documents = []
    with open(arguments.data, encoding="utf-8") as lines:
        for line in lines:
            documents.append(" ".join(json.loads(line)["document"].split()))
            if len(documents) == arguments.documents:
                break
    if arguments.time:
        time_both(arguments, documents)
        return
    size = dict(d_model=48, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=1024, block_size=16)
    failed = False
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / "model"
        model, tokenizer = write_model(folder, arguments.vocabulary, size, 3)
        data = pathlib.Path(work) / "data.jsonl"
        data.write_text("".join(json.dumps({"document": text}) + "\n" for text in documents))
        for setting in SETTINGS:
            command = [arguments.program, "text", "summarize", "predict", "-q", "-m", folder, data, "--length",
                       str(arguments.length), "--newlines-are-blanks", *options_of(setting)]
            ours = [json.loads(line) for line in subprocess.run(command, check=True, capture_output=True,
                                                                text=True).stdout.splitlines()]
            equal = 0
            for row, tokens in zip(ours, theirs(model, tokenizer, documents, arguments.length, setting), strict=True):
                text = tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
                same = row["summary"] == text
                equal += same
                if not same and equal + 3 > len(ours):
                    print(f"  {row['summary']!r}\n  {text!r}")
            print(f"{setting}: {equal} of {len(ours)} texts equal", flush=True)
            failed = failed or equal < len(ours)
    sys.exit(1 if failed else 0)


def high_water(process):
    """The largest resident set of a process so far, in MiB. Not what wait4() says, which counts the parent's too."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii") as status:
            return next((int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


def timed(command):
    """(seconds, largest resident set in MiB, what it wrote) of a process of its own."""
    mib = 0
    with tempfile.TemporaryFile("w+") as out:
        begin = time.time()
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        while child.poll() is None:
            mib = max(mib, high_water(child.pid))
            time.sleep(0.02)
        seconds = time.time() - begin
        out.seek(0)
        text = out.read()
    assert child.returncode == 0, text
    return seconds, mib, text


def generate(arguments):
    """The peer's side of time_both(): a process that reads the folder and writes one summary."""
    torch.set_num_threads(2)
    tokenizer = PegasusTokenizer.from_pretrained(arguments.generate)
    model = BigBirdPegasusForConditionalGeneration.from_pretrained(arguments.generate).eval()
    text = json.loads(arguments.data.read_text())["document"]
    ids = tokenizer(text, truncation=True, max_length=3072, return_tensors="pt").input_ids
    assert ids.shape[1] == 3072, "give more text"
    with torch.no_grad():
        begin = time.time()
        if arguments.logits:
            logits = model(ids, decoder_input_ids=ids[:, :256]).logits
            inputs = {"input_ids": ids, "decoder_input_ids": ids[:, :256].clone()}
            safetensors.torch.save_file(inputs, arguments.logits / "inputs.safetensors")
            safetensors.torch.save_file({"logits": logits}, arguments.logits / "theirs.safetensors")
        else:
            tokens = model.generate(ids, num_beams=5, length_penalty=0.8, max_length=65, min_length=64)[0]
            print(tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))
        print(f"without reading the weights: {time.time() - begin:.1f} s")


def time_both(arguments, documents):
    """Forward logits of the large size, then one summary: processes of two threads each, in turns."""
    size = dict(d_model=1024, encoder_layers=16, decoder_layers=16, encoder_attention_heads=16,
                decoder_attention_heads=16, encoder_ffn_dim=4096, decoder_ffn_dim=4096)
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        folder, data = work / "model", work / "data.jsonl"
        write_model(folder, arguments.vocabulary, size, 3)
        # bigbird's blocks at random are of the published code unless the folder says that transformers' are wanted.
        config = json.loads((folder / "config.json").read_text())
        config["bigbird"] = {"random_mode": "hf-eval"}
        (folder / "config.json").write_text(json.dumps(config))
        data.write_text(json.dumps({"document": " ".join(documents)}) + "\n")
        peer = [sys.executable, __file__, "--program", arguments.program, "--vocabulary", arguments.vocabulary, "--data",
                data, "--generate", folder]
        command = [arguments.program, "text", "summarize", "predict", "-m", folder, data, "--length", "3072",
                   "--newlines-are-blanks", "--beams", "5", "--length-penalty", "0.8", "--max-tokens", "64",
                   "--min-tokens", "63", "--batch", "1", "--threads", "2"]
        seconds, mib, out = timed([*peer, "--logits", work])
        print(f"transformers, logits: {seconds:.1f} s, {mib:.0f} MiB; {out.splitlines()[-1]}", flush=True)
        seconds, mib, out = timed([arguments.program, "forward", "-m", folder, "-i", work / "inputs.safetensors", "-o",
                                   work / "ours.safetensors", "--threads", "2"])
        theirs_logits, ours = (safetensors.torch.load_file(work / name)["logits"].flatten()
                               for name in ("theirs.safetensors", "ours.safetensors"))
        print(f"bigbird, logits: {seconds:.1f} s, {mib:.0f} MiB; largest difference "
              f"{(theirs_logits - ours).abs().max():.2e} of logits up to {theirs_logits.abs().max():.2f}", flush=True)
        for _ in range(arguments.rounds):
            seconds, mib, out = timed(peer)
            print(f"transformers, summary: {seconds:.1f} s, {mib:.0f} MiB; {out.splitlines()[-1]}", flush=True)
            theirs_text = out.splitlines()[-2]
            seconds, mib, out = timed(command)
            rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
            print(f"bigbird, summary: {seconds:.1f} s, {mib:.0f} MiB; the same text: {rows[0]['summary'] == theirs_text}")
            print(*(line for line in out.splitlines() if not line.startswith("{")), sep="\n", flush=True)


if __name__ == "__main__":
    main()
