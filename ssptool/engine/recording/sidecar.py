"""The file beside a CSV file, for what CSV cannot hold."""

from pathlib import Path


def sidecar(path: Path) -> Path:
    """Where units, types, descriptions and the manifest of a CSV file are: `run.csv.json`."""
    return path.with_name(path.name + ".json")
