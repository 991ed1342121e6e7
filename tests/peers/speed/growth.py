"""How time and memory grow with the length: forward pass and training step over 512 ... 32,768 tokens, BigBird's attention
against full attention, bigbird against Hugging Face; and an update of `bigbird pretrain` against the ranks of one machine.
Writes the table and the figure of benchmarks/speed.md. See README.md beside this file.

    python growth.py --bench build/release/tests/bench/bench_peer --program build/release/bin/bigbird --work /tmp/growth

A point is (program, attention, pass, length): a process of its own, so that its peak memory is its own."""
import argparse
import json
import multiprocessing
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(f"{HERE}/../../..")
LAYERS, WIDTH, HEADS, VOCABULARY, BLOCK, POSITIONS = 4, 256, 4, 1000, 64, 32768
MASKED = 0.15      # share of the tokens that a step predicts
AGREE = 1024       # length at which the states of both programs are compared; the first at which BigBird is sparse
# One update of pretrain: the same sequences in the same micro-batches, whatever the number of ranks.
UPDATE_LENGTH, UPDATE_BATCH, UPDATE_PARTS = 1024, 16, 4
PROGRAMS, ATTENTIONS, PASSES = ("bigbird", "transformers"), ("sparse", "full"), ("forward", "step")
COLUMNS = ["program", "attention", "pass", "tokens", "ranks", "threads", "rounds", "seconds", "lowest", "highest", "peak_gb",
           "note"]
# What a longer input costs beside a shorter one is predicted with these: never less than what is measured.
TIME_EXPONENT = {"sparse": 1, "full": 2}
MEMORY_EXPONENT = {"sparse": 1, "full": 2}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, help="bench_peer of a release build")
    parser.add_argument("--program", required=True, help="bigbird of the same build")
    parser.add_argument("--work", required=True, help="folder for models and inputs; made when missing")
    parser.add_argument("--lengths", default="512,1024,2048,4096,8192,16384,32768", help="multiples of 64, ascending")
    parser.add_argument("--only", default="forward,step,ranks", help="parts: forward, step, ranks")
    parser.add_argument("--rounds", type=int, default=3, help="of each point, after one that is not timed")
    parser.add_argument("--point-seconds", type=float, default=30,
                        help="a point that would take longer for all its rounds gets fewer; for two, one that is the first")
    parser.add_argument("--seconds", type=float, default=200, help="leave out a point that would take longer for one pass")
    parser.add_argument("--gigabytes", type=float, default=14, help="leave out a point that would need more")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ranks", default="1,2", help="processes of one thread; those above --threads are left out")
    parser.add_argument("--updates", type=int, default=5, help="timed of pretrain, after one that is not")
    parser.add_argument("--trial", default="", help="words that mark table and figure as not the measurement")
    parser.add_argument("--resume", action="store_true", help="keep the points that the table has")
    parser.add_argument("--tsv", default=f"{ROOT}/docs/pictures/growth.tsv")
    parser.add_argument("--svg", default=f"{ROOT}/docs/pictures/growth.svg")
    parser.add_argument("--page", default=f"{ROOT}/benchmarks/speed.md",
                        help="its table between the marks of growth; '' for none")
    return parser.parse_args()


class Table:
    """The TSV: facts of the run in comments, a row a point. Written after every point, whole or not at all."""

    def __init__(self, path, facts, resume):
        self.path, self.facts, self.rows = path, facts, []
        if resume and os.path.exists(path):
            self.read()

    def read(self):
        kept = {}
        for line in open(self.path):
            line = line.rstrip("\n")
            if line.startswith("# "):
                key, _, value = line[2:].partition(": ")
                kept[key] = value
            elif line and not line.startswith("program\t"):
                row = dict(zip(COLUMNS, line.split("\t")))
                if row["seconds"] != "-":  # limits may be others now: what was left out is looked at again
                    self.rows.append(row)
        for key, value in self.facts.items():
            if key != "date" and kept.get(key, "") != value:
                sys.exit(f"{self.path}: {key} is '{kept.get(key, '')}', here it is '{value}'; without --resume all is measured anew")
        self.facts = {key: value for key, value in kept.items() if value}

    def find(self, **wanted):
        for row in self.rows:
            if all(row[key] == str(value) for key, value in wanted.items()):
                return row

    def add(self, **values):
        row = {column: str(values.get(column, "-")) for column in COLUMNS}
        self.rows.append(row)
        print("\t".join(row[column] for column in COLUMNS), flush=True)
        self.write()

    def write(self):
        lines = [f"# {key}: {value}" for key, value in self.facts.items() if value] + ["\t".join(COLUMNS)]
        order = [("forward", "step", "update"), ATTENTIONS, PROGRAMS]
        rows = sorted(self.rows, key=lambda row: (order[0].index(row["pass"]), order[1].index(row["attention"]),
                                                  order[2].index(row["program"]), int(row["tokens"]), int(row["ranks"]),
                                                  int(row["threads"])))
        lines += ["\t".join(row[column] for column in COLUMNS) for row in rows]
        with open(self.path + ".new", "w") as out:
            out.write("\n".join(lines) + "\n")
        os.replace(self.path + ".new", self.path)


def prepare(folder, lengths):
    """One set of random weights in the folders of all models, and a sequence of every length. Runs in a process of its own."""
    import torch
    from safetensors.torch import save_file
    from transformers import BertConfig, BertForPreTraining, BigBirdConfig, BigBirdForPreTraining

    size = dict(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                intermediate_size=4 * WIDTH, max_position_embeddings=POSITIONS, attention_probs_dropout_prob=0.0)
    torch.manual_seed(1)
    model = BigBirdForPreTraining(BigBirdConfig(block_size=BLOCK, num_random_blocks=3, **size))
    for mode in ("hf-eval", "hf-train"):  # Hugging Face takes other blocks in evaluation than in training
        model.config.bigbird = {"random_mode": mode}
        model.save_pretrained(f"{folder}/sparse-{mode}")
    model.config.attention_type = "original_full"
    model.save_pretrained(f"{folder}/full")
    bert = BertForPreTraining(BertConfig(hidden_act="gelu_new", **size))
    weights = {name.replace("bert.pooler.", "bert.pooler.dense."): value for name, value in model.state_dict().items()}
    missing, unexpected = bert.load_state_dict(weights, strict=False)
    if missing or unexpected:
        sys.exit(f"BERT does not take the weights of BigBird: {missing}, {unexpected}")
    bert.save_pretrained(f"{folder}/bert")
    for length in lengths:
        ids = torch.randint(5, VOCABULARY, (1, length))
        labels = torch.full((1, length), -100)
        rows = torch.randperm(length)[:max(1, int(MASKED * length))]
        labels[0, rows] = ids[0, rows]
        save_file({"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels,
                   "next_sentence_label": torch.zeros(1, dtype=torch.long)}, f"{folder}/{length}.safetensors")


def peak_gigabytes():
    """Of this process. Not getrusage's ru_maxrss: a process inherits that from the one that started it."""
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e9


def peer(pipe, folder, attention, work, length, threads):
    """Hugging Face's side of a point; answers as bench_peer does."""
    import torch
    import transformers
    from safetensors.torch import load_file, save_file

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    step = work == "step"
    family = "BigBird" if attention == "sparse" else "Bert"
    path = "bert" if attention == "full" else "sparse-hf-train" if step else "sparse-hf-eval"
    options = {"attn_implementation": "sdpa"} if attention == "full" else {}
    model = getattr(transformers, family + ("ForPreTraining" if step else "Model")).from_pretrained(f"{folder}/{path}", **options)
    batch = load_file(f"{folder}/{length}.safetensors")
    if step:
        model.train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    else:
        model.eval()
        batch.pop("labels"), batch.pop("next_sentence_label")

    def run():
        if step:
            model(**batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        else:
            with torch.no_grad():
                return model(**batch).last_hidden_state[0]

    pipe.send({"ready": family})
    while True:
        request = pipe.recv()
        if request.startswith("write "):
            save_file({"hidden": run()}, request[6:])
            pipe.send({})
            continue
        if request == "reset":
            with open("/proc/self/clear_refs", "w") as file:  # proc(5): the peak is what is resident now
                file.write("5")
            pipe.send({})
            continue
        start = time.perf_counter()
        run()
        pipe.send({"wall": time.perf_counter() - start, "peak_gb": peak_gigabytes()})


class Ended(Exception):
    pass


class Theirs:
    """A process split off from this one, which has imported the libraries and computed nothing."""

    def __init__(self, *words):
        context = multiprocessing.get_context("fork")
        self.pipe, far = context.Pipe()
        self.process = context.Process(target=peer, args=(far, *words), daemon=True)
        self.process.start()
        far.close()
        self.answer()

    def answer(self):
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            raise Ended(f"ended with {self.process.exitcode}") from None

    def ask(self, request):
        self.pipe.send(request)
        return self.answer()

    def close(self):
        self.process.kill()
        self.process.join()


class Ours:
    def __init__(self, bench, folder, attention, work, length, threads):
        path = "full" if attention == "full" else "sparse-hf-train" if work == "step" else "sparse-hf-eval"
        command = [bench, f"{folder}/{path}", f"{folder}/{length}.safetensors", work, "fp32", "1", str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Ended(f"ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.kill()  # a process that was split off may hold the other end of its input
        self.process.wait()


class Growth:
    def __init__(self, options, table):
        self.options, self.table = options, table

    def predicted(self, program, attention, work, length):
        """(seconds, GB) of a pass from the nearest shorter length; (0, 0) where there is none."""
        rows = [row for row in self.table.rows if row["seconds"] != "-" and int(row["tokens"]) < length and
                (row["program"], row["attention"], row["pass"]) == (program, attention, work)]
        if len(rows) < 2:  # the one block, and a length
            return 0, 0
        first, near = (pick(rows, key=lambda row: int(row["tokens"])) for pick in (min, max))
        ratio = length / int(near["tokens"])
        base = float(first["peak_gb"])
        return (float(near["seconds"]) * ratio ** TIME_EXPONENT[attention],
                base + (float(near["peak_gb"]) - base) * ratio ** MEMORY_EXPONENT[attention])

    def left_out(self, seconds, gigabytes):
        if seconds > self.options.seconds:
            return f"would take {seconds:.0f} s, limit {self.options.seconds:g} s"
        if gigabytes > self.options.gigabytes:
            return f"would need {gigabytes:.0f} GB, limit {self.options.gigabytes:g} GB"
        return ""

    def measure_length(self, work, length):
        """All programs and attentions of a length, in turns as far as they fit into the memory together."""
        groups, filled = [], 0
        for attention in ATTENTIONS:
            for program in PROGRAMS:
                if self.table.find(program=program, attention=attention, **{"pass": work}, tokens=length):
                    continue
                seconds, gigabytes = self.predicted(program, attention, work, length)
                reason = self.left_out(seconds, gigabytes)
                if reason:
                    self.table.add(program=program, attention=attention, **{"pass": work}, tokens=length, ranks=1,
                                   threads=self.options.threads, note="left out: " + reason)
                    continue
                if not groups or filled + gigabytes > self.options.gigabytes:
                    groups.append([])
                    filled = 0
                filled += gigabytes
                groups[-1].append((program, attention, seconds))
        for group in groups:
            self.measure_group(work, length, group)

    def measure_group(self, work, length, group):
        options, running, times, failed = self.options, {}, {}, {}
        rounds, cold = {}, set()
        for program, attention, seconds in group:
            point = program, attention
            words = options.work, attention, work, length, options.threads
            rounds[point] = max(1, min(options.rounds, int(options.point_seconds / seconds) - 1 if seconds else options.rounds))
            if seconds and options.point_seconds < 2 * seconds:
                cold.add(point)
            times[point] = []
            try:
                running[point] = Theirs(*words) if program == "transformers" else Ours(options.bench, *words)
                running[point].ask("reset")  # the peak of the passes, not that of loading
            except Ended as reason:
                failed[point] = str(reason)
        for turn in range(-1, options.rounds):  # -1 warms up
            for point, process in list(running.items()):
                if turn >= rounds[point] or (turn < 0 and point in cold):
                    continue
                try:
                    answer = process.ask("run")
                except Ended as reason:
                    failed[point] = str(reason)
                    running.pop(point).close()
                    continue
                if turn >= 0:
                    times[point].append(answer)
        if work == "forward" and length == AGREE:
            self.compare(running)  # behind the rounds: writing takes memory
        for process in running.values():
            process.close()
        for point, answers in times.items():
            shared = dict(zip(("program", "attention"), point), **{"pass": work}, tokens=length, ranks=1, threads=options.threads)
            if point in failed:
                self.table.add(**shared, note="left out: the process " + failed[point])
                continue
            walls = [answer["wall"] for answer in answers]
            self.table.add(**shared, rounds=len(walls), seconds=f"{statistics.median(walls):.6f}", lowest=f"{min(walls):.6f}",
                           highest=f"{max(walls):.6f}", peak_gb=f"{max(answer['peak_gb'] for answer in answers):.6f}",
                           note="not warmed up" if point in cold else "-")

    def compare(self, running):
        """Both programs compute the same: last hidden states of all tokens."""
        import numpy
        from safetensors.numpy import load_file
        for attention in ATTENTIONS:
            pair = [running.get((program, attention)) for program in PROGRAMS]
            if None in pair:
                continue
            states = []
            for process, name in zip(pair, PROGRAMS):
                process.ask(f"write {self.options.work}/states-{name}.safetensors")
                states.append(load_file(f"{self.options.work}/states-{name}.safetensors")["hidden"])
            difference = float(numpy.abs(states[0] - states[1]).max())
            if not difference < 1e-3:
                sys.exit(f"{attention} attention over {AGREE} tokens: the states of both programs differ by {difference}")
            self.table.facts[f"agreement, {attention} attention"] = \
                f"last hidden states over {AGREE:,} tokens differ by {difference:.1e} at most"

    def measure_updates(self):
        """An update of pretrain on 1, 2, ... ranks of one thread, and on one process of as many threads."""
        options, folder = self.options, f"{self.options.work}/ranks"
        counts = [count for count in map(int, options.ranks.split(",")) if count <= options.threads]
        settings = [(ranks, 1) for ranks in counts] + [(1, threads) for threads in counts if threads > 1]
        settings = [(ranks, threads) for ranks, threads in settings
                    if not self.table.find(**{"pass": "update"}, ranks=ranks, threads=threads)]
        if not settings:
            return
        program = os.path.abspath(options.program)
        if not os.path.exists(f"{folder}/done"):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            for command in ("simulate -q -o genome --bp 2M --chromosomes 2 --seed 1",
                            "chunk -q -f genome/genome.fa.gz -o documents.bed.gz --max-n 0.5",
                            f"train-bpe -q -f genome/genome.fa.gz -d documents.bed.gz -o tokenizer --vocab-size {VOCABULARY} "
                            "--sample-bp 1M",
                            "tokenize -q -m tokenizer -f genome/genome.fa.gz -d documents.bed.gz -o shards"):
                subprocess.run([program, *command.split()], cwd=folder, check=True)
            open(f"{folder}/done", "w").close()
        for ranks, threads in settings:
            self.measure_update(program, folder, ranks, threads)

    def measure_update(self, program, folder, ranks, threads):
        options, run = self.options, f"{folder}/run-{ranks}-{threads}"
        shutil.rmtree(run, ignore_errors=True)
        meeting = f"/dev/shm/growth-{os.getpid()}-{ranks}"
        command = [program, *f"pretrain --train shards -m tokenizer --layers {LAYERS} --width {WIDTH} --heads {HEADS} "
                   f"--block-size {BLOCK} --attention-dropout 0 --length {UPDATE_LENGTH} --batch {UPDATE_BATCH} --accumulate "
                   f"{UPDATE_PARTS // ranks} --steps {options.updates + 1} --device cpu -@ {threads}".split(), "-o", run]
        if ranks > 1:
            command += ["--ranks", "folder:" + meeting]
        log = open(f"{folder}/log-{ranks}-{threads}", "w+")
        processes = [subprocess.Popen(command, cwd=folder, stderr=log, env=dict(
            os.environ, RANK=str(rank), WORLD_SIZE=str(ranks)) if ranks > 1 else None) for rank in range(ranks)]
        statuses = [process.wait() for process in processes]
        shutil.rmtree(meeting, ignore_errors=True)
        log.seek(0)
        text = log.read()
        if any(statuses):
            sys.exit(f"{' '.join(command)}: ended with {statuses}: {text}")
        columns, *rows = [line.rstrip("\n").split("\t") for line in open(f"{run}/metrics.tsv") if not line.startswith("##")]
        at = [float(row[columns.index("seconds")]) for row in rows]
        times = [later - earlier for earlier, later in zip(at, at[1:])]
        peak = re.search(r"(\d+) MiB peak memory", text)
        self.table.add(program="bigbird", attention="sparse", **{"pass": "update"}, tokens=UPDATE_LENGTH, ranks=ranks,
                       threads=threads, rounds=len(times), seconds=f"{statistics.median(times):.3f}", lowest=f"{min(times):.3f}",
                       highest=f"{max(times):.3f}", peak_gb=f"{int(peak[1]) * 1048576 / 1e9:.3f}" if peak else "-",
                       note="peak of the first rank" if ranks > 1 else "-")


def processor():
    facts = {}
    for line in open("/proc/cpuinfo"):
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    if "model name" not in facts:
        return platform.machine()
    return f"{facts['model name']} (family {facts.get('cpu family')}, model {facts.get('model')})"


def draw(options):
    """Figure and table of the page, from the TSV alone."""
    awk = ["awk", "-f", f"{HERE}/growth.awk"]
    figure = subprocess.run([*awk, options.tsv], check=True, capture_output=True, text=True).stdout
    with open(options.svg, "w") as out:
        out.write(figure)
    table = subprocess.run([*awk, "-v", "form=table", options.tsv], check=True, capture_output=True, text=True).stdout
    print(table)
    if not options.page:
        return
    page = open(options.page).read()
    begin, end = "<!-- growth.py writes this table -->\n", "<!-- growth.py: end -->\n"
    if page.count(begin) != 1 or page.count(end) != 1:
        sys.exit(f"{options.page}: the marks of the table are not there once")
    before, rest = page.split(begin)
    with open(options.page, "w") as out:
        out.write(before + begin + "\n" + table + "\n" + end + rest.split(end)[1])


def main():
    options = arguments()
    import torch  # here, once: processes are split off from this one, in which nothing is computed
    import transformers
    transformers.logging.set_verbosity_error()  # that short sequences take full attention is known
    from transformers import BertForPreTraining, BertModel, BigBirdForPreTraining, BigBirdModel  # noqa: F401

    lengths = sorted(int(length) for length in options.lengths.split(","))
    if any(length % BLOCK or not BLOCK < length <= POSITIONS for length in lengths):
        sys.exit(f"--lengths: multiples of {BLOCK} up to {POSITIONS}, above {BLOCK}")
    only = options.only.split(",")
    if set(only) - {"forward", "step", "ranks"}:
        sys.exit("--only: forward, step, ranks")
    facts = {"trial": options.trial,
             "model": f"{LAYERS} layers x {WIDTH}, {HEADS} heads, vocabulary {VOCABULARY:,}, blocks of {BLOCK}, 3 random blocks, "
              "fp32, no dropout of attention", "update": f"{UPDATE_BATCH} sequences of {UPDATE_LENGTH:,} tokens in "
              f"{UPDATE_PARTS} micro-batches", "machine": f"{processor()}, {os.cpu_count()} processors",
              "threads": str(options.threads), "versions": f"torch {torch.__version__.split('+')[0]}, "
              f"transformers {transformers.__version__}", "one block": str(BLOCK), "date": time.strftime("%-d %B %Y", time.gmtime())}
    table = Table(options.tsv, facts, options.resume)
    os.makedirs(options.work, exist_ok=True)
    options.work = os.path.abspath(options.work)
    first = multiprocessing.get_context("fork").Process(target=prepare, args=(options.work, [BLOCK] + lengths))
    first.start()
    first.join()
    if first.exitcode:
        sys.exit("the models could not be made")
    growth = Growth(options, table)
    start = time.perf_counter()
    for work in PASSES:
        if work in only:
            for length in [BLOCK] + lengths:  # the one block is what the memory of a length is counted from
                growth.measure_length(work, length)
    if "ranks" in only:
        growth.measure_updates()
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    table.write()
    draw(options)


if __name__ == "__main__":
    main()
