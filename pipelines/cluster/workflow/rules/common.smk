# The config, checked, and what follows from it.
import os
import sys
from pathlib import Path, PurePath

import yaml
from jsonschema import Draft202012Validator
from snakemake.utils import validate


def refuse(why):
    sys.exit(
        f"config: {why}\nhint: config/README.md says what config/config.yaml may hold"
    )


# Each error in a line; validate() would print the whole schema with it. It fills the defaults in.
schema = workflow.source_path("../schemas/config.schema.yaml")
for error in Draft202012Validator(yaml.safe_load(Path(schema).read_text())).iter_errors(
    config
):
    refuse("".join(f"{key}: " for key in error.absolute_path) + error.message)
validate(config, schema)

# Of each task its verb, the option before its input (none for what stands by itself), whether it takes a genome, how its
# shards are merged, and what lies beside a shard. A shard of "merge" is a file of numbers, whatever OUT is.
TASKS = {
    "variants": (
        "variants",
        [],
        True,
        "merge",
        [".skipped.tsv", ".summary.json"],
    ),
    "bins": ("chromatin predict", ["-R"], True, "merge", [".run.json"]),
    "sequences": ("chromatin predict", [], False, "merge", [".run.json"]),
    "promoters": ("promoter scan", None, True, "merge", [".run.json"]),
    "texts": ("text classify predict", [], False, "merge", [".shard.json"]),
}
VERB, BEFORE_INPUT, TAKES_GENOME, MERGE, BESIDE = TASKS[config["task"]]

for key, wanted in (("genome", TAKES_GENOME), ("input", BEFORE_INPUT is not None)):
    if wanted and key not in config:
        refuse(f"'{key}' is wanted for the task '{config['task']}'")
    if not wanted and key in config:
        refuse(f"'{key}' is of no use for the task '{config['task']}'")
for key in ("model", "genome", "input"):
    if key in config and not os.path.exists(config[key]):
        refuse(f"{key}: {config[key]}: there is no such file")

OUT = config["output"]
GENOME = config.get("genome")
INDEX = (
    [f"{GENOME}.fai"] + ([f"{GENOME}.gzi"] if GENOME.endswith((".gz", ".bgz")) else [])
    if GENOME
    else []
)

# Variants and texts: a shard is named as OUT is, from which bigbird takes its type.
SUFFIX = "".join(
    PurePath(OUT).suffixes[-2:]
    if OUT.endswith((".gz", ".bgz"))
    else PurePath(OUT).suffixes[-1:]
)
if config["task"] not in ("variants", "texts") or not SUFFIX:
    SUFFIX = ".part"

# Numbers of one width, so that a listing is in order.
N = config["shards"]
SHARDS = [f"{i:0{len(str(N))}d}" for i in range(1, N + 1)]


# bigbird's words for a shard, but for those that Snakemake knows: threads, number, output.
COMMAND = [config["bigbird"], *VERB.split(), "-m", config["model"]]
COMMAND += ["-f", GENOME] if GENOME else []
COMMAND += [*BEFORE_INPUT, config["input"]] if BEFORE_INPUT is not None else []
COMMAND += [str(word) for word in config["options"]]


def given(wildcards):
    """The files that every task reads; an older or newer date of them is no reason to score again."""
    files = [config[key] for key in ("genome", "input") if key in config]
    return {
        "model": ancient(config["model"]),
        "files": [ancient(file) for file in files],
    }
