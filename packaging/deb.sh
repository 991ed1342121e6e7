#!/usr/bin/env bash
# The Debian package of what is built, and what lintian says of it (an error or a warning is a failure).
#   bash packaging/deb.sh          build/packages/bigbird_VERSION-1_ARCHITECTURE.deb
# Environment: BUILD (build/release where that was built, else build/package, which is built without tests),
# OUT (build/packages), CMAKE_OPTIONS (of build/package), SOURCE_DATE_EPOCH (of the last commit), LINTIAN
# (yes; no: without).
# Depends on what the system that it is built on has: for bookworm build it on bookworm. 77: no Debian.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

command -v dpkg-query >/dev/null || skip "a .deb is built on Debian"
command -v dpkg-shlibdeps >/dev/null || (ensure_packages dpkg-dev) || skip "dpkg-dev cannot be installed here"
set_source_date
set_build
[ -f "$build_folder/CPackConfig.cmake" ] || fail "$build_folder was configured without packages" "configure it again"

rm -f "$packages"/bigbird_*.deb
mkdir -p "$packages"
temporary_folder deb
say "packing $build_folder"
cpack --config "$build_folder/CPackConfig.cmake" -G DEB -B "$work" >"$work/log" 2>&1 || { cat "$work/log" >&2 && exit 1; }
mv "$work"/bigbird_*.deb "$packages/"
package=$(the_one "$packages/bigbird_*.deb" "remove the others")
dpkg-deb --field "$package" Package Version Architecture Depends Suggests Installed-Size
printf '%s: %d bytes\n' "$package" "$(stat -c %s "$package")"

[ "${LINTIAN:-yes}" = yes ] || exit 0
command -v lintian >/dev/null || (ensure_packages lintian) || skip "lintian cannot be installed here"
say "lintian $(dpkg-query -W -f='${Version}' lintian)"
as_user=()
# lintian warns of root; what it reads here was made a minute ago.
if [ "$(id -u)" -eq 0 ]; then as_user=(--allow-root); fi
lintian "${as_user[@]}" --tag-display-limit 0 --fail-on error,warning "$package"
echo "lintian: no error, no warning"
