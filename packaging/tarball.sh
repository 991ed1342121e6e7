#!/usr/bin/env bash
# A relocatable archive: the program with the libraries that it needs, but for the C library, which must be as
# new as the one that the program and the libraries were linked with. packaging/check_tarball.sh says which
# that is.
#   bash packaging/tarball.sh      build/packages/bigbird-VERSION-linux-ARCHITECTURE.tar.xz
# Environment: BUILD (build/release where that was built, else build/package, which is built without tests),
# OUT (build/packages), CMAKE_OPTIONS (of build/package), SOURCE_DATE_EPOCH (of the last commit), LEVEL (6: of
# xz).
#
# bin/bigbird, lib/bigbird (libraries, plug-ins for MPI), share (man pages, completions, doc/bigbird).
# doc/bigbird/licenses has the licence of each library, and libraries.tsv, which package in which version and
# of which source it is from.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,12s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The origin and the licence of each library are asked of the system's packages.
command -v dpkg-query >/dev/null || [ -n "${CONDA_PREFIX:-}" ] || skip "an archive is built on Debian, or in an environment of conda"
for tool in xz strip; do
  command -v "$tool" >/dev/null || (ensure_packages xz-utils binutils) || skip "$tool cannot be installed here"
done
set_source_date
set_build
cmake --build "$build_folder" --parallel "$jobs" --target bigbird_portable >&2

name=bigbird-$version-linux-$(uname -m)
temporary_folder tarball
stage=$work/$name
cmake --install "$build_folder" --prefix "$stage" >/dev/null
install -m 755 "$build_folder/portable/bigbird" "$stage/bin/bigbird"
library_folder=$stage/lib/bigbird
licenses=$stage/share/doc/bigbird/licenses
mkdir -p "$library_folder" "$licenses"

# What of the C library comes with it, and what it loads: never from an archive.
of_glibc='^(ld-linux.*|libc|libm|libmvec|libdl|librt|libpthread|libresolv|libutil|libanl|libBrokenLocale|libthread_db|libnss_.*)\.so'
of_program() { # NAME <tab> PATH of each library that the program needs
  ldd "$build_folder/bin/bigbird" | awk '$2 == "=>" && $3 ~ /^\// { print $1 "\t" $3 }' | sort -u
}
! ldd "$build_folder/bin/bigbird" | grep 'not found' >&2 || fail "libraries are missing" "run it where it was built"

# origin PATH: package <tab> version <tab> source <tab> file with its licence
origin() {
  local path=$1 package
  if [ -n "${CONDA_PREFIX:-}" ] && [[ $path == "$CONDA_PREFIX"/* ]]; then
    conda_origin "$path"
    return
  fi
  # With /usr merged a library has two paths, of which dpkg knows one.
  package=$( (dpkg-query -S "$path" || dpkg-query -S "/usr$path" || dpkg-query -S "${path#/usr}" ||
    dpkg-query -S "$(readlink -f "$path")" || dpkg-query -S "$(readlink -f "$path" | sed 's|^/usr||')") 2>/dev/null | head -n 1)
  package=${package%%: *}
  [ -n "$package" ] || fail "$path is of no package of this system" "build with the system's libraries: their licences come along"
  debian_origin "$package"
}
debian_origin() { # debian_origin PACKAGE
  # shellcheck disable=SC2016
  dpkg-query -W -f='${Package}\t${Version}\t${source:Package} ${source:Version}' "$1"
  printf '\t/usr/share/doc/%s/copyright\n' "${1%%:*}"
}
conda_origin() { # its records name the files of each package, and where its licences were unpacked
  local record relative=${1#"$CONDA_PREFIX/"}
  record=$(grep -lF "\"$relative\"" "$CONDA_PREFIX"/conda-meta/*.json | head -n 1)
  [ -n "$record" ] || fail "$1 is of no package of conda" "build with conda's libraries: their licences come along"
  value() { sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" "$record" | head -n 1; }
  printf '%s\t%s\t%s\t%s/info/licenses\n' "$(value name)" "$(value version)" "$(value url)" "$(value extracted_package_dir)"
}
take_license() { # take_license PACKAGE FILE_OR_FOLDER
  [ -e "$2" ] || fail "$2 was not found: the licence of $1" "install $1 again, with documentation"
  cp -rL "$2" "$licenses/$1"
}

printf '#library\tpackage\tversion\tsource\n' >"$licenses/libraries.tsv"
while IFS=$'\t' read -r library path; do
  [[ ! $library =~ $of_glibc ]] || continue
  install -m 644 "$path" "$library_folder/$library"
  strip --strip-unneeded "$library_folder/$library"
  IFS=$'\t' read -r package release sources license < <(origin "$path")
  printf '%s\t%s\t%s\t%s\n' "$library" "$package" "$release" "$sources" >>"$licenses/libraries.tsv"
  take_license "$package" "$license"
done < <(of_program)
# Libraries of headers alone, compiled into the program.
if [ -z "${CONDA_PREFIX:-}" ]; then
  for package in libcli11-dev nlohmann-json3-dev; do
    IFS=$'\t' read -r _ release sources license < <(debian_origin "$package")
    printf '(in the program)\t%s\t%s\t%s\n' "$package" "$release" "$sources" >>"$licenses/libraries.tsv"
    take_license "$package" "$license"
  done
else
  for header in CLI/CLI.hpp nlohmann/json.hpp; do
    IFS=$'\t' read -r package release sources license < <(origin "$CONDA_PREFIX/include/$header")
    printf '(in the program)\t%s\t%s\t%s\n' "$package" "$release" "$sources" >>"$licenses/libraries.tsv"
    take_license "$package" "$license"
  done
fi
# Debian's files name licences by the path of its own copies; they come along.
if [ -d /usr/share/common-licenses ]; then
  mkdir "$licenses/common-licenses"
  grep -rhoE '/usr/share/common-licenses/[A-Za-z]+(-[0-9.]*[0-9])?' "$licenses" | sort -u | while read -r license; do
    [ ! -e "$license" ] || cp -L "$license" "$licenses/common-licenses/"
  done
fi

strip "$stage/bin/bigbird"
for plugin in "$library_folder"/libbigbird_*.so; do [ ! -e "$plugin" ] || strip --strip-unneeded "$plugin"; done
find "$stage" -type d -exec chmod 755 {} +
find "$stage" -type f ! -path "$stage/bin/*" -exec chmod 644 {} +
archive=$packages/$name.tar.xz
mkdir -p "$packages"
# Blocks of one size, whatever the number of processors: equal bytes everywhere.
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -cf - "$name" |
  xz -"${LEVEL:-6}" --threads=2 --block-size=16MiB >"$archive.part"
mv "$archive.part" "$archive"
printf '%s: %d bytes, %d libraries\n' "$archive" "$(stat -c %s "$archive")" "$(($(wc -l <"$licenses/libraries.tsv") - 3))"
