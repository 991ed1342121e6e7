#!/usr/bin/env bash
# Counts instructions in the machine code of every kernel (sm_90): none may touch local memory (LDL, STL), and attention's
# must have the products (HMMA; HGMMA of warpgroups, sm_90a) and matrix loads (LDSM) that their tiles ask for, no more.
# Needs a build with CUDA, and cuobjdump with nvdisasm beside it, no device; without them it says so and ends with 77.
#   bash tests/gpu/sass_counts.sh [-o TABLE.tsv] [--objects FOLDER | FILE...]
# FOLDER: of the kernels' objects, build/release/kernels/CMakeFiles/bigbird_cuda.dir/cuda. FILE: objects or cubins.
# cuobjdump: $CUOBJDUMP, or that in PATH, in /usr/local/cuda/bin, or of Python's packages (nvidia-cuda-cuobjdump with
# nvidia-cuda-nvdisasm; triton).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

table='' objects=$root/build/release/kernels/CMakeFiles/bigbird_cuda.dir/cuda files=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -o) table=$2 && shift 2 ;;
    --objects) objects=$2 && shift 2 ;;
    -*) echo "sass_counts.sh: unknown argument '$1'" >&2 && exit 2 ;;
    *) files+=("$1") && shift ;;
  esac
done

skip() {
  echo "SKIPPED: sass_counts: $1" >&2
  exit 77
}

find_tool() {
  local place
  if [ -n "${CUOBJDUMP:-}" ]; then
    [ -x "$CUOBJDUMP" ] || { echo "error: CUOBJDUMP=$CUOBJDUMP cannot be run" >&2 && exit 2; }
    echo "$CUOBJDUMP" && return
  fi
  command -v cuobjdump && return
  for place in /usr/local/cuda/bin $(python3 -c '
import glob, site, sys
folders = site.getsitepackages() + [site.getusersitepackages()] + sys.path
for folder in dict.fromkeys(f for f in folders if f):
    print(*sorted(glob.glob(folder + "/nvidia/*/bin") + glob.glob(folder + "/triton/backends/nvidia/bin")))' 2>/dev/null); do
    [ -x "$place/cuobjdump" ] && echo "$place/cuobjdump" && return
  done
  return 1
}
tool=$(find_tool) || skip "no cuobjdump (CUDA's toolkit, or pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm)"
PATH=$(dirname "$tool"):$PATH # where it looks for nvdisasm
command -v nvdisasm >/dev/null || skip "no nvdisasm beside $tool"
if [ ${#files[@]} -eq 0 ]; then
  shopt -s nullglob
  files=("$objects"/*.cu.o "$objects"/*/*.cu.o "${objects/bigbird_cuda.dir/bigbird_cuda_warpgroups.dir}"/*/*_warpgroup.cu.o)
  [ ${#files[@]} -gt 0 ] || skip "no objects in $objects (build with CUDA first)"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/lines"
for file in "${files[@]}"; do
  architecture=sm_90
  case $file in *_warpgroup.*) architecture=sm_90a ;; esac
  "$tool" -sass -arch $architecture "$file" >"$work/sass" 2>"$work/said" || {
    echo "error: $tool cannot read $file: $(head -n 1 "$work/said")" >&2
    exit 3
  }
  # Lines of instructions: /*0080*/ @!P0 LDSM.16.M88.4 R4, [R2] ;
  awk -v OFS='\t' -v file="$(basename "$file")" '
    /Function : / { kernel = $3; kernels[++count] = kernel }
    /^[ \t]*\/\*[0-9a-f]+\*\// {
      sub(/^[ \t]*\/\*[0-9a-f]+\*\/[ \t]*/, ""); sub(/^@!?U?P[T0-9]+[ \t]+/, "")
      operation = $1; sub(/;$/, "", operation)
      wide = operation; sub(/[.].*$/, "", operation)
      counts[kernel, operation]++
      if (wide ~ /^HMMA[.]16816[.]/) counts[kernel, "bf16"]++
    }
    END {
      for (i = 1; i <= count; i++) {
        k = kernels[i]
        print file, k, counts[k, "HMMA"] + 0, counts[k, "bf16"] + 0, counts[k, "LDSM"] + 0, counts[k, "LDL"] + 0, counts[k, "STL"] + 0, counts[k, "HGMMA"] + 0
      }
    }' "$work/sass" | c++filt >>"$work/lines"
done
[ -s "$work/lines" ] || { echo "error: no kernel for sm_90 in ${files[*]}" >&2 && exit 3; }

# What a product of a warp's 16 rows with `columns` rows of a tile, depth elements each, takes in bf16: an HMMA for
# 16 x 8 x 16, an LDSM of four matrices for two of them. Products of floats unroll as the compiler likes (and come twice,
# in tf32 and in three parts): theirs are only to be there, and to need no LDSM.
awk -F'\t' -v OFS='\t' -v table="$work/table" '
  function want(what, got, expected) {
    if (got != expected) wrong = wrong sprintf("; %s %d, not %d", what, got, expected)
  }
  {
    kernel = $2
    sub(/^void /, "", kernel); gsub(/bigbird::kernels::(cuda::)?|\(anonymous namespace\)::/, "", kernel)
    sub(/^run_kernel</, "", kernel); sub(/ ?>\(.*$/, "", kernel); gsub(/\((int|bool|BackwardPass)\)/, "", kernel)
    hmma = $3; bf16 = $4; ldsm = $5; hgmma = $8; wrong = ""; total++
    want("LDL", $6, 0); want("STL", $7, 0)
    form = kernel; name = kernel
    sub(/^[^<]*</, "", form); sub(/>$/, "", form); sub(/<.*$/, "", name)
    split(form, of, /, */)
    narrow = of[1] == "bf16"; depth = of[2]; rows = of[3]
    paired = of[name == "AttentionForward" ? 5 : 6] ~ /^(1|true)$/  # with rules for pairs: one group of rows
    # A product of a tile is four HGMMA. Forward: the scores before the loop, both products in it, the sum after it.
    # Backward: four products where keys own, three where queries do.
    if (kernel ~ /^Warpgroup/) {
      seen[name]++
      want("HGMMA", hgmma, name == "WarpgroupForward" || form ~ /^(1|true)$/ ? 16 : 12)
      want("HMMA", hmma, 0); want("LDSM", ldsm, 0)
    } else want("HGMMA", hgmma, 0)
    if (name == "AttentionForward" || name == "AttentionBackward") {
      seen[name]++
      if (!narrow) {
        if (hmma == 0) wrong = wrong "; HMMA 0"
        want("LDSM", ldsm, 0); want("HMMA of bf16", bf16, 0)
      } else if (name == "AttentionForward") {
        # Scores and weighted sum, each rows x depth; two groups of rows share what is loaded (attention_forward_groups).
        groups = rows == 64 && depth <= 64 && !paired ? 2 : 1
        want("HMMA", hmma, groups * 2 * rows * depth / 128)
        want("LDSM", ldsm, 2 * rows * depth / 256)
      } else {
        # Pass 0 (queries own) has 3 products, 1 (keys) 4, and 2 one more of 16 rows; each of 16, 32 or 64 columns at a
        # time. Where registers do not hold the owned rows, they come from shared memory: depth / 16 LDSM for each of two.
        # Two groups of rows share what is loaded (backward_groups). Paired queries have one more product, with labels.
        groups = rows == 64 && depth <= 64 && of[4] != "2" && !paired ? 2 : 1
        products = of[4] == "0" ? 3 : 4
        unit = depth / 8; more = of[4] == "2" || (paired && of[4] == "0") ? unit : 0
        columns = 0
        for (c = 16; c <= rows; c *= 2) if (hmma == groups * products * unit * c / 16 + more) columns = c
        if (columns == 0) wrong = wrong sprintf("; HMMA %d, not %d for 16 columns or a multiple", hmma, groups * products * unit + more)
        else if (groups == 2) want("LDSM", ldsm, hmma / 4)
        else if (ldsm != hmma / 2) want("LDSM", ldsm, hmma / 2 + depth / 8)
      }
      if (narrow) want("HMMA of bf16", bf16, hmma)
    }
    print $1, kernel, hmma, ldsm, $6, $7, wrong == "" ? "PASS" : "FAIL" >table
    if (wrong != "") { printf "FAIL %s (%s): %s\n", kernel, $1, substr(wrong, 3); bad++ }
    else if (name ~ /^Warpgroup/) printf "PASS %s: HGMMA %d\n", kernel, hgmma
    else if (name == "AttentionForward" || name == "AttentionBackward") printf "PASS %s: HMMA %d, LDSM %d\n", kernel, hmma, ldsm
  }
  END {
    printf "%s %d kernels of sm_90: %d FAIL\n", bad ? "FAIL" : "PASS", total, bad
    exit bad ? 1 : 0
  }' "$work/lines" || failed=1
if [ -n "$table" ]; then
  { printf 'file\tkernel\thmma\tldsm\tldl\tstl\tresult\n' && cat "$work/table"; } >"$table"
fi
exit "${failed:-0}"
