"""Check of an installation: packages, compilers, libraries of exported FMUs, and FMUs that cannot run here."""

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from types import MappingProxyType

from packaging.requirements import Requirement

from ssptool.arguments import path as file_path
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.drawing.text import columns
from ssptool.engine.kernel import NATIVE
from ssptool.errors import MissingPackage, abbreviated, counted
from ssptool.exporting.runtimes import PLATFORMS, can_build, kept_library, own_platform
from ssptool.fmu.binary import MissingBinary, require_binary
from ssptool.fmu.compiling import available_compiler, cache_folder
from ssptool.fmu.description import InterfaceType, UnreadableFmu, UnusableFmu
from ssptool.fmu.model_description_xml import this_platform
from ssptool.fmu.read_description import read_description
from ssptool.foreign_text import joined_lines, json_text
from ssptool.option_words import BEST
from ssptool.public_calls import public
from ssptool.rules.runner import found_in
from ssptool.sandbox import CLOSED, OPEN, closed, missing_layers
from ssptool.version import __version__

PURPOSES = {
    "plot": "plots, diagrams as PNG and reports",
    "parquet": "results as Parquet",
    "hdf5": "results as HDF5",
    "mdf4": "MDF4 files of other tools",
    "xlsx": "tables in workbooks (.xlsx)",
    "export": "exported FMUs for other platforms than this one",
    "study": "studies",
    "lsp": "the language server",
    "mcp": "the MCP server",
    "studio": "the studio",
    "widgets": "sliders in notebooks",
}
"""Extra → its purpose."""


@dataclass(frozen=True, slots=True)
class InstalledPart:
    """A part of the installation, or an FMU.

    Attributes
    ----------
    topic
        Heading of its list.
    found
        Versions, or missing parts.
    remedy
        Command or advice to install it; empty if nothing is missing.
    needed
        True if a requested system or FMU cannot run without it.
    """

    topic: str
    name: str
    found: str
    remedy: str = ""
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All checked parts of an installation, in the order of their topics."""

    parts: tuple[InstalledPart, ...]

    @property
    def troubles(self) -> tuple[InstalledPart, ...]:
        """Required parts that are missing."""
        return tuple(part for part in self.parts if part.remedy and part.needed)

    def __str__(self) -> str:
        return _text(self)


@public
def doctor(*paths: Path | str) -> Diagnosis:
    """Check this installation, and whether FMUs can be loaded on this platform.

    Parameters
    ----------
    paths
        FMUs, systems, and folders that contain them. No library is loaded.

    Raises
    ------
    FileNotFoundError
        A path does not exist.
    """
    looked_at = (_installation(), _extras(), _tools(), _fmus(file_path("paths", one) for one in paths))
    return Diagnosis(tuple(part for parts in looked_at for part in parts))


# -- packages -----------------------------------------------------------------------------------------------------


def _installation() -> Iterator[InstalledPart]:
    own = own_platform()
    on = f"Python {platform.python_version()}, {platform.system()} on {platform.machine()}"
    yield InstalledPart("Installation", "ssptool", f"{__version__}, {on}" + (f" ({own.name})" if own else ""))
    if NATIVE:
        yield InstalledPart("Installation", "kernel", "in C++")
    else:
        remedy = "install a C++20 compiler, and ssptool again"
        yield InstalledPart("Installation", "kernel", "missing: systems cannot be run", remedy, needed=True)
    required = [one for one in _requirements() if one.marker is None or one.marker.evaluate({"extra": ""})]
    missing = [text for one in required for text in _unmet(one)]
    if missing:
        remedy = "pip install " + " ".join(f"'{text}'" for text in missing)
        yield InstalledPart("Installation", "packages", f"missing: {', '.join(missing)}", remedy, needed=True)
    else:
        yield InstalledPart("Installation", "packages", ", ".join(map(_versioned, required)))


def _extras() -> Iterator[InstalledPart]:
    for extra, purpose in PURPOSES.items():
        members = [one for one in _requirements() if one.marker is not None and _only_with(extra, one)]
        missing = [text for one in members for text in _unmet(one)]
        if missing or not members:
            found = f"missing: {', '.join(missing) or 'this installation does not know it'}; for {purpose}"
            yield InstalledPart("Extras", extra, found, f"pip install 'ssptool[{extra}]'")
        else:
            yield InstalledPart("Extras", extra, ", ".join(map(_versioned, members)))


def _requirements() -> list[Requirement]:
    try:
        return [Requirement(text) for text in distribution("ssptool").requires or ()]
    except PackageNotFoundError:  # run from its sources
        return []


def _only_with(extra: str, one: Requirement) -> bool:
    assert one.marker is not None
    return one.marker.evaluate({"extra": extra}) and not one.marker.evaluate({"extra": ""})


def _unmet(one: Requirement) -> Iterator[str]:
    """Missing part of a requirement and of its extras, in the syntax of pip."""
    there = _distribution(one.name)
    if there is None or not one.specifier.contains(there.version, prereleases=True):
        extras = f"[{','.join(sorted(one.extras))}]" if one.extras else ""
        yield f"{one.name}{extras}{one.specifier}"
        return
    for text in there.requires or ():
        inner = Requirement(text)
        if inner.marker is not None and any(_only_with(extra, inner) for extra in one.extras):
            yield from _unmet(inner)


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _versioned(one: Requirement) -> str:
    return f"{one.name} {distribution(one.name).version}"


# -- tools --------------------------------------------------------------------------------------------------------


def _tools() -> Iterator[InstalledPart]:
    try:
        compiler = available_compiler()
        more = "" if compiler.cxx else "; no C++ compiler"
        yield InstalledPart("Tools", "compiler", f"{compiler.version}{more}")
    except MissingPackage as problem:
        found, _, remedy = str(problem).partition(": ")
        yield InstalledPart("Tools", "compiler", f"{found}; for FMUs with sources only (--compile)", remedy)
    said = f"closes {', '.join(CLOSED)} (--sandbox)"
    if without := missing_layers():
        names = [name for name, what in closed(without).items() if what != OPEN]
        partly = f"; --sandbox={BEST} closes {', '.join(names)}" if names else ""
        said = f"not complete: {'; '.join(f'{layer}: {reason}' for layer, reason in without.items())}{partly}"
    yield InstalledPart("Tools", "sandbox", said)
    yield from _runtimes()
    folder = cache_folder()
    yield InstalledPart("Tools", "cache", f"{folder}, {_size(folder)}; it may be deleted at any time")


def _runtimes() -> Iterator[InstalledPart]:
    """Platforms for which this installation can export systems."""
    own, there = own_platform(), [one for one in PLATFORMS.values() if kept_library(one) is not None]
    others = ", ".join(one.name for one in PLATFORMS.values() if one not in (own, *there))
    if own is not None and own not in there:
        remedy = "install ssptool where there is a C++20 compiler"
        yield InstalledPart("Tools", "export", f"no library for {own.name}, so that nothing can be exported", remedy)
    if there:
        yield InstalledPart("Tools", "export", f"for {', '.join(one.name for one in there)}")
    if others and can_build():
        yield InstalledPart("Tools", "export", f"also for {others}: zig builds the libraries at first use")
    elif others:
        yield InstalledPart("Tools", "export", f"no library for {others}", "pip install 'ssptool[export]'")


def _size(folder: Path) -> str:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            total += path.lstat().st_size if path.exists() else 0
    return f"{total / 1e6:.3g} MB" if total else "empty"


# -- FMUs ---------------------------------------------------------------------------------------------------------


def _fmus(paths: Iterable[Path]) -> Iterator[InstalledPart]:
    fit = 0
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(2, os.strerror(2), str(path))
        for subject in found_in(path):
            for part in _of_subject(subject):
                if part.remedy:
                    yield part
                else:
                    fit += 1
    if fit:
        yield InstalledPart("FMUs", "", f"{counted(fit, 'FMU')} can be loaded here")


def _of_subject(subject: Path) -> Iterator[InstalledPart]:
    """The FMUs of a system (of a package as PACKAGE/ENTRY), or a single FMU."""
    if _is_fmu(subject.name) or (subject / "modelDescription.xml").is_file():
        yield _of_fmu(str(subject), subject)
        return
    try:
        with Archive.open(subject) as archive:
            for name in archive.names():
                if _is_fmu(name):
                    yield _of_fmu(f"{subject}/{name}", archive.local_path(name))
    except InvalidDocument as problem:
        yield InstalledPart(
            "FMUs", str(subject), str(problem.diagnostics[0].message), "see `ssptool validate`", needed=True
        )


def _is_fmu(name: str) -> bool:
    return name.lower().endswith(".fmu")


def _of_fmu(name: str, path: Path) -> InstalledPart:
    try:
        description = read_description(path)
        simulated = description.co_simulation is not None
        require_binary(path, description, InterfaceType.CO_SIMULATION if simulated else InterfaceType.MODEL_EXCHANGE)
    except UnreadableFmu as problem:
        return InstalledPart("FMUs", name, problem.reason, "see `ssptool validate`", needed=True)
    except MissingBinary as problem:
        own = this_platform(description.fmi_major)
        there = f"only for {abbreviated(problem.present)}" if problem.present else "nor for another platform"
        return InstalledPart("FMUs", name, f"no library for {own}, {there}", problem.advice, needed=True)
    except UnusableFmu as problem:
        return InstalledPart("FMUs", name, problem.reason, "export it for co-simulation or model exchange", needed=True)
    return InstalledPart("FMUs", name, f"FMI {description.fmi_version}")


# -- reports ------------------------------------------------------------------------------------------------------


WIDEST = 24
"""Longest name, in letters, that gets its own column."""


def _text(diagnosis: Diagnosis) -> str:
    """Text with a list for each topic, and a remedy below each missing part."""
    return joined_lines(_lines(diagnosis))


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    for topic in dict.fromkeys(part.topic for part in diagnosis.parts):
        own = [part for part in diagnosis.parts if part.topic == topic]
        yield topic
        if max(len(part.name) for part in own) > WIDEST:
            rows = [": ".join(filter(None, (part.name, part.found))) for part in own]
        else:
            rows = columns([(part.name, part.found) for part in own])
        for part, row in zip(own, rows, strict=True):
            yield f"  {row}"
            if part.remedy:
                yield f"      → {part.remedy}"
    count = len(diagnosis.troubles)
    yield ""
    yield f"required and missing: {counted(count, 'part')}" if count else "everything required is installed"


def _json(diagnosis: Diagnosis) -> str:
    return json_text(
        {"parts": [asdict(part) for part in diagnosis.parts], "troubles": len(diagnosis.troubles)}, indent=2
    )


DIAGNOSIS_RENDERERS: Mapping[str, Callable[[Diagnosis], str]] = MappingProxyType({"text": _text, "json": _json})
