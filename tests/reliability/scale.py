#!/usr/bin/env python3
"""Time and memory of verbs over inputs of a size and of ten times that size.

    python3 tests/reliability/scale.py --program build/release/bin/bigbird --demo demo-output --work /tmp/scale [--large]

DEMO is what pipelines/demo.sh has left. Wanted: time that grows as the input does, and at most 10 bytes of memory for
a byte of it. Without --large each input is a tenth (and a hundredth) of the sizes that benchmarks/reliability.md
tells. Needs Python 3, and bgzip and samtools for the inputs; no part of .ci/run. Prints a row for each verb and size.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def run(program, words):
    begin = time.monotonic()
    with open("log", "ab") as log:
        log.write(("\n$ bigbird " + " ".join(words) + "\n").encode())
        log.flush()
        process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=log,
                                   stdin=subprocess.DEVNULL, env={**os.environ, "BIGBIRD_THREADS": "1"})
        _, status, usage = os.wait4(process.pid, 0)
    # What the program says itself: the system counts this process too, of which it was a copy at first.
    with open("log", encoding="utf-8") as log:
        peak = re.findall(r"([0-9]+) MiB peak memory", log.read())
    return (os.waitstatus_to_exitcode(status), time.monotonic() - begin, usage.ru_utime + usage.ru_stime,
            float(peak[-1]) if peak else 0.0)


def fasta(path, contigs, length, line=60):
    chance = random.Random(length)
    piece = "".join(chance.choice("ACGT") for _ in range(min(length, 600000) // line * line or length))
    lines = [piece[i:i + line] + "\n" for i in range(0, len(piece), line)]
    whole = "".join(lines)
    with open(path, "w") as out:
        for contig in range(contigs):
            out.write(f">c{contig}\n")
            left = length
            while left >= len(piece):
                out.write(whole)
                left -= len(piece)
            while left > 0:
                out.write(piece[:min(left, line)] + "\n")
                left -= line


def contigs_of(genome):
    subprocess.run(["samtools", "faidx", genome], check=True)
    with open(genome + ".fai") as index:
        return [(row.split("\t")[0], int(row.split("\t")[1])) for row in index]


def vcf(path, demo_genome, lines):
    """SNVs of which 5,000 are scored; the others are symbolic and skipped."""
    name = contigs_of(demo_genome)[0][0]
    bases = subprocess.run(["samtools", "faidx", demo_genome, f"{name}:200001-300000"], check=True,
                           capture_output=True, text=True).stdout.split("\n", 1)[1].replace("\n", "").upper()
    each = max(lines // 5000, 1)
    with open(path, "w") as out:
        out.write(f"##fileformat=VCFv4.2\n##contig=<ID={name}>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
        for i in range(lines):
            at = i * len(bases) // lines
            ref = bases[at]
            alt = ("C" if ref == "A" else "A") if i % each == 0 and ref != "N" else "<DEL>"
            out.write(f"{name}\t{200001 + at}\t.\t{ref}\t{alt}\t.\t.\t.\n")


def text_model(program):
    if os.path.exists("text-run/final"):
        return
    with open("train.csv", "w") as out:
        out.write("text,label\n" + "".join(f"word{i % 97} is {'good' if i % 2 else 'bad'} here,{i % 2}\n"
                                           for i in range(400)))
    with open("text.txt", "w") as out:
        out.write("".join(f"Word{i % 97} is good here. Another line of text {i} follows it.\n\n" for i in range(3000)))
    for words in (["text", "vocabulary", "text.txt", "-o", "vocabulary", "--vocab-size", "300"],
                  ["text", "pretrain-data", "text.txt", "-m", "vocabulary", "-o", "text"],
                  ["pretrain", "--train", "text", "-m", "vocabulary", "-o", "text-pretrain", "--layers", "1",
                   "--width", "32", "--heads", "2", "--length", "64", "--block-size", "8", "--batch", "4",
                   "--steps", "2", "--random-mode", "hf-train"],
                  ["text", "classify", "finetune", "--train", "train.csv", "--init", "text-pretrain/final", "-o",
                   "text-run", "--length", "64", "--steps", "2", "--batch", "4"]):
        status = run(program, words)[0]
        if status != 0:
            sys.exit(f"scale.py: no text model ({' '.join(words)}); see the file log")


def cases(program, demo, size):
    """(what, amount, unit, make(amount), words, input): amounts are those of the large run."""
    genome, model = f"{demo}/genome/genome.fa.gz", f"{demo}/chromatin-run/final"
    first = contigs_of(genome)[0]

    def make_vcf(n):
        vcf("in.vcf", genome, n)

    def make_contigs(n):
        fasta("contigs.fa", n, 1200)
        remove("contigs.fa.fai")
        with open("contigs.bed", "w") as out:
            out.write("".join(f"c{i * (n // 1000 or 1)}\t400\t600\n" for i in range(min(n, 1000))))

    def make_shards(n):
        """A value on every contig."""
        make_contigs(n)
        for name in ("scan.bw", "scan.bw.summary.json"):
            remove(name)
        for shard in ("1", "2"):
            status = run(program, ["promoter", "scan", "-m", f"{demo}/finetune/final", "-f", "contigs.fa", "--step",
                                   "600", "--chunk-size", "1000", "--shard", shard + "/2", "-o", "part" + shard,
                                   "--force"])[0]
            if status != 0:
                sys.exit("scale.py: no shards of a scan; see the file log")

    def keep_scan(n):
        """What merging has left, for both sizes."""
        for name in ("scan.bw", "scan.bw.summary.json"):
            kept = f"{n}.{name}"
            if not os.path.exists(kept):
                if name == "scan.bw":
                    make_shards(n)
                    run(program, ["merge", "part1", "part2", "-o", "scan.bw"])
                shutil.copyfile(name, kept)
            shutil.copyfile(kept, name)

    def make_contig(n):
        fasta("contig.fa", 1, n)
        remove("contig.fa.fai")
        with open("contig.bed", "w") as out:
            out.write("".join(f"c0\t{i * (n // 1000)}\t{i * (n // 1000) + 400}\n" for i in range(1000)))

    def make_bed(n):
        with open("in.bed", "w") as out:
            out.write("".join(f"{first[0]}\t{i % 100000}\t{i % 100000 + 200}\tn{i}\n" for i in range(n)))
        with open("same.chain", "w") as out:
            out.write(f"chain 1000 {first[0]} {first[1]} + 0 {first[1]} {first[0]} {first[1]} + 0 {first[1]} 1\n"
                      f"{first[1]}\n\n")

    letters = random.Random(47).choices("abcdefghijklmnopqrstuvwxyz", k=100000)
    contents = {"blanks": "Word is good here. Another line of text follows it. " * 1000, "letters": "".join(letters),
                "unknown": "\u4f60\u597d\u4e16" * 10000}

    def write_line(path, content, n, before="", behind=""):
        with open(path, "w", encoding="utf-8") as out:
            out.write(before)
            for _ in range(n // len(contents[content].encode()) + 1):
                out.write(contents[content])
            out.write(behind + "\n")

    def make_json_line(content):
        return lambda n: write_line("line.jsonl", content, n, '{"text": "', '"}')

    def make_line(content):
        def make(n):
            write_line("line.txt", content, n)
            for name in ("text-shard.bin", "text-shard.idx", "text-shard.json"):
                remove(name)
        return make

    def scores_folder():
        """The vocabulary of a unigram model, in the published layout."""
        os.makedirs("scores", exist_ok=True)
        shutil.copy(os.path.join(HERE, "..", "golden", "tokenizer_google_layout.model"), "scores/spiece.model")
        return "scores"

    def make_csv(n):
        with open("rows.csv", "w") as out:
            out.write("id,text\n" + "".join(f"{i},word{i % 97} is good here\n" for i in range(n)))

    def make_keys(n):
        with open("keys.json", "w") as out:
            out.write("{" + ",".join(f'"key{i}": {i}' for i in range(n)) + "}")

    def make_unknown_contigs(n):
        vcf("known.vcf", genome, 5000)
        with open("known.vcf") as known, open("unknown.vcf", "w") as out:
            lines = known.readlines()
            out.write("".join(line for line in lines if line[0] == "#" and not line.startswith("##contig")))
            out.write("".join(f"u{i}\t5\t.\tA\tC\t.\t.\t.\n" for i in range(n)))
            out.write("".join([line for line in lines if line[0] != "#"][:100]))
        status = run(program, ["variants", "-m", model, "-f", genome, "unknown.vcf", "-o", "scored.vcf", "--force"])[0]
        if status != 0:
            sys.exit("scale.py: no scored.vcf; see the file log")

    def make_questions(n):
        paragraphs = [{"context": f"word is good here {i}", "qas": [
            {"id": f"q{i}", "question": "what", "is_impossible": False,
             "answers": [{"text": "good", "answer_start": 8}]}]} for i in range(n)]
        with open("questions.json", "w") as out:
            json.dump({"version": "2", "data": [{"title": "t", "paragraphs": paragraphs}]}, out)
        with open("answers.json", "w") as out:
            json.dump({f"q{i}": "good" for i in range(n)}, out)

    def make_config(n):
        shutil.rmtree("keys-model", ignore_errors=True)
        shutil.copytree("text-run/final", "keys-model")
        with open("keys-model/config.json") as config:
            values = json.load(config)
        values.update({f"key{i}": i for i in range(n)})
        with open("keys-model/config.json", "w") as out:
            json.dump(values, out)
        make_csv(10)

    rows = [
        ("VCF, lines: variants", 5_000_000, make_vcf, ["variants", "-m", model, "-f", genome, "in.vcf", "-o", "o.vcf.gz"]),
        ("contigs: info", 200_000, make_contigs, ["info", "contigs.fa"]),
        ("contigs: chromatin predict -O bigwig", 200_000, make_contigs,
         ["chromatin", "predict", "-m", model, "-f", "contigs.fa", "-R", "contigs.bed", "-O", "bigwig", "--profiles",
          "0", "-o", "tracks", "--force"]),
        ("contigs with a value each: merge into a bigWig", 200_000, make_shards,
         ["merge", "part1", "part2", "-o", "scan.bw"]),
        ("bigWig, contigs with a value each: info", 200_000, keep_scan, ["info", "scan.bw"]),
        ("bigWig, contigs with a value each: report", 200_000, keep_scan, ["report", "scan.bw", "-o", "o.html"]),
        ("one contig, bases: info (makes the index)", 500_000_000, make_contig, ["info", "contig.fa"]),
        ("one contig, bases: embed 1,000 windows", 500_000_000, make_contig,
         ["embed", "-m", model, "-f", "contig.fa", "-R", "contig.bed", "-o", "e.npy"]),
        ("one contig, bases: chunk", 500_000_000, make_contig, ["chunk", "-f", "contig.fa", "-o", "c.bed.gz", "--chromosomes", "all"]),
        ("BED, rows: liftover", 2_000_000, make_bed,
         ["liftover", "--chain", "same.chain", "in.bed", "-o", "o.bed"]),
        *((f"one JSON line, {what}, bytes: text classify predict", 200_000_000, make_json_line(content),
           ["text", "classify", "predict", "-m", "text-run/final", "line.jsonl", "-o", "o.tsv"])
          for content, what in (("blanks", "words"), ("letters", "no blanks"), ("unknown", "unknown characters"))),
        *((f"one line, {what}, bytes: text pretrain-data, {kind}", 200_000_000, make_line(content),
           ["text", "pretrain-data", "line.txt", "-m", folder, "-o", "text-shard"])
          for folder, kind in (("vocabulary", "own BPE"), (scores_folder(), "unigram"))
          for content, what in (("blanks", "words"), ("letters", "no blanks"), ("unknown", "unknown characters"))),
        ("CSV, rows: text classify predict", 1_000_000, make_csv,
         ["text", "classify", "predict", "-m", "text-run/final", "rows.csv", "-o", "o.tsv"]),
        ("JSON, keys: info", 100_000, make_keys, ["info", "keys.json"]),
        ("config.json, keys: text classify predict", 100_000, make_config,
         ["text", "classify", "predict", "-m", "keys-model", "rows.csv", "-o", "o.tsv"]),
        ("VCF, unknown contigs: report", 200_000, make_unknown_contigs, ["report", "scored.vcf", "-o", "o.html"]),
        ("questions: text qa evaluate", 100_000, make_questions,
         ["text", "qa", "evaluate", "--format", "squad", "--data", "questions.json", "--predictions", "answers.json",
          "-o", "o.json"]),
        ("sequence, bases: tokenize", 1_000_000_000, make_contig,
         ["tokenize", "-m", f"{demo}/tokenizer", "-f", "contig.fa", "-d", "documents.bed.gz", "-o", "shard"]),
    ]
    for what, amount, make, words in rows:
        for part in (10, 1):
            yield what, amount // size // part, make, words


def remove(path):
    if os.path.exists(path):
        os.remove(path)


def bytes_of_inputs(words):
    """Of the files, and of those in the folders, that the words name; not of the output."""
    total = 0
    for before, word in zip([""] + words, words):
        if before == "-o":
            continue
        if os.path.isfile(word):
            total += os.path.getsize(word)
        elif os.path.isdir(word):
            total += sum(entry.stat().st_size for entry in os.scandir(word) if entry.is_file())
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--demo", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    program, demo = os.path.abspath(arguments.program), os.path.abspath(arguments.demo)
    os.makedirs(arguments.work, exist_ok=True)
    os.chdir(arguments.work)
    text_model(program)
    # Of the second size of each: CPU time by that of the first; memory that it takes more, by bytes of input that
    # it has more.
    print("what\tamount\tinput MB\tstatus\twall s\tCPU s\tpeak MB\tgrowth of CPU\tbytes a byte", flush=True)
    failed = 0
    last = None
    for what, amount, make, words in cases(program, demo, 1 if arguments.large else 10):
        if arguments.only not in what:
            continue
        make(amount)
        if words[0] == "tokenize":
            run(program, ["chunk", "-f", "contig.fa", "-o", "documents.bed.gz", "--passes", "1",
                          "--chromosomes", "all"])
        size = bytes_of_inputs(words) / 1e6
        status, wall, cpu, peak = run(program, words)
        failed += status != 0
        grown = ""
        if last is not None and last[0] == what:
            grown = f"{cpu / max(last[2], 0.01):.1f}\t{(peak - last[3]) / max(size - last[1], 0.001):.1f}"
        last = (what, size, cpu, peak)
        print(f"{what}\t{amount}\t{size:.1f}\t{status}\t{wall:.2f}\t{cpu:.2f}\t{peak:.0f}\t{grown}", flush=True)
        for name in ("shard.bin", "contig.fa", "in.vcf", "line.jsonl", "line.txt", "o.vcf.gz"):
            remove(name)
        shutil.rmtree("tracks", ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
