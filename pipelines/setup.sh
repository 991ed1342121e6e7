# Set-up shared by pipelines/demo.sh and tests/run.sh: packages, configure, build. Sourced, not run.
# Needs bash and nothing else; on Debian it installs what is missing when it may, else it prints the one line to run.
# shellcheck shell=bash disable=SC2034

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)
packages_base=(g++ cmake make pkg-config libhts-dev libsentencepiece-dev libcli11-dev zlib1g-dev libgtest-dev
  nlohmann-json3-dev libfmt-dev libspdlog-dev libbigwig-dev libhdf5-dev libmatio-dev libicu-dev libexpat1-dev
  libcurl4-gnutls-dev)
# What the tests read outputs with (they skip, loudly, where it is not), what builds them faster than make, and what
# benchmarks are measured beside.
packages_test=(bcftools samtools tabix curl ninja-build fish zsh libdnnl-dev)
packages_lint=(clang clang-format clang-tidy libomp-dev) # clang: the sanitizers too
packages_mpi=(libopenmpi-dev openmpi-bin libmpich-dev mpich) # tests/mpi, and the plug-ins for both
packages_cluster=(slurmctld slurmd slurm-client munge)   # tests/cluster
: "${may_install:=yes}" # a script may set it to "no" before it calls ensure_packages

say() { printf '\n== %s\n' "$*" >&2; }
fail() {
  printf 'error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
  exit 3
}

# ensure_packages NAME...: all installed afterwards, or the script ends with what to type.
ensure_packages() {
  if ! command -v dpkg-query >/dev/null || [ -n "${CONDA_PREFIX:-}" ]; then
    command -v cmake >/dev/null || fail "cmake was not found" \
      "conda env create -f $root/pipelines/environment.yml && conda activate bigbird"
    return 0 # cmake names anything else that is missing
  fi
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local line="apt-get install -y --no-install-recommends ${missing[*]}" as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root=(sudo); else may_install=no; fi
  fi
  [ "$may_install" = yes ] || fail "packages are missing: ${missing[*]}" \
    "sudo $line    (not on Debian: conda env create -f $root/pipelines/environment.yml)"
  say "installing ${missing[*]}"
  # The package lists may be old or absent; they are fetched only when the first try fails.
  local environment=(env DEBIAN_FRONTEND=noninteractive)
  # shellcheck disable=SC2086
  (
    flock 9 # two scripts of ours may run side by side, and apt-get refuses to
    "${as_root[@]}" "${environment[@]}" $line >&2 ||
      { "${as_root[@]}" apt-get update >&2 && "${as_root[@]}" "${environment[@]}" $line >&2; }
  ) 9>"${TMPDIR:-/tmp}/bigbird-packages.$(id -u).lock" ||
    fail "the packages could not be installed" "sudo $line"
}

# Whether a driver of NVIDIA has a device here, under WSL too.
has_nvidia_device() {
  compgen -G '/dev/nvidia[0-9]*' >/dev/null || [ -e /dev/dxg ]
}

# configure PRESET [CMAKE_OPTION...]: into build/PRESET, with ninja and ccache where they are.
configure() {
  local preset=$1
  local options=("${@:2}")
  [ -f "$root/build/$preset/CMakeCache.txt" ] || [[ " ${options[*]} " == *" -G "* ]] || ! command -v ninja >/dev/null || options+=(-G Ninja)
  ! command -v ccache >/dev/null || options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}" # it caches nothing of precompiled headers without
  # One checkout takes what another has compiled.
  export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$root}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-1}"
  say "configuring build/$preset"
  (cd "$root" && cmake --preset "$preset" "${options[@]}" >&2)
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  say "building build/$preset"
  if [ $# -gt 0 ]; then set -- --target "$@"; fi
  cmake --build "$root/build/$preset" --parallel "$jobs" "$@" >&2
}
