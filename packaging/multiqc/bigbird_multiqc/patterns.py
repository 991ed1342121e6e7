"""Which files are bigbird's: MultiQC calls this once it has read its own configuration, before it searches."""

from multiqc import config

PATTERNS = {
    "bigbird/variants": {"fn": "*summary.json", "contents": '"alleles":', "num_lines": 10},
    "bigbird/scan": {"fn": "*summary.json", "contents": '"positions_scored":', "num_lines": 10},
    "bigbird/metrics": {"fn": "metrics.tsv", "contents": "tokens_per_second", "num_lines": 30},
    "bigbird/valid": {"fn": "valid.tsv", "contents": "step\tloss", "num_lines": 30},
    "bigbird/promoter_evaluation": {"fn": "*.json", "contents": '"specificity":', "num_lines": 20},
    "bigbird/chromatin_evaluation": {"fn": "*.json", "contents": '"median_auroc":', "num_lines": 40},
}


def add_patterns():
    for name, pattern in PATTERNS.items():
        config.sp.setdefault(name, pattern)
