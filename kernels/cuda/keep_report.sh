#!/usr/bin/env bash
# A launcher of nvcc: keeps the report of `-Xptxas -v` beside the object as OBJECT.report; warnings and errors go on to
# stderr.
#   keep_report.sh [ccache] nvcc ... -o OBJECT ...
set -u
object='' previous=''
for argument in "$@"; do
  [ "$previous" != -o ] || object=$argument
  previous=$argument
done
report=${object:-/dev/null}
[ -z "$object" ] || report=$object.report
status=0
"$@" 2>"$report" || status=$?
grep -vE '^(ptxas info|[[:space:]]+[0-9]+ bytes stack frame)|^$' "$report" >&2
exit $status
