"""Compares the matrix descriptors of attention's wgmma kernels with those that Triton writes for the same two products.

    python tests/gpu/peers/triton_descriptors.py [PTX]

Both compile for sm_90a without a device: Triton a forward pass of 64 x 64 tiles, nvcc kernels/cuda/attention/
forward_warpgroup.cu (PTX: that file's, made before). What has to agree: swizzle mode, stride between groups of eight
rows, how much the address moves from step to step of 16, and which operand is transposed. The leading offset is not
read of tiles of 64 columns (PTX ISA, "Strides"); Triton has had 0 and 1 there. Skipped (77) without Triton or nvcc.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LEADING = 0x3FFF << 16


def skipped(why):
    print(f"SKIPPED: {why}", file=sys.stderr)
    sys.exit(77)


KERNEL = '''
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def two_products(Q, K, V, O, SIZE: tl.constexpr):
    rows, columns = tl.arange(0, SIZE), tl.arange(0, SIZE)
    q = tl.load(Q + rows[:, None] * SIZE + columns[None, :])
    sums = tl.zeros([SIZE, SIZE], tl.float32)
    for i in range(4):
        k = tl.load(K + (i * SIZE + rows[None, :]) * SIZE + columns[:, None])
        weights = tl.math.exp2(tl.dot(q, k))
        v = tl.load(V + (i * SIZE + rows[:, None]) * SIZE + columns[None, :])
        sums = tl.dot(weights.to(tl.bfloat16), v, sums)
    tl.store(O + rows[:, None] * SIZE + columns[None, :], sums)

source = ASTSource(fn=two_products, signature=dict(Q="*bf16", K="*bf16", V="*bf16", O="*fp32", SIZE="constexpr"),
                   constexprs={"SIZE": 64}, attrs={(i,): [["tt.divisibility", 16]] for i in range(4)})
made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4, "num_stages": 2})
open("triton.ptx", "w").write(made.asm["ptx"])
'''


def triton_ptx(folder):
    (folder / "kernel.py").write_text(KERNEL)
    run = subprocess.run([sys.executable, "kernel.py"], cwd=folder, capture_output=True, text=True, check=False)
    if "No module named 'triton'" in run.stderr:
        skipped("triton is not installed")
    if run.returncode != 0:
        sys.exit(f"error: triton does not compile the products: {run.stderr.strip().splitlines()[-1]}")
    return (folder / "triton.ptx").read_text()


def own_ptx(folder):
    nvcc = shutil.which(os.environ.get("NVCC", "nvcc")) or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        skipped("nvcc was not found")
    made = folder / "own.ptx"
    source = ROOT / "kernels/cuda/attention/forward_warpgroup.cu"
    subprocess.run([nvcc, "-std=c++20", "-O3", "-DNDEBUG", f"-I{ROOT}", "-ptx", "-gencode=arch=compute_90a,code=compute_90a",
                    "-o", made, source], check=True)
    return made.read_text()


class Values:
    """What integer registers of PTX come to where every address and counter that is not known is 0."""

    def __init__(self, ptx):
        self.lines = {}
        for line in ptx.splitlines():
            match = re.match(r"\s*(?:@\S+\s+)?([a-z][a-z0-9_.]*)\s+(%r[d]?\d+), (.*);", line.strip())
            if match:
                self.lines.setdefault(match[2], (match[1], [word.strip() for word in match[3].split(",")]))
        self.known = {}

    def of(self, word):
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", word):
            return int(word, 0)
        if word not in self.lines:
            return 0
        if word not in self.known:
            self.known[word] = 0  # of a loop: its beginning
            name, arguments = self.lines[word]
            operation = name.split(".")[0]
            values = [self.of(argument) for argument in arguments]
            self.known[word] = {
                "mov": lambda v: v[0], "cvt": lambda v: v[0], "add": lambda v: v[0] + v[1], "sub": lambda v: v[0] - v[1],
                "or": lambda v: v[0] | v[1], "and": lambda v: v[0] & v[1], "xor": lambda v: v[0] ^ v[1],
                "shl": lambda v: v[0] << v[1], "shr": lambda v: v[0] >> v[1], "bfe": lambda v: v[0] >> v[1] & (1 << v[2]) - 1,
                "mul": lambda v: v[0] * v[1], "mad": lambda v: v[0] * v[1] + v[2],
            }.get(operation, lambda v: 0)(values) & (1 << 64) - 1
        return self.known[word]


def products(ptx):
    """The two products of one tile: (mode, stride, steps of the right descriptor, transposed)."""
    values, found = Values(ptx), []
    pattern = r"wgmma\.mma_async\S*m64n64k16\S*\s+\{([^}]*)\},\s*(\{[^}]*\}|%rd\d+),\s*(%rd\d+),\s*\S+,\s*1,\s*1,\s*([01](?:,\s*[01])?)\s*;"
    for match in re.finditer(pattern, ptx):
        right = values.of(match[3]) & ~LEADING
        found.append((right, match[4].split(",")[-1].strip() == "1"))
    groups = set()
    for i in range(0, len(found) - 3, 4):
        four = found[i:i + 4]
        first = four[0][0]
        groups.add((first >> 62, first >> 32 & 0x3FFF, tuple(one[0] - first for one in four), four[0][1]))
    return groups


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        theirs = products(triton_ptx(folder))
        own = products(Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else own_ptx(folder))
    for name, groups in (("Triton", theirs), ("own", own)):
        for mode, stride, steps, transposed in sorted(groups):
            print(f"{name}: mode {mode}, stride {stride * 16} bytes, steps {', '.join(str(step * 16) for step in steps)} bytes"
                  + (", transposed" if transposed else ""))
    if len(theirs) != 2 or own != theirs:
        sys.exit("FAIL: the descriptors differ")
    print("PASS: the same descriptors")


if __name__ == "__main__":
    main()
