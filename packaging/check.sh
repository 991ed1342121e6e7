#!/usr/bin/env bash
# Builds and checks every package that can be built here, and says which could not.
#   bash packaging/check.sh
# Takes long: the program is compiled for the image, in it. Environment: that of the scripts that it runs,
# each of which says what it needs. 1 where something failed; nothing is left but build/packages and the image
# in buildah's storage.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

table=()
failed=no
try() { # try WHAT COMMAND...
  local what=$1 begin=$SECONDS status=0 word="done"
  shift
  "$@" || status=$?
  if [ $status -eq 77 ]; then
    word="skipped, in part or whole"
  elif [ $status -ne 0 ]; then
    word=FAILED
    failed=yes
  fi
  table+=("$(printf '%-58s %5d s   %s' "$what" $((SECONDS - begin)) "$word")")
}
twice() { # equal sources, equal bytes: a second one in another folder
  OUT=$packages/again LINTIAN=no bash "packaging/$1" >/dev/null && cmp "$packages/again/$2" "$packages/$2"
}

try "archive" bash packaging/tarball.sh
try "archive: run here and in a bare bookworm" bash packaging/check_tarball.sh --bare
try "archive: run in a bare trixie" env SUITE=trixie bash packaging/check_tarball.sh --bare
try "archive: made again, same bytes" twice tarball.sh "bigbird-$version-linux-$(uname -m).tar.xz"
try "wheel" env ARCHIVE="$packages/bigbird-$version-linux-$(uname -m).tar.xz" bash packaging/wheel.sh
try "wheel: installed in a bare environment, readers" bash packaging/check_wheel.sh
try ".deb, and lintian" bash packaging/deb.sh
deb=$(the_one "$packages/bigbird_*.deb" "bash packaging/deb.sh")
try ".deb: installed in a bare bookworm, run, removed" bash packaging/check_deb.sh "$deb"
try ".deb: made again, same bytes" twice deb.sh "${deb##*/}"
for part in $(bash packaging/check_recipes.sh --parts); do
  try "recipes: $part" bash packaging/check_recipes.sh "$part"
done
try "image of packaging/Dockerfile, and a job in it" bash packaging/check_image.sh
say "packages"
printf '%s\n' "${table[@]}"
[ "$failed" = no ]
