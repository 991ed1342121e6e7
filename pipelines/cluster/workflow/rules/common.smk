# The config, checked, and what follows from it.
import json
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

# tasks.json: of each task its verb, whether it takes a genome, and the words before its input (null: it takes none). Of each
# verb what bigbird's own table of verbs that work in parts says (lib/parts/sharded_verbs.h; tests/policy compares them):
# whether a shard is a file of numbers whatever OUT is, what lies beside a shard, the options of further outputs that each
# are merged by themselves, and those of outputs that only the merge writes.
TABLE = json.loads(Path(workflow.source_path("../tasks.json")).read_text())
if config["task"] not in TABLE["tasks"]:
    refuse(f"task: '{config['task']}' is none of {', '.join(TABLE['tasks'])}")
TASK = TABLE["tasks"][config["task"]]
VERB = TABLE["verbs"][TASK["verb"]]

for key, wanted in (("genome", TASK["genome"]), ("input", TASK["input"] is not None)):
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


# The name of a shard ends as OUT does, from which bigbird takes its type.
def suffix_of(path):
    suffixes = PurePath(path).suffixes
    packed = 2 if path.endswith((".gz", ".bgz")) else 1
    return "".join(suffixes[-packed:]) or ".part"


# Taken out of the words: the values of these options, each with its option.
def take(words, options):
    taken = []
    for option in options:
        for at, word in enumerate(words):
            if word == option and at + 1 < len(words):
                taken.append((option, words[at + 1]))
                del words[at : at + 2]
            elif word.startswith(option + "="):
                taken.append((option, word[len(option) + 1 :]))
                del words[at]
            else:
                continue
            break
    return taken


# Outputs of one run that shards write: the option, the merged file, how the names of its shards end.
OPTIONS = [str(word) for word in config["options"]]
OUTPUTS = [("-o", OUT, ".part" if VERB["numbers"] else suffix_of(OUT))]
OUTPUTS += [
    (option, path, f".{option[2:]}{suffix_of(path)}")
    for option, path in take(OPTIONS, VERB["more"])
]
# Only the merge writes these.
MERGE_OPTIONS = [str(word) for word in config["merge_options"]]
MERGE_OPTIONS += [word for pair in take(OPTIONS, VERB["merged"]) for word in pair]


def words_of(paths):
    """The options of the outputs with these files."""
    return [word for (option, *_), path in zip(OUTPUTS, paths) for word in (option, path)]


# Numbers of one width, so that a listing is in order.
N = config["shards"]
SHARDS = [f"{i:0{len(str(N))}d}" for i in range(1, N + 1)]


# bigbird's words for a shard, but for those that Snakemake knows: threads, number, output.
COMMAND = [config["bigbird"], *TASK["verb"].split(), "-m", config["model"]]
COMMAND += ["-f", GENOME] if GENOME else []
COMMAND += [*TASK["input"], config["input"]] if TASK["input"] is not None else []
COMMAND += OPTIONS


def given(wildcards):
    """The files that every task reads; an older or newer date of them is no reason to score again."""
    files = [config[key] for key in ("genome", "input") if key in config]
    return {
        "model": ancient(config["model"]),
        "files": [ancient(file) for file in files],
    }
