"""Snakemake wrapper of `bigbird variants`: inputs vcf, ref and model, output scores. meta.yaml says what else there is."""

__author__ = "The bigbird authors"
__license__ = "Apache-2.0"

from snakemake.shell import shell

extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=True, stderr=True)

models = snakemake.input.get("model") or snakemake.params.get("model")
if not models:
    raise ValueError("input or params: `model` is missing")
models = [models] if isinstance(models, str) else list(models)
scores = snakemake.output.get("scores", snakemake.output[0])
# The program names these after the scores; a rule that names them otherwise would wait for files that nobody writes.
for key in ("skipped", "summary"):
    suffix = {"skipped": ".skipped.tsv", "summary": ".summary.json"}[key]
    if snakemake.output.get(key, scores + suffix) != scores + suffix:
        raise ValueError(f"output: `{key}` is {scores}{suffix}, no other")

words = [word for model in models for word in ("--model", model)]
words += ["--fasta-ref", snakemake.input.ref]
if snakemake.input.get("background"):
    words += ["--background", snakemake.input.background]
words += ["--threads", str(snakemake.threads), "--output", scores]

# --force: Snakemake has decided that the output is to be made.
shell("bigbird variants {words:q} --force {extra} {snakemake.input.vcf:q} {log}")
