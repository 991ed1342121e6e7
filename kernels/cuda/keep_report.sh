#!/usr/bin/env bash
# A launcher of nvcc: keeps the report of `-Xptxas -v` beside the object as OBJECT.report; warnings and errors go on to
# stderr. Remarks that products of warpgroups run one after another (C7508 to C7514) are errors: such a kernel is slower
# than the one whose place it takes.
#   keep_report.sh [ccache] nvcc ... -o OBJECT ...
# With BIGBIRD_KEEP_PTX=yes in the environment what ptxas was given stays as OBJECT.ptx, of one architecture.
set -u
object='' previous=''
for argument in "$@"; do
  [ "$previous" != -o ] || object=$argument
  previous=$argument
done
report=${object:-/dev/null}
[ -z "$object" ] || report=$object.report
status=0 keep=()
if [ "${BIGBIRD_KEEP_PTX:-}" = yes ] && [ -n "$object" ]; then
  mkdir -p "$object.keep"
  keep=(-keep -keep-dir "$object.keep")
fi
"$@" ${keep[@]+"${keep[@]}"} 2>"$report" || status=$?
if [ ${#keep[@]} -gt 0 ]; then
  mv -f "$object.keep"/*.ptx "$object.ptx" 2>/dev/null || true
  rm -rf "$object.keep"
fi
if grep -E 'C75(08|10|12|14)' "$report" >&2; then
  echo "error: ${object:-a kernel}: products of warpgroups run one after another" >&2
  [ -z "$object" ] || rm -f "$object"
  [ $status != 0 ] || status=1
fi
grep -vE '^(ptxas info|[[:space:]]+[0-9]+ bytes stack frame)|^$' "$report" >&2
exit $status
