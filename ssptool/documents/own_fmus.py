"""FMUs of this package: a model description around a library that was built with the package."""

import io
import zipfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

_BINARIES = Path(str(files("ssptool.documents").joinpath("binaries")))
_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""Time of all entries, so that equal FMUs are identical files."""


def packed(model: str, description: str, resources: Mapping[str, bytes] = MappingProxyType({})) -> bytes:
    """The FMU of a model with this modelDescription.xml and these resources, for the platform of this installation.

    Raises
    ------
    FileNotFoundError
        The package was installed without a C compiler, so there is no library.
    """
    libraries = sorted(file for file in _BINARIES.rglob(f"{model}.*") if file.is_file())
    if not libraries:
        raise FileNotFoundError(_BINARIES / model)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as fmu:
        fmu.writestr(zipfile.ZipInfo("modelDescription.xml", _EARLIEST), description)
        for name, own in resources.items():
            fmu.writestr(zipfile.ZipInfo(f"resources/{name}", _EARLIEST), own, zipfile.ZIP_DEFLATED)
        for library in libraries:
            entry = f"binaries/{library.relative_to(_BINARIES).as_posix()}"
            fmu.writestr(zipfile.ZipInfo(entry, _EARLIEST), library.read_bytes(), zipfile.ZIP_DEFLATED)
    return content.getvalue()
