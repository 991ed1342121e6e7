"""Event files of `--tensorboard DIR` as the tensorboard package reads them, beside metrics.tsv and valid.tsv of the run: the same
steps and numbers (as float32).

    pip install tensorboard
    python tensorboard_events.py --events DIR --run RUN"""

import argparse
import csv
import pathlib
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", required=True)
    parser.add_argument("--run", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    events = EventAccumulator(arguments.events, size_guidance={"scalars": 0})
    events.Reload()
    compared = 0
    for group, name in (("train", "metrics.tsv"), ("valid", "valid.tsv")):
        if not (arguments.run / name).exists():
            continue
        lines = [line for line in (arguments.run / name).read_text().splitlines() if not line.startswith("##")]
        rows = list(csv.DictReader(lines, delimiter="\t"))
        for column in rows[0]:
            if column.lstrip("#") == "step":
                continue
            wanted = [(int(row["step"]), float(row[column])) for row in rows if row[column] != "NA"]
            if not wanted:
                continue
            got = [(event.step, event.value) for event in events.Scalars(f"{group}/{column}")]
            if [step for step, _ in got] != [step for step, _ in wanted]:
                sys.exit(f"{group}/{column}: steps {[step for step, _ in got]}, in {name} {[step for step, _ in wanted]}")
            for (step, value), (_, expected) in zip(got, wanted, strict=True):
                if abs(value - expected) > 1e-6 * abs(expected):
                    sys.exit(f"{group}/{column}: {value} at step {step}, in {name} {expected}")
            compared += len(wanted)
    print(f"{compared} numbers are equal")


if __name__ == "__main__":
    main()
