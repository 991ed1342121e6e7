#!/usr/bin/env python3
"""Greedy and beam search by transformers' generate() over a made-up model: writes tests/golden/generation.json, and with --prompts
tests/golden/generation_prompts.json, of texts that go on behind a prompt of several tokens.

  python3 tests/peers/make_generation.py [--prompts] [OUT]

The model's logits are a function of the tokens so far (`logits_of`), which the C++ test computes alike, so that only the rules of the
search are compared. Settings are drawn by a fixed seed; one is kept when the tokens stay the same with logits moved by up to 2e-4, so
that no result hangs on the last bits of a sum. (A max_length of 20 is generate()'s default, which it takes for 21.) Needs torch and transformers 4.57.1.
"""
import json
import pathlib
import random
import sys
import warnings

import numpy as np
import torch
from transformers import GenerationConfig, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

VOCABULARY, START, EOS, PAD = 40, 2, 1, 0
SETTINGS, PROMPTS = 240, 100
MASK = (1 << 64) - 1


def mix(value):  # SplitMix64's finalizer
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def logits_of(seed, eos_bias, tokens, moved=0.0):
    state = mix(seed)
    for token in tokens:
        state = mix(state ^ token)
    values = [((mix(state + 1000 + v) >> 40) & 8191) / 2048.0 for v in range(VOCABULARY)]
    values[EOS] += eos_bias
    if moved:
        values = [value + moved * ((mix(state + 5000 + v) >> 40) % 1000) / 1000.0 for v, value in enumerate(values)]
    return values


class MadeUp(PreTrainedModel, GenerationMixin):
    config_class = PretrainedConfig
    main_input_name = "input_ids"

    def __init__(self, config):
        super().__init__(config)
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.setting = (0, 0.0, 0.0)

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **_):
        return {"input_ids": input_ids}

    def forward(self, input_ids, attention_mask=None, **_):
        seed, eos_bias, moved = self.setting
        last = [logits_of(seed, eos_bias, row.tolist(), moved) for row in input_ids]
        logits = torch.zeros(input_ids.shape[0], input_ids.shape[1], VOCABULARY)
        logits[:, -1] = torch.tensor(np.array(last), dtype=torch.float32)
        return CausalLMOutput(logits=logits)


def drawn(rng, seed):
    beams = rng.choice([1, 1, 2, 2, 3, 5, 5])
    return {"seed": seed, "eos_bias": rng.choice([-1.0, 0.0, 1.0, 2.0]), "num_beams": beams,
            "length_penalty": rng.choice([0.0, 0.8, 0.8, 1.0, 2.0, -1.0]), "early_stopping": rng.choice([False, True, "never"]),
            "no_repeat_ngram_size": rng.choice([0, 0, 1, 2, 3]), "min_length": rng.choice([0, 0, 4, 8]),
            "max_length": rng.choice([2, 5, 9, 14, 19]), "forced_eos": rng.random() < 0.3,
            "repetition_penalty": rng.choice([1.0, 1.0, 1.0, 1.5]), "num_return_sequences": rng.randint(1, beams)}


def drawn_prompt(rng, seed):
    setting = drawn(rng, seed)
    most = rng.choice([1, 4, 8, 13])
    return {**setting, "prompt": [START] + [rng.randrange(2, VOCABULARY) for _ in range(rng.randint(0, 9))], "forced_eos": False,
            "min_length": 0, "max_length": 0, "min_new_tokens": rng.choice([0, 0, 3]), "max_new_tokens": most,
            "suppress_tokens": sorted(rng.sample(range(2, VOCABULARY), rng.choice([0, 4, 12])))}


def lengths_of(setting):
    if "prompt" not in setting:
        return {"min_length": setting["min_length"], "max_length": setting["max_length"]}
    return {"min_new_tokens": min(setting["min_new_tokens"], setting["max_new_tokens"]), "max_new_tokens": setting["max_new_tokens"],
            "suppress_tokens": setting["suppress_tokens"] or None}


def generated(model, setting, moved):
    model.setting = (setting["seed"], setting["eos_bias"], moved)
    config = GenerationConfig(
        do_sample=False, use_cache=False, bos_token_id=START, eos_token_id=EOS, pad_token_id=PAD, num_beams=setting["num_beams"],
        length_penalty=setting["length_penalty"], early_stopping=setting["early_stopping"] if setting["num_beams"] > 1 else False,
        no_repeat_ngram_size=setting["no_repeat_ngram_size"], **lengths_of(setting),
        forced_eos_token_id=EOS if setting["forced_eos"] else None, repetition_penalty=setting["repetition_penalty"],
        num_return_sequences=setting["num_return_sequences"], return_dict_in_generate=True, output_scores=True)
    prompt = torch.tensor([setting.get("prompt", [START])])
    result = model.generate(prompt, attention_mask=torch.ones_like(prompt), generation_config=config)
    sequences = []
    for row in result.sequences.tolist():
        tokens = row[prompt.shape[1]:]
        sequences.append(tokens[:tokens.index(EOS) + 1] if EOS in tokens else tokens)
    scores = result.sequences_scores.tolist() if setting["num_beams"] > 1 else None
    return sequences, scores


def main():
    of_prompts = "--prompts" in sys.argv
    given = [word for word in sys.argv[1:] if word != "--prompts"]
    out = pathlib.Path(given[0] if given else f"tests/golden/generation{'_prompts' if of_prompts else ''}.json")
    warnings.simplefilter("ignore")
    model = MadeUp(PretrainedConfig(vocab_size=VOCABULARY, is_encoder_decoder=False)).eval()
    rng = random.Random(16 if of_prompts else 15)
    cases, dropped, seed = [], 0, 0
    while len(cases) < (PROMPTS if of_prompts else SETTINGS):
        seed += 1
        setting = (drawn_prompt if of_prompts else drawn)(rng, seed)
        sequences, scores = generated(model, setting, 0.0)
        if any(generated(model, setting, moved)[0] != sequences for moved in (2e-4, -2e-4)):
            dropped += 1
            continue
        cases.append({**setting, "sequences": sequences, "scores": scores})
    head = {"made_by": "tests/peers/make_generation.py", "vocabulary": VOCABULARY, "start": START, "eos": EOS, "dropped": dropped,
            "logits": [{"seed": 7, "eos_bias": 1.0, "tokens": [2, 5, 3], "values": logits_of(7, 1.0, [2, 5, 3])}], "cases": cases}
    out.write_text(json.dumps(head).replace('{"seed"', '\n{"seed"') + "\n")
    print(f"{len(cases)} settings, {dropped} dropped")


main()
