#!/usr/bin/env bash
# Makes what a release consists of, and its tag last. Nothing is uploaded or pushed.
#   bash packaging/release.sh VERSION [--dry-run] [STEP...]     STEPS: all of these, in this order
#     check     the tree is committed; CMakeLists.txt, CITATION.cff, CHANGELOG.md and the recipes have this version
#     sources   bigbird-VERSION.tar.gz, of the last commit
#     archive   the relocatable .tar.xz        deb      the Debian package, and lintian
#     wheel     of the archive                 multiqc  the wheel of the plug-in
#     image     packaging/Dockerfile built by buildah, a job in it, and the image as an OCI archive
#     sbom      a bill of materials (SPDX) of the archive
#     sums      SHA256SUMS of all of them      tag      an annotated tag with the changelog's section
# --dry-run: only `check` is done; of the others their commands are printed.
# Environment: BUILD, OUT and the others of the scripts of this folder; PYTHON (python3), BASE (of the image;
# docker.io/library/debian:bookworm-slim). BUILD is written to: the archive's program is linked in it. What was skipped is said
# at the end, with status 77; no tag is made then, unless SKIPPED=allow.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"
[ $# -gt 0 ] || fail "the version is missing" "bash packaging/release.sh VERSION [--dry-run] [STEP...]"
wanted=$1
shift
dry=no steps=()
for word in "$@"; do
  if [ "$word" = --dry-run ]; then dry=yes; else steps+=("$word"); fi
done
all_steps=(check sources archive deb wheel multiqc image sbom sums tag)
whole=no
[ ${#steps[@]} -gt 0 ] || { steps=("${all_steps[@]}") && whole=yes; }
set_source_date
python=${PYTHON:-python3}
archive=$packages/bigbird-$version-linux-$(uname -m).tar.xz
image=localhost/bigbird:$version
oci=$packages/bigbird-$version.oci.tar
bill=$packages/bigbird-$version-linux-$(uname -m).spdx.json

# The files of this version that are there; those of a step that was left out are not among them.
made() {
  (cd "$packages" && compgen -G "bigbird[-_]*$version*" | grep -v '\.part$') || fail "$packages has no file of $version"
}
notes() { # the section of the changelog, without its heading
  awk -v heading="## $version " 'index($0, "## ") == 1 { inside = index($0, heading) == 1; next }
    inside && (NF || begun) { begun = 1; print }' CHANGELOG.md
}

do_check() {
  local wrong=0
  complain() {
    printf 'error: %s\n' "$1" >&2
    wrong=1
  }
  [ "$version" = "$wanted" ] || complain "CMakeLists.txt has version $version, not $wanted"
  grep -qx "version: $wanted" CITATION.cff || complain "CITATION.cff has another version than $wanted"
  grep -qE "^## ${wanted//./\\.} \([0-9]{4}-[0-9]{2}-[0-9]{2}\)$" CHANGELOG.md || complain "CHANGELOG.md has no heading '## $wanted (YYYY-MM-DD)'"
  bash packaging/check_recipes.sh versions >&2 || wrong=1
  [ -z "$(git status --porcelain)" ] || complain "the tree has changes that are not committed"
  ! git rev-parse -q --verify "refs/tags/v$wanted" >/dev/null || complain "the tag v$wanted is there already"
  [ $wrong = 0 ]
}
# A git archive's gzip has no time in it; its tar has the commit's.
do_sources() {
  mkdir -p "$packages"
  # With all steps: what an earlier commit left would stand in SHA256SUMS where a step is skipped now.
  [ $whole = no ] || rm -f "$packages"/bigbird[-_]*"$version"*
  git archive --format=tar --prefix="bigbird-$version/" HEAD | gzip -9n >"$packages/bigbird-$version.tar.gz"
}
do_archive() { bash packaging/tarball.sh; }
do_deb() { bash packaging/deb.sh; }
do_wheel() { ARCHIVE=$archive PYTHON=$python bash packaging/wheel.sh; }
do_multiqc() {
  "$python" -m pip --version >/dev/null 2>&1 || skip "$python has no pip"
  "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$packages" packaging/multiqc ||
    skip "pip could not build the plug-in's wheel: hatchling comes from PyPI"
}
do_image() {
  NAME=$image BASE=${BASE:-docker.io/library/debian:bookworm-slim} bash packaging/check_image.sh || return
  rm -f "$oci"
  STORAGE_DRIVER=${STORAGE_DRIVER:-vfs} buildah push "$image" "oci-archive:$oci:$version"
}
do_sbom() {
  [ -r "$archive" ] || fail "$archive is not there" "bash packaging/release.sh $wanted archive"
  "$python" packaging/sbom.py "$archive" >"$bill.part"
  mv "$bill.part" "$bill"
}
do_sums() {
  local names
  names=$(made)
  (cd "$packages" && tr '\n' '\0' <<<"$names" | xargs -0 sha256sum >SHA256SUMS && cat SHA256SUMS)
}
do_tag() {
  [ ${#skipped[@]} -eq 0 ] || [ "${SKIPPED:-}" = allow ] || skip "no tag, since there is no ${skipped[*]} (SKIPPED=allow: nevertheless)"
  { printf 'bigbird %s\n\n' "$version" && notes; } | git tag -a --cleanup=verbatim -F - "v$version"
}

skipped=() failed=no
for step in "${steps[@]}"; do
  [[ " ${all_steps[*]} " == *" $step "* ]] || fail "'$step' is no step" "see --help"
done
for step in "${steps[@]}"; do
  if [ $dry = yes ] && [ "$step" != check ]; then
    printf '%s:\n' "$step" && declare -f "do_$step" | sed -e '1,2d' -e '$d'
    continue
  fi
  say "$step"
  set +e
  (
    set -e
    "do_$step"
  )
  status=$?
  set -e
  if [ $status -eq 77 ]; then
    skipped+=("$step")
  elif [ $status -ne 0 ]; then
    [ $dry = yes ] || fail "'$step' ended in status $status: nothing after it was done"
    failed=yes
  fi
done
[ $failed = no ] || fail "this would not be released: see the errors above"
[ ${#skipped[@]} -eq 0 ] || { say "not done: ${skipped[*]}" && exit 77; }
