"""Readers of tables, scored variants, matrices, and what lies beside them (docs/outputs.md)."""
import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

if TYPE_CHECKING:
    import anndata
    import numpy
    import pandas
    import pyranges

Name = Union[str, "os.PathLike[str]"]

PREFIX = "BB_"  # of the INFO fields of `bigbird variants`


def provenance(path: Name) -> Optional[Dict[str, Any]]:
    """What a file comes from: version, command, seed, inputs; None where it does not tell.

    Of a table or track it lies beside (OUT.provenance.json) or in ## lines on top, of JSON inside. What lies beside counts
    only for a file of the size that it names.
    """
    beside = Path(f"{os.fspath(path)}.provenance.json")
    if beside.exists():
        made: Dict[str, Any] = json.loads(beside.read_text())
        if not Path(path).exists() or made.get("bytes") in (None, Path(path).stat().st_size):
            return made
    if os.fspath(path).endswith(".json"):
        return json.loads(Path(path).read_text()).get("provenance")
    told: Dict[str, Any] = {}
    with _text(path) as lines:
        for line in lines:
            if not line.startswith("##"):
                break
            key, _, value = line[2:].rstrip("\n").partition("=")
            if key == "bigbird_input":
                told.setdefault("inputs", []).append(value)
            elif key.startswith("bigbird_"):
                told[key[len("bigbird_"):]] = value
    return told or None


def read_table(path: Name) -> "pandas.DataFrame":
    """Any table that a verb writes, compressed or not, with ## lines on top or without."""
    import pandas

    skipped = 0
    with _text(path) as lines:
        for line in lines:
            if not line.startswith("##"):
                break
            skipped += 1
    compression = "gzip" if _is_gzip(path) else None
    return pandas.read_csv(path, sep="\t", skiprows=skipped, compression=compression, dtype={"chrom": str})


def read_scores(path: Name, *, ranges: bool = False) -> "Union[pandas.DataFrame, pyranges.PyRanges]":
    """Scored variants of `bigbird variants`: a row for each ALT, of a table (-O tsv) or a VCF.

    Columns chrom, pos (1-based), id, ref, alt, then the scores in lower case. ranges: as PyRanges, of the bases of REF.
    """
    name = os.fspath(path)
    if name.endswith(".bcf"):
        raise ValueError(f"{name}: a BCF is not read here; bcftools view -O z makes a VCF of it")
    scores = _scores_of_vcf(path) if name.endswith((".vcf", ".vcf.gz", ".vcf.bgz")) else read_table(path)
    if "diff" not in scores.columns:
        raise ValueError(f"{name}: no column diff: is it of `bigbird variants`?")
    return _as_ranges(scores) if ranges else scores


def read_profiles(path: Name, names: Optional[List[str]] = None) -> "pandas.DataFrame":
    """Predicted profiles of `bigbird chromatin predict`: the columns of the windows, then one for each profile.

    Of OUT.tsv, OUT.npy with OUT.rows.tsv, or OUT.h5. A .npy has no names: `names`, else profile0, profile1 ...
    """
    import pandas

    name = os.fspath(path)
    if name.endswith(".npy"):
        values, rows = _numpy().load(name), read_table(name[: -len(".npy")] + ".rows.tsv")
    elif name.endswith(".h5"):
        import h5py

        with h5py.File(name) as file:
            values = file["predictions"][:]
            names = names or [text.decode() if isinstance(text, bytes) else text for text in file["profile_name"][:]]
        rows = read_table(name[: -len(".h5")] + ".rows.tsv")
    else:
        return read_table(path)
    columns = names or [f"profile{i}" for i in range(values.shape[1])]
    if len(columns) != values.shape[1] or len(rows) != values.shape[0]:
        raise ValueError(f"{name}: {values.shape} values for {len(rows)} rows and {len(columns)} names")
    return pandas.concat([rows, pandas.DataFrame(values, columns=columns)], axis=1)


def read_embeddings(path: Name) -> "anndata.AnnData":
    """Vectors of `bigbird embed` (OUT.npy or OUT.h5): X is [rows, width], obs the table OUT.rows.tsv beside it."""
    import anndata

    name = os.fspath(path)
    stem, _, form = name.rpartition(".")
    if form == "h5":
        import h5py

        with h5py.File(name) as file:
            vectors = file["embeddings"][:]
    elif form == "npy":
        vectors = _numpy().load(name)
    else:
        raise ValueError(f"{name}: vectors are OUT.npy or OUT.h5")
    rows = read_table(f"{stem}.rows.tsv")
    rows.index = rows.index.astype(str)
    return anndata.AnnData(X=vectors, obs=rows)


def _numpy() -> Any:
    import numpy

    return numpy


def _is_gzip(path: Name) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _text(path: Name) -> Any:
    return gzip.open(path, "rt") if _is_gzip(path) else open(path, encoding="utf-8")


def _as_ranges(scores: "pandas.DataFrame") -> "pyranges.PyRanges":
    import pyranges

    starts = scores["pos"] - 1
    placed = scores.rename(columns={"chrom": "Chromosome"}).assign(Start=starts, End=starts + scores["ref"].str.len())
    first = ["Chromosome", "Start", "End"]
    return pyranges.PyRanges(placed[first + [column for column in placed.columns if column not in first]])


def _scores_of_vcf(path: Name) -> "pandas.DataFrame":
    import pandas

    types: Dict[str, str] = {}
    rows: List[Dict[str, Any]] = []
    with _text(path) as lines:
        for line in lines:
            if line.startswith(f"##INFO=<ID={PREFIX}"):
                fields = dict(part.split("=", 1) for part in line[len("##INFO=<"):].split(",")[:3])
                types[fields["ID"]] = fields["Type"]
            if line.startswith("#"):
                continue
            chrom, pos, name, ref, alts, _, _, info = line.rstrip("\n").split("\t")[:8]
            values = dict(part.split("=", 1) for part in info.split(";") if part.startswith(PREFIX) and "=" in part)
            for index, alt in enumerate(alts.split(",")):
                row: Dict[str, Any] = {"chrom": chrom, "pos": int(pos), "id": _or_none(name), "ref": ref, "alt": _or_none(alt)}
                for field, type_name in types.items():
                    text = values.get(field, ".").split(",")
                    row[field[len(PREFIX):].lower()] = _value(text[index] if index < len(text) else ".", type_name)
                rows.append(row)
    columns = ["chrom", "pos", "id", "ref", "alt"] + [field[len(PREFIX):].lower() for field in types]
    return pandas.DataFrame(rows, columns=columns)


def _or_none(text: str) -> Optional[str]:
    return None if text == "." else text


def _value(text: str, type_name: str) -> Any:
    if text == ".":
        return float("nan") if type_name in ("Float", "Integer") else None
    return float(text) if type_name in ("Float", "Integer") else text
