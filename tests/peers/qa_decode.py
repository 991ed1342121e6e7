#!/usr/bin/env python3
"""Decoding of random logits against Hugging Face's run_qa and its question-answering pipeline.

    python tests/peers/qa_decode.py UTILS_QA SPIECE_MODEL "COMMAND" [QUESTIONS]

UTILS_QA is examples/pytorch/question-answering/utils_qa.py of transformers. COMMAND is what decodes with our code, called
as `COMMAND run_qa|pipeline N MAX_ANSWER V2|IMPOSSIBLE THRESHOLD|ALIGN predictions|nbest|null_odds`; it reads one question a
line as JSON (id, context, spans and words of the context's tokens, question_tokens, windows with first, count, start, end)
and prints the file that the last argument names.

run_qa: texts equal but for white space at their left, the same candidates in the same order with probabilities within 1e-6,
null odds within 1e-5. Pipeline: the real QuestionAnsweringPipeline.postprocess of transformers 4.57.1 over the features that
its preprocess makes; texts equal but for white space at their left, scores within 1e-6.

Needs: transformers 4.57.1, torch, numpy, tqdm.
"""
import importlib.util
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

WORDS = ("the of a river Paris paris PARIS 1848 museum tokenised graph, (which) -- it's Zz9 x long-winded of the "
         "supercalifragilistic \u0130stanbul \u00e9clair \u4f60\u597d").split()


def module_of(path):
    spec = importlib.util.spec_from_file_location("utils_qa", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def decode(command, arguments, questions, kind):
    text = "".join(json.dumps(question) + "\n" for question in questions)
    run = subprocess.run(command.split() + [str(a) for a in arguments] + [kind], input=text, capture_output=True, text=True,
                         encoding="utf-8", check=False)
    if run.returncode:
        sys.exit(run.stderr)
    return json.loads(run.stdout)


def numbers(array):
    return [float(value) for value in array]


def distinct(rng, size, scale):
    """Random fp32 logits without ties."""
    values = np.unique(rng.normal(0, scale, size * 2).astype(np.float32))
    return rng.permutation(values)[:size].astype(np.float32)


def random_questions(count, rng, pick):
    """Questions cut into 1-8 windows; offsets with blanks in front of tokens, inputs padded to one length."""
    examples, features, starts, ends, ours = [], [], [], [], []
    for number in range(count):
        windows = 1 + number % 8
        question = int(rng.integers(1, 12))
        room = int(rng.integers(5, 60))
        overlap = int(rng.integers(0, room))
        tokens = room + (windows - 1) * (room - overlap)
        tokens -= int(rng.integers(0, max(1, min(room - overlap, tokens - 1))))
        if number % 97 == 0:
            tokens, windows = 1, 1
        text, spans, words = "", [], []
        for _ in range(tokens):
            begin = len(text)
            if rng.random() < 0.6 or not text:
                text += (" " if text or rng.random() < 0.3 else "") + pick.choice(WORDS)
                words.append(1)
            else:
                text += pick.choice(["s", "ing", ",", "\u00e9", "9"])
                words.append(0)
            spans.append([begin, len(text)])
        words[0] = 1
        name = f"q{number}"
        own = {"id": name, "context": text, "spans": spans, "words": words, "question_tokens": question, "windows": []}
        length = question + 3 + room + int(rng.integers(0, 9))
        first = 0
        while True:
            count_here = min(room, tokens - first)
            inside = [None] * (question + 2) + [tuple(s) for s in spans[first:first + count_here]]
            features.append({"example_id": name, "offset_mapping": inside + [None] * (length - len(inside))})
            scale = pick.choice([0.5, 3, 12])
            start, end = distinct(rng, length, scale), distinct(rng, length, scale)
            if number % 5 == 0:
                start[0] += 5 * scale
                end[0] += 5 * scale
            starts.append(start)
            ends.append(end)
            own["windows"].append({"first": first, "count": count_here, "start": numbers(start), "end": numbers(end)})
            if first + room >= tokens:
                break
            first += room - overlap
        examples.append({"id": name, "context": text})
        ours.append(own)
    return examples, features, starts, ends, ours


class Rows(list):
    """A list of rows that also gives a column by name, as a data set does."""

    def __getitem__(self, key):
        return [row[key] for row in self] if isinstance(key, str) else super().__getitem__(key)


def run_qa(utils, command, count):
    failed = 0
    for version_2, n_best, longest, threshold in ((False, 20, 30, 0.0), (True, 20, 30, 0.0), (True, 3, 4, 1.5), (False, 1, 2, 0.0)):
        rng, pick = np.random.default_rng(7), random.Random(7)
        examples, features, starts, ends, ours = random_questions(count, rng, pick)
        with tempfile.TemporaryDirectory() as folder:
            wanted = utils.postprocess_qa_predictions(Rows(examples), features, (starts, ends), version_2, n_best, longest, threshold,
                                                      folder, "peer")
            files = {kind: json.loads((pathlib.Path(folder) / f"peer_{kind}.json").read_text())
                     for kind in ["nbest_predictions"] + (["null_odds"] if version_2 else [])}
        arguments = ["run_qa", n_best, longest, int(version_2), threshold]
        predictions = decode(command, arguments, ours, "predictions")
        nbest = decode(command, arguments, ours, "nbest")
        texts = sum(predictions[name] != text.lstrip() for name, text in wanted.items()) + (list(predictions) != list(wanted))
        order = probability = 0
        worst = 0.0
        candidates = 0
        for name, peer in files["nbest_predictions"].items():
            own = nbest[name]
            order += [c["text"] for c in own] != [c["text"].lstrip() for c in peer]
            order += [(c["start_logit"], c["end_logit"]) for c in own] != [(c["start_logit"], c["end_logit"]) for c in peer]
            candidates += len(peer)
            for a, b in zip(own, peer):
                worst = max(worst, abs(a["probability"] - b["probability"]))
            for c, example in ((c, next_context(ours, name)) for c in own):
                order += example[c["start"]:c["end"]] != c["text"] and c["text"] != "empty"
        probability += worst > 1e-6
        odds = 0.0
        if version_2:
            null = decode(command, arguments, ours, "null_odds")
            odds = max(abs(null[name] - value) for name, value in files["null_odds"].items())
        empty = sum(not text for text in wanted.values())
        print(f"run_qa v{1 + version_2} n_best {n_best} max_answer {longest} threshold {threshold}: {len(wanted)} questions, {len(features)} windows, "
              f"{candidates} candidates, {empty} empty; {texts} texts and {order} candidate lists differ, probabilities within "
              f"{worst:.1e}, null odds within {odds:.1e}")
        failed += texts + order + probability + (odds > 1e-5)
    return failed


def next_context(ours, name):
    return ours[int(name[1:])]["context"]


def pipeline(spiece_model, command, count):
    import torch
    from transformers import BigBirdConfig, BigBirdForQuestionAnswering, BigBirdTokenizerFast
    from transformers.pipelines import QuestionAnsweringPipeline
    failed = 0
    tokenizer = BigBirdTokenizerFast(spiece_model)
    tokenizer.model_max_length = 4096
    config = BigBirdConfig(vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
                           intermediate_size=8, attention_type="original_full", max_position_embeddings=64)
    peer = QuestionAnsweringPipeline(BigBirdForQuestionAnswering(config), tokenizer)
    for top_k, longest, impossible, align in ((1, 15, False, True), (1, 15, True, True), (5, 15, False, True), (4, 6, True, False)):
        rng, pick = np.random.default_rng(11), random.Random(11)
        ours, wanted, windows = [], [], 0
        for number in range(count):
            context = " ".join(pick.choice(WORDS) for _ in range(pick.choice([20, 60, 150, 300])))
            question = " ".join(pick.choice(WORDS) for _ in range(pick.randrange(1, 9)))
            sample = peer.create_sample(question, context)
            outputs = []
            own = None
            length = pick.choice([64, 128, 384])
            first = 0
            for features in peer.preprocess(sample, doc_stride=20, max_seq_len=length):
                encoding = features["encoding"]
                tokens = features["input_ids"].shape[1]
                kept = [k for k, kind in enumerate(encoding.sequence_ids) if kind == 1]
                if own is None:
                    own = {"id": f"q{number}", "context": context, "spans": [], "words": [], "question_tokens": kept[0] - 2,
                           "windows": []}
                    whole = tokenizer(context, add_special_tokens=False, return_offsets_mapping=True)
                    ids = whole.word_ids()
                    own["spans"] = [list(pair) for pair in whole["offset_mapping"]]
                    own["words"] = [int(k == 0 or ids[k] != ids[k - 1]) for k in range(len(ids))]
                scale = pick.choice([1, 4, 8])
                start, end = distinct(rng, tokens, scale), distinct(rng, tokens, scale)
                own["windows"].append({"first": first, "count": len(kept), "start": numbers(start), "end": numbers(end)})
                first += len(kept) - 20
                windows += 1
                outputs.append({"start": torch.tensor(start)[None], "end": torch.tensor(end)[None], "example": sample,
                                **{key: features[key] for key in ("p_mask", "attention_mask", "encoding", "input_ids")}})
            ours.append(own)
            answers = peer.postprocess(outputs, top_k=top_k, handle_impossible_answer=impossible, max_answer_len=longest, align_to_words=align)
            wanted.append(answers if isinstance(answers, list) else [answers])
        found = decode(command, ["pipeline", top_k, longest, int(impossible), int(align)], ours, "nbest")
        texts = 0
        worst = 0.0
        places = 0
        for own, answers in zip(ours, wanted):
            mine = found[own["id"]]
            texts += [a["text"] for a in mine] != [a["answer"].lstrip() for a in answers]
            places += [a["end"] for a in mine] != [a["end"] for a in answers]
            places += [a["start"] for a in mine] != [a["start"] + len(a["answer"]) - len(a["answer"].lstrip()) for a in answers]
            worst = max([worst] + [abs(a["probability"] - b["score"]) for a, b in zip(mine, answers)])
        print(f"pipeline top_k {top_k} max_answer {longest} impossible {impossible} align {align}: {count} questions, {windows} windows; "
              f"{texts} answer lists and {places} places differ, scores within {worst:.1e}")
        failed += texts + places + (worst > 1e-6)
    return failed


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    count = int(sys.argv[4]) if len(sys.argv) == 5 else 1000
    failed = run_qa(module_of(sys.argv[1]), sys.argv[3], count)
    failed += pipeline(sys.argv[2], sys.argv[3], count)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
