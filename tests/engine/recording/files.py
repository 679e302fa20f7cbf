"""Traces in files."""

import json
from dataclasses import asdict

import numpy as np

from ssptool.engine.recording.formats import open_writer


def write(path, trace, *, closed=True, chunks=1):
    """Write a trace as a run does, which does not come to its end unless `closed`; gives the notes of the writer."""
    writer = open_writer(path, trace.columns, list(trace.contents))
    rows = np.column_stack([trace.t, trace.cells])
    for chunk in np.array_split(rows, chunks):
        writer.write(chunk)
    notes = writer.notes()
    if closed:
        writer.close(json.dumps({"status": "completed", "columns": [asdict(column) for column in trace.columns]}))
    writer.release()
    return notes


def at_once(monkeypatch):
    """Parquet and HDF5 files get a group at every `write`."""
    monkeypatch.setattr("ssptool.engine.recording.writer.GROUP_SECONDS", 0.0)
    monkeypatch.setattr("ssptool.engine.recording.writer.LATE_PART", 0.0)
    monkeypatch.setattr("ssptool.engine.recording.writer.WRITING_PART", float("inf"))
