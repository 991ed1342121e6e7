#!/usr/bin/env bash
# The documentation as a static site, from the Markdown as it is: docs/, with docs/home.md in front, and the pages beside it.
# README.md is the front page of the repository, and is left out.
#   bash pipelines/site.sh [--strict] [OUT]     strict always; into OUT (build/site/html); open OUT/index.html, no server is needed, nor for the search
# Needs python3 with venv; MkDocs and its theme come from PyPI into build/site/venv. Neither build nor tests
# need them. A link to a page, picture or heading that does not exist is an error.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=pipelines/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
[ "${1:-}" != --strict ] || shift
case ${1:-} in -*) fail "site.sh has no option $1" "bash pipelines/site.sh --help" ;; esac
out=${1:-$root/build/site/html}
case $out in /*) ;; *) out=$PWD/$out ;; esac
venv=$root/build/site/venv
source=$root/build/site/source
# The theme gets corrections until May 2027; Zensical 0.0.73, its successor, made pages of this file, too.
packages=(mkdocs==1.6.1 mkdocs-material==9.8.2)

wanted="${packages[*]}"
if [ "$(cat "$venv/packages" 2>/dev/null)" != "$wanted" ]; then
  command -v python3 >/dev/null || fail "python3 was not found" "apt-get install python3-venv"
  say "installing $wanted into build/site/venv"
  rm -rf "$venv"
  python3 -m venv "$venv" || fail "python3 has no venv" "apt-get install python3-venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
  echo "$wanted" >"$venv/packages"
fi

# Pages keep their places, so that a link from docs/ to CONTRIBUTING.md holds. Files that git does not know
# yet count, too.
rm -rf "$source"
mkdir -p "$source"
(cd "$root" && git ls-files --cached --others --exclude-standard -z -- '*.md' CITATION.cff LICENSE docs |
  while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done | xargs -0 cp --parents -t "$source")
# The home page stands at the top, so its links begin there.
sed -e 's#](\([a-zA-Z]\)#](docs/\1#g' -e 's#](\.\./#](#g' "$source/docs/home.md" >"$source/index.md"
rm "$source/docs/home.md" "$source/README.md"
# A folder is not a page: its link leads to the page that describes it.
sed -i -e 's/](study)/](..\/benchmarks\/study.md)/g' -e 's/](pictures)/](README.md)/g' -e 's/](home.md)/](..\/index.md)/g' "$source"/docs/*.md
sed -i -e 's/](..\/docs\/study)/](study.md)/g' "$source"/benchmarks/*.md

say "making $out"
cd "$root"
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict --clean --config-file mkdocs.yml --site-dir "$out" >&2
# From disk, and where nothing can be reached, pages and search work: no page loads a script from elsewhere.
if grep -rlE --include='*.html' '<script[^>]*src="(https?:)?//' "$out"; then fail "the pages above load a script from elsewhere" "see extra.polyfills of mkdocs.yml"; fi
[ -s "$out/search/search_index.js" ] || fail "there is no search_index.js, so that the search does not work from disk" "see plugins of mkdocs.yml"
echo "$out/index.html"
