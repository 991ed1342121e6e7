"""What bigbird writes, in a report of MultiQC."""
