#!/usr/bin/env bash
# What the compiler says of each CUDA kernel: registers, shared memory, local stack and spills, for every architecture.
# Fails on a spill, and on a local stack that resources_allowed.tsv does not list with its reason, for the architectures that
# the kernels' registers are bounded for, sm_80 and sm_90; tells those of others. Needs nvcc, no device.
#   bash tests/gpu/resources.sh [-o TABLE.tsv] [--markdown TABLE.md] [--cache FOLDER] [ARCHITECTURE...]
#   bash tests/gpu/resources.sh [-o TABLE.tsv] [--markdown TABLE.md] --reports FOLDER
# Architectures: sm_80 sm_90. With --cache, files that have not changed since are not compiled again; with --reports
# nothing is compiled: a build's reports are read (FOLDER/[attention/]*.cu.o.report, kept by kernels/cuda/keep_report.sh).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

table='' markdown='' cache='' built='' architectures=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -o) table=$2 && shift 2 ;;
    --markdown) markdown=$2 && shift 2 ;;
    --cache) cache=$2 && shift 2 ;;
    --reports) built=$2 && shift 2 ;;
    sm_*) architectures+=("$1") && shift ;;
    *) echo "resources.sh: unknown argument '$1'" >&2 && exit 2 ;;
  esac
done
[ ${#architectures[@]} -gt 0 ] || architectures=(sm_80 sm_90)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shopt -s nullglob
sources=("$root"/kernels/cuda/*.cu "$root"/kernels/cuda/*/*.cu)
[ ${#sources[@]} -gt 0 ] || { echo "error: no kernels in $root/kernels/cuda" >&2 && exit 3; }
: >"$work/files"

# Reports of a build: every kernel's source must have left one.
collect_reports() {
  local source report name
  for source in "${sources[@]}"; do
    name=${source#"$root/kernels/cuda/"}
    report=$built/$name.o.report
    [ "${name%_warpgroup.cu}" = "$name" ] || report=${built/bigbird_cuda.dir/bigbird_cuda_warpgroups.dir}/$name.o.report
    if ! [ -f "$report" ]; then
      echo "error: $report is missing" >&2
      echo "hint: build the target bigbird_cuda first" >&2
      exit 3
    fi
    { cat "$report" && echo "source $name"; } >"$work/${name//\//-}.txt"
    echo "$work/${name//\//-}.txt" >>"$work/files"
  done
}

compile_reports() {
  nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
  if ! [ -x "$nvcc" ]; then
    echo "error: nvcc was not found" >&2
    echo "hint: install the CUDA toolkit, or set NVCC to its path" >&2
    exit 3
  fi
  reports=${cache:-$work}
  mkdir -p "$reports"

  # Everything that a kernel's machine code can depend on: all headers of the folder, the flags and the compiler.
  headers=("$root"/kernels/*.h "$root"/kernels/cuda/{,attention/}*.{h,cuh})
  flags=(-std=c++20 -O3 -DNDEBUG -I"$root" -cubin -Xptxas -v)
  stamp=$({ "$nvcc" --version && echo "${flags[*]}" && cat "${headers[@]}"; } | sha256sum | cut -c1-16)

  report() { # report SOURCE ARCHITECTURE: the compiler's report, from the cache where it is still true
    local source=$1 architecture=$2 path name file
    path=${source#"$root/kernels/cuda/"}
    case $path:$architecture in *_warpgroup.cu:sm_90) architecture=sm_90a ;; esac
    name=${path//\//-} && name=${name%.cu}-$architecture
    file=$reports/$name-$stamp-$(sha256sum <"$source" | cut -c1-16).txt
    if ! [ -s "$file" ]; then
      rm -f "$reports/$name"-*.txt
      if ! "$nvcc" "${flags[@]}" -arch="$architecture" -o "$work/$name.cubin" "$source" >"$work/$name.log" 2>&1; then
        echo "error: $source does not compile for $architecture" >&2
        cat "$work/$name.log" >&2
        return 1
      fi
      if grep -E 'C75(08|10|12|14)' "$work/$name.log" >&2; then
        echo "error: $source: products of warpgroups run one after another" >&2
        return 1
      fi
      echo "source $path" >>"$work/$name.log"
      mv "$work/$name.log" "$file"
    fi
    echo "$file" >>"$work/files"
  }

  running=0 failed=0
  for source in "${sources[@]}"; do
    for architecture in "${architectures[@]}"; do
      report "$source" "$architecture" &
      running=$((running + 1))
      if [ $running -ge "${JOBS:-$(nproc)}" ]; then
        wait -n || failed=1
        running=$((running - 1))
      fi
    done
  done
  while [ $running -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
  done
  [ $failed = 0 ] || exit 1
}

if [ -n "$built" ]; then collect_reports; else compile_reports; fi

# One line a kernel: file, kernel, architecture, registers, barriers, shared bytes, stack, spill stores, spill loads.
mapfile -t files < <(LC_ALL=C sort "$work/files")
# shellcheck disable=SC2016
cat "${files[@]}" | c++filt | awk -v OFS='\t' '
  /Compiling entry function/ {
    kernel = $0
    sub(/^.*Compiling entry function .void /, "", kernel); sub(/^.*Compiling entry function ./, "", kernel)
    architecture = kernel; sub(/^.* for .sm/, "sm", architecture); sub(/[^a-z0-9_].*$/, "", architecture)
    sub(/. for .sm_.*$/, "", kernel)
    gsub(/bigbird::kernels::(cuda::)?|\(anonymous namespace\)::/, "", kernel)
    gsub(/\(int\)|\(bool\)|\([A-Z][A-Za-z]*\)/, "", kernel)
    gsub(/_GLOBAL__N__[0-9a-zA-Z_]*::/, "", kernel)
    sub(/^run_kernel</, "", kernel); sub(/ ?>\(.*$/, "", kernel)
    if (kernel !~ /</) sub(/>$/, "", kernel)  # no template: its argument has gone above
  }
  /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
  /Used [0-9]+ registers/ {
    registers = 0; shared = 0; barriers = 0
    for (i = 1; i <= NF; i++) {
      if ($i == "registers,") registers = $(i - 1)
      if ($i ~ /^barriers/) barriers = $(i - 1)
      if ($i ~ /^smem/) shared = $(i - 2)
    }
    lines[++count] = kernel OFS architecture OFS registers OFS barriers OFS shared OFS stack OFS stores OFS loads
  }
  /^source / {
    source = $2
    for (i = 1; i <= count; i++) print source, lines[i]
    count = 0
  }' >"$work/lines"

{
  printf 'file\tkernel\tarchitecture\tregisters\tbarriers\tstatic_shared_bytes\tstack_bytes\tspill_store_bytes\tspill_load_bytes\n'
  cat "$work/lines"
} >"$work/table"
if [ -n "$table" ]; then cp "$work/table" "$table"; else cat "$work/table"; fi

if [ -n "$markdown" ]; then # kernels of one name and architecture in one row, by their largest numbers
  awk -F'\t' '
    NR > 1 {
      name = $2; sub(/<.*$/, "", name)
      key = $1 SUBSEP name SUBSEP $3
      if (!(key in seen)) { seen[key] = 1; order[++count] = key }
      forms[key]++
      if ($4 > registers[key]) registers[key] = $4
      if ($6 > shared[key]) shared[key] = $6
      if ($7 > stack[key]) stack[key] = $7
      if ($8 + $9 > spills[key]) spills[key] = $8 + $9
    }
    END {
      print "| file | kernel | forms | architecture | registers, at most | static shared bytes | stack bytes | spilled bytes |"
      print "|---|---|---|---|---|---|---|---|"
      for (i = 1; i <= count; i++) {
        k = order[i]; split(k, part, SUBSEP)
        printf "| %s | %s | %d | %s | %d | %d | %d | %d |\n", part[1], part[2], forms[k], part[3], registers[k], shared[k], stack[k], spills[k]
      }
    }' "$work/table" >"$markdown"
fi

# resources_allowed.tsv: kernel (its name without template arguments), most stack bytes, reason.
awk -F'\t' '
  FNR == NR { if ($0 !~ /^#/ && NF == 3) allowed[$1] = $2; next }
  FNR == 1 { next }
  {
    name = $2; sub(/<.*$/, "", name); total++
    if ($3 !~ /^sm_(80|90a?)$/) {
      if ($7 + $8 + $9 > 0) printf "note: %s (%s) spills: %d bytes stored, %d loaded, stack of %d\n", $2, $3, $8, $9, $7
      next
    }
    if ($8 > 0 || $9 > 0) { printf "error: %s (%s) spills: %d bytes stored, %d loaded\n", $2, $3, $8, $9; bad = 1 }
    if ($7 > 0 && !(name in allowed && $7 <= allowed[name])) {
      printf "error: %s (%s) has %d bytes of local stack\n", $2, $3, $7; bad = 1
    }
  }
  END {
    if (bad) { print "hint: bound indices into register arrays, lower blocks_per_sm, or list the stack with its reason in tests/gpu/resources_allowed.tsv"; exit 1 }
    printf "%d kernels looked at: none for sm_80 or sm_90 spills\n", total
  }' "$here/resources_allowed.tsv" "$work/table" >&2
