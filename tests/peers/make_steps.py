"""Twenty training steps of a small BigBirdForPreTraining in float64, written to tests/golden/adamw_steps.safetensors:
the batches, and the loss before every update under three optimizers,

- torch: torch.optim.AdamW with transformers' linear schedule,
- adafactor: transformers' Adafactor without relative steps, its rates times the size of each tensor, with the same schedule,
- google: AdamWeightDecay as google-research/bigbird has it (no bias correction, epsilon 1e-6, decoupled decay, warm-up and
  decay both counted from step 0), written out below.

Weights by formula (formula_weights.py); weight decay is for matrices and tables, not for biases and LayerNorm.

    python make_steps.py"""

import json
import pathlib

import numpy as np
import torch
import transformers
from transformers import Adafactor, BigBirdConfig, BigBirdForPreTraining, get_linear_schedule_with_warmup

import formula_weights
import golden_file

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "adamw_steps.safetensors"
STEPS, WARMUP, RATE, DECAY = 20, 4, 1e-3, 0.01
ADAFACTOR_RATE = 0.05  # a share of the size of a tensor
BATCH, TOKENS = 2, 128


def make_config():
    return BigBirdConfig(
        vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=TOKENS, block_size=16, num_random_blocks=1, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0)


def make_batches(config):
    """A repeating text with noise, so that there is something to learn; [STEPS, BATCH, TOKENS]."""
    random = np.random.RandomState(4)
    shape = (STEPS, BATCH, TOKENS)
    start = random.randint(0, 30, size=(STEPS, BATCH, 1))
    truth = 5 + (start + 3 * np.arange(TOKENS)) % 30
    lengths = random.randint(TOKENS // 2, TOKENS + 1, size=(STEPS, BATCH))
    mask = np.arange(TOKENS) < lengths[:, :, None]
    labelled = (random.rand(*shape) < 0.2) & mask
    ids = np.where(labelled, 4, truth)
    return {
        "input_ids": np.where(mask, ids, config.pad_token_id),
        "lengths": lengths,
        "token_type_ids": np.arange(TOKENS) >= lengths[:, :, None] // 2,
        "labelled": labelled,
        "labels": truth,
        "next_sentence_label": random.randint(0, 2, size=(STEPS, BATCH)),
    }


def loss_of(model, batches, step):
    mask = np.arange(TOKENS) < batches["lengths"][step][:, None]
    labels = np.where(batches["labelled"][step], batches["labels"][step], -100)
    tensors = dict(input_ids=batches["input_ids"][step], token_type_ids=batches["token_type_ids"][step],
                   attention_mask=mask, labels=labels, next_sentence_label=batches["next_sentence_label"][step])
    return model(**{name: torch.from_numpy(value).long() for name, value in tensors.items()}).loss


def decays(name):
    return not (name.endswith(".bias") or "LayerNorm" in name)


class AdamWeightDecay:
    """The optimizer of google-research/bigbird and its linear schedule (docs/specification.md 4.4 and 4.5)."""

    def __init__(self, named_parameters):
        self.parameters = [(name, p, torch.zeros_like(p), torch.zeros_like(p)) for name, p in named_parameters]
        self.step_number = 0

    def step(self):
        step = self.step_number
        rate = RATE * step / WARMUP if step < WARMUP else RATE * (1 - step / STEPS)
        with torch.no_grad():
            for name, p, first, second in self.parameters:
                if p.grad is None:
                    continue
                first.mul_(0.9).add_(0.1 * p.grad)
                second.mul_(0.999).add_(0.001 * p.grad**2)
                p -= rate * (first / (second.sqrt() + 1e-6) + (DECAY * p if decays(name) else 0.0))
        self.step_number += 1


class TorchAdamW:
    def __init__(self, named_parameters):
        named = list(named_parameters)
        groups = [{"params": [p for name, p in named if decays(name)], "weight_decay": DECAY},
                  {"params": [p for name, p in named if not decays(name)], "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.999), eps=1e-8)
        self.schedule = get_linear_schedule_with_warmup(self.optimizer, WARMUP, STEPS)

    def step(self):
        self.optimizer.step()
        self.schedule.step()


class TransformersAdafactor:
    def __init__(self, named_parameters):
        self.optimizer = Adafactor([p for name, p in named_parameters], lr=ADAFACTOR_RATE, relative_step=False,
                                   scale_parameter=True, warmup_init=False, clip_threshold=1.0, decay_rate=-0.8,
                                   eps=(1e-30, 1e-3), beta1=None, weight_decay=0.0)
        self.schedule = get_linear_schedule_with_warmup(self.optimizer, WARMUP, STEPS)

    def step(self):
        self.optimizer.step()
        self.schedule.step()


def train(make_optimizer, config, batches):
    model = BigBirdForPreTraining(config).double().train()
    formula_weights.fill(model)
    optimizer = make_optimizer(model.named_parameters())
    losses = []
    for step in range(STEPS):
        model.zero_grad()
        loss = loss_of(model, batches, step)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    return np.array(losses)


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    config = make_config()
    batches = make_batches(config)
    tensors = {"in." + name: value.astype(np.uint8) for name, value in batches.items()}
    for name, optimizer in (("torch", TorchAdamW), ("google", AdamWeightDecay), ("adafactor", TransformersAdafactor)):
        tensors["losses." + name] = train(optimizer, config, batches)
        print(name, " ".join(f"{loss:.4f}" for loss in tensors["losses." + name]))
    text = json.loads(config.to_json_string())
    text["architectures"] = ["BigBirdForPreTraining"]
    text["bigbird"] = {"random_mode": "hf-train"}
    golden_file.save(tensors, OUTPUT, {
        "config": json.dumps(text),
        "training": json.dumps({"warmup": WARMUP, "learning_rate": RATE, "weight_decay": DECAY,
                                "adafactor_learning_rate": ADAFACTOR_RATE}),
        "peer": f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, float64",
    })


if __name__ == "__main__":
    main()
