"""Packages built at test time: documents of the corpus, with FMUs that are a model description and nothing else.

The folder `fmus` has these, and as folders some with more files, where the platform `here` and the ending `.library`
stand for those of the machine; the folders in `packages` become packages inside a package.
"""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import fmpy
import pytest

HERE = Path(__file__).parent


def add_fmus(folder: Path) -> None:
    """Put those FMUs and packages into a package that its documents mention; `Broken.fmu` is none."""
    mentioned = "".join(path.read_text(errors="replace") for path in folder.rglob("*.ssd")).lower()
    for description in (HERE / "fmus").glob("*.xml"):
        # Without the first letter, which some cases write in upper case or percent-encoded.
        if f"{description.stem[1:]}.fmu" in mentioned:
            (folder / "resources").mkdir(exist_ok=True)
            with zipfile.ZipFile(folder / "resources" / f"{description.stem}.fmu", "w") as fmu:
                fmu.write(description, "modelDescription.xml")
    for inner in (*(HERE / "packages").iterdir(), *(path for path in (HERE / "fmus").iterdir() if path.is_dir())):
        name = f"{inner.name}.{'ssp' if inner.parent.name == 'packages' else 'fmu'}"
        if name.lower() in mentioned:
            (folder / "resources").mkdir(exist_ok=True)
            with zipfile.ZipFile(folder / "resources" / name, "w") as package:
                for path in sorted(inner.rglob("*.*")):
                    entry = path.relative_to(inner).as_posix()
                    entry = entry.replace("/here/", f"/{fmpy.platform}/").replace(
                        ".library", fmpy.sharedLibraryExtension
                    )
                    package.write(path, entry)
    if "broken.fmu" in mentioned:
        (folder / "resources").mkdir(exist_ok=True)
        (folder / "resources" / "Broken.fmu").write_text("this is not a zip archive")


@pytest.fixture
def package(tmp_path: Path) -> Callable[[Path], Path]:
    """Makes a package of a case of the corpus: one SSD, or a folder of files."""

    def make(case: Path) -> Path:
        folder = tmp_path / "package"
        if case.is_dir():
            shutil.copytree(case, folder, symlinks=True)
        else:
            folder.mkdir()
            shutil.copy(case, folder / "SystemStructure.ssd")
        add_fmus(folder)
        return folder

    return make
