#!/usr/bin/env bash
# Installs a .deb with apt into a bare Debian, runs the program there, removes the package and wants nothing
# to be left of it.
#   bash packaging/check_deb.sh [PACKAGE]     PACKAGE: the one of packaging/deb.sh
# Environment: SUITE (bookworm; the package must have been built on it), OUT (build/packages), MIRROR (of
# debootstrap).
# Needs root, debootstrap and a mirror of Debian; 77 without them.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

package=${1:-$(the_one "$packages/bigbird_*.deb" "bash packaging/deb.sh")}
temporary_folder deb-check
bare=$work/root
bare_root "$bare" "${SUITE:-bookworm}"
cp "$package" "$bare/tmp/bigbird.deb"
cp "$root/packaging/small_job.sh" "$bare/tmp/"
# Images of containers leave documentation out; here it is to be seen.
in_root "$bare" sh -c 'rm -f /etc/dpkg/dpkg.cfg.d/docker*'

say "apt-get update, in $(system_of "$bare")"
in_root "$bare" apt-get -q update >"$work/update.log" 2>&1 || { tail -n 5 "$work/update.log" >&2; skip "no mirror answers"; }
before=$(installed_in "$bare" | wc -l)
in_root "$bare" apt-get -q install -y --no-install-recommends /tmp/bigbird.deb >"$work/install.log" 2>&1 ||
  { tail -n 20 "$work/install.log" >&2 && exit 1; }
echo "installed, with $(($(installed_in "$bare" | wc -l) - before - 1)) packages that it depends on"
! installed_in "$bare" | grep -E 'mpi' || fail "an MPI was installed as a dependency"
in_root "$bare" apt-get -q install -y --no-install-recommends man-db >"$work/man.log" 2>&1 ||
  { tail -n 20 "$work/man.log" >&2 && exit 1; }
in_root "$bare" dpkg --verify bigbird
in_root "$bare" sh /tmp/small_job.sh /tmp/job
# shellcheck disable=SC2016
in_root "$bare" sh -euc 'man -w bigbird bigbird-pretrain; man bigbird-chunk | head -n 4
  for file in bash-completion/completions/bigbird zsh/vendor-completions/_bigbird fish/vendor_completions.d/bigbird.fish \
    doc/bigbird/copyright doc/bigbird/changelog.gz doc/bigbird/changelog.Debian.gz; do ls "/usr/share/$file"; done
  ls /usr/lib/bigbird
  bash -n /usr/share/bash-completion/completions/bigbird'

say "removing it"
in_root "$bare" dpkg -L bigbird >"$work/files"
in_root "$bare" apt-get -q purge -y bigbird >"$work/purge.log" 2>&1 || { tail -n 20 "$work/purge.log" >&2 && exit 1; }
# /var/cache/man is man's own: a page that it has shown.
left=$(in_root "$bare" sh -c 'find / -xdev \( -path /tmp -o -path /proc -o -path /var/cache/man \) -prune -o -iname "*bigbird*" -print')
[ -z "$left" ] || fail "files are left: $left"
while read -r path; do
  # Folders that other packages have too may stay.
  [ "$path" = /. ] || [ -d "$bare$path" ] || [ ! -e "$bare$path" ] || fail "$path is left"
done <"$work/files"
echo "$(wc -l <"$work/files") paths were installed; no file of them is left, nor any of its name"
