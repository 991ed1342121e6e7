"""A baseline of zero-shot scores: for each SNV ln of how often its (2 f + 1)-mer with ALT stands in a genome, less that with REF, both
strands counted, one more of each than was seen. A table for `bigbird variants evaluate --baseline`.

    python kmer_ratios.py GENOME.fa[.gz] VARIANTS[.vcf|.tsv][.gz] [--without chrII,chrIV] [--counted FASTA] > kmers.tsv

VARIANTS: a VCF, or tab-separated CHROM POS ID REF ALT. Counts are of --counted, where it is given, else of the genome, but
for contigs of --without."""

import argparse
import gzip
import math
import sys
from collections import Counter

FLANKS = (1, 2, 3, 4)


def opened(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def contigs_of(path):
    contigs, name = {}, None
    with opened(path) as lines:
        for line in lines:
            if line.startswith(">"):
                name = line[1:].split()[0]
                contigs[name] = []
            else:
                contigs[name].append(line.strip().upper())
    return {name: "".join(parts) for name, parts in contigs.items()}


def reverse_complement(text):
    return text[::-1].translate(str.maketrans("ACGT", "TGCA"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("genome")
    parser.add_argument("variants")
    parser.add_argument("--without", default="")
    parser.add_argument("--counted", default="")
    options = parser.parse_args()
    contigs = contigs_of(options.genome)
    without = set(options.without.split(","))
    counts = {f: Counter() for f in FLANKS}
    for name, bases in (contigs_of(options.counted) if options.counted else contigs).items():
        if name in without:
            continue
        for f in FLANKS:
            size = 2 * f + 1
            counts[f].update(bases[i:i + size] for i in range(len(bases) - size + 1))
    print("chrom\tpos\tref\talt\t" + "\t".join(f"kmer{2 * f + 1}" for f in FLANKS) + "\tcpg\tgc")
    with opened(options.variants) as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            chrom, pos, _, ref, alts = line.rstrip("\n").split("\t")[:5]
            bases = contigs.get(chrom) or contigs.get("chr" + chrom) or ""
            at = int(pos) - 1
            for alt in alts.split(","):
                if len(ref) != 1 or len(alt) != 1 or ref not in "ACGT" or alt not in "ACGT" or bases[at:at + 1] != ref:
                    continue
                row = []
                for f in FLANKS:
                    left, right = bases[at - f:at], bases[at + 1:at + 1 + f]
                    both = [sum(counts[f][k] for k in (left + x + right, reverse_complement(left + x + right))) + 1 for x in (alt, ref)]
                    row.append(math.log(both[0] / both[1]))
                cpg = int((ref, alt) == ("C", "T") and bases[at + 1] == "G" or (ref, alt) == ("G", "A") and bases[at - 1] == "C")
                gc = (alt in "GC") - (ref in "GC")
                print(chrom, pos, ref, alt, *(f"{x:.6g}" for x in row), cpg, gc, sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
