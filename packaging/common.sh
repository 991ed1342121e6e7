# What the scripts of this folder share: what is packed, times in packages, bare systems to try them in.
# Sourced, not run.
# shellcheck shell=bash disable=SC2034,SC2154

# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../pipelines/setup.sh"
export LC_ALL=C
umask 022
packages=${OUT:-$root/build/packages}
version=$(sed -n 's/^project(bigbird VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")

skip() { # what cannot be done here is said, and 77 is no failure
  say "SKIPPED: $1"
  exit 77
}

# Of the last commit, so that equal sources give equal packages; without git, of the changelog.
set_source_date() {
  [ -n "${SOURCE_DATE_EPOCH:-}" ] ||
    SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CHANGELOG.md")
  export SOURCE_DATE_EPOCH
}

# set_build: the build that is packed, BUILD; else build/release as tests/run.sh leaves it, else one without
# tests.
set_build() {
  build_folder=${BUILD:-}
  if [ -z "$build_folder" ]; then
    build_folder=$root/build/release
    [ -x "$build_folder/bin/bigbird" ] || build_folder=$root/build/package
  fi
  if [ "$build_folder" = "$root/build/package" ]; then
    ensure_packages "${packages_base[@]}"
    # A package without plug-ins is whole, but for ranks over an MPI.
    (ensure_packages "${packages_mpi[@]}") || say "no MPI can be installed: the package has no plug-ins"
    local options=()
    [ -f "$build_folder/CMakeCache.txt" ] || ! command -v ninja >/dev/null || options+=(-G Ninja)
    ! command -v ccache >/dev/null || options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"
    export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$root}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-1}"
    # shellcheck disable=SC2086
    cmake --preset release -S "$root" -B "$build_folder" "${options[@]}" ${CMAKE_OPTIONS:-} >&2
    cmake --build "$build_folder" --parallel "$jobs" >&2
  fi
  [ -x "$build_folder/bin/bigbird" ] || fail "$build_folder/bin/bigbird was not found" "BUILD names the folder of a build"
}

# bare_root FOLDER [SUITE]: a new root with the packages of debootstrap's variant minbase and no other. The
# first of a suite is kept as an archive; none is there without root, debootstrap and a mirror.
bare_root() {
  local folder=$1 suite=${2:-bookworm}
  local kept=$packages/roots/$suite.tar
  if [ ! -f "$kept" ]; then
    [ "$(id -u)" -eq 0 ] || skip "a bare $suite needs root"
    command -v debootstrap >/dev/null || (ensure_packages debootstrap) || skip "debootstrap cannot be installed here"
    local made
    made=$(mktemp -d "${TMPDIR:-/tmp}/bare-root.XXXXXX")
    say "debootstrap --variant=minbase $suite"
    if ! debootstrap --variant=minbase "$suite" "$made/root" "${MIRROR:-http://deb.debian.org/debian}" >"$made/log" 2>&1; then
      tail -n 5 "$made/log" >&2
      rm -rf "$made"
      skip "debootstrap $suite did not get through (MIRROR names another mirror)"
    fi
    rm -rf "$made"/root/var/cache/apt/archives/*.deb
    mkdir -p "${kept%/*}"
    tar -C "$made/root" --numeric-owner --one-file-system -cf "$kept.part" . && mv "$kept.part" "$kept"
    rm -rf "$made"
  fi
  mkdir -p "$folder"
  tar -C "$folder" --numeric-owner -xpf "$kept"
  # debootstrap writes the release alone; what this machine gets security fixes from is not asked.
  cp /etc/resolv.conf "$folder/etc/resolv.conf" 2>/dev/null || true
}

# in_root FOLDER COMMAND...: there, with its own /proc, and gone with all it has started. With `shared_cache`
# set, that folder is ccache's there.
in_root() {
  local folder=$1
  shift
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --mount-proc="$folder/proc" sh -euc '
    folder=$1 cache=$2
    shift 2
    if [ -n "$cache" ]; then
      mkdir -p "$folder/root/.cache/ccache"
      mount --bind "$cache" "$folder/root/.cache/ccache"
    fi
    exec chroot "$folder" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' in_root "$folder" "${shared_cache:-}" \
    ${http_proxy:+"http_proxy=$http_proxy"} "$@"
}

system_of() { # system_of FOLDER: its name, as a person would write it
  sed -n 's/^PRETTY_NAME="\(.*\)"$/\1/p' "$1/etc/os-release"
}
installed_in() { # installed_in FOLDER: names of the packages there
  # shellcheck disable=SC2016
  in_root "$1" dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p'
}

# temporary_folder NAME: `work`, which goes with the script.
temporary_folder() {
  work=$(mktemp -d "${TMPDIR:-/tmp}/bigbird-$1.XXXXXX")
  trap 'rm -rf "$work"' EXIT
}

the_one() { # the_one PATTERN WHAT HINT: the file that a pattern finds
  local found
  mapfile -t found < <(compgen -G "$1")
  [ ${#found[@]} -eq 1 ] || fail "${#found[@]} files are $1" "$2"
  printf '%s\n' "${found[0]}"
}
