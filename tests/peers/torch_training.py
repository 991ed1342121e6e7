"""Updates as run_qa.py and run_glue.py make them: torch's AdamW, no decay of biases and LayerNorms, linear schedule."""

import torch
import transformers

RATE = 1e-3
WARMUP = 2

# The same of `bigbird ... finetune`.
OPTIONS = ["--warmup", str(WARMUP), "--lr", str(RATE), "--schedule", "huggingface", "--optimizer", "torch", "--beta1", "0.9",
           "--beta2", "0.999", "--epsilon", "1e-8", "--weight-decay", "0.01", "--dropout", "0", "--whitespace", "keep"]


def train(model, loss_of, updates):
    """The loss before each update."""
    no_decay = ("bias", "LayerNorm.weight")
    groups = [{"params": [p for n, p in model.named_parameters() if not n.endswith(no_decay)], "weight_decay": 0.01},
              {"params": [p for n, p in model.named_parameters() if n.endswith(no_decay)], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.999), eps=1e-8)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, WARMUP, updates)
    losses = []
    for _ in range(updates):
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def losses_of_run(folder):
    """Those in the metrics.tsv of a run of bigbird."""
    rows = [line.split("\t") for line in (folder / "metrics.tsv").read_text().splitlines() if line[0].isdigit()]
    return [float(row[1]) for row in rows]


def compare(name, theirs, ours, bound):
    """One line; whether all losses agree."""
    worst = max(abs(a - b) for a, b in zip(theirs, ours)) if len(ours) == len(theirs) else float("inf")
    print(f"{name}: {len(ours)} updates: loss {theirs[0]:.5f} to {theirs[-1]:.5f} against {ours[0]:.5f} to {ours[-1]:.5f}, "
          f"differences {abs(theirs[0] - ours[0]):.2g} at first, {worst:.2g} at most")
    return worst <= bound
