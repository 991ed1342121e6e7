"""Speed of bigbird beside Hugging Face BigBird (and BERT with scaled_dot_product_attention): same weights, same
tokens, same threads, in turns. See README.md beside this file."""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

LENGTH, MASKED, WINDOWS = 4096, 614, 64


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", required=True, help="bench_peer of a release build")
    parser.add_argument("--work", required=True, help="folder for the models and inputs; made when missing")
    parser.add_argument("--cases", default="forward,forward-bf16,step,ragged")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--long-rounds", type=int, default=3, help="of the cases that take minutes: step, step-bf16 and ragged")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-bert", action="store_true", help="leave the dense row out")
    parser.add_argument("--json", help="also write every time that was measured to this file")
    parser.add_argument("--serve", nargs=6, help=argparse.SUPPRESS)
    return parser.parse_args()


def prepare(folder):
    """A base-size model with random weights, one sequence of 4,096 tokens, 64 windows of 900 to 1,300."""
    import torch
    from safetensors.torch import save_file
    from transformers import BertConfig, BertForPreTraining, BigBirdConfig, BigBirdForPreTraining

    if os.path.exists(f"{folder}/done"):
        return
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(1)
    # The same weights twice: Hugging Face takes other blocks in evaluation than in training, and bigbird is told which.
    model = BigBirdForPreTraining(BigBirdConfig(vocab_size=32000))
    for mode in ("hf-eval", "hf-train"):
        model.config.bigbird = {"random_mode": mode}
        model.save_pretrained(f"{folder}/bigbird-{mode}")
    BertForPreTraining(BertConfig(vocab_size=32000, max_position_embeddings=LENGTH)).save_pretrained(f"{folder}/bert")
    ids = torch.randint(100, 32000, (1, LENGTH))
    labels = torch.full((1, LENGTH), -100)
    rows = torch.randperm(LENGTH)[:MASKED]
    labels[0, rows] = ids[0, rows]
    save_file({"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels,
               "next_sentence_label": torch.zeros(1, dtype=torch.long)}, f"{folder}/one.safetensors")
    lengths = torch.randint(900, 1301, (WINDOWS,))
    mask = (torch.arange(int(lengths.max()))[None, :] < lengths[:, None]).long()
    save_file({"input_ids": torch.randint(100, 32000, mask.shape) * mask, "attention_mask": mask},
              f"{folder}/windows.safetensors")
    open(f"{folder}/done", "w").close()


class Peer:
    """Hugging Face's side; answers the requests that bench_peer answers."""

    def __init__(self, kind, folder, source, work, precision, threads):
        import torch
        import transformers
        from safetensors.torch import load_file

        torch.set_num_threads(threads)
        torch.manual_seed(1)
        self.torch, self.work = torch, work
        data = load_file(source)
        family = {"bigbird": "BigBird", "bert": "Bert"}[kind]
        name = family + ("ForPreTraining" if work == "step" else "Model")
        options = {"attn_implementation": "sdpa"} if kind == "bert" else {}
        path = {"bigbird": "bigbird-hf-train" if work == "step" else "bigbird-hf-eval", "bert": "bert"}[kind]
        # Training in bf16 is what autocast does: weights, gradients and moments are fp32.
        self.autocast = work == "step" and precision == "bf16"
        dtype = torch.bfloat16 if precision == "bf16" and not self.autocast else torch.float32
        self.model = getattr(transformers, name).from_pretrained(f"{folder}/{path}", dtype=dtype, **options)
        at_a_time = 8
        self.batches = [{key: value[first:first + at_a_time] for key, value in data.items()}
                        for first in range(0, len(data["input_ids"]), at_a_time)]
        if work == "step":
            self.model.train()
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5)
        else:
            self.model.eval()
            for batch in self.batches:  # BigBirdModel has no labels
                batch.pop("labels", None), batch.pop("next_sentence_label", None)

    def run(self):
        if self.work == "step":
            for batch in self.batches:
                with self.torch.autocast("cpu", dtype=self.torch.bfloat16, enabled=self.autocast):
                    loss = self.model(**batch).loss
                loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            return
        with self.torch.no_grad():
            for batch in self.batches:
                self.model(**batch)

    def write(self, path):
        from safetensors.torch import save_file
        with self.torch.no_grad():
            rows = [self.model(**batch).last_hidden_state[batch["attention_mask"] == 1].float() for batch in self.batches]
        save_file({"hidden": self.torch.cat(rows)}, path)


def peak_gigabytes():
    """Of this process. Not getrusage's ru_maxrss: a process inherits that from the one that started it."""
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e9


def answer(peer, name):
    """Requests on stdin, one line of JSON each."""
    print(json.dumps({"ready": name}), flush=True)
    for line in sys.stdin:
        if line.startswith("write "):
            peer.write(line[6:].strip())
            print("{}", flush=True)
            continue
        cpu, start = time.process_time(), time.perf_counter()
        peer.run()
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        print(json.dumps({"wall": wall, "cpu": cpu, "peak_gb": peak_gigabytes()}), flush=True)


def serve(kind, folder, source, work, precision, threads):
    answer(Peer(kind, folder, source, work, precision, int(threads)), kind)


class Process:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.answer()["ready"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args}: ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def difference(ours, theirs):
    import torch
    from safetensors.torch import load_file
    a, b = load_file(ours)["hidden"].double(), load_file(theirs)["hidden"].double()
    cosine = torch.nn.functional.cosine_similarity(a, b, dim=1)
    return float((a - b).abs().max()), float(cosine.min())


def measure(options, case):
    work = "step" if case.startswith("step") else "forward"
    precision = "bf16" if case.endswith("bf16") else "fp32"
    source = f"{options.work}/" + ("windows" if case == "ragged" else "one") + ".safetensors"
    threads = str(options.threads)
    mode = "hf-train" if work == "step" else "hf-eval"
    programs = {"bigbird": [options.bench, f"{options.work}/bigbird-{mode}", source, work, precision, "8", threads]}
    kinds = ["bigbird"] + ([] if options.no_bert or case == "ragged" else ["bert"])
    for kind in kinds:
        programs[f"HF {kind}"] = [sys.executable, __file__, "--bench", "", "--work", "", "--serve",
                                  kind, options.work, source, work, precision, threads]
    processes = {name: Process(command) for name, command in programs.items()}
    agreement = None
    if work == "forward":
        ours, theirs = f"{options.work}/ours.safetensors", f"{options.work}/theirs.safetensors"
        processes["bigbird"].ask("write " + ours)
        processes["HF bigbird"].ask("write " + theirs)
        agreement = difference(ours, theirs)
    for name, process in processes.items():  # once to warm up, unless it has just written its states
        if agreement is None or name == "HF bert":
            process.ask("run")
    times = {name: [] for name in processes}
    for _ in range(options.rounds if case.startswith("forward") else options.long_rounds):
        for name, process in processes.items():
            times[name].append(process.ask("run"))
    result = {"case": case, "device": processes["bigbird"].ready, "agreement": agreement, "times": times}
    for process in processes.values():
        process.close()
    return result


AIMS = {"forward": (2.5, 4), "forward-bf16": (1.4, 2), "step": (3, 6), "step-bf16": (2, 3), "ragged": (3, 5)}


def print_result(result):
    def column(name, key):
        return [run[key] for run in result["times"][name]]

    ours = statistics.median(column("bigbird", "wall"))
    for name in result["times"]:
        wall = column(name, "wall")
        median = statistics.median(wall)
        must, aim = AIMS[result["case"]] if name == "HF bigbird" else ("", "")
        ratio = "" if name == "bigbird" else f"{median / ours:.2f}"
        print(f"| {result['case']} | {name} | {median:.2f} s ({min(wall):.2f} to {max(wall):.2f}) "
              f"| {statistics.median(column(name, 'cpu')):.2f} s | {max(column(name, 'peak_gb')):.2f} GB "
              f"| {ratio} | {must} | {aim} |", flush=True)
    if result["agreement"]:
        print(f"<!-- {result['case']}: largest difference {result['agreement'][0]:.2e}, "
              f"lowest cosine of a token {result['agreement'][1]:.6f}; {result['device']} -->", flush=True)


def main():
    options = arguments()
    if options.serve:
        return serve(*options.serve)
    prepare(options.work)
    import torch
    import transformers
    print(f"{platform.processor() or platform.machine()}, torch {torch.__version__}, "
          f"transformers {transformers.__version__}, {options.threads} threads\n")
    print("| case | program | wall, median (range) | CPU time | peak memory | against bigbird | must | aim |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    results = []
    for case in options.cases.split(","):
        results.append(measure(options, case))
        print_result(results[-1])
    if options.json:
        with open(options.json, "w") as out:
            json.dump(results, out, indent=1)


if __name__ == "__main__":
    main()
