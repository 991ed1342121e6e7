#!/usr/bin/env bash
# The run on a device that decides how attention multiplies on Hopper: one call of at most 400 seconds, from a pack that was
# made beforehand (pack.sh). Do the kernels of warpgroups (wgmma) hold, and are they faster than mma.sync and FlexAttention?
#   bash tests/gpu/device_run.sh
# Leaves the results in build/gpu-results-attention (OUT), of which summary.md says what read_results.py decides: wgmma becomes
# `auto` (kernels/cuda/cuda_options.h) where conformance, tests, soak and compute-sanitizer hold and, on an H200, forward takes at
# most 0.21 ms and backward 0.65 ms for 8 sequences of 4,096 tokens, or on any card at most 0.8 of mma.sync's time in the same call.
# If conformance fails, verify.log has the descriptors that would have been right; the rest of the call is then of mma.sync alone.
# Environment: as verify.sh.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
exec bash "$(dirname "${BASH_SOURCE[0]}")/verify.sh" attention
