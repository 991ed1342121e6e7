#!/usr/bin/env bash
# Builds the image of packaging/Dockerfile with buildah and runs a small job in it, as the image's user and as
# another.
#   bash packaging/check_image.sh
# Environment: BASE (the image to begin from, such as docker.io/library/debian:bookworm-slim; empty: one made
# of debootstrap's minbase, for machines without a registry), NAME (localhost/bigbird:check), OUT
# (build/packages), MIRROR (of debootstrap), STORAGE_DRIVER (vfs).
# Needs root and buildah, and a mirror of Debian; 77 without them. The image stays in buildah's storage.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
# shellcheck source=packaging/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ "$(id -u)" -eq 0 ] || skip "an image is built as root here"
command -v buildah >/dev/null || (ensure_packages buildah) || skip "buildah cannot be installed here"
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}
set_source_date
temporary_folder image
base=${BASE:-}
name=${NAME:-localhost/bigbird:check}
if [ -z "$base" ]; then
  base=localhost/bookworm-minbase
  bare_root "$work/root"
  say "an image of debootstrap's minbase: $base"
  container=$(buildah from scratch)
  buildah add -q "$container" "$work/root" / >/dev/null
  buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
  buildah commit -q "$container" "$base" >/dev/null
  buildah rm "$container" >/dev/null
  rm -rf "$work/root"
fi

say "building $name from $base"
begin=$SECONDS
buildah build -f "$root/packaging/Dockerfile" --build-arg BASE="$base" --build-arg SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" \
  -t "$name" "$root" >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2 && exit 1; }
echo "$name: built in $((SECONDS - begin)) s, $(buildah images --format '{{.Size}}' "$name")"
buildah inspect --type image --format 'user {{.OCIv1.Config.User}}, folder {{.OCIv1.Config.WorkingDir}},
  entry {{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}' "$name"

container=$(buildah from "$name")
trap 'buildah rm "$container" >/dev/null; rm -rf "$work"' EXIT
mkdir "$work/data"
chmod 777 "$work/data" "$work"
cp "$root/packaging/small_job.sh" "$work/data/"
say "as the image's user"
buildah run --volume "$work/data:/data" "$container" -- sh -c 'id -un && sh small_job.sh /data/own'
say "as user 12345, whom the image does not know"
buildah run --user 12345:12345 --volume "$work/data:/data" "$container" -- sh small_job.sh /data/other
[ "$(stat -c %u "$work/data/other")" = 12345 ] || fail "the job's files are not its user's"
cmp "$work/data/own/run/final/model.safetensors" "$work/data/other/run/final/model.safetensors"
echo "both wrote the same weights"
