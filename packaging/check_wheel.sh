#!/usr/bin/env bash
# Installs a wheel into a bare virtual environment and runs the command there; then the readers' tests.
#   bash packaging/check_wheel.sh [WHEEL]      WHEEL: the one of packaging/wheel.sh
# Environment: PYTHON (python3), OUT (build/packages), READERS (yes; no leaves their tests out). The readers are tested with pandas, pyranges, anndata and h5py where pip can
# fetch them; without them their tests skip, and say so.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

wheel=${1:-$(the_one "$packages/bigbird_cli-*.whl" "bash packaging/wheel.sh")}
[ -r "$wheel" ] || fail "$wheel cannot be read" "bash packaging/wheel.sh"
temporary_folder wheel-check
"${PYTHON:-python3}" -m venv "$work/venv" || skip "python3 has no venv"
say "a bare environment"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"
cd "$work"
export PATH="$work/venv/bin:/usr/bin:/bin"
unset BIGBIRD_MODELS BIGBIRD_PROGRAM
[ "$(bigbird --version-only)" = "$version" ] || fail "the command is of another version"
bigbird demo -q -o demo >demo.txt
grep -q 'alleles are scored' demo.txt || fail "the demonstration printed something else: $(cat demo.txt)"
bigbird variants >/dev/null 2>&1 && fail "a wrong command ended in status 0"
[ "$(bigbird variants >/dev/null 2>&1; echo $?)" = 2 ] || fail "the exit status is not the program's"
[ "${READERS:-yes}" = yes ] || exit 0
say "readers"
timeout 180 pip install --quiet --disable-pip-version-check pandas pyranges anndata h5py ||
  say "pandas, pyranges, anndata and h5py cannot be fetched: tests that need them skip"
python "$root/packaging/python/tests/test_read.py"
