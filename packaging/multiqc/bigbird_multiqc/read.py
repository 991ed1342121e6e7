"""Readers of bigbird's files: text in, plain numbers out. They know nothing of MultiQC.

Each returns None for a file that is another program's, or another version's.
"""

import json
from typing import Any, Dict, List, Optional


def _object(text: str) -> Dict[str, Any]:
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def version_of(text: str) -> Optional[str]:
    """The version that wrote a JSON."""
    return _object(text).get("provenance", {}).get("version")


def variants(text: str) -> Optional[Dict[str, Any]]:
    """A summary of `bigbird variants`: counts, reasons {name: alleles}, and what it cost."""
    read = _object(text)
    if not {"alleles", "scored", "skipped", "reasons"} <= read.keys():
        return None
    numbers = {key: read[key] for key in ("records", "alleles", "scored", "skipped")}
    numbers["scored_share"] = 100 * read["scored"] / read["alleles"] if read["alleles"] else None
    numbers["alleles_per_core_hour"] = read.get("cost", {}).get("alleles_per_core_hour")
    numbers["reasons"] = dict(read["reasons"])
    return numbers


def scan(text: str) -> Optional[Dict[str, Any]]:
    """A summary of `bigbird promoter scan`; without --calls it has no calls."""
    read = _object(text)
    if not {"positions", "positions_scored"} <= read.keys():
        return None
    return {"positions": read["positions"], "positions_scored": read["positions_scored"], "calls": read.get("calls")}


def curve(text: str) -> Optional[Dict[str, List[Optional[float]]]]:
    """A table of a run (metrics.tsv, valid.tsv): its columns by name. NA is None."""
    lines = [line for line in text.splitlines() if line and not line.startswith("##")]
    if not lines:
        return None
    names = lines[0].split("\t")
    if names[:2] != ["step", "loss"]:
        return None
    columns: Dict[str, List[Optional[float]]] = {name: [] for name in names}
    for line in lines[1:]:
        fields = line.split("\t")
        if len(fields) != len(names):  # a run that writes just now
            break
        for name, field in zip(names, fields):
            columns[name].append(None if field == "NA" else float(field))
    return columns


def promoter_evaluation(text: str) -> Optional[Dict[str, float]]:
    read = _object(text)
    keys = ("auroc", "auprc", "mcc", "examples")
    return {key: read[key] for key in keys} if set(keys) <= read.keys() else None


def chromatin_evaluations(text: str) -> Dict[str, Dict[str, float]]:
    """By name of the predictions: the medians over all profiles."""
    found = {}
    for one in _object(text).get("evaluations", []):
        group = one.get("groups", {}).get("all")
        if group:
            found[one["name"]] = {key: group[key] for key in ("median_auroc", "median_auprc", "scored") if key in group}
    return found
