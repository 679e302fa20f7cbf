"""System structures generated in memory for systems in other formats, with their files.

A single FMU is a system of one component, named like its file. All layers above see an archive like any other.
"""

import posixpath
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from lxml import etree

from ssptool.documents.diagnostics import Diagnostic
from ssptool.documents.document import Document
from ssptool.documents.foreign_files import UNREADABLE_ZIP, ArchiveLimits, ForeignZip, read_bytes
from ssptool.documents.storage import NESTING_MARK, MissingEntry, ZipEntries
from ssptool.documents.vocabulary import EXPORTED_SYSTEM, EXPORTED_VARIANT, SSC, SSD
from ssptool.documents.xml_text import quoted
from ssptool.tempfiles import TemporaryFolder
from ssptool.working_directory import copied_from, forget_copies

STRUCTURE = "SystemStructure.ssd"
OSP_STRUCTURE = "OspSystemStructure.xml"
MODEL_DESCRIPTION = "modelDescription.xml"
_LARGEST = 256 * 1024 * 1024
"""Maximum size of a model description [bytes]."""


class GeneratedEntries:
    """The entries of a generated system: `made` are generated contents, `files` are files on disk.

    A folder in `files` is an unpacked FMU, packed on demand. `documents` are structures generated from an entry, under
    its name; `notes` are their differences from the source, and `problems` errors about missing parts. `stated` maps
    entries, also of missing files, to the paths that the user knows.
    """

    def __init__(
        self,
        made: Mapping[str, bytes],
        files: Mapping[str, Path],
        documents: Mapping[str, Document] | None = None,
        notes: tuple[str, ...] = (),
        stated: Mapping[str, str] | None = None,
        problems: Sequence[Diagnostic] = (),
    ) -> None:
        self._made = made
        self.notes = notes
        self.problems = problems
        self.documents = documents or {}
        self._stated = stated or {}
        self._files = files
        self._folder: TemporaryFolder | None = None

    def names(self) -> tuple[str, ...]:
        return (*self._made, *self._files)

    def has(self, name: str) -> bool:
        return name in self._made or name in self._files

    def read(self, name: str) -> bytes:
        return self._made[name] if name in self._made else read_bytes(self.local_path(name))

    def local_path(self, name: str) -> Path:
        if not self.has(name):
            raise MissingEntry(name, Path(next(iter(self._made))))
        on_disk = self._files.get(name)
        if on_disk is not None and not on_disk.is_dir():
            return on_disk
        if self._folder is None:
            self._folder = TemporaryFolder()
        path = Path(self._folder.name, *name.split("/"))
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            if on_disk is None:
                path.write_bytes(self._made[name])
            else:
                _pack(on_disk, path)
                copied_from(on_disk, path)
        return path

    def stated(self, name: str) -> str:
        """Name of an entry, or of a file in an FMU, that the user knows."""
        entry, mark, inside = name.partition(NESTING_MARK)
        if entry not in self._stated:
            return name
        if mark and entry in self._files and self._files[entry].is_dir():
            return posixpath.normpath(f"{self._stated[entry]}/{inside}")
        return self._stated[entry] + mark + inside

    def close(self) -> None:
        if self._folder is not None:
            forget_copies(Path(self._folder.name))
            self._folder.cleanup()


def _pack(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", strict_timestamps=False) as packed:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                packed.write(file, file.relative_to(folder).as_posix())


def is_osp(path: Path) -> bool:
    """True for a system of the Open Simulation Platform, not an SSP."""
    if path.is_dir():
        return (path / OSP_STRUCTURE).is_file() and not (path / STRUCTURE).exists()
    return path.suffix.lower() == ".xml"


def is_fmu_folder(path: Path) -> bool:
    """True if a folder is an unpacked FMU, not a system."""
    return (path / MODEL_DESCRIPTION).is_file() and not (path / STRUCTURE).exists()


def is_fmu(entries: ZipEntries) -> bool:
    """True if a zip is an FMU, not a system."""
    return entries.has(MODEL_DESCRIPTION) and not entries.has(STRUCTURE)


class ExportedEntries(ZipEntries):
    """The exported system in an FMU, which stays open with it. `variant`: its SSD, "" for the default."""

    def __init__(self, fmu: ZipEntries, limits: ArchiveLimits) -> None:
        self._fmu = fmu
        super().__init__(fmu.local_path(EXPORTED_SYSTEM), limits)
        stated = fmu.read(EXPORTED_VARIANT).decode(errors="replace") if fmu.has(EXPORTED_VARIANT) else ""
        at_root = "/" not in stated and stated.lower().endswith(".ssd")
        self.variant = stated if at_root and self.has(stated) else ""

    def close(self) -> None:
        super().close()
        self._fmu.close()


def system_of_fmu(path: Path) -> GeneratedEntries:
    """A system of one component: the FMU at `path`, a zip or an unpacked folder, with its inputs and outputs."""
    stem = path.resolve().name if path.is_dir() else path.stem
    source = f"resources/{stem}.fmu"
    description = _model_description(path)
    root = _parse(description)
    signals = _signals(root)
    structure = _structure(component_name(stem), source, signals).encode()
    document = Document(MODEL_DESCRIPTION, structure, tuple(_lines(root, signals)))
    stated = {source: "."}
    if not path.is_dir():
        stated = {source: path.name, MODEL_DESCRIPTION: f"{path.name}{NESTING_MARK}{MODEL_DESCRIPTION}"}
    return GeneratedEntries(
        {MODEL_DESCRIPTION: description}, {source: path}, {MODEL_DESCRIPTION: document}, stated=stated
    )


def component_name(stem: str) -> str:
    """Component name from a file name without its extension; dots are replaced, because they separate systems."""
    return stem.replace(".", "_") or "fmu"


def _structure(name: str, source: str, signals: list["SignalOfFmu"]) -> str:
    """The generated structure. Connectors state no types, units and sizes, so those of the FMU's variables apply (SSP
    2.0).
    """
    connectors = "".join(f"\n          {_connector(signal)}" for signal in signals)
    inside = f"\n        <ssd:Connectors>{connectors}\n        </ssd:Connectors>" if connectors else ""
    stated = f'name={quoted(name)} type="application/x-fmu-sharedlibrary" source={quoted(quote(source))}'
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription xmlns:ssd="{SSD}" xmlns:ssc="{SSC}" version="2.0" name={quoted(name)}>
  <ssd:System name={quoted(name)}>
    <ssd:Elements>
      <ssd:Component {stated}>{inside}
      </ssd:Component>
    </ssd:Elements>
  </ssd:System>
</ssd:SystemStructureDescription>
"""


def _connector(signal: "SignalOfFmu") -> str:
    """The connector of a variable; for an array it states the number of dimensions."""
    stated = f"name={quoted(signal.name)} kind={quoted(signal.causality)}"
    dimensions = "<ssc:Dimension/>" * signal.dimensions
    return f"<ssd:Connector {stated}>{dimensions}</ssd:Connector>" if dimensions else f"<ssd:Connector {stated}/>"


def _lines(description: etree._Element | None, signals: list["SignalOfFmu"]) -> Iterator[int]:
    """Line in the model description for each element of the structure; for connectors the line of the variable."""
    stated: Any = None if description is None else description.sourceline
    line = int(stated or 1)
    around = 5 if signals else 4  # root, System, Elements, Component, Connectors
    yield from [line] * around
    for signal in signals:
        yield from [signal.line] * (1 + signal.dimensions)


class SignalOfFmu(NamedTuple):
    """An input or output of an FMU, with the number of its dimensions and its line in the model description."""

    name: str
    causality: str
    dimensions: int
    line: int


def fmu_facts(path: Path | None) -> tuple[str, dict[str, str]]:
    """Name of the model, and causality of each input and output; empty for a missing FMU."""
    root = None if path is None else _parse(_model_description(path))
    signals = {signal.name: signal.causality for signal in _signals(root)}
    return ("" if root is None else root.get("modelName", "")), signals


def _model_description(path: Path) -> bytes:
    """The model description; empty if it cannot be read, which rules on FMUs report."""
    try:
        if path.is_dir():
            return read_bytes(path / MODEL_DESCRIPTION)
        with ForeignZip(path) as packed:
            small = packed.getinfo(MODEL_DESCRIPTION).file_size <= _LARGEST
            return packed.read(MODEL_DESCRIPTION) if small else b""
    except (KeyError, *UNREADABLE_ZIP):
        return b""


def _signals(description: etree._Element | None) -> list[SignalOfFmu]:
    """The variables that are inputs and outputs (FMI 1.0 to 3.0), each name once; without parameters of FMI 1.0."""
    if description is None:
        return []
    parameters_are_inputs = description.get("fmiVersion", "").startswith("1.")
    found = {}
    for variable in description.iterfind("ModelVariables/*"):
        name, causality = variable.get("name"), variable.get("causality", "")
        if not name or name in found or causality not in ("input", "output"):
            continue
        if not (parameters_are_inputs and fmi1_role(variable).causality == "parameter"):
            line: Any = variable.sourceline  # lxml's stubs give it a type that mypy cannot narrow
            found[name] = SignalOfFmu(name, causality, len(variable.findall("Dimension")), int(line or 0))
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Fmi1Role:
    """Causality, variability and `initial` of an FMI 1.0 variable, in terms of FMI 2.0."""

    causality: str
    variability: str
    initial: str | None


def fmi1_role(variable: etree._Element) -> Fmi1Role:
    """The role of an FMI 1.0 ScalarVariable in terms of FMI 2.0.

    Inputs and variables with a start value can be set (SSP 2.0 §5.2.3), which `initial` expresses. An internal
    parameter without start value is calculated by the FMU.
    """
    causality, variability = (
        variable.get("causality", "internal"),
        variable.get("variability", _default_variability(variable)),
    )
    causality = "local" if causality == "internal" else causality
    initial = _fmi1_initial(variable)
    if variability != "parameter":
        return Fmi1Role(causality, variability, None if causality == "input" else initial)
    if causality == "output":
        return Fmi1Role("calculatedParameter", "fixed", initial)
    if causality == "input":
        return Fmi1Role("parameter", "fixed", "exact")
    return Fmi1Role("local" if initial == "calculated" else "parameter", "fixed", initial)


def _default_variability(variable: etree._Element) -> str:
    """Default of the schema: continuous, which only Reals can be; discrete for other types."""
    return "continuous" if variable.find("Real") is not None else "discrete"


def _fmi1_initial(variable: etree._Element) -> str:
    for child in variable:
        if child.get("start") is not None:
            return "approx" if child.get("fixed", "").strip() in ("false", "0") else "exact"
    return "calculated"


def parsed_model_description(description: bytes) -> etree._Element:
    """The root element; external entities, DTDs and the network are never used. Raises `etree.XMLSyntaxError`."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    read_before = _parsed.pop(description, None)
    return etree.fromstring(description, parser) if read_before is None else read_before


_parsed: dict[bytes, etree._Element] = {}
"""The last parsed model description, which is read again when an FMU is opened as a system."""


def _parse(description: bytes) -> etree._Element | None:
    try:
        root = parsed_model_description(description)
    except (etree.XMLSyntaxError, ValueError):
        return None
    _parsed.clear()
    _parsed[description] = root
    return root
