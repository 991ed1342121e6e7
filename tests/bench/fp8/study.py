"""How products of e4m3 with a scale a row would change effects of variants: bigbird_fp8 (this folder) scores them by fp32,
by bf16 and by e4m3 products, and this compares the effects, track by track (Spearman's correlation with fp32). Needs numpy. CPU only: numbers, not time.
  cmake --build build/release --target bigbird_fp8
  python3 tests/bench/fp8/study.py --program build/release/tests/bench/bigbird_fp8 --work /tmp/fp8 [-o TABLE.md]
The models that ship (models/) and the variants of their demonstrations."""
import argparse
import os
import subprocess

import numpy as np

# How products are taken: device, precision, which operands are e4m3.
ways = {"fp32": ("cpu", "fp32", ""), "bf16": ("cpu", "bf16", ""), "e4m3": ("cuda", "fp32", "both"),
        "e4m3 weights": ("cuda", "fp32", "weights"), "e4m3 inputs": ("cuda", "fp32", "inputs")}


def ranks(values):
    """Ranks with ties averaged."""
    order = np.argsort(values, kind="stable")
    _, inverse, counts = np.unique(values[order], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    result = np.empty(len(values))
    result[order] = (ends - (counts - 1) / 2.0)[inverse]
    return result


def spearman(one, other):
    return np.corrcoef(ranks(one), ranks(other))[0, 1] if np.ptp(one) > 0 and np.ptp(other) > 0 else np.nan


def score(options, model, genome, variants, way):
    """ALT - REF and logFC, each [ALTs, tracks]."""
    device, precision, operands = ways[way]
    out = os.path.join(options.work, f"{model.replace(os.sep, '-')}-{way.replace(' ', '-')}")
    command = [options.program, "variants", "-m", model, "-f", genome, variants, "--profiles", "all", "--strands", "both", "-O", "npy",
               "-o", out + ".npy", "-q", "-@", str(options.threads), "--device", device, "--precision", precision]
    subprocess.run(command, check=True, env={**os.environ, "BIGBIRD_FP8": operands or "both"})
    return [np.load(f"{out}.{matrix}.npy").astype(np.float64) for matrix in ("diff", "logfc")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--models", default="models")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    lines = ["| model | ALTs, tracks | products | ALT - REF: median track, worst | logFC: median track, worst | largest difference of ALT - REF, of the largest |",
             "|---|---|---|---|---|---|"]
    for species, model, variants in (("human", "tracks", "variants.vcf.gz"), ("yeast-r64", "tracks", "strain.vcf.gz"),
                                     ("yeast-r64", "promoters", "strain.vcf.gz")):
        folder = os.path.join(options.models, species)
        effects = {way: score(options, os.path.join(folder, model), os.path.join(folder, "demo/genome.fa.gz"),
                              os.path.join(folder, "demo", variants), way) for way in ways}
        truth = effects.pop("fp32")
        for way, found in effects.items():
            assert not np.array_equal(truth[0], found[0]), f"{way}: nothing was rounded"
            cells = []
            for one, other in zip(truth, found):
                of_tracks = np.array([spearman(one[:, i], other[:, i]) for i in range(one.shape[1])])
                cells.append(f"{np.nanmedian(of_tracks):.4f}, {np.nanmin(of_tracks):.4f}")
            cells.append(f"{100 * np.abs(truth[0] - found[0]).max() / np.abs(truth[0]).max():.1f} %")
            lines.append(f"| {species}/{model} | {truth[0].shape[0]:,}, {truth[0].shape[1]} | {way} | " + " | ".join(cells) + " |")
    print("\n".join(lines))
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
