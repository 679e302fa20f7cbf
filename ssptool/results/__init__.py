"""Use of recorded traces: comparison and reports."""
