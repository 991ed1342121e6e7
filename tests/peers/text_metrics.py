#!/usr/bin/env python3
"""The metrics of the text tasks against the data sets' official scripts, scikit-learn and scipy, over random and
adversarial prediction sets. Prints the largest difference of every key, and fails above 1e-12 or where only one side
calls a set an error.

    python tests/peers/text_metrics.py --official DIR (--bigbird PROGRAM | --driver PROGRAM) [--sets 10000] [--seed 1]
                                       [--metrics squad1,squad2,...] [--options squad2="--name value"]

DIR holds the scripts under these names:

    evaluate-v1.1.py               SQuAD 1.1 (as in huggingface/datasets 5afdbe0, metrics/squad/evaluate.py)
    evaluate-v2.0.py               rajpurkar/SQuAD-explorer eee5fdbf
    hotpot_evaluate_v1.py          hotpotqa/hotpot 3635853
    evaluation/, utils/            mandarjoshi90/triviaqa ca43b58: triviaqa_evaluation.py, dataset_utils.py, utils.py
    nq_eval.py, eval_utils.py      google-research-datasets/natural-questions fb26a30

--bigbird runs `text qa evaluate` and `text glue evaluate` once for each set, on files as the data sets have them;
--options adds options for one metric. --driver is a program that reads one JSON object in each line ("metric", "gold",
"predictions", ...) and answers with a line {"metrics": {...}} or {"error": ...}: fast enough for 10,000 sets.
Needs: numpy, scipy, scikit-learn, absl-py, six, ujson."""

import argparse
import ast
import contextlib
import copy
import gzip
import importlib.util
import io
import json
import math
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import unicodedata
import warnings

import numpy as np
import scipy.stats
import sklearn.metrics

BOUND = 1e-12
ASSIGNED = [c for c in range(0x110000)
            if not 0xD800 <= c < 0xE000 and unicodedata.category(chr(c)) not in ("Cn", "Co", "Cs")]
PIECES = [
    "a", "an", "the", "A", "An", "THE", "The", "tHe", "the-", "-the", "th'e", "t-h-e", "a.n", "a\u0301", "the\u0301",
    "the\u200d", "\u00adthe", "an\u0130", "_the_", "the_", "a_b", "'a'", "\u2018the\u2019", "\u00b4a", "`an`",
    "\u201cthe\u201d", "the1", "1a", "\u0661a", "a\u00bd", "the\u00b2", "\u2167", "the\u4e2d",
    "\u4e2d\u6587", "the\u3002",
    "\u0130", "\u0130stanbul", "i\u0307", "I", "\u0131",
    "\u03a3", "\u03a3\u03a3", "\u039f\u0394\u039f\u03a3", "\u03bf\u03a3.",
    "\u03a3'\u03b1", "A\u03a3\u0301", "\u03a3_",
    "\u01c5", "\u1e9e", "\u00df", "\u017f", "\u212a", "\u00c5", "\u212b", "A\u030a", "\u00e9", "e\u0301", "\u00c9",
    "E\u0301", "\ufb01", "\u0345",
    "\u13a0", "\uab70", "\U00010400", "\U0001f600", "\u1f88", "\u24b6", "\u0587", "\u2160", "\u1d2c", "\u02b0",
    "!", "...", "$%^", "\u2026", "\u2014", "-", "_", "#", "<>", "\\", "\"", "~", "\u3001", "\u00a1", "+", "=",
    "yes", "no", "noanswer", "Yes", "NO.", "the no", "n-o", "no answer", "unknown", "1,000", "1000", "3.14", "42", "0",
    "New", "York", "new-york", "u.s.", "US", "of", "to", "end", "x", "y", "z", "x", "y",
]
SPACES = [" "] * 12 + ["  ", "\t", "\n", "\r\n", "\u2003", "\u00a0", "\u3000", "\u0085", "\u001c", "\u001f", "\u2028",
                       "\u1680", "\u200b", "\u180e", "\ufeff", "\u2060", "", ""]


def text(rng, longest=6):
    """Words, signs and blanks of any kind; often empty, or of nothing that a normaliser keeps."""
    kind = rng.random()
    if kind < 0.06:
        return ""
    if kind < 0.10:
        return rng.choice(["the", "a an the", "...", "!?", " ", "\u2003", "The.", "''", "_", "\u2018", "a-", "\u0085"])
    words = []
    for _ in range(rng.randint(1, longest)):
        words.append(chr(rng.choice(ASSIGNED)) if rng.random() < 0.08 else rng.choice(PIECES))
        words.append(rng.choice(SPACES))
    return "".join(words if rng.random() < 0.2 else words[:-1])


def changed(rng, answer):
    """A text near an answer: the same to a normaliser, or almost."""
    for _ in range(rng.randint(0, 3)):
        kind = rng.randrange(12)
        words = answer.split(" ")
        if kind == 0:
            answer = answer.upper()
        elif kind == 1:
            answer = answer.lower()
        elif kind == 2:
            answer = rng.choice(["the ", "A ", "an\u2003", "The-", "  "]) + answer
        elif kind == 3:
            answer += rng.choice([".", "!", " the", " ...", "\u2019s", "'s", "\n", "\u00a0", "_"])
        elif kind == 4:
            answer = unicodedata.normalize(rng.choice(["NFD", "NFC", "NFKC"]), answer)
        elif kind == 5:
            rng.shuffle(words)
            answer = " ".join(words)
        elif kind == 6:
            answer = " ".join(words[rng.randrange(len(words)):])
        elif kind == 7:
            answer = " ".join(words + [rng.choice(words)])
        elif kind == 8:
            answer = answer.title()
        elif kind == 9:
            answer = answer.replace(" ", rng.choice(["_", "-", "  ", "\u3000", ""]))
        elif kind == 10:
            answer += " " + text(rng, 2)
        else:
            at = rng.randint(0, len(answer))
            answer = answer[:at] + rng.choice(SPACES + list("'.-_")) + answer[at:]
    return answer


def set_size(rng):
    return rng.choice([1, 1, 2, 3, 5, 8, 13, rng.randint(14, 40)])


def prediction(rng, answers):
    return changed(rng, rng.choice(answers)) if answers and rng.random() < 0.75 else text(rng)


def new_ids(rng, count):
    ids = [f"q{number}" for number in range(count)]
    rng.shuffle(ids)
    return ids


def shuffled(rng, pairs):
    pairs = list(pairs)
    rng.shuffle(pairs)
    return dict(pairs)


# Each of the following makes one set: {"metric", "gold", "predictions", ...}, in the shapes of the data sets' files.

def make_squad(rng, version):
    questions, predictions = [], {}
    for name in new_ids(rng, set_size(rng)):
        answers = [text(rng) for _ in range(rng.choice([1, 1, 2, 3, 5]))]
        if version == 2 and rng.random() < 0.4:
            answers = []
        questions.append({"id": name, "question": "q", "answers": [{"text": a, "answer_start": 0} for a in answers]})
        if version == 2 or rng.random() < 0.9:
            predictions[name] = prediction(rng, answers) if answers or rng.random() < 0.5 else ""
    if version == 1 and rng.random() < 0.01:
        questions[0]["answers"] = []  # both sides call it an error
        predictions[questions[0]["id"]] = "x"
    if version == 2 and rng.random() < 0.02:
        del predictions[questions[-1]["id"]]
    if rng.random() < 0.3:
        predictions["unknown"] = text(rng)
    cut = rng.randint(0, len(questions))
    paragraphs = [{"context": "c", "qas": questions[:cut]}, {"context": "c", "qas": questions[cut:]}]
    made = {"metric": f"squad{version}", "predictions": shuffled(rng, predictions.items()),
            "gold": {"version": "1.1" if version == 1 else "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}}
    if version == 2 and rng.random() < 0.7:
        levels = rng.choice([1, 3, 10, 1000])
        scores = {name: rng.randint(-levels, levels) / rng.choice([1, 1, 7]) for name in predictions}
        if rng.random() < 0.02:
            scores = dict(list(scores.items())[1:])
        if rng.random() < 0.3:
            scores["elsewhere"] = 0.25
        made["no_answer"] = shuffled(rng, scores.items())
        if rng.random() < 0.5:
            made["threshold"] = rng.choice([0.0, -0.5, 1.0, 2.5])
    return made


def make_hotpotqa(rng):
    def fact():
        return [rng.choice(["T", "t", "\u0130", "T ", "The T", "\u03a3"]), rng.randint(0, 3)]

    gold, answers, facts = [], {}, {}
    for name in new_ids(rng, set_size(rng)):
        answer = rng.choice(["yes", "no", "noanswer", "Yes!", "the no"]) if rng.random() < 0.3 else text(rng)
        wanted = [fact() for _ in range(rng.choice([0, 1, 2, 2, 3]))]
        gold.append({"_id": name, "question": "q", "answer": answer, "supporting_facts": wanted, "context": []})
        if rng.random() < 0.93:
            answers[name] = prediction(rng, [answer, answer, "yes", "no"])
        if rng.random() < 0.93:
            facts[name] = copy.deepcopy(wanted) if rng.random() < 0.4 else [fact() for _ in range(rng.randint(0, 4))]
    if rng.random() < 0.3:
        answers["unknown"] = "x"
    return {"metric": "hotpotqa", "gold": gold,
            "predictions": {"answer": shuffled(rng, answers.items()), "sp": shuffled(rng, facts.items())}}


def make_triviaqa(rng):
    web = rng.random() < 0.3
    verified = rng.random() < 0.4
    data, predictions = [], {}
    for name in new_ids(rng, set_size(rng)):
        answer = {"Value": text(rng), "NormalizedAliases": [text(rng) for _ in range(rng.choice([1, 1, 2, 4]))]}
        if rng.random() < 0.3:
            answer["HumanAnswers"] = [text(rng) for _ in range(rng.randint(0, 3))]
        golds = answer["NormalizedAliases"] + answer.get("HumanAnswers", [])
        if rng.random() < 0.05 and answer.get("HumanAnswers"):
            answer["NormalizedAliases"] = []
        pages = [{"Filename": f"{name}_{i}.txt", "DocPartOfVerifiedEval": i == 0 or rng.random() < 0.5}
                 for i in range(rng.randint(1, 3))]
        cut = rng.randint(0, len(pages))
        data.append({"QuestionId": name, "Question": "q", "Answer": answer, "EntityPages": pages[:cut],
                     "SearchResults": pages[cut:],
                     "QuestionPartOfVerifiedEval": not data or rng.random() < 0.5})
        for key in ([f"{name}--{page['Filename']}" for page in pages] if web else [name]):
            if rng.random() < 0.9:
                predictions[key] = prediction(rng, golds)
    if rng.random() < 0.3:
        predictions["unknown"] = "x"
    return {"metric": "triviaqa", "predictions": shuffled(rng, predictions.items()),
            "gold": {"Version": 1.0, "Domain": "Web" if web else "Wikipedia", "VerifiedEval": verified, "Data": data}}


def make_nq(rng):
    def span(null=0.3):
        if rng.random() < null:
            return {"start_byte": -1, "end_byte": -1, "start_token": -1, "end_token": -1}
        start = rng.randint(0, 3)
        end = start + rng.randint(1, 2)
        made = {"start_byte": 10 * start, "end_byte": 10 * end, "start_token": start, "end_token": end}
        kind = rng.random()
        if kind < 0.15:
            made["start_byte"] = made["end_byte"] = -1
        elif kind < 0.3:
            made["start_token"] = made["end_token"] = -1
        elif kind < 0.35:
            made["start_token"], made["end_token"] = 7, 9
        return made

    def shorts():
        return [span(0.15) for _ in range(rng.choice([0, 0, 1, 1, 1, 2, 3]))]

    gold, predictions = [], []
    levels = rng.choice([1, 3, 20, 1000])
    for name in new_ids(rng, set_size(rng)):
        number = int(name[1:]) * 1_000_003 - 9_000_000_000_000_000
        annotations = []
        for _ in range(rng.choice([1, 2, 5, 5])):
            yes_no = rng.choice(["YES", "NO"]) if rng.random() < 0.15 else "NONE"
            annotations.append({"long_answer": span(), "short_answers": shorts(), "yes_no_answer": yes_no})
        gold.append({"example_id": number, "annotations": annotations})
        like = rng.choice(annotations)
        made = {"example_id": number, "long_answer": like["long_answer"] if rng.random() < 0.6 else span(),
                "long_answer_score": rng.randint(-levels, levels) / rng.choice([1, 1, 3]),
                "short_answers": list(like["short_answers"]) if rng.random() < 0.6 else shorts(),
                "short_answers_score": rng.randint(-levels, levels) / rng.choice([1, 1, 3]),
                "yes_no_answer": "none"}
        rng.shuffle(made["short_answers"])
        if rng.random() < 0.2:
            made["short_answers"], made["yes_no_answer"] = [], rng.choice(["YES", "no", "Yes"])
        predictions.append(copy.deepcopy(made))
    kind = rng.randrange(400)  # what both sides call an error
    victim = rng.choice(predictions)
    if kind == 0:
        victim["long_answer"] = {"start_byte": 3, "end_byte": -1, "start_token": 1, "end_token": 2}
    elif kind == 1:
        victim["long_answer"] = {"start_byte": 3, "end_byte": 3, "start_token": -1, "end_token": -1}
    elif kind == 2:
        victim["yes_no_answer"], victim["short_answers"] = "YES", [span(0)]
    elif kind == 3:
        predictions.remove(victim)
    elif kind == 4:
        predictions.append({**victim, "example_id": 5})
    elif kind == 5:
        victim["yes_no_answer"] = "maybe"
    elif kind == 6:
        gold[0]["annotations"] = []
    elif kind == 7:
        gold[0]["annotations"][0]["long_answer"] = {"start_byte": -1, "end_byte": -1, "start_token": 5, "end_token": 2}
    rng.shuffle(predictions)
    return {"metric": "nq", "gold": gold, "predictions": {"predictions": predictions}}


def make_wikihop(rng):
    gold, predictions = [], {}
    for name in new_ids(rng, set_size(rng)):
        candidates = [text(rng, 3) for _ in range(rng.randint(2, 6))]
        answer = rng.choice(candidates)
        gold.append({"id": name, "query": "q", "candidates": candidates, "supports": ["s"],
                     "answer": rng.choice([answer, answer.upper(), answer + " "])})
        if rng.random() < 0.9:
            predictions[name] = prediction(rng, candidates)
    return {"metric": "wikihop", "gold": gold, "predictions": shuffled(rng, predictions.items())}


GLUE = {  # columns of dev.tsv, that of the label, header, names of the classes
    "cola": (4, 1, False, ["0", "1"]), "sst2": (2, 1, True, ["0", "1"]), "mrpc": (5, 0, True, ["0", "1"]),
    "stsb": (10, 9, True, None), "qqp": (6, 5, True, ["0", "1"]),
    "qnli": (4, 3, True, ["entailment", "not_entailment"]),
    "mnli": (16, 15, True, ["entailment", "neutral", "contradiction"]),
    "rte": (4, 3, True, ["entailment", "not_entailment"]),
}


def make_glue(rng, task):
    count = rng.choice([1, 2, 3, 5, 10, 50, rng.randint(100, 1000)])
    names = GLUE[task][3]
    if names is None:
        step = rng.choice([1, 4, 5, 1000])
        gold = [rng.randint(0, 5 * step) / step for _ in range(count)]
        kind = rng.random()
        if kind < 0.05:
            gold = [gold[0]] * count
        noise = rng.choice([0, 0.01, 1, 10])
        made = [value + noise * rng.gauss(0, 1) for value in gold]
        if kind > 0.95:
            made = [2.5] * count
        elif kind > 0.8:
            made = [float(round(value)) for value in made]
        elif kind > 0.75:
            made = [-value * 1e6 + 7 for value in made]
        return {"metric": "glue-stsb", "gold": gold, "predictions": made}
    share = rng.choice([0, 0.1, 0.5, 0.9, 1])
    gold = [names[0] if rng.random() < share else rng.choice(names) for _ in range(count)]
    right = rng.choice([0, 0.5, 0.9, 1])
    made = [label if rng.random() < right else rng.choice(names) for label in gold]
    if rng.random() < 0.1:
        made = [names[rng.randrange(len(names))]] * count
    return {"metric": f"glue-{task}", "gold": gold, "predictions": made, "names": names}


MAKERS = {"squad1": lambda rng: make_squad(rng, 1), "squad2": lambda rng: make_squad(rng, 2),
          "hotpotqa": make_hotpotqa, "triviaqa": make_triviaqa, "nq": make_nq, "wikihop": make_wikihop,
          **{f"glue-{task}": (lambda rng, task=task: make_glue(rng, task)) for task in GLUE}}


class Official:
    """The data sets' own scripts, unchanged; a dictionary of metrics, or None where a script fails."""

    def __init__(self, folder, work):
        self.work = work
        sys.path.insert(0, str(folder))
        self.squad1 = self.load(folder / "evaluate-v1.1.py")
        self.squad2 = self.load(folder / "evaluate-v2.0.py")
        self.hotpot = self.load(folder / "hotpot_evaluate_v1.py")
        self.trivia = self.load(folder / "evaluation" / "triviaqa_evaluation.py")
        self.nq_eval = self.load(folder / "nq_eval.py")
        from absl import flags, logging
        logging.set_verbosity(logging.ERROR)
        flags.FLAGS(["text_metrics"], known_only=True)

    @staticmethod
    def load(path):
        spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_").replace(".", "_"), path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def file(self, name, content):
        path = self.work / f"official_{name}"
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        return str(path)

    def scores(self, made):
        metric = made["metric"]
        name = "glue" if metric.startswith("glue-") else metric
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                return getattr(self, "run_" + name)(made)
        except (KeyError, ValueError, TypeError, ZeroDivisionError):
            return None

    def run_squad1(self, made):
        return self.squad1.evaluate(made["gold"]["data"], made["predictions"])

    def run_squad2(self, made):
        data = self.file("gold.json", made["gold"])
        arguments = [data, self.file("predictions.json", made["predictions"])]
        if "no_answer" in made:
            arguments += ["-n", self.file("no_answer.json", made["no_answer"])]
        if "threshold" in made:
            arguments += ["-t", str(made["threshold"])]
        sys.argv = ["evaluate-v2.0.py"] + arguments + ["-o", str(self.work / "official_scores.json")]
        self.squad2.OPTS = self.squad2.parse_args()
        self.squad2.main()
        return json.loads((self.work / "official_scores.json").read_text())

    def run_hotpotqa(self, made):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.hotpot.eval(self.file("predictions.json", made["predictions"]), self.file("gold.json", made["gold"]))
        return ast.literal_eval(printed.getvalue().strip().splitlines()[-1])

    def run_triviaqa(self, made):
        data = self.trivia.utils.dataset_utils.read_triviaqa_data(self.file("gold.json", made["gold"]))
        gold = self.trivia.utils.dataset_utils.get_key_to_ground_truth(data)
        return self.trivia.evaluate_triviaqa(gold, made["predictions"], mute=True)

    def run_nq(self, made):
        path = str(self.work / "official_gold.jsonl.gz")
        with gzip.open(path, "wt", compresslevel=1) as file:
            file.writelines(json.dumps(example) + "\n" for example in made["gold"])
        gold = self.nq_eval.util.read_annotation_from_one_split(path)
        predicted = self.nq_eval.util.read_prediction_json(self.file("predictions.json", made["predictions"]))
        stats = self.nq_eval.score_answers(gold, predicted)
        return {**self.nq_eval.get_metrics_with_answer_stats(*stats), **self.nq_eval.compute_final_f1(*stats)}

    def run_wikihop(self, made):
        right = 0  # no script of its own: the rule of lib/metrics/answer_metrics.h, with Python's str
        for question in made["gold"]:
            answer = question["answer"].lower().strip()
            candidates = [candidate.lower().strip() for candidate in question["candidates"]]
            predicted = made["predictions"].get(question["id"])
            right += answer in candidates and predicted is not None and predicted.lower().strip() == answer
        return {"accuracy": right / len(made["gold"])}

    def run_glue(self, made):
        task = made["metric"][len("glue-"):]
        gold, predicted = made["gold"], made["predictions"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if task == "stsb":
                few = len(gold) < 2  # scipy wants two values
                scores = {"pearson": math.nan if few else scipy.stats.pearsonr(gold, predicted)[0],
                          "spearmanr": math.nan if few else scipy.stats.spearmanr(gold, predicted)[0]}
            elif task == "cola":
                return {"matthews_correlation": sklearn.metrics.matthews_corrcoef(gold, predicted)}
            else:
                scores = {"accuracy": sklearn.metrics.accuracy_score(gold, predicted)}
                if task in ("mrpc", "qqp"):
                    scores["f1"] = sklearn.metrics.f1_score(gold, predicted, pos_label="1", zero_division=0)
        if len(scores) > 1:
            scores["combined_score"] = np.mean(list(scores.values()))
        return {key: float(value) for key, value in scores.items()}


class Driver:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        encoding="utf-8")

    def scores(self, made):
        self.process.stdin.write(json.dumps(made) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline()).get("metrics")


class Program:
    """bigbird itself: a process and files for every set."""

    def __init__(self, program, work, options):
        self.program, self.work, self.options = program, work, options

    def file(self, name, content):
        path = self.work / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    def scores(self, made):
        metric = made["metric"]
        if metric.startswith("glue-"):
            task = metric[len("glue-"):]
            columns, label, header, _ = GLUE[task]
            rows = [["x"] * columns for _ in made["gold"]]
            for row, value in zip(rows, made["gold"]):
                row[label] = str(value)
            lines = (["\t".join(f"c{i}" for i in range(columns))] if header else []) + ["\t".join(row) for row in rows]
            gold = self.file("gold.tsv", "\n".join(lines) + "\n")
            predicted = ["index\tprediction"] + [f"{i}\t{value}" for i, value in enumerate(made["predictions"])]
            command = ["text", "glue", "evaluate", "--task", task, "--data", gold, "--predictions",
                       self.file("predictions.tsv", "\n".join(predicted) + "\n")]
        else:
            if metric == "nq":
                gold = self.file("gold.jsonl", "".join(json.dumps(example) + "\n" for example in made["gold"]))
            else:
                gold = self.file("gold.json", made["gold"])
            command = ["text", "qa", "evaluate", "--format", metric.rstrip("12"), "--data", gold, "--predictions",
                       self.file("predictions.json", made["predictions"])]
        done = subprocess.run([self.program, *command, *self.options.get(metric, [])], capture_output=True, text=True,
                              encoding="utf-8")
        return json.loads(done.stdout) if done.returncode == 0 else None


def difference(ours, theirs):
    """Of one value; None and NaN are "undefined"."""
    undefined = [value is None or math.isnan(value) for value in (ours, theirs)]
    if all(undefined):
        return 0.0
    return math.inf if any(undefined) else abs(ours - theirs)


def compare(metric, sets, rng, official, ours, exact_keys):
    largest, values, errors, mismatches = {}, {}, 0, 0
    for number in range(sets):
        made = MAKERS[metric](rng)
        if not exact_keys:  # no-answer scores have no option yet
            made.pop("no_answer", None)
            made.pop("threshold", None)
        wanted, got = official.scores(copy.deepcopy(made)), ours.scores(made)
        if wanted is None or got is None:
            errors += 1
            good = wanted is None and got is None
        else:
            if exact_keys and set(wanted) != set(got):
                print(f"{metric}: keys {sorted(set(wanted) ^ set(got))} on one side only")
            found = {key: difference(got.get(key), float(value)) for key, value in wanted.items()}
            good = all(value <= BOUND for value in found.values()) and (not exact_keys or set(wanted) == set(got))
            for key, value in found.items():
                largest[key] = max(largest.get(key, 0.0), value)
                values.setdefault(key, set()).add(str(wanted[key]))
        if not good:
            mismatches += 1
            if mismatches <= 3:
                print(f"{metric}, set {number}: official {wanted}\n  ours {got}\n  {json.dumps(made)[:2000]}")
    print(f"{metric}: {sets} sets, {errors} of them errors on both sides, {mismatches} differ")
    for key, value in largest.items():
        print(f"    {key:40} {value:.2e}   {len(values[key])} different values")
    sys.stdout.flush()
    return mismatches


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--official", type=pathlib.Path, required=True)
    parser.add_argument("--bigbird")
    parser.add_argument("--driver")
    parser.add_argument("--sets", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--metrics", default=",".join(MAKERS))
    parser.add_argument("--options", action="append", default=[])
    arguments = parser.parse_args()
    if (arguments.bigbird is None) == (arguments.driver is None):
        parser.error("give --bigbird or --driver")
    options = {name: shlex.split(value) for name, value in (text.split("=", 1) for text in arguments.options)}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        official = Official(arguments.official.resolve(), work)
        ours = Driver(arguments.driver) if arguments.driver else Program(arguments.bigbird, work, options)
        mismatches = 0
        for metric in arguments.metrics.split(","):
            rng = random.Random(f"{arguments.seed} {metric}")
            mismatches += compare(metric, arguments.sets, rng, official, ours, arguments.driver is not None)
    sys.exit(1 if mismatches else 0)


if __name__ == "__main__":
    main()
