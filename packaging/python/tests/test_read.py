"""Outputs of the program, read back: python -m unittest in a place where bigbird_cli is installed or on PYTHONPATH.

Runs `bigbird demo` and a few verbs on its files with the models that ship; what a reader needs and is not installed is skipped.
"""
import importlib.util
import math
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import bigbird_cli as bigbird

MODEL = os.environ.get("BIGBIRD_TEST_MODEL", "yeast-r64/tracks")


def needs(*modules):
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class Reading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.demo = cls.folder / "demo"
        bigbird.run("demo", "--species", "yeast-r64", "-q", "-o", cls.demo)
        cls.genome = cls.demo / "genome.fa.gz"
        cls.region = "chrXV:160000-165000"
        for name in ("some.tsv", "some.vcf.gz"):
            bigbird.run("variants", "-q", "-m", MODEL, "-f", cls.genome, cls.some(), "-o", cls.folder / name)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def some(cls):
        path = cls.folder / "some.variants"
        path.write_text("chrXV\t160141\tone\tT\tC,G\nchrXV\t165467\t.\tGT\tG\nchrXV\t165470\t.\tN\tA\n")
        return path

    def test_the_program_runs(self):
        self.assertEqual(bigbird.run("--version-only").stdout.strip(), bigbird.__version__)
        with self.assertRaises(subprocess.CalledProcessError):
            bigbird.run("variants", "-q")
        self.assertEqual(bigbird.run("variants", "-q", check=False).returncode, 2)

    def test_provenance(self):
        told = bigbird.provenance(self.folder / "some.tsv")
        self.assertTrue(told["command"].startswith("bigbird variants -m"))
        self.assertEqual(told["inputs"][0]["role"], "model")
        inside = bigbird.provenance(self.folder / "some.vcf.gz")
        self.assertIsNotNone(inside)
        (self.folder / "bare.tsv").write_text("a\n1\n")
        self.assertIsNone(bigbird.provenance(self.folder / "bare.tsv"))

    @needs("pandas")
    def test_scores_of_a_table_and_of_a_vcf_are_the_same(self):
        table, vcf = (bigbird.read_scores(self.folder / name) for name in ("some.tsv", "some.vcf.gz"))
        self.assertEqual(len(table), 4)
        self.assertEqual(list(table["alt"]), list(vcf["alt"]))
        self.assertEqual(list(table["profile"].fillna("")), list(vcf["profile"].fillna("")))
        for left, right in zip(table["diff"], vcf["diff"]):
            self.assertTrue(math.isclose(left, right, rel_tol=1e-5) or (math.isnan(left) and math.isnan(right)))
        self.assertEqual(table["id"].iloc[0], "one")
        self.assertTrue(math.isnan(table["diff"].iloc[3]))
        self.assertEqual(len(bigbird.read_scores(self.demo / "scored.tsv")), 372)
        with self.assertRaises(ValueError):
            bigbird.read_scores(self.demo / "effects.tsv")

    @needs("pandas", "pyranges")
    def test_scores_are_ranges(self):
        ranges = bigbird.read_scores(self.folder / "some.tsv", ranges=True)
        self.assertEqual(list(ranges.df["Start"])[:3], [160140, 160140, 165466])
        self.assertEqual(list(ranges.df["End"])[2], 165468)

    @needs("pandas")
    def test_profiles(self):
        regions = self.folder / "bins.bed"
        regions.write_text("chrXV\t160000\t160200\ta\nchrXV\t160200\t160400\tb\n")
        words = ["chromatin", "predict", "-q", "-m", MODEL, "-f", self.genome, "-R", regions]
        bigbird.run(*words, "-o", self.folder / "p.tsv")
        table = bigbird.read_profiles(self.folder / "p.tsv")
        self.assertIn("Reb1", table.columns)
        bigbird.run(*words, "-O", "npy", "-o", self.folder / "p.npy")
        matrix = bigbird.read_profiles(self.folder / "p.npy")
        self.assertTrue(math.isclose(matrix["profile0"].iloc[1], table.iloc[1, -381], rel_tol=1e-6))
        if importlib.util.find_spec("h5py"):
            bigbird.run(*words, "-O", "h5", "-o", self.folder / "p.h5")
            self.assertEqual(list(bigbird.read_profiles(self.folder / "p.h5").columns[-381:]), list(table.columns[-381:]))

    @needs("pandas", "anndata")
    def test_embeddings(self):
        windows = self.folder / "w.fa"
        windows.write_text(">a\n" + "ACGT" * 100 + "\n>b\n" + "GGTC" * 100 + "\n")
        bigbird.run("embed", "-q", "-m", "yeast-r64/encoder", windows, "-o", self.folder / "v.npy")
        data = bigbird.read_embeddings(self.folder / "v.npy")
        self.assertEqual(data.shape, (2, 160))
        self.assertEqual(list(data.obs["id"]), ["a", "b"])


if __name__ == "__main__":
    unittest.main()
