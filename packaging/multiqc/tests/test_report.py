"""The report of tests/data; and, where bigbird is in PATH (BIGBIRD_PROGRAM names another), of what it writes now.

    pip install . pytest && python -m pytest tests
"""

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAM = os.environ.get("BIGBIRD_PROGRAM") or shutil.which("bigbird")


@pytest.fixture(scope="module", params=["kept", "fresh"])
def files(request, tmp_path_factory):
    if request.param == "kept":
        return HERE / "data"
    if not PROGRAM:
        pytest.skip("no bigbird in PATH: its present outputs are not read")
    folder = tmp_path_factory.mktemp("fresh") / "data"
    subprocess.run(["sh", str(HERE / "make_data.sh"), str(folder), PROGRAM], check=True)
    return folder


@pytest.fixture(scope="module")
def report(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    subprocess.run(["multiqc", "--module", "bigbird", "--strict", "--outdir", str(out), str(files)], check=True)
    return out


def rows_of(path):
    with open(path, newline="") as file:
        return {row["Sample"]: row for row in csv.DictReader(file, delimiter="\t")}


def general(report):
    rows = rows_of(report / "multiqc_data" / "multiqc_general_stats.txt")
    return {name: {key.split("-")[-1]: value for key, value in row.items()} for name, row in rows.items()}


def test_every_file_is_a_sample(files, report):
    sources = json.loads((report / "multiqc_data" / "multiqc_data.json").read_text())["report_data_sources"]["bigbird"]
    found = {Path(path).resolve() for section in sources.values() for path in section.values()}
    wanted = {path.resolve() for path in files.rglob("*") if path.is_file()}
    assert found == wanted


def test_general_statistics_of_variants(files, report):
    summary = json.loads((files / "tracks.vcf.gz.summary.json").read_text())
    row = general(report)["tracks"]
    assert float(row["alleles"]) == summary["alleles"] > summary["scored"] > 0
    assert float(row["scored_share"]) == pytest.approx(100 * summary["scored"] / summary["alleles"])


def test_general_statistics_of_a_run(files, report):
    row = general(report)["encoder"]
    lines = (files / "encoder" / "valid.tsv").read_text().splitlines()
    losses = [float(line.split("\t")[1]) for line in lines[1:]]
    assert float(row["validation_loss"]) == pytest.approx(min(losses))
    assert float(row["steps"]) == 8


def test_evaluations(files, report):
    rows = rows_of(report / "multiqc_data" / "multiqc_bigbird_evaluations.txt")
    promoters = json.loads((files / "promoters.evaluation.json").read_text())
    assert float(rows["promoters.evaluation"]["auroc"]) == pytest.approx(promoters["auroc"])
    for one in json.loads((files / "chromatin.evaluation.json").read_text())["evaluations"]:
        row = rows[f"chromatin.evaluation ({one['name']})"]
        assert float(row["median_auprc"]) == pytest.approx(one["groups"]["all"]["median_auprc"])


def test_sections(report):
    page = (report / "multiqc_report.html").read_text()
    for section in ("bigbird-variants", "bigbird-runs", "bigbird-evaluations"):
        assert f'id="{section}"' in page
    assert "skipped: ref_mismatch" in (report / "multiqc_data" / "bigbird_variants_plot.txt").read_text()


def test_files_of_others_are_left_alone(tmp_path):
    (tmp_path / "x.summary.json").write_text('{"alleles": 3}')
    (tmp_path / "y.json").write_text('{\n"specificity": 1, broken')
    (tmp_path / "valid.tsv").write_text("epoch\taccuracy\n1\t0.5\n")
    done = subprocess.run(["multiqc", "--module", "bigbird", "--outdir", str(tmp_path / "out"), str(tmp_path)], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out" / "multiqc_report.html").exists()
