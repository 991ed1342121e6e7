#!/usr/bin/env bash
# A Python wheel that carries the program: the relocatable archive (packaging/tarball.sh) and the readers of packaging/python.
#   bash packaging/wheel.sh      build/packages/bigbird_cli-VERSION-py3-none-PLATFORM.whl
# Environment: as packaging/tarball.sh; PYTHON (python3), whose pip builds it and fetches hatchling; ARCHIVE, one that is there.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,4s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

python=${PYTHON:-python3}
"$python" -m pip --version >/dev/null 2>&1 || skip "$python has no pip"
set_source_date
archive=${ARCHIVE:-$packages/bigbird-$version-linux-$(uname -m).tar.xz}
[ -n "${ARCHIVE:-}" ] || bash "$root/packaging/tarball.sh" >&2
[ -r "$archive" ] || fail "$archive cannot be read" "bash packaging/tarball.sh"
temporary_folder wheel
cp -r "$root/packaging/python/." "$work/"
rm -rf "$work/tests"
mkdir "$work/bigbird_cli/program"
tar -xJf "$archive" -C "$work/bigbird_cli/program" --strip-components=1
rm -rf "$work"/bigbird_cli/program/share/{man,bash-completion,zsh,fish} # a wheel has no place where a shell looks
printf '__version__ = "%s"\n' "$version" >"$work/bigbird_cli/_version.py"

# The newest symbol of the C library that anything in it asks for (PEP 600).
newest=$(find "$work/bigbird_cli/program" -type f \( -name '*.so*' -o -name bigbird \) -exec objdump -T {} + 2>/dev/null |
  sed -n 's/.*(\{0,1\}GLIBC_2\.\([0-9]*\)[ )].*/\1/p' | sort -n | tail -n 1)
[ -n "$newest" ] || fail "no symbol of the C library was found" "objdump is of binutils"
BIGBIRD_WHEEL_PLATFORM=manylinux_2_${newest}_$(uname -m)
export BIGBIRD_WHEEL_PLATFORM
mkdir -p "$packages"
timeout 180 "$python" -m pip wheel --quiet --disable-pip-version-check --retries 2 --timeout 15 --no-deps --wheel-dir "$packages" "$work" >&2 ||
  skip "pip could not build the wheel: hatchling comes from PyPI"
ls "$packages"/bigbird_cli-"$version"-py3-none-"$BIGBIRD_WHEEL_PLATFORM".whl
