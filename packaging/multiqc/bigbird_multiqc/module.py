"""The module: finds bigbird's files, and puts columns, pictures and a table into the report."""

import logging
import os

from multiqc.base_module import BaseMultiqcModule, ModuleNoSamplesFound
from multiqc.plots import bargraph, linegraph, table

from bigbird_multiqc import read

log = logging.getLogger(__name__)


class MultiqcModule(BaseMultiqcModule):
    def __init__(self):
        super().__init__(
            name="bigbird",
            anchor="bigbird",
            href="https://arxiv.org/abs/2007.14062",
            info="Sparse-attention transformers for genomes: scored variants, promoters, chromatin profiles, training runs.",
            doi="10.48550/arXiv.2007.14062",
        )
        self.variants = self.ignore_samples(self.json_files("variants", ".summary.json", read.variants))
        self.scans = self.ignore_samples(self.json_files("scan", ".summary.json", read.scan))
        self.training = self.ignore_samples(self.curves("metrics"))
        self.validation = self.ignore_samples(self.curves("valid"))
        self.promoters = self.ignore_samples(self.json_files("promoter_evaluation", ".json", read.promoter_evaluation))
        self.chromatin = self.ignore_samples(self.chromatin_files())

        kinds = (self.variants, self.scans, self.training, self.validation, self.promoters, self.chromatin)
        if not any(kinds):
            raise ModuleNoSamplesFound
        log.info(f"Found {sum(map(len, kinds))} files")
        self.add_columns()
        if self.variants:
            self.show_variants()
        if self.training or self.validation:
            self.show_runs()
        if self.promoters or self.chromatin:
            self.show_evaluations()
        for name, data in (("variants", self.variants), ("scans", self.scans), ("evaluations", {**self.promoters, **self.chromatin})):
            if data:
                self.write_data_file(data, f"multiqc_bigbird_{name}")

    def named(self, file, suffix):
        name = file["fn"]
        return self.clean_s_name(name[: -len(suffix)] if name.endswith(suffix) else name, file)

    def take(self, file, name, section):
        self.add_data_source(file, name, section=section)
        version = read.version_of(file["f"])
        if version:
            self.add_software_version(version, name)

    def json_files(self, kind, suffix, reader):
        found = {}
        for file in self.find_log_files(f"bigbird/{kind}"):
            numbers = reader(file["f"])
            if numbers is not None:
                name = self.named(file, suffix)
                found[name] = numbers
                self.take(file, name, kind)
        return found

    def chromatin_files(self):
        found = {}
        for file in self.find_log_files("bigbird/chromatin_evaluation"):
            name = self.named(file, ".json")
            evaluations = read.chromatin_evaluations(file["f"])
            for which, numbers in evaluations.items():
                found[name if len(evaluations) == 1 else f"{name} ({which})"] = numbers
            if evaluations:
                self.take(file, name, "chromatin_evaluation")
        return found

    def curves(self, kind):
        found = {}
        for file in self.find_log_files(f"bigbird/{kind}"):
            columns = read.curve(file["f"])
            if columns and columns["step"]:
                name = self.clean_s_name(os.path.basename(os.path.abspath(file["root"])), file)
                found[name] = columns
                self.add_data_source(file, name, section=kind)
        return found

    def add_columns(self):
        data = {}
        for name, one in self.variants.items():
            data.setdefault(name, {}).update({key: one[key] for key in ("alleles", "scored_share") if one[key] is not None})
        for name, one in self.scans.items():
            data.setdefault(name, {}).update({key: one[key] for key in ("positions_scored", "calls") if one[key] is not None})
        for name, one in self.training.items():
            data.setdefault(name, {}).update({"steps": one["step"][-1], "training_loss": one["loss"][-1]})
        for name, one in self.validation.items():
            losses = [loss for loss in one["loss"] if loss is not None]
            if losses:
                data.setdefault(name, {})["validation_loss"] = min(losses)
        for name, one in self.promoters.items():
            data.setdefault(name, {}).update({"auroc": one["auroc"], "auprc": one["auprc"]})
        for name, one in self.chromatin.items():
            data.setdefault(name, {}).update({"auroc": one.get("median_auroc"), "auprc": one.get("median_auprc")})
        data = {name: {key: value for key, value in row.items() if value is not None} for name, row in data.items()}
        whole = {"format": "{:,.0f}", "min": 0}
        share = {"min": 0, "max": 1, "format": "{:.3f}"}
        self.general_stats_addcols(
            data,
            {
                "alleles": {"title": "Alleles", "description": "Alleles of the input", **whole},
                "scored_share": {"title": "Scored", "description": "Share of the alleles that have a score", "suffix": "%",
                                 "min": 0, "max": 100, "scale": "RdYlGn"},
                "positions_scored": {"title": "Positions", "description": "Positions scored by promoter scan", **whole},
                "calls": {"title": "Promoters", "description": "Promoters called by promoter scan", **whole},
                "steps": {"title": "Steps", "description": "Updates of a training run", **whole},
                "training_loss": {"title": "Loss", "description": "Loss of the last line of metrics.tsv", "format": "{:.4f}",
                                  "scale": "Oranges"},
                "validation_loss": {"title": "Valid. loss", "description": "Lowest loss in valid.tsv", "format": "{:.4f}",
                                    "scale": "Oranges"},
                "auroc": {"title": "AUROC", "description": "Of promoters, or the median of all profiles", "scale": "Greens", **share},
                "auprc": {"title": "AUPRC", "description": "Of promoters, or the median of all profiles", "scale": "Blues", **share},
            },
        )

    def show_variants(self):
        reasons = sorted({reason for one in self.variants.values() for reason in one["reasons"]})
        bars = {name: {"scored": one["scored"], **one["reasons"]} for name, one in self.variants.items()}
        categories = {"scored": {"name": "scored"}, **{reason: {"name": f"skipped: {reason}"} for reason in reasons}}
        self.add_section(
            name="Variants",
            anchor="bigbird-variants",
            description="Alleles with a score, and why the others have none.",
            plot=bargraph.plot(bars, categories, {"id": "bigbird_variants_plot", "title": "bigbird: alleles", "ylab": "Alleles"}),
        )

    def show_runs(self):
        sets = [("training", self.training), ("validation", self.validation)]
        sets = [(label, runs) for label, runs in sets if runs]
        points = [
            {name: {int(step): loss for step, loss in zip(one["step"], one["loss"]) if loss is not None} for name, one in runs.items()}
            for _, runs in sets
        ]
        self.add_section(
            name="Training runs",
            anchor="bigbird-runs",
            description="The loss by step. Runs of different tasks have different losses.",
            plot=linegraph.plot(
                points,
                {
                    "id": "bigbird_runs_plot",
                    "title": "bigbird: loss by step",
                    "xlab": "Step",
                    "ylab": "Loss",
                    "data_labels": [{"name": label, "ylab": "Loss"} for label, _ in sets],
                },
            ),
        )

    def show_evaluations(self):
        rows = {name: dict(one) for name, one in self.promoters.items()}
        for name, one in self.chromatin.items():
            rows[name] = {"auroc": one.get("median_auroc"), "auprc": one.get("median_auprc"), "profiles": one.get("scored")}
        rows = {name: {key: value for key, value in row.items() if value is not None} for name, row in rows.items()}
        share = {"min": 0, "max": 1, "format": "{:.3f}"}
        self.add_section(
            name="Evaluations",
            anchor="bigbird-evaluations",
            description="Predictions held against labels. Of chromatin profiles these are medians over the profiles.",
            plot=table.plot(
                rows,
                {
                    "auroc": {"title": "AUROC", "description": "Area under the ROC curve", **share},
                    "auprc": {"title": "AUPRC", "description": "Area under the precision-recall curve", **share},
                    "mcc": {"title": "MCC", "description": "Matthews correlation", "min": -1, "max": 1, "format": "{:.3f}"},
                    "examples": {"title": "Examples", "format": "{:,.0f}"},
                    "profiles": {"title": "Profiles", "description": "Profiles with both labels", "format": "{:,.0f}"},
                },
                {"id": "bigbird_evaluations_table", "title": "bigbird: evaluations"},
            ),
        )
