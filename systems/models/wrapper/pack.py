"""Zip files of a folder into an FMU: pack.py FMU FOLDER FILE... Equal contents give equal bytes."""

import sys
import zipfile
from pathlib import Path


def pack(fmu: Path, folder: Path, names: list[str]) -> None:
    with zipfile.ZipFile(fmu, "w") as archive:
        for name in names:
            entry = zipfile.ZipInfo(name, date_time=(2000, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, (folder / name).read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
