#!/bin/sh
# Snakemake asks for a job: running, success or failed. scontrol knows a finished one for MinJobAge (300 seconds, where a
# cluster does not say otherwise); a cluster with accounts may ask sacct -X -n -P -o State -j "$1" behind that.
state=$(scontrol -o show job "$1" 2>/dev/null | sed -n '1s/.* JobState=\([A-Z_]*\).*/\1/p')
case $state in
  COMPLETED) echo success ;;
  PENDING | RUNNING | COMPLETING | CONFIGURING | REQUEUED | SUSPENDED | PREEMPTED | RESIZING | SIGNALING | STAGE_OUT | STOPPED)
    echo running
    ;;
  *) echo failed ;;
esac
