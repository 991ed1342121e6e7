"""A training step of Hugging Face's BigBird, block_sparse, in bf16 autocast: tokens a second, and the memory that one
more sequence takes. Same sizes as bench_gpu's step; its head predicts at every position, as transformers has it."""
from measure import Measurements, arguments

VOCABULARY, MASKED_SHARE = 32000, 0.15


def main():
    options = arguments(__doc__).parse_args()
    measurements = Measurements(options, "huggingface")
    torch = measurements.torch
    try:
        import transformers
    except ImportError as error:
        measurements.document["skipped"].append({"name": "training_step", "reason": str(error)})
        measurements.write()
        print(f"SKIPPED: {error}", flush=True)
        raise SystemExit(77) from error
    measurements.document["transformers"] = transformers.__version__

    tokens = 1024 if options.tiny else 4096
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64} if options.tiny else {}
    torch.manual_seed(1)
    model = transformers.BigBirdForPreTraining(transformers.BigBirdConfig(
        vocab_size=VOCABULARY, attention_type="block_sparse", max_position_embeddings=4096, **sizes)).to(options.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=options.device == "cuda")

    peaks = {}
    for sequences in ([1, 2] if options.tiny else [2, 4, 8, 16]):

        def case():
            ids = torch.randint(100, VOCABULARY, (2, sequences, tokens), device=options.device)
            labels = torch.where(torch.rand(ids.shape, device=options.device) < MASKED_SHARE, ids, torch.full_like(ids, -100))
            pairs = torch.zeros(sequences, dtype=torch.long, device=options.device)

            def step(i):
                with torch.autocast(options.device, dtype=torch.bfloat16):
                    loss = model(input_ids=ids[i % 2], labels=labels[i % 2], next_sentence_label=pairs).loss
                loss.backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)

            if options.device == "cuda":
                torch.cuda.reset_peak_memory_stats()
            milliseconds, spread = measurements.milliseconds(step, rounds=2 if options.tiny else 5)
            peaks[sequences] = torch.cuda.max_memory_allocated() if options.device == "cuda" else 0
            facts = {"sequences": sequences, "tokens": tokens, "precision": "bf16",
                     "tokens_per_second": sequences * tokens / milliseconds * 1e3, "peak_bytes": peaks[sequences]}
            smallest = min(peaks)
            if sequences > smallest:
                facts["bytes_per_sequence"] = (peaks[sequences] - peaks[smallest]) / (sequences - smallest)
            measurements.add("training_step", milliseconds, spread, **facts)

        measurements.attempt(f"training_step {sequences} x {tokens}", case)


main()
