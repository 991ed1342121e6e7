"""Runs the bigbird program, and reads what it writes.

The readers need pandas; PyRanges and AnnData are imported where they are asked for.
"""
from ._program import program, run
from ._read import provenance, read_embeddings, read_profiles, read_scores, read_table
from ._version import __version__

__all__ = ["__version__", "program", "provenance", "read_embeddings", "read_profiles", "read_scores", "read_table", "run"]
