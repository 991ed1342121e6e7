"""Block lists and graph numbers that the tests of attention systems hold against, written to tests/golden/neighbours:

    python make_neighbours.py sparsity_config.py

sparse_fixed.json: FixedSparsityConfig of DeepSpeed, of which the file deepspeed/ops/sparse_attention/sparsity_config.py is
given; it needs torch alone. graphs.json: random graphs of networkx with its average_clustering and
average_shortest_path_length, and the eigenvalues of their random walks by numpy."""

import argparse
import importlib.util
import json
import pathlib

import networkx
import numpy

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "neighbours"


def sparse_fixed(config_file):
    spec = importlib.util.spec_from_file_location("sparsity_config", config_file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases = []
    for attention, chunk, summary, patterns, heads, lengths in (
        ("unidirectional", 4, 1, 1, 2, (1, 3, 4, 5, 8, 11)),
        ("unidirectional", 4, 1, 2, 3, (4, 7, 9)),
        ("unidirectional", 4, 1, 3, 4, (5, 10)),
        ("unidirectional", 4, 1, 4, 4, (1, 2, 6, 7, 8, 13)),
        ("bidirectional", 4, 1, 1, 1, (4, 8)),
        ("bidirectional", 4, 1, 4, 4, (4, 12)),
        ("bidirectional", 4, 2, 2, 3, (4, 8)),
        ("bidirectional", 6, 2, 3, 3, (6, 12)),
    ):
        for blocks in lengths:
            layout = module.FixedSparsityConfig(
                num_heads=heads, block=16, different_layout_per_head=True, num_local_blocks=chunk,
                num_global_blocks=summary, attention=attention, num_different_global_patterns=patterns,
            ).make_layout(16 * blocks)
            rows = [[[j for j in range(blocks) if layout[h, i, j]] for i in range(blocks)] for h in range(heads)]
            cases.append({"causal": attention == "unidirectional", "chunk": chunk, "summary": summary,
                          "patterns": patterns, "heads": heads, "blocks": blocks, "rows": rows})
    return cases


def graph(name, g):
    """Of a connected graph of single tokens. The walk has no loops: eigenvalues of D^-1/2 A D^-1/2, ascending."""
    a = networkx.to_numpy_array(g)
    root = 1 / numpy.sqrt(a.sum(1))
    walk = numpy.linalg.eigvalsh(a * root[:, None] * root[None, :])
    return {
        "name": name, "nodes": g.number_of_nodes(), "edges": sorted(sorted(e) for e in g.edges),
        "clustering": networkx.average_clustering(g), "mean_path": networkx.average_shortest_path_length(g),
        "second": float(walk[-2]), "least": float(walk[0]),
    }


def blown_up(rows, block):
    """The tokens of a block graph: an edge where either sees the other, and all pairs within a block."""
    n = len(rows)
    g = networkx.Graph()
    g.add_nodes_from(range(n * block))
    for i in range(n):
        for j in set(rows[i]) | {i}:
            for s in range(block):
                for t in range(block):
                    if i * block + s != j * block + t:
                        g.add_edge(i * block + s, j * block + t)
    return g


def graphs():
    result = [
        graph("erdos-renyi", networkx.gnm_random_graph(64, 256, seed=3)),
        graph("watts-strogatz", networkx.watts_strogatz_graph(64, 8, 0.1, seed=5)),
        graph("watts-strogatz, more of it", networkx.watts_strogatz_graph(48, 6, 0.3, seed=7)),
        graph("barabasi-albert", networkx.barabasi_albert_graph(40, 2, seed=11)),
    ]
    plans = {
        "star": [[0] + ([i] if i else list(range(1, 12))) for i in range(12)],
        "window": [[j for j in (i - 1, i, i + 1) if 0 <= j < 12] for i in range(12)],
        "sparse-fixed": [[j for j in range(12) if j // 4 == i // 4 or j % 4 == 3] for i in range(12)],
    }
    for name, rows in plans.items():
        for block in (1, 3):
            entry = graph(f"{name}, blocks of {block}", blown_up(rows, block))
            del entry["edges"]
            entry.update(nodes=len(rows), block=block, rows=rows)
            result.append(entry)
    return result


def write(name, what):
    OUTPUT.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in what)
    (OUTPUT / name).write_text("[\n" + lines + "\n]\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sparsity_config", help="the file of DeepSpeed")
    write("sparse_fixed.json", sparse_fixed(parser.parse_args().sparsity_config))
    write("graphs.json", graphs())


if __name__ == "__main__":
    main()
