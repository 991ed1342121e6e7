#!/usr/bin/env python3
"""What a core-hour buys: `bigbird variants` and `bigbird chromatin predict` beside the script that a user would write.

    python scoring.py --program build/release/bin/bigbird --shared ../shared [--variants 2] [--rounds 1] [-o table.md --tsv rows.tsv]

A model of 919 profiles over windows of 8,000 bp with random weights (base: 12 layers x 768, small: 4 x 256), a vocabulary of
1,000 pieces (--tokenizer: another), real variants of chromosome 20, REF and ALT, both strands. The other side is peer.py:
transformers' BigBirdForSequenceClassification of the same folder, windows sorted by length, eight to a batch. README.md says what
is timed. Whole processes in turns; before any time is given the scores of both are compared. Needs torch, transformers 4.57.1 and
sentencepiece (tests/peers/README.md)."""

import argparse
import csv
import gzip
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
WINDOW, BIN, BEFORE = 8000, 200, 3900  # bases; the bin stands behind BEFORE of them
PROFILES = 919
REGION = (1_000_000, 2_000_000)  # of chromosome 20 that ../shared has, 0-based half-open
SIZES = {"base": (12, 768, 12), "small": (4, 256, 4)}  # layers, width, heads
DELTAS = ("ref", "alt", "diff", "lfc")


class Process:
    """A command run to its end: seconds on the clock, of the processor, and the most memory that it held."""

    def __init__(self, command, log, environment=None):
        self.begin = time.perf_counter()
        self.log = log
        with open(log, "w") as out:
            self.child = subprocess.Popen([str(word) for word in command], stderr=out, stdout=out,
                                          env={**os.environ, **(environment or {})})

    def end(self):
        _, status, usage = os.wait4(self.child.pid, 0)
        self.child.returncode = os.waitstatus_to_exitcode(status)
        self.wall = time.perf_counter() - self.begin
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss / 1024  # MiB
        if self.child.returncode != 0:
            sys.exit(f"{self.log}:\n{pathlib.Path(self.log).read_text()}")
        return self


def run(command, log, environment=None):
    return Process(command, log, environment).end()


# --- What both sides read


def write_variants(shared, path, count):
    """`count` records from all over the stretch: SNVs, and one of seven an insertion or deletion."""
    records = {"snv": [], "indel": []}
    with gzip.open(shared / "data/vcf-grch37/kgp3_chr20_1M-2M.b37.vcf.gz", "rt") as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            chrom, pos, name, ref, alt = line.split("\t")[:5]
            plain = all(set(letters) <= set("ACGT") for letters in (ref, alt))
            inside = REGION[0] + WINDOW < int(pos) < REGION[1] - WINDOW
            if plain and inside:
                kind = "snv" if len(ref) == len(alt) == 1 else "indel"
                records[kind].append((int(pos), f"{chrom}\t{pos}\t{name}\t{ref}\t{alt}"))
    indels = count // 7
    chosen = []
    for kind, wanted in (("snv", count - indels), ("indel", indels)):
        found = records[kind]
        chosen += [found[i * len(found) // wanted + len(found) // (2 * wanted)] for i in range(wanted)]
    path.write_text("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n" +
                    "".join(f"{line}\t.\t.\t.\n" for _, line in sorted(chosen)))


def write_bins(path, count):
    """Bins one behind the other, as a scan has them, from the middle of the stretch on."""
    begin = (REGION[0] + REGION[1]) // 2
    path.write_text("".join(f"20\t{begin + BIN * i}\t{begin + BIN * (i + 1)}\n" for i in range(count)))


def write_tokenizer(program, genome, work):
    folder = work / "tokenizer"
    if not folder.exists():
        run([program, "chunk", "-q", "-f", genome, "-o", work / "documents.bed.gz"], work / "chunk.log")
        run([program, "train-bpe", "-q", "-f", genome, "-d", work / "documents.bed.gz", "--vocab-size", "1000", "--sample-bp", "2M",
             "-o", folder], work / "train-bpe.log")
    return folder


# --- Comparing scores


def read_table(path, columns):
    """[rows, profiles, columns] of either side's table."""
    with open(path) as lines:
        rows = list(csv.DictReader((line for line in lines if not line.startswith("##")), delimiter="\t"))
    return np.array([[[float(row[f"p{profile}_{name}"]) for name in columns] for profile in range(PROFILES)] for row in rows])


def read_predictions(path):
    with open(path) as lines:
        rows = list(csv.reader((line for line in lines if not line.startswith("##")), delimiter="\t"))
    return np.array([[float(value) for value in row[-PROFILES:]] for row in rows[1:]])


def ranks(values):
    order = np.argsort(values, kind="stable")
    ranked = np.empty(len(values))
    ranked[order] = np.arange(len(values))
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.bincount(place, ranked) / counts)[place]  # ties have their mean


def agreement(ours, theirs):
    """Largest difference of a probability, and Spearman's correlation of what ALT changes."""
    if ours.ndim == 2:
        return {"probability": float(np.abs(ours - theirs).max())}
    return {"probability": float(np.abs(ours[:, :, :2] - theirs[:, :, :2]).max()),
            "spearman": float(np.corrcoef(ranks(ours[:, :, 2].ravel()), ranks(theirs[:, :, 2].ravel()))[0, 1])}


def agreement_text(one):
    rank = f", Spearman of diff {one['spearman']:.5f}" if "spearman" in one else ""
    return f"probabilities within {one['probability']:.1e}{rank}"


def write_int8(folder):
    """Of a model folder: its linear layers in int8, a scale for each output that has 17 significant bits."""
    from safetensors.numpy import load_file, save_file

    layer = re.compile(r"(.*encoder\.layer\.\d+\.(?:attention\.self|attention\.output\.dense|intermediate\.dense|output\.dense))"
                       r"(?:\.(?:query|key|value))?\.weight$")
    tensors, layers = load_file(folder / "model.safetensors"), {}
    for name, weight in list(tensors.items()):
        if not (found := layer.match(name)):
            continue
        largest = np.abs(weight).max(1) / np.float32(127)
        scale = (largest.astype(np.float32).view(np.uint32) + np.uint32(127) & np.uint32(0xFFFFFF80)).view(np.float32)
        tensors[name] = np.clip(np.rint(weight / scale[:, None]), -127, 127).astype(np.int8)
        tensors[f"{name}_scale"] = scale
        layers[found[1]] = 0.0
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    nothing = {"measure": "auroc", "full": 0.0, "int8": 0.0, "loss": 0.0, "max_loss": 0.0, "data": "", "data_sha256": "",
               "most_examples": 0, "examples": 0, "seed": 1}
    config.setdefault("bigbird", {})["quantization"] = {"int8": layers, "kept": {}, "measured": nothing, "from_sha256": ""}
    config["model_type"] = "bigbird_extended"
    (folder / "config.json").write_text(json.dumps(config))


# --- The measurement of one model


class Bench:
    def __init__(self, size, options, work, genome, tokenizer):
        self.size, self.options, self.genome = size, options, genome
        self.work = work / size
        self.work.mkdir(exist_ok=True)
        self.model = self.work / "model"
        if not self.model.exists():
            layers, width, heads = SIZES[size]
            run([options.python, HERE / "peer.py", "make", "--model", self.model, "--tokenizer", tokenizer, "--layers", layers,
                 "--width", width, "--heads", heads, "--window", WINDOW, "--before", BEFORE, "--bin", BIN, "--profiles", PROFILES],
                self.work / "make.log")
        self.variants = options.variants if size == "base" else options.small_variants
        self.bins = options.bins if size == "base" else options.small_bins
        write_variants(options.shared, self.work / "in.vcf", self.variants)
        write_variants(options.shared, self.work / "none.vcf", 0)
        write_bins(self.work / "in.bed", self.bins)

    def ours(self, task, precision, name, more=(), threads=None, vcf="in.vcf", model=None):
        out = self.work / f"{name}.tsv"
        common = ["-m", model or self.model, "-f", self.genome, "--precision", precision, "--device", "cpu", "-@",
                  threads or self.options.threads, "--profiles", "all", "-o", out, "--force"]
        command = ([self.options.program, "variants", self.work / vcf, *common, *more] if task == "variants" else
                   [self.options.program, "chromatin", "predict", "-R", self.work / "in.bed", *common, *more])
        return Process(command, self.work / f"{name}.log"), out

    def int8_model(self):
        """The same model with all its linear layers in int8, weights rounded as `bigbird quantize` does; of what that loses nothing was
        measured, and the folder says 0."""
        folder = self.work / "int8"
        if not folder.exists():
            shutil.copytree(self.model, folder)
            write_int8(folder)
        return folder

    def theirs(self, task, precision, name, batch):
        out = self.work / f"{name}.tsv"
        source = ["--vcf", self.work / "in.vcf"] if task == "variants" else ["--bed", self.work / "in.bed"]
        command = [self.options.python, HERE / "peer.py", "score", "--model", self.model, "--fasta", self.genome, *source, "--precision",
                   precision, "--threads", self.options.threads, "--batch", batch, "-o", out, "--cost", self.work / f"{name}.json"]
        return Process(command, self.work / f"{name}.log"), out

    def loading(self, precision, model=None):
        """Of ours: a run over no variants, which opens the genome and the model and takes their digests. The second of two, so that
        packed weights lie in their file, as they do for all but the first process of a machine."""
        runs = [self.ours("variants", precision, "loading", vcf="none.vcf", model=model)[0].end() for _ in range(2)]
        return runs[-1].cpu

    def measure(self, task, precision, reference):
        scores, rows = {}, []
        items = self.variants if task == "variants" else self.bins
        read = (lambda path: read_table(path, DELTAS)) if task == "variants" else read_predictions
        for turn in range(self.options.rounds):
            int8 = ("bigbird int8",) if self.options.int8 and precision == "bf16" else ()
            for program in ("bigbird", "transformers", *int8):
                name = f"{task}-{precision}-{program.replace(' ', '-')}"
                if program != "transformers":
                    model = self.int8_model() if program in int8 else self.model
                    loading = self.loading(precision, model)
                    process, out = self.ours(task, precision, name, model=model)
                    process.end()
                else:
                    process, out = self.theirs(task, precision, name, self.options.batch)
                    process.end()
                    loading = json.loads((self.work / f"{name}.json").read_text())["loading_cpu_seconds"]
                scores[program] = read(out)
                rows.append({"model": self.size, "task": task, "precision": precision, "program": program, "round": turn + 1,
                             "items": items, "wall_seconds": round(process.wall, 3), "cpu_seconds": round(process.cpu, 3),
                             "loading_cpu_seconds": round(loading, 3), "peak_memory_mib": round(process.memory)})
                print(f"{self.size} {task} {precision} {program}: {process.cpu:.1f} s of CPU, {loading:.1f} of them loading, "
                      f"{process.wall:.1f} s, {process.memory:.0f} MiB", file=sys.stderr)
        notes = [f"{self.size}, {task}, {precision}: bigbird beside transformers, padded in batches of {self.options.batch}: "
                 f"{agreement_text(agreement(scores['bigbird'], scores['transformers']))}"]
        for program, found in scores.items():
            if reference is not None and precision != "fp32":
                notes.append(f"{self.size}, {task}, {precision}: {program} beside bigbird in fp32: "
                             f"{agreement_text(agreement(found, reference))}")
        return rows, notes, scores["bigbird"]

    def agree(self):
        """Window by window, where no padding changes the pattern of transformers: the same numbers, or the end."""
        theirs, out = self.theirs("variants", "fp32", "alone-transformers", 1)
        theirs.end()
        ours, own = self.ours("variants", "fp32", "alone-bigbird")
        ours.end()
        found = agreement(read_table(own, DELTAS), read_table(out, DELTAS))
        if found["probability"] > self.options.tolerance or found["spearman"] < 0.99:
            sys.exit(f"{self.size}: the scores do not agree: {agreement_text(found)}")
        return f"{self.size}, variants, fp32, window by window: {agreement_text(found)}"

    def processes(self, precision):
        """One process of all threads beside as many processes of one thread, each with its share of the variants."""
        threads, rows = self.options.threads, []
        chunk = ["--chunk", max(1, self.variants // threads)]
        for turn in range(self.options.rounds):
            for name, count in (("one process", 1), ("processes of one thread", threads)):
                begin = time.perf_counter()
                started = [self.ours("variants", precision, f"shard-{i}", [*chunk, "--shard", f"{i + 1}/{count}"], threads // count)[0]
                           for i in range(count)]
                ended = [one.end() for one in started]
                rows.append({"model": self.size, "task": "variants", "precision": precision, "program": f"bigbird, {name}",
                             "round": turn + 1, "items": self.variants, "wall_seconds": round(time.perf_counter() - begin, 3),
                             "cpu_seconds": round(sum(one.cpu for one in ended), 3),
                             "loading_cpu_seconds": round(count * self.loading(precision), 3),
                             "peak_memory_mib": round(sum(one.memory for one in ended))})
        return rows


# --- What is told


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    return f"{model}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.2f} at the start, {time.strftime('%Y-%m-%d')}"


def table(rows):
    lines = ["| model | task | precision | program | CPU s each | of loading, once | wall s | MiB | each core-hour | against transformers |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    cases = list(dict.fromkeys((row["model"], row["task"], row["precision"], row["program"]) for row in rows))
    each, told = {}, []
    for case in cases:
        of = [row for row in rows if (row["model"], row["task"], row["precision"], row["program"]) == case]
        middle = {key: statistics.median(row[key] for row in of)
                  for key in ("wall_seconds", "cpu_seconds", "loading_cpu_seconds", "peak_memory_mib")}
        each[case] = (middle["cpu_seconds"] - middle["loading_cpu_seconds"]) / of[0]["items"]
        rate = 3600 / each[case]
        amount = f"{rate:,.0f} variants" if case[1] == "variants" else f"{rate * BIN:,.0f} bp scanned"
        told.append((case, middle, amount))
    for case, middle, amount in told:
        theirs = each.get((*case[:3], "transformers"))  # of int8 too: its script runs in bf16
        ratio = "" if theirs is None or case[3] == "transformers" else f"**{theirs / each[case]:.2f}**"
        lines.append(f"| {case[0]} | {case[1]} | {case[2]} | {case[3]} | {each[case]:.3g} | {middle['loading_cpu_seconds']:.1f} | "
                     f"{middle['wall_seconds']:.1f} | {middle['peak_memory_mib']:,.0f} | {amount} | {ratio} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="bigbird, a release build")
    parser.add_argument("--shared", type=pathlib.Path, required=True, help="the folder with data/")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder for models and outputs; models that are there stay")
    parser.add_argument("--python", default=sys.executable, help="of peer.py")
    parser.add_argument("--tokenizer", type=pathlib.Path, help="folder with a spiece.model, in place of 1,000 pieces trained here")
    parser.add_argument("--models", default="base,small")
    parser.add_argument("--precisions", default="fp32,bf16")
    parser.add_argument("--tasks", default="variants,scan")
    parser.add_argument("--variants", type=int, default=2, help="of the base model")
    parser.add_argument("--bins", type=int, default=2, help="of the base model")
    parser.add_argument("--small-variants", type=int, default=14)
    parser.add_argument("--small-bins", type=int, default=14)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8, help="windows to a batch of transformers")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="of a probability, fp32, window by window")
    parser.add_argument("--no-agreement", action="store_true", help="leave out the run window by window, when it was made before")
    parser.add_argument("--int8", action="store_true", help="bigbird with all linear layers in int8 beside the two in bf16")
    parser.add_argument("--processes", action="store_true", help="bigbird alone: processes of one thread beside one of all threads")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="the table (Markdown), also printed")
    parser.add_argument("--tsv", type=pathlib.Path, help="every run")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    about = machine()
    genome = options.shared / "data/human-grch37/grch37.sparse.fa.gz"
    tokenizer = options.tokenizer or write_tokenizer(options.program, genome, options.work)
    rows, notes = [], []
    for size in options.models.split(","):
        bench = Bench(size, options, options.work, genome, tokenizer)
        if not options.processes and not options.no_agreement:
            notes.append(bench.agree())
            print(notes[-1], file=sys.stderr)
        reference = {}
        for precision in options.precisions.split(","):
            if options.processes:
                rows += bench.processes(precision)
                continue
            for task in options.tasks.split(","):
                found, said, scores = bench.measure(task, precision, reference.get(task))
                rows, notes = rows + found, notes + said
                reference.setdefault(task, scores)
    text = f"{about}; {options.threads} threads, {options.rounds} rounds in turns, medians\n\n{table(rows)}\n\n" + "\n".join(
        f"- {note}" for note in notes)
    print(text)
    if options.output:
        options.output.write_text(text + "\n")
    if options.tsv:
        with open(options.tsv, "w", newline="") as out:
            out.write(f"## {about}\n")
            writer = csv.DictWriter(out, fieldnames=list(rows[0]), delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
