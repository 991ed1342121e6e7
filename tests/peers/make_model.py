"""Writes a Hugging Face BigBird folder with random weights, to compare with.

    python make_model.py FOLDER --head pretraining [--base] [--vocabulary 32000] [--seed 1] [--bin]

--base: 12 layers of 768, 4,096 positions; otherwise 2 layers of 64, blocks of 16. Weights are normal with sigma 0.02 as
transformers draws them; LayerNorms and biases are moved off 1 and 0, so that they count."""

import argparse

import torch
import transformers

from make_golden import CLASSES


def make(arguments):
    torch.manual_seed(arguments.seed)
    size = {} if arguments.base else dict(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, block_size=16)
    config = transformers.BigBirdConfig(vocab_size=arguments.vocabulary, **size)
    if arguments.head == "classification":
        config.num_labels = 3
    model = CLASSES[arguments.head](config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(arguments.folder, safe_serialization=not arguments.bin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--head", default="pretraining", choices=CLASSES)
    parser.add_argument("--base", action="store_true")
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bin", action="store_true", help="pytorch_model.bin instead of model.safetensors")
    make(parser.parse_args())


if __name__ == "__main__":
    main()
