#!/usr/bin/env bash
# Unpacks a relocatable archive into a folder with a blank in its name and runs it there with an empty
# environment; no library but the C library's may come from elsewhere, and no symbol may need a newer C
# library than GLIBC says.
#   bash packaging/check_tarball.sh [ARCHIVE]           ARCHIVE: the one of packaging/tarball.sh
#   bash packaging/check_tarball.sh --bare [ARCHIVE]    in a bare Debian too (root, a mirror; 77 without)
# Environment: GLIBC (2.36), SUITE (bookworm: of the bare Debian), OUT (build/packages), MIRROR (of
# debootstrap).
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

bare=no
if [ "${1:-}" = --bare ]; then
  bare=yes
  shift
fi
archive=${1:-$(the_one "$packages/bigbird-*.tar.xz" "bash packaging/tarball.sh")}
[ -r "$archive" ] || fail "$archive cannot be read" "bash packaging/tarball.sh"
for tool in xz objdump readelf; do
  command -v "$tool" >/dev/null || (ensure_packages xz-utils binutils) || skip "$tool cannot be installed here"
done
most=${GLIBC:-2.36}
temporary_folder tarball-check
place="$work/a folder with blanks"
mkdir "$place"
tar -C "$place" -xJf "$archive"
unpacked=$(the_one "$place/bigbird-*" "an archive holds one folder")
program=$unpacked/bin/bigbird

say "symbols"
mapfile -d '' objects < <(find "$unpacked/bin" "$unpacked/lib" -type f -print0)
needed_versions() { # VERSION OBJECT
  local object
  for object in "${objects[@]}"; do
    objdump -T "$object" | grep -oE 'GLIBC_[0-9]+(\.[0-9]+)+' | sed "s|GLIBC_\(.*\)|\1 ${object##*/}|" | sort -uV | tail -n 1
  done
}
read -r version_needed of < <(needed_versions | sort -V | tail -n 1)
echo "${#objects[@]} objects; the newest symbol of the C library is GLIBC_$version_needed, in $of"
[ "$(printf '%s\n' "$most" "$version_needed" | sort -V | tail -n 1)" = "$most" ] ||
  fail "$of needs glibc $version_needed, which is newer than $most" "link with an older one"

# Plug-ins alone may need what is not here: an MPI is the machine's own.
for object in "${objects[@]}"; do
  case ${object##*/} in libbigbird_*.so) continue ;; esac
  readelf -d "$object" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r library; do
    [ -e "$unpacked/lib/bigbird/$library" ] || [[ $library =~ ^(ld-linux.*|lib(c|m|mvec|dl|rt|pthread|resolv|util|anl))\.so ]] ||
      fail "${object##*/} needs $library, which is not in the archive"
  done
done

say "with an empty environment, in '$unpacked'"
# What the loader takes, and from where: outside the folder the C library alone.
env -i LD_TRACE_LOADED_OBJECTS=1 "$program" >"$work/loaded"
! grep 'not found' "$work/loaded" || fail "libraries are missing"
foreign=$(awk -v folder="$unpacked" '$2 == "=>" && index($0, folder) == 0 { print $1 }' "$work/loaded" |
  grep -vE '^lib(c|m|mvec|dl|rt|pthread|resolv|util|anl)\.so' || true)
[ -z "$foreign" ] || fail "libraries come from elsewhere: $foreign"
env -i PATH=/usr/bin:/bin sh "$root/packaging/small_job.sh" "$work/a job with blanks" "$program"

[ "$bare" = yes ] || exit 0
suite=${SUITE:-bookworm}
bare_root "$work/root" "$suite"
mkdir "$work/root/opt/a folder with blanks"
cp -a "$unpacked" "$work/root/opt/a folder with blanks/"
cp "$root/packaging/small_job.sh" "$work/root/tmp/"
# shellcheck disable=SC2016
c_library=$(in_root "$work/root" dpkg-query -W -f='${Package} ${Version}' libc6)
say "in $(system_of "$work/root"), $c_library, $(installed_in "$work/root" | wc -l) packages"
in_root "$work/root" sh /tmp/small_job.sh "/tmp/a job" "/opt/a folder with blanks/${unpacked##*/}/bin/bigbird"
