"""A task that a small model can learn in an hour of one core, over real documents: four sentences in a row, one of
them behind the mark "in short :"; the summary is that sentence. Writes FOLDER/{train,valid,test}.jsonl (fields
document, summary and lead, the first sentence), sentences.txt for a vocabulary, and, once FOLDER/vocabulary is there,
FOLDER/init, a BigBird-Pegasus of random weights. Documents of validation and test are none of training.

    python make_copy_task.py DATA FOLDER
    bigbird text vocabulary FOLDER/sentences.txt -o FOLDER/vocabulary --vocab-size 2000 --one-per-line
    python make_copy_task.py DATA FOLDER
    bigbird text summarize finetune --train FOLDER/train.jsonl --valid FOLDER/valid.jsonl --init FOLDER/init -o FOLDER/run \\
      --batch 32 --steps 12000 --lr 1e-3 --warmup 300 --schedule huggingface --dropout 0 --target-length 48 --length 160 \\
      --eval-every 500 --save-every 500
    bigbird text summarize evaluate --data FOLDER/test.jsonl -m FOLDER/run/final --decoding greedy --max-tokens 40

DATA is a folder with the sets that FILES names; those that are missing are left out, and said."""

import argparse
import gzip
import json
import pathlib
import random
import re
import shutil

FILES = ["imdb/train.jsonl.gz", "imdb/test.jsonl.gz", "movie_reviews/reviews.jsonl.gz",
         "newsgroups/mini_newsgroups.jsonl.gz", "lm/inaugural.jsonl.gz", "lm/state_union.jsonl.gz",
         "summarization/scisummnet.jsonl.gz", "summarization/scitldr-A.train.jsonl.gz",
         "summarization/scitldr-A.dev.jsonl.gz"]
MARK = "in short : "


def clean(sentence):
    return " ".join(re.sub(r"[^a-z0-9.,()' -]", " ", sentence.lower()).split())


def sentences_of(text):
    split = re.split(r"(?<=[.!?])\s+", " ".join(text.split()))
    return [sentence for sentence in map(clean, split) if 4 <= len(sentence.split()) <= 13]


def texts_of(value):
    """Every long text in a record, whatever its field is called."""
    if isinstance(value, str):
        if len(value) > 300:
            yield value
    elif isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        yield " ".join(value)
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_of(part)


def read_documents(data):
    documents = []
    for name in FILES:
        if not (data / name).exists():
            print(f"{name}: not there")
            continue
        with gzip.open(data / name, "rt", errors="replace") as lines:
            documents += [sentences_of(text) for line in lines for text in texts_of(json.loads(line))]
    for book in sorted((data / "lm" / "gutenberg").glob("*")):
        opened = gzip.open(book, "rt", errors="replace") if book.suffix == ".gz" else open(book, errors="replace")
        with opened as text:
            split = re.split(r"(?<=[.!?])\s+", " ".join(text.read().split()))
        documents += [sentences_of(" ".join(split[at:at + 200])) for at in range(0, len(split), 200)]
    return documents


def examples_of(documents, draws, is_training):
    """In training every document is cut in four ways."""
    for sentences in documents:
        offset = draws.randrange(4)
        for cut in range(4 if is_training else 1):
            for begin in range((offset + cut) % 4, len(sentences) - 3, 4):
                part = sentences[begin:begin + 4]
                marked = draws.randrange(1, 4)
                yield {"document": " ".join((MARK if i == marked else "") + s for i, s in enumerate(part)),
                       "summary": part[marked], "lead": part[0]}


def write_init(folder):
    import sentencepiece
    import torch
    from transformers import BigBirdPegasusConfig, BigBirdPegasusForConditionalGeneration
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "vocabulary" / "spiece.model"))
    torch.manual_seed(1)
    model = BigBirdPegasusForConditionalGeneration(BigBirdPegasusConfig(
        vocab_size=pieces.get_piece_size(), d_model=128, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=512, decoder_ffn_dim=512, max_position_embeddings=256, block_size=16,
        pad_token_id=pieces.piece_to_id("<pad>"), eos_token_id=pieces.piece_to_id("</s>"),
        bos_token_id=pieces.piece_to_id("<s>"), decoder_start_token_id=pieces.piece_to_id("<s>")))
    model.save_pretrained(folder / "init")
    shutil.copy(folder / "vocabulary" / "spiece.model", folder / "init")
    (folder / "init" / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PegasusTokenizer", "offset": 0, "pad_token": "<pad>", "eos_token": "</s>",
         "unk_token": "<unk>"}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    documents = read_documents(arguments.data)
    draws = random.Random(0)
    draws.shuffle(documents)
    held = len(documents) // 20
    parts = {"test": documents[:held // 2], "valid": documents[held // 2:held], "train": documents[held:]}
    for name, part in parts.items():
        examples = list(examples_of(part, draws, name == "train"))
        draws.shuffle(examples)
        with open(arguments.folder / f"{name}.jsonl", "w", encoding="utf-8") as out:
            for i, example in enumerate(examples if name == "train" else examples[:200]):
                out.write(json.dumps({"id": str(i), **example}) + "\n")
    with open(arguments.folder / "sentences.txt", "w", encoding="utf-8") as out:
        out.writelines(sentence + "\n" for sentences in parts["train"] for sentence in sentences)
    if (arguments.folder / "vocabulary").exists():
        write_init(arguments.folder)


if __name__ == "__main__":
    main()
