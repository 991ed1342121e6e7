#!/usr/bin/env bash
# The table of tests/mutations/README.md, from the headers of the patches; tests/policy compares the two.
#   bash tests/mutations/table.sh > tests/mutations/README.md
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
cat <<'END'
# Defects that the suite notices

Each patch is a small defect, and a test fails for it (`bash tests/run.sh --mutations`, by `tests/mutations/run.sh`). This table is made of the
patches' first lines by `bash tests/mutations/table.sh > tests/mutations/README.md`.

| patch | what it does | program | tests that fail |
|---|---|---|---|
END
LC_ALL=C awk '
  function cell(key) { sub("^# " key ": *", ""); gsub(/\|/, "\\|"); return $0 }
  /^# what:/ { what = cell("what") }
  /^# target:/ { target = cell("target") }
  /^# filter:/ { filter = cell("filter") }
  /^diff / { name = FILENAME; sub(/\.patch$/, "", name); printf "| `%s` | %s | %s | `%s` |\n", name, what, target, filter; nextfile }
' *.patch
